//! What a port sends after a client's hello, per scenario.

use std::time::Duration;

use super::frame::Frame;
use super::identity::Identity;
use super::scenario::{FoxScenario, FoxSettings};

/// One step of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Send(Vec<u8>),
    Pause(Duration),
}

/// Enough for two parts of a frame to travel apart.
const PART_GAP: Duration = Duration::from_millis(2);

/// The steps that answer a hello; `cut` chooses where [`FoxScenario::Split`] cuts.
pub(super) fn answer(settings: &FoxSettings, identity: &Identity, cut: usize) -> Vec<Step> {
    let send = |octets: Vec<u8>| vec![Step::Send(octets)];
    let hello_and_challenge =
        |hello: Vec<u8>| vec![Step::Send(hello), Step::Send(challenge().encode())];
    match settings.scenario {
        FoxScenario::Ax => vec![
            Step::Send(ax_hello(identity).encode()),
            Step::Send(ax_challenge().encode()),
        ],
        FoxScenario::Fatal => send(fatal_hello().encode()),
        FoxScenario::Garbage => send(b"\x00\x17garbage \xff\xfe{ };; fox\n".to_vec()),
        FoxScenario::Slow => slowly(&n4_hello(identity).encode(), settings.pace),
        FoxScenario::Split => split(&ax_hello(identity).encode(), cut),
        FoxScenario::Trailing => vec![
            Step::Send(n4_hello(identity).encode()),
            Step::Send(vec![b'x'; 1024 * 1024]),
        ],
        FoxScenario::BlobTerminator => send(
            ax_hello(identity)
                .blob("extra", b"ab}\n};;\ncde")
                .text("after", "seen")
                .encode(),
        ),
        FoxScenario::HugeLen => {
            let mut octets = n4_hello(identity).encode();
            octets.truncate(octets.len() - b"};;\n".len());
            octets.extend_from_slice(b"extra=b:2147483648[");
            send(octets)
        }
        FoxScenario::Crlf => send(ax_hello(identity).without("sysInfo").encode_with("\r\n")),
        FoxScenario::ErrorFrame => send(
            Frame::new('e', 0, "hello")
                .replying_to(1)
                .text("message", "The station is not ready.")
                .encode(),
        ),
        FoxScenario::KeepaliveFirst => {
            let mut steps: Vec<Step> = (0..settings.keepalives)
                .map(|count| if count % 2 == 0 { 'k' } else { 'n' })
                .map(|kind| Step::Send(Frame::new(kind, -1, "keepAlive").encode()))
                .collect();
            steps.extend(hello_and_challenge(n4_hello(identity).encode()));
            steps
        }
        FoxScenario::Silent | FoxScenario::Close | FoxScenario::Echo => Vec::new(),
        FoxScenario::N4
        | FoxScenario::TlsOnPlain
        | FoxScenario::PlainOnTls
        | FoxScenario::ExpiredCert
        | FoxScenario::FactoryCert => hello_and_challenge(n4_hello(identity).encode()),
    }
}

fn slowly(octets: &[u8], pace: Duration) -> Vec<Step> {
    octets
        .iter()
        .flat_map(|octet| [Step::Send(vec![*octet]), Step::Pause(pace)])
        .collect()
}

/// Two parts, neither empty.
fn split(octets: &[u8], cut: usize) -> Vec<Step> {
    let places = octets.len().saturating_sub(1).max(1);
    let (head, tail) = octets.split_at((1 + cut % places).min(octets.len()));
    vec![
        Step::Send(head.to_vec()),
        Step::Pause(PART_GAP),
        Step::Send(tail.to_vec()),
    ]
}

fn n4_hello(identity: &Identity) -> Frame {
    Frame::new('a', 0, "hello")
        .text("fox.version", "1.0.2")
        .text("hostName", &identity.host_name)
        .text("hostAddress", &identity.host_address)
        .text("app.name", "Station")
}

fn challenge() -> Frame {
    Frame::new('a', 1, "challenge").text("method", "n4digest")
}

