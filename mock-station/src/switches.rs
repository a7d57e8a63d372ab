//! Every disagreement between real stations that the interface descriptions name, as a switch that can be changed while the station runs.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use chrono_tz::Tz;

/// All switches of the stand-in station (Station web specification §8, oBIX specification §14).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Switches {
    pub login: LoginSwitches,
    pub ord: OrdSwitches,
    pub export: ExportSwitches,
    pub boxs: BoxSwitches,
    pub obix: ObixSwitches,
    pub faults: FaultSwitches,
}

/// Switches of login, sessions and request protection (Station web specification §1, §2).
#[derive(Clone, Debug, PartialEq)]
pub struct LoginSwitches {
    /// Whether HELLO/SCRAM/BEARER is answered at all (§2.4).
    pub header_auth: bool,
    /// Whether the token of the header handshake changes at step 2.
    pub handshake_token: HandshakeToken,
    /// What a protected path answers without authentication.
    pub unauthenticated: UnauthenticatedAnswer,
    /// What Basic credentials that do not fit get, outside `/box`, which always answers 401 (§2.2).
    pub basic_refused: BasicRefusal,
    /// What a bad proof in step 3 of the form login gets.
    pub bad_proof: BadProofAnswer,
    /// Send a server signature that does not verify; the client must abort.
    pub wrong_server_signature: bool,
    /// What step 2 answers for a user that does not exist.
    pub unknown_user: UnknownUserAnswer,
    /// When the session id is replaced in a form login.
    pub session_renewal: SessionRenewal,
    /// Whether the reply to client-first sets `JSESSIONID` even with a valid cookie.
    pub client_first_cookie: ClientFirstCookie,
    /// Send several `Set-Cookie` headers in varying order.
    pub shuffle_set_cookie: bool,
    /// Every path leads to `/prelogin` until the licence agreement is accepted (§2.3).
    pub eula_pending: bool,
    /// Count bad logins and lock accounts (§2.7). Limits are the user service's properties.
    pub lockout: bool,
    /// Idle limit of a web session, on the station clock.
    pub session_idle: Duration,
    /// Limit of a web session since login, on the station clock; none before 4.15 (§2.7).
    pub session_absolute: Option<Duration>,
    /// Demand the CSRF token on `/rpc`.
    pub csrf_rpc: bool,
    /// Demand the CSRF token on `/logout`.
    pub csrf_logout: bool,
    /// Demand the CSRF token on `POST /box`.
    pub csrf_box: bool,
    /// Demand the CSRF token on oBIX `POST` and `PUT` from cookie sessions.
    pub csrf_obix: bool,
    /// Which scheme accounts count as using, whatever each is set to.
    pub schemes: AccountSchemes,
    /// Redirect every plain request with 303 to `https://` at this authority (§1).
    pub https_only: Option<String>,
}

impl Default for LoginSwitches {
    fn default() -> Self {
        Self {
            header_auth: true,
            handshake_token: HandshakeToken::New,
            unauthenticated: UnauthenticatedAnswer::RedirectLogin,
            basic_refused: BasicRefusal::RedirectLogin,
            bad_proof: BadProofAnswer::RedirectFail,
            wrong_server_signature: false,
            unknown_user: UnknownUserAnswer::InventedSalt,
            session_renewal: SessionRenewal::AfterStep4,
            client_first_cookie: ClientFirstCookie::Always,
            shuffle_set_cookie: true,
            eula_pending: false,
            lockout: true,
            session_idle: Duration::from_secs(900),
            session_absolute: None,
            csrf_rpc: true,
            csrf_logout: true,
            csrf_box: false,
            csrf_obix: false,
            schemes: AccountSchemes::AsConfigured,
            https_only: None,
        }
    }
}

/// Authentication schemes of accounts (§2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountSchemes {
    /// Each account has its own.
    AsConfigured,
    BasicOnly,
    DigestOnly,
}

/// Whether the handshake token changes at step 2 of header authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeToken {
    New,
    Unchanged,
}

/// Answer of a protected path without authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnauthenticatedAnswer {
    RedirectLogin,
    RedirectPrelogin,
    Unauthorized,
}

/// Answer to Basic credentials that do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasicRefusal {
    RedirectLogin,
    Unauthorized,
}

/// Answer to a wrong proof in step 3 of the form login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadProofAnswer {
    Unauthorized,
    RedirectFail,
    /// 200 with a text that has no `v=`.
    OkWithoutSignature,
    /// 200 with `e=other-error`.
    OkWithError,
}

/// Answer of step 2 for a user that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownUserAnswer {
    InventedSalt,
    Unauthorized,
}

