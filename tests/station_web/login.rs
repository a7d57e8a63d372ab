//! Every way in, every way it can be refused, and that no refusal is repeated.

use std::time::Duration;

use mock_station::faults::{Fault, FaultKind, Interface};
use mock_station::model::accounts::{BRIDGE, OBIX, VIEWER};
use mock_station::server::LoginOutcome;
use mock_station::switches::{
    BadProofAnswer, BasicRefusal, ClientFirstCookie, HandshakeToken, SessionRenewal, Switches,
    UnauthenticatedAnswer, UnknownUserAnswer,
};
use niagara_bridge::station::web::{Bql, LoginScheme, TableQuery};
use niagara_bridge::station::{AuthCause, StationError};

use crate::{Bench, SCHEMES, account_for, options, scope};

async fn root_path(bench: &Bench) -> Result<String, StationError> {
    let query = TableQuery::new("slot:/", "select slotPath from baja:Station")?;
    let table = Bql::new(bench.session.clone())
        .query(&query, &scope())
        .await?;
    Ok(table.rows[0].cell(0).text().to_owned())
}

fn cause_of(error: &StationError) -> AuthCause {
    match error {
        StationError::Auth { cause, .. } | StationError::Latched { cause, .. } => *cause,
        other => panic!("expected a refused login, got {other}"),
    }
}

#[tokio::test]
async fn every_scheme_logs_in_once_and_reads() {
    for scheme in SCHEMES {
        let bench = Bench::new(scheme, Switches::default()).await;
        assert_eq!(
            root_path(&bench).await.as_deref(),
            Ok("slot:/"),
            "{scheme:?}"
        );
        assert_eq!(
            root_path(&bench).await.as_deref(),
            Ok("slot:/"),
            "{scheme:?}"
        );
        assert!(
            bench
                .logins()
                .iter()
                .all(|login| login.user == account_for(scheme).user)
        );
        assert_eq!(bench.bad_logins(), 0, "{scheme:?}");
        if scheme != LoginScheme::Basic {
            assert_eq!(bench.good_logins(), 1, "{scheme:?}");
        }
        assert_eq!(
            bench.mock.sessions(),
            1,
            "{scheme:?} must keep one station session"
        );
    }
}

#[tokio::test]
async fn every_variant_of_the_form_login_works() {
    for renewal in [
        SessionRenewal::AfterStep3,
        SessionRenewal::AfterStep4,
        SessionRenewal::Never,
    ] {
        for cookie in [
            ClientFirstCookie::Always,
            ClientFirstCookie::OnlyWithoutValidCookie,
        ] {
            for shuffle in [true, false] {
                let mut switches = Switches::default();
                switches.login.session_renewal = renewal;
                switches.login.client_first_cookie = cookie;
                switches.login.shuffle_set_cookie = shuffle;
                let bench = Bench::new(LoginScheme::FormScram, switches).await;
                let outcome = root_path(&bench).await;
                assert!(
                    outcome.is_ok(),
                    "{renewal:?} {cookie:?} {shuffle}: {outcome:?}"
                );
                assert_eq!(bench.logins().len(), 1);
            }
        }
    }
}

#[tokio::test]
async fn the_handshake_token_may_change_or_stay() {
    for token in [HandshakeToken::New, HandshakeToken::Unchanged] {
        let mut switches = Switches::default();
        switches.login.handshake_token = token;
        let bench = Bench::new(LoginScheme::HeaderScram, switches).await;
        assert!(root_path(&bench).await.is_ok(), "{token:?}");
    }
}

#[tokio::test]
async fn callers_that_come_together_share_one_login() {
    for scheme in [LoginScheme::FormScram, LoginScheme::HeaderScram] {
        let bench = Bench::new(scheme, Switches::default()).await;
        let scope = scope();
        let calls = (0..12).map(|_| bench.session.login(&scope));
        for outcome in futures::future::join_all(calls).await {
            outcome.unwrap();
        }
        assert_eq!(bench.logins().len(), 1, "{scheme:?}");
    }
}

