//! The life of an oBIX watch, against a station whose every answer is written here.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures::stream;
use niagara_bridge::clock::SystemClock;
use niagara_bridge::station::boxp::TypeCache;
use niagara_bridge::station::facade::{ChangeRoute, StationFacade};
use niagara_bridge::station::ord::Ord;
use niagara_bridge::station::web::{LoginScheme, Secret, WebOptions, WebSession};

use crate::{FAST, awaited, number};

/// What a scripted station with oBIX alone keeps.
#[derive(Default)]
struct Scripted {
    value: f64,
    /// Number of the living watch; 0 for none.
    watch: u32,
    made: u32,
    changed: bool,
    /// Paths of the requests.
    heard: Vec<String>,
    /// The watch refuses every point.
    refuses: bool,
    /// The answer to the next poll breaks off on its way.
    loses: bool,
    held: Vec<String>,
}

type SharedScript = Arc<Mutex<Scripted>>;

const WATCHED: &str = "/obix/config/A/out/";

async fn obix_answer(
    axum::extract::State(script): axum::extract::State<SharedScript>,
    request: axum::extract::Request,
) -> Response {
    let path = request.uri().path().to_owned();
    let body = axum::body::to_bytes(request.into_body(), 1 << 16)
        .await
        .expect("a small body");
    let body = String::from_utf8_lossy(&body).into_owned();
    let mut script = script.lock().expect("no panic in scripts");
    script.heard.push(path.clone());
    let value = format!(
        r#"<real href="{WATCHED}" val="{}" display="{} {{ok}}"/>"#,
        script.value, script.value
    );
    let bad = r#"<err is="obix:BadUriErr" display="no such object"/>"#.to_owned();
    let list = |members: &str| {
        format!(
            r#"<obj is="obix:WatchOut"><list name="values" of="obix:obj">{members}</list></obj>"#
        )
    };
    let alive = format!("/obix/watchService/watch{}/", script.watch);
    let text = match path.as_str() {
        "/obix/" => r#"<obj is="obix:Lobby"><ref name="watchService" href="watchService/" is="obix:WatchService"/><ref name="about" href="about/"/></obj>"#.to_owned(),
        "/obix/watchService/make" | "/obix/watchService/make/" => {
            script.made += 1;
            script.watch = script.made;
            script.held.clear();
            let base = format!("/obix/watchService/watch{}/", script.watch);
            format!(r#"<obj href="{base}" is="obix:Watch"><reltime name="lease" val="PT30S" href="{base}lease/"/></obj>"#)
        }
        path if script.watch > 0 && path.starts_with(&alive) => {
            match path.trim_start_matches(&alive).trim_end_matches('/') {
                "lease" => r#"<reltime val="PT30S"/>"#.to_owned(),
                "add" if script.refuses || !body.contains(WATCHED) => list(&bad),
                "add" => {
                    script.held.push(WATCHED.to_owned());
                    list(&value)
                }
                "remove" => {
                    script.held.clear();
                    r#"<obj null="true"/>"#.to_owned()
                }
                "pollChanges" if std::mem::take(&mut script.loses) => {
                    script.changed = false;
                    let broken = stream::iter([
                        Ok("<obj"),
                        Err(std::io::Error::other("the line is cut")),
                    ]);
                    return Body::from_stream(broken).into_response();
                }
                "pollChanges" if std::mem::take(&mut script.changed) => list(&value),
                "pollChanges" => list(""),
                "pollRefresh" => list(&value),
                "delete" => {
                    script.watch = 0;
                    r#"<obj null="true"/>"#.to_owned()
                }
                _ => bad,
            }
        }
        WATCHED => value,
        _ => bad,
    };
    ([(http::header::CONTENT_TYPE, "text/xml")], text).into_response()
}

/// A station that offers oBIX and nothing else, and a facade of it.
async fn obix_only() -> (SharedScript, Arc<StationFacade>) {
    let script = SharedScript::default();
    let app = axum::Router::new()
        .route(
            "/box/",
            axum::routing::any(async || http::StatusCode::NOT_FOUND),
        )
        .route(
            "/ord/{*rest}",
            axum::routing::any(async || http::StatusCode::NOT_FOUND),
        )
        .fallback(obix_answer)
        .with_state(Arc::clone(&script));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    tokio::spawn(async move { axum::serve(listener, app).await.expect("serving") });
    let url = url.parse().expect("an address");
    let mut options = WebOptions::new(url, "bridge", Secret::new("secret"));
    options.scheme = LoginScheme::Basic;
    options.limits.requests_per_second = 0;
    let session = WebSession::new(options, SystemClock::shared()).expect("a session");
    let facade = StationFacade::new(session, TypeCache::new(), None).with_change_pacing(FAST);
    (script, Arc::new(facade))
}

fn edit(script: &SharedScript, edit: impl FnOnce(&mut Scripted)) {
    edit(&mut script.lock().expect("no panic in scripts"));
}

#[tokio::test]
async fn an_obix_watch_is_made_kept_renewed_with_a_gap_mark_and_deleted() {
    let (script, facade) = obix_only().await;
    edit(&script, |script| script.value = 1.5);
    let ord = Ord::component("slot:/A").expect("an ORD");
    let mut subscription = facade
        .subscribe(std::slice::from_ref(&ord))
        .expect("watchable");
    let first = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!((number(&first), first.gap), (Some(1.5), false));
    assert_eq!(first.text.as_deref(), Some("1.5 {ok}"));
    edit(&script, |script| {
        (script.value, script.changed) = (2.5, true)
    });
    let change = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!((number(&change), change.gap), (Some(2.5), false));
    assert_eq!(subscription.route(), Some(ChangeRoute::ObixWatch));

    // The lease ends, and the value changes while nobody watches.
    edit(&script, |script| (script.value, script.watch) = (3.5, 0));
    let change = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!((number(&change), change.gap), (Some(3.5), true));
    edit(&script, |script| assert_eq!(script.made, 2));

    // One bad point is served by its own words and does not end the watch.
    let bad = Ord::component("slot:/Gone").expect("an ORD");
    subscription.add(&bad).expect("watchable");
    let problem = awaited(&mut subscription, &bad, |_| true).await;
    assert!(problem.problem.is_some() && problem.value.is_none());
    assert_eq!(subscription.route(), Some(ChangeRoute::ObixWatch));
    edit(&script, |script| {
        assert!(script.watch > 0 && !script.held.is_empty())
    });

    facade.close().await;
    edit(&script, |script| {
        assert_eq!(script.watch, 0, "the watch was deleted")
    });
    assert_eq!(subscription.next().await, None);
}

#[tokio::test]
async fn a_watch_that_refuses_readable_points_is_given_up_for_polling() {
    let (script, facade) = obix_only().await;
    edit(&script, |script| {
        (script.value, script.refuses) = (7.0, true)
    });
    let ord = Ord::component("slot:/A").expect("an ORD");
    let mut subscription = facade
        .subscribe(std::slice::from_ref(&ord))
        .expect("watchable");
    let first = awaited(&mut subscription, &ord, |_| true).await;
    assert_eq!(number(&first), Some(7.0));
    edit(&script, |script| script.value = 8.0);
    awaited(&mut subscription, &ord, |change| {
        number(change) == Some(8.0)
    })
    .await;
    assert_eq!(subscription.route(), Some(ChangeRoute::Polling));
    edit(&script, |script| {
        assert_eq!(script.watch, 0, "no watch is left behind")
    });
    facade.close().await;
}

#[tokio::test]
async fn a_lost_poll_is_not_repeated_but_everything_is_asked_for() {
    let (script, facade) = obix_only().await;
    let ord = Ord::component("slot:/A").expect("an ORD");
    let mut subscription = facade
        .subscribe(std::slice::from_ref(&ord))
        .expect("watchable");
    awaited(&mut subscription, &ord, |_| true).await;
    // The station told this change, but nobody heard it.
    edit(&script, |script| {
        (script.value, script.changed, script.loses) = (9.5, true, true);
        script.heard.clear();
    });
    let change = awaited(&mut subscription, &ord, |change| change.problem.is_none()).await;
    assert_eq!((number(&change), change.gap), (Some(9.5), true));
    edit(&script, |script| {
        assert_eq!(script.made, 1, "the watch lived on");
        let refreshes = script
            .heard
            .iter()
            .filter(|path| path.contains("pollRefresh"));
        assert_eq!(refreshes.count(), 1);
    });
    facade.close().await;
}
