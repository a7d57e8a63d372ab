//! What a station says of itself in its hello (Fox specification §4.1, §4.4).

use super::frame::{Field, Frame, Value};
use super::zone::FoxTimeZone;

/// The hello that is sent: the least that stations answer, and no claim to be anybody (Fox specification §4).
pub const CLIENT_HELLO: &[u8; 52] = b"fox a 1 -1 fox hello\n{\nfox.version=s:1.0\nid=i:1\n};;\n";

/// The fields of a station's hello; N4 stations send few of them.
///
/// Host id, address and `vm_uuid` identify an installation: show them to people who may see diagnostics only.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FoxIdentity {
    /// Version of Fox, not of Niagara.
    pub fox_version: Option<String>,
    /// The station's count of connections.
    pub id: Option<i64>,
    pub host_name: Option<String>,
    /// As the station is configured; another one may be visible from outside.
    pub host_address: Option<String>,
    pub app_name: Option<String>,
    /// Niagara version.
    pub app_version: Option<String>,
    pub vm_name: Option<String>,
    pub vm_version: Option<String>,
    pub os_name: Option<String>,
    pub os_version: Option<String>,
    pub station_name: Option<String>,
    pub language: Option<String>,
    pub time_zone: Option<FoxTimeZone>,
    pub host_id: Option<String>,
    /// Changes when the station's virtual machine restarts.
    pub vm_uuid: Option<String>,
    pub brand: Option<String>,
    pub auth_agents: Vec<String>,
    /// Why the station refuses this kind of peer; all else is unknown then.
    pub fatal: Option<String>,
    /// Every key of the hello in its order.
    pub keys: Vec<String>,
    /// Keys that are not known; their values are not kept.
    pub unknown_keys: Vec<String>,
    /// Keys that occurred more than once.
    pub repeated_keys: Vec<String>,
}

const KNOWN: [&str; 19] = [
    "fox.version",
    "id",
    "hostName",
    "hostAddress",
    "app.name",
    "app.version",
    "vm.name",
    "vm.version",
    "os.name",
    "os.version",
    "station.name",
    "lang",
    "timeZone",
    "hostId",
    "vmUuid",
    "brandId",
    "sysInfo",
    "authAgentTypeSpecs",
    "fatal",
];

impl FoxIdentity {
    /// Reads a hello; missing keys stay none.
    pub fn read(hello: &Frame) -> Self {
        let text = |key: &str| hello.field(key).and_then(Field::text).map(str::to_owned);
        let keys: Vec<String> = hello.fields.iter().map(|field| field.key.clone()).collect();
        let fatal = text("fatal");
        let refused = Self {
            fox_version: text("fox.version"),
            unknown_keys: keys
                .iter()
                .filter(|key| !KNOWN.contains(&key.as_str()))
                .cloned()
                .collect(),
            keys,
            repeated_keys: hello.repeated.clone(),
            fatal,
            ..Self::default()
        };
        if refused.fatal.is_some() {
            return refused;
        }
        Self {
            id: match hello.field("id").map(|field| &field.value) {
                Some(Value::Integer(id)) => Some(*id),
                _ => None,
            },
            host_name: text("hostName"),
            host_address: text("hostAddress"),
            app_name: text("app.name"),
            app_version: text("app.version"),
            vm_name: text("vm.name"),
            vm_version: text("vm.version"),
            os_name: text("os.name"),
            os_version: text("os.version"),
            station_name: text("station.name"),
            language: text("lang"),
            time_zone: text("timeZone").and_then(|zone| FoxTimeZone::parse(&zone)),
            host_id: text("hostId"),
            vm_uuid: text("vmUuid"),
            brand: text("brandId"),
            auth_agents: text("authAgentTypeSpecs")
                .map(|agents| {
                    agents
                        .split([';', ',', ' '])
                        .map(str::trim)
                        .filter(|agent| !agent.is_empty())
                        .map(str::to_owned)
                        .collect()
                })
                .unwrap_or_default(),
            ..refused
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{Parsed, parse};
    use super::*;

    fn identity(hello: &str) -> FoxIdentity {
        match parse(hello.as_bytes()).expect("well formed") {
            Parsed::Frame(frame, _) => FoxIdentity::read(&frame),
            Parsed::Incomplete => panic!("incomplete"),
        }
    }

    #[test]
    fn the_hello_of_an_ax_station_is_read_in_full() {
        let ax = identity(
            "fox a 0 -1 fox hello\n{\nfox.version=s:1.0.1\nid=i:7\nhostName=s:st1.example\nhostAddress=s:2001:db8::1=x\napp.name=s:Station\napp.version=s:3.8.111\nstation.name=s:DemoSt\ntimeZone=s:America/Chicago\nhostId=s:Qnx-DEMO-0000\nsysInfo=o:bog 27[<bog version=\"1.0\">\n</bog>\n]\nauthAgentTypeSpecs=s:fox:FoxUsernamePasswordAuthAgent\nhttpSession=s:secret\n};;\n",
        );
        assert_eq!(ax.station_name.as_deref(), Some("DemoSt"));
        assert_eq!(ax.host_address.as_deref(), Some("2001:db8::1=x"));
        assert_eq!(ax.id, Some(7));
        assert_eq!(
            ax.time_zone.map(|zone| zone.id).as_deref(),
            Some("America/Chicago")
        );
        assert_eq!(ax.auth_agents, ["fox:FoxUsernamePasswordAuthAgent"]);
        assert_eq!(ax.keys.len(), 12);
        assert_eq!(ax.unknown_keys, ["httpSession"]);
        assert_eq!((ax.brand, ax.vm_uuid), (None, None));
    }

    #[test]
    fn a_fatal_hello_tells_nothing_of_the_identity() {
        let fatal = identity(
            "fox a 0 -1 fox hello\n{\nfatal=s:unsupported\nfox.version=s:Niagara 4\nhostName=s:st2\n};;\n",
        );
        assert_eq!(fatal.fatal.as_deref(), Some("unsupported"));
        assert_eq!(fatal.fox_version.as_deref(), Some("Niagara 4"));
        assert_eq!(fatal.host_name, None);
    }

    #[test]
    fn our_own_hello_is_a_frame() {
        let (kind, sequence) = match parse(CLIENT_HELLO).expect("well formed") {
            Parsed::Frame(frame, 52) => (frame.header.kind, frame.header.sequence),
            other => panic!("{other:?}"),
        };
        assert_eq!((kind, sequence), ('a', 1));
    }
}