#[tokio::test]
async fn a_wrong_password_is_tried_once_per_latch_time_however_it_is_refused() {
    let answers = [
        BadProofAnswer::Unauthorized,
        BadProofAnswer::RedirectFail,
        BadProofAnswer::OkWithoutSignature,
        BadProofAnswer::OkWithError,
    ];
    for scheme in SCHEMES {
        for answer in answers {
            let mut switches = Switches::default();
            switches.login.bad_proof = answer;
            let account = account_for(scheme);
            let bench =
                Bench::with_options(switches, |mock| options(mock, scheme, account, "wrong")).await;
            let scope = scope();
            let calls = (0..6).map(|_| bench.session.login(&scope));
            for outcome in futures::future::join_all(calls).await {
                let cause = cause_of(&outcome.unwrap_err());
                assert_eq!(cause, AuthCause::Refused, "{scheme:?} {answer:?}");
            }
            assert_eq!(bench.bad_logins(), 1, "{scheme:?} {answer:?}");
            bench.clock.advance(Duration::from_secs(29));
            let latched = bench.session.login(&scope).await.unwrap_err();
            assert!(matches!(latched, StationError::Latched { .. }), "{latched}");
            assert_eq!(bench.bad_logins(), 1, "{scheme:?} {answer:?}");
            bench.clock.advance(Duration::from_secs(1));
            bench.session.login(&scope).await.unwrap_err();
            assert_eq!(bench.bad_logins(), 2, "{scheme:?} {answer:?}");
        }
    }
}

#[tokio::test]
async fn a_caller_that_gives_up_does_not_hide_the_failed_login() {
    let mut switches = Switches::default();
    switches.faults.delay = Some(Duration::from_millis(40));
    let bench = Bench::with_options(switches, |mock| {
        options(mock, LoginScheme::FormScram, BRIDGE, "wrong")
    })
    .await;
    let hasty = niagara_bridge::station::http::CallScope::within(Duration::from_millis(60));
    let error = bench.session.login(&hasty).await.unwrap_err();
    assert_eq!(error.kind(), "station-timeout");
    // The next caller waits for the running login and gets its verdict instead of starting another.
    let error = bench.session.login(&scope()).await.unwrap_err();
    assert_eq!(error.kind(), "station-auth");
    assert_eq!(bench.bad_logins(), 1);
}

#[tokio::test]
async fn the_wrong_scheme_is_named_with_its_remedy() {
    for (scheme, account) in [
        (LoginScheme::Basic, BRIDGE),
        (LoginScheme::FormScram, OBIX),
        (LoginScheme::HeaderScram, OBIX),
    ] {
        for refusal in [BasicRefusal::RedirectLogin, BasicRefusal::Unauthorized] {
            let mut switches = Switches::default();
            switches.login.basic_refused = refusal;
            let bench = Bench::with_options(switches, |mock| {
                options(mock, scheme, account, account.password)
            })
            .await;
            let error = bench.session.login(&scope()).await.unwrap_err();
            assert!(
                matches!(
                    cause_of(&error),
                    AuthCause::WrongScheme | AuthCause::Refused
                ),
                "{error}"
            );
            assert!(error.to_string().contains("station.scheme"), "{error}");
            assert!(
                bench.logins().len() <= 1,
                "{scheme:?}: schemes are never tried in turn"
            );
        }
    }
    let mut switches = Switches::default();
    switches.login.header_auth = false;
    let bench = Bench::new(LoginScheme::HeaderScram, switches).await;
    let error = bench.session.login(&scope()).await.unwrap_err();
    assert_eq!(cause_of(&error), AuthCause::WrongScheme, "{error}");
}

#[tokio::test]
async fn an_unknown_user_is_refused_either_way() {
    for answer in [
        UnknownUserAnswer::InventedSalt,
        UnknownUserAnswer::Unauthorized,
    ] {
        let mut switches = Switches::default();
        switches.login.unknown_user = answer;
        let bench = Bench::with_options(switches, |mock| {
            let mut options = options(mock, LoginScheme::FormScram, BRIDGE, "x");
            options.user = "nobody, =really".into();
            options
        })
        .await;
        let error = bench.session.login(&scope()).await.unwrap_err();
        assert_eq!(error.kind(), "station-auth", "{answer:?} {error}");
    }
}

#[tokio::test]
async fn an_impostor_without_the_password_is_not_believed() {
    let mut switches = Switches::default();
    switches.login.wrong_server_signature = true;
    let bench = Bench::new(LoginScheme::FormScram, switches).await;
    let error = bench.session.login(&scope()).await.unwrap_err();
    assert_eq!(cause_of(&error), AuthCause::ServerSignature, "{error}");
    let error = bench.session.login(&scope()).await.unwrap_err();
    assert!(matches!(error, StationError::Latched { .. }), "{error}");
}