/// When the form login replaces the session id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionRenewal {
    AfterStep3,
    AfterStep4,
    Never,
}

/// Whether the reply to client-first always carries a session cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientFirstCookie {
    Always,
    OnlyWithoutValidCookie,
}

/// Switches of the ord servlet (Station web specification §3.1, §3.2).
#[derive(Clone, Debug, PartialEq)]
pub struct OrdSwitches {
    pub forms: OrdForms,
    pub bare_plus: BarePlus,
    /// Bytes of request line and headers beyond which 414 is answered.
    pub header_limit: usize,
    /// Put a stack trace on the page of a 500, else an opaque reference.
    pub stack_trace: bool,
}

impl Default for OrdSwitches {
    fn default() -> Self {
        Self {
            forms: OrdForms {
                encoded_path: true,
                literal_path: true,
                query: false,
            },
            bare_plus: BarePlus::Refused,
            header_limit: 8192,
            stack_trace: false,
        }
    }
}

/// The ord URL forms that are accepted; the others answer 400 (§3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrdForms {
    /// P1: `/ord/` with every reserved character percent-encoded.
    pub encoded_path: bool,
    /// P2: `/ord/` with `: / , = ; ( ) * $` literal.
    pub literal_path: bool,
    /// Q: `/ord?`.
    pub query: bool,
}

impl OrdForms {
    /// All three forms, as third-party clients need them.
    pub const ALL: Self = Self {
        encoded_path: true,
        literal_path: true,
        query: true,
    };
}

/// What a bare `+` in an ord URL does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarePlus {
    Literal,
    /// 400, which finds clients that forget `%2B`.
    Refused,
}

/// Switches of the table exporters (Station web specification §3.3).
#[derive(Clone, Debug, PartialEq)]
pub struct ExportSwitches {
    /// Default of `includeBOM`.
    pub byte_order_mark: bool,
    /// Default of `useCRLF`.
    pub crlf: bool,
    /// Show units inside cells, as older versions do.
    pub units_in_cells: bool,
    /// Put a blank in front of cells that a spreadsheet would take for a formula.
    pub injection_guard: bool,
    pub dialect: CsvDialect,
    /// Number and word locale; none = the user's language.
    pub locale: Option<ExportLocale>,
    /// Time zone of display times; none = the user's.
    pub time_zone: Option<Tz>,
    /// Whether exporter parameters such as `encodeToString` are honoured or answered with 400.
    pub machine_mode: MachineMode,
    /// Whether `<column>.millis` is known; otherwise 400.
    pub millis_columns: bool,
    /// Whether `file:ITableToCsv` exists; otherwise 404.
    pub csv_exporter: bool,
    /// Whether the bases `history:` and `alarm:` answer BQL; otherwise 404.
    pub history_base: bool,
    pub alarm_base: bool,
}

impl Default for ExportSwitches {
    fn default() -> Self {
        Self {
            byte_order_mark: true,
            crlf: false,
            units_in_cells: false,
            injection_guard: true,
            dialect: CsvDialect::Modern,
            locale: None,
            time_zone: None,
            machine_mode: MachineMode::Honoured,
            millis_columns: true,
            csv_exporter: true,
            history_base: true,
            alarm_base: true,
        }
    }
}

/// CSV quoting of 4.8 and later, or of 4.7 and earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CsvDialect {
    Modern,
    Legacy,
}

/// Locale of display texts in exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportLocale {
    English,
    German,
}

/// Fate of the exporter parameter `encodeToString`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineMode {
    Honoured,
    Refused,
}

/// Switches of the BOX servlet (Station web specification §4, §8).
#[derive(Clone, Debug, PartialEq)]
pub struct BoxSwitches {
    /// Whether `/box` exists; otherwise 404.
    pub present: bool,
    /// `v` of replies.
    pub version: String,
    pub error_style: BoxErrorStyle,
    /// Replace error texts by the generic one that names the administrator.
    pub hide_error_text: bool,
    /// Number of polls before the load operation appears.
    pub load_latency: u32,
    /// How long change events are gathered after a poll that brought some, on the station clock.
    pub change_gathering: Duration,
    /// Idle limit of a server session, on the station clock.
    pub session_idle: Duration,
    pub session_limit: usize,
    /// Whether the handler key `checkLinks` exists.
    pub check_links: bool,
    /// Whether the handler key `makeLink` exists.
    pub make_link: bool,
    /// What `checkLinks` says of slots that need a converter between them.
    pub link_conversion: LinkConversion,
    /// Whether the channel `reg` exists.
    pub registry: bool,
    /// Whether action descriptors carry `apd`.
    pub action_parameter_default: bool,
    /// Whether only the first message of a frame is answered.
    pub first_message_only: bool,
    /// Whether `in1` and `in8` of writable points are read-only, so that only actions command them (§10: not established).
    pub read_only_commands: bool,
    /// Whether `s` replaces the component in a frozen slot (§4.6 live rule 4: not established).
    pub replace_frozen: bool,
    /// What `invokeAction` makes of a missing argument or one of another type.
    pub action_arguments: ActionArguments,
    /// How long asynchronous actions take after their answer, on the station clock.
    pub async_delay: Duration,
}