/// Keys in the order of the Fox specification §4.1.
fn ax_hello(identity: &Identity) -> Frame {
    Frame::new('a', 0, "hello")
        .text("fox.version", "1.0.1")
        .integer("id", identity.connection)
        .text("hostName", &identity.host_name)
        .text("hostAddress", &identity.host_address)
        .text("app.name", "Station")
        .text("app.version", "3.8.111")
        .text("vm.name", "Java HotSpot(TM) Client VM")
        .text("vm.version", "1.5.0_81-b06")
        .text("os.name", "QNX")
        .text("os.version", "6.4.1")
        .text("station.name", &identity.station_name)
        .text("lang", "en")
        .text("timeZone", &identity.time_zone)
        .text("hostId", "Qnx-DEMO-0000-1111-2222")
        .text("vmUuid", &identity.vm)
        .text("brandId", "vykon")
        .object("sysInfo", "bog", "<bog version=\"1.0\">\n</bog>\n")
        .text("authAgentTypeSpecs", "fox:FoxUsernamePasswordAuthAgent")
}

/// A challenge with a nonce of the length seen in captures (Fox specification §5).
fn ax_challenge() -> Frame {
    Frame::new('a', 1, "challenge")
        .text("method", "digest-md5")
        .blob("nonce", &[b'n'; 44])
}

fn fatal_hello() -> Frame {
    Frame::new('a', 0, "hello")
        .text("fatal", "This kind of connection is not supported.")
        .text("fox.version", "Niagara 4")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> Identity {
        Identity {
            host_name: "st1.example".to_owned(),
            host_address: "192.0.2.10".to_owned(),
            station_name: "DemoSt".to_owned(),
            time_zone: "America/Chicago;-21600000;3600000;02:00:00.000,wall,march,8,on or after,sunday,undefined;02:00:00.000,wall,november,1,on or after,sunday,undefined".to_owned(),
            vm: "00000000-0000-0000-0000-00000000beef".to_owned(),
            connection: 7,
        }
    }

    fn sent(scenario: FoxScenario, cut: usize) -> Vec<u8> {
        answer(&FoxSettings::from(scenario), &identity(), cut)
            .into_iter()
            .flat_map(|step| match step {
                Step::Send(octets) => octets,
                Step::Pause(_) => Vec::new(),
            })
            .collect()
    }

    #[test]
    fn the_ax_hello_is_the_example_octet_for_octet() {
        let hello = ax_hello(&identity()).encode();
        assert_eq!(hello.len(), 624);
        let text = String::from_utf8(hello).unwrap();
        assert!(text.starts_with("fox a 0 -1 fox hello\n{\nfox.version=s:1.0.1\nid=i:7\n"));
        assert!(text.contains("\nsysInfo=o:bog 27[<bog version=\"1.0\">\n</bog>\n]\n"));
        assert!(text.ends_with("AuthAgent\n};;\n"));
    }

    #[test]
    fn the_n4_hello_has_four_fields_and_the_challenge_follows() {
        let text = String::from_utf8(sent(FoxScenario::N4, 0)).unwrap();
        assert_eq!(
            text,
            "fox a 0 -1 fox hello\n{\nfox.version=s:1.0.2\nhostName=s:st1.example\nhostAddress=s:192.0.2.10\n\
             app.name=s:Station\n};;\nfox a 1 -1 fox challenge\n{\nmethod=s:n4digest\n};;\n"
        );
    }

    #[test]
    fn a_split_hello_is_cut_everywhere_in_turn_and_always_whole() {
        let whole = ax_hello(&identity()).encode();
        for cut in 0..whole.len() + 2 {
            assert_eq!(sent(FoxScenario::Split, cut), whole);
        }
        let first = answer(&FoxSettings::from(FoxScenario::Split), &identity(), 4);
        assert_eq!(first[0], Step::Send(whole[..5].to_vec()));
    }

    #[test]
    fn a_line_end_in_a_name_cannot_end_a_field() {
        let mut identity = identity();
        identity.host_name = "a\n};;\r".to_owned();
        let text = String::from_utf8(n4_hello(&identity).encode()).unwrap();
        assert!(text.contains("hostName=s:a };; \n"), "{text}");
    }
}