#[tokio::test]
async fn a_pending_licence_agreement_is_reported_and_never_accepted() {
    let mut switches = Switches::default();
    switches.login.eula_pending = true;
    let bench = Bench::new(LoginScheme::FormScram, switches).await;
    let error = bench.session.login(&scope()).await.unwrap_err();
    assert_eq!(cause_of(&error), AuthCause::EulaPending, "{error}");
    assert!(error.to_string().contains("browser"), "{error}");
    assert!(bench.mock.switches().get().login.eula_pending);
}

#[tokio::test]
async fn a_locked_out_user_is_told_about_the_lock_out() {
    let bench = Bench::with_options(Switches::default(), |mock| {
        let mut options = options(mock, LoginScheme::FormScram, VIEWER, "wrong");
        options.latch = Duration::ZERO;
        options
    })
    .await;
    for _ in 0..5 {
        bench.session.login(&scope()).await.unwrap_err();
    }
    let right = options(&bench.mock, LoginScheme::FormScram, VIEWER, VIEWER.password);
    let session =
        niagara_bridge::station::web::WebSession::new(right, bench.clock.clone()).unwrap();
    let error = session.login(&scope()).await.unwrap_err();
    assert!(error.to_string().contains("locked-out"), "{error}");
    assert_eq!(bench.logins().last().unwrap().outcome, LoginOutcome::Locked);
    // 10 s later the lock is off, and 30 s later the bridge's own latch as well.
    bench.station_clock.advance(chrono::TimeDelta::seconds(31));
    bench.clock.advance(Duration::from_secs(31));
    session.login(&scope()).await.unwrap();
}

#[tokio::test]
async fn secrets_stay_out_of_errors_and_debug_output() {
    let bench = Bench::with_options(Switches::default(), |mock| {
        options(mock, LoginScheme::Basic, OBIX, "hunter2-secret")
    })
    .await;
    let error = bench.session.login(&scope()).await.unwrap_err();
    let shown = format!("{error} {error:?} {:?}", bench.session);
    assert!(
        !shown.contains("hunter2") && !shown.contains("aHVudGVyMi"),
        "{shown}"
    );
}

#[tokio::test]
async fn every_form_of_the_expiry_signal_leads_to_one_new_login() {
    let answers = [
        UnauthenticatedAnswer::RedirectLogin,
        UnauthenticatedAnswer::RedirectPrelogin,
        UnauthenticatedAnswer::Unauthorized,
    ];
    for scheme in [LoginScheme::FormScram, LoginScheme::HeaderScram] {
        for answer in answers {
            let mut switches = Switches::default();
            switches.login.unauthenticated = answer;
            let bench = Bench::new(scheme, switches).await;
            root_path(&bench).await.unwrap();
            bench.mock.end_sessions();
            let again = root_path(&bench).await;
            assert!(again.is_ok(), "{scheme:?} {answer:?}: {again:?}");
            assert_eq!(bench.good_logins(), 2, "{scheme:?} {answer:?}");
        }
    }
}

#[tokio::test]
async fn idle_expiry_under_many_callers_costs_one_login() {
    let bench = Bench::usual().await;
    bench.session.login(&scope()).await.unwrap();
    bench.station_clock.advance(chrono::TimeDelta::minutes(16));
    let calls = (0..10).map(|_| root_path(&bench));
    for outcome in futures::future::join_all(calls).await {
        outcome.unwrap();
    }
    assert_eq!(bench.good_logins(), 2);
}

#[tokio::test]
async fn a_session_that_is_lost_at_once_is_no_wrong_password_and_made_again_soon() {
    let bench = Bench::new(LoginScheme::FormScram, Switches::default()).await;
    let lost = Fault::new(FaultKind::SessionLost).on(Interface::Ord);
    bench.mock.faults().set(lost.requests(1)).unwrap();
    for _ in 0..3 {
        let error = bench.session.login(&scope()).await.unwrap_err();
        assert_eq!(cause_of(&error), AuthCause::SessionNotKept, "{error}");
        let text = error.to_string();
        assert!(!text.contains("user name or password"), "{text}");
    }
    assert_eq!((bench.good_logins(), bench.bad_logins()), (1, 0));
    bench.clock.advance(Duration::from_secs(2));
    assert_eq!(root_path(&bench).await.as_deref(), Ok("slot:/"));
    assert_eq!((bench.good_logins(), bench.bad_logins()), (2, 0));
}