impl Default for BoxSwitches {
    fn default() -> Self {
        Self {
            present: true,
            version: "2.3".to_owned(),
            error_style: BoxErrorStyle::N4,
            hide_error_text: false,
            load_latency: 1,
            change_gathering: Duration::from_millis(100),
            session_idle: Duration::from_secs(90),
            session_limit: 20,
            check_links: true,
            make_link: true,
            link_conversion: LinkConversion::Offered,
            registry: true,
            action_parameter_default: false,
            first_message_only: false,
            read_only_commands: false,
            replace_frozen: true,
            action_arguments: ActionArguments::AsDeclared,
            async_delay: Duration::ZERO,
        }
    }
}

/// Whether two slots that need a converter may be linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkConversion {
    /// They may: the station picks the converter.
    Offered,
    /// They do not fit.
    Refused,
}

/// What an action takes as its argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionArguments {
    /// Only a value of the declared type.
    AsDeclared,
    /// Also numbers, texts and ordinals that can be converted; nothing where the action has a default.
    Converted,
}

/// Form of BOX error messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxErrorStyle {
    /// `b` is `{"isErr":true,"m":…}`.
    N4,
    /// As `N4`, but marked as an ordinary reply (`t` is `rp`).
    N4Reply,
    /// `b` is text, with `et`.
    Ax,
}

/// Switches of the oBIX servlet (oBIX specification §14).
#[derive(Clone, Debug, PartialEq)]
pub struct ObixSwitches {
    /// `DigestOnly` and `RedirectLogin` are enforced before the servlet, the others by it.
    pub mode: ObixMode,
    /// Language of status words and numbers in `display`.
    pub locale: ObixLocale,
    /// Whether elements carry the `status` attribute.
    pub status_attribute: bool,
    /// Wait before each answer.
    pub delay: Option<Duration>,
    /// Close the connection without an answer at every n-th request.
    pub drop_every: Option<u32>,
}

impl Default for ObixSwitches {
    fn default() -> Self {
        Self {
            mode: ObixMode::BasicOk,
            locale: ObixLocale::English,
            status_attribute: true,
            delay: None,
            drop_every: None,
        }
    }
}

/// How the oBIX interface is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObixMode {
    /// Basic, cookie and BEARER all open it.
    BasicOk,
    /// 401 for Basic, whatever the password.
    DigestOnly,
    /// 302 to the login page for Basic, whatever the password.
    RedirectLogin,
    /// 410: server or network disabled.
    Disabled,
    Unlicensed500,
    Unlicensed403,
    /// 404: no servlet.
    NoServlet,
}

/// Language of the oBIX servlet's display texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObixLocale {
    English,
    French,
    German,
}

/// Transport faults of the whole web tier.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultSwitches {
    /// Wait before every answer.
    pub delay: Option<Duration>,
    /// Close every connection without an answer, as a station that goes down does.
    pub cut: bool,
    /// Answer this status to every request (429 of a DoS filter, 503 while starting).
    pub status: Option<u16>,
    /// Answer an HTML page with status 200 where data is expected.
    pub html_for_data: bool,
    /// Send the full length in the head but cut the body at this many bytes.
    pub body_limit: Option<usize>,
}

/// The switches of a running station, shared between its servlets and the test that changes them.
#[derive(Clone, Debug, Default)]
pub struct SharedSwitches {
    current: Arc<RwLock<Arc<Switches>>>,
}

impl SharedSwitches {
    pub fn new(switches: Switches) -> Self {
        Self {
            current: Arc::new(RwLock::new(Arc::new(switches))),
        }
    }

    /// The switches as they stand; later changes do not show in the returned value.
    pub fn get(&self) -> Arc<Switches> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Changes the running station's switches; the next request sees them.
    pub fn change(&self, edit: impl FnOnce(&mut Switches)) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        edit(Arc::make_mut(&mut current));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_in_the_next_snapshot_and_not_in_an_earlier_one() {
        let switches = SharedSwitches::default();
        let before = switches.get();
        switches.change(|s| s.boxs.load_latency = 3);
        assert_eq!(before.boxs.load_latency, 1);
        assert_eq!(switches.get().boxs.load_latency, 3);
    }
}
