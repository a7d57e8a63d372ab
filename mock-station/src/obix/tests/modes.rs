//! Stations that are set up differently, and requests that no client should send.

use super::site::{Site, attribute};
use crate::model::accounts::{ADMIN, OBIX};
use crate::obix::decode;
use crate::switches::ObixMode;

#[tokio::test]
async fn every_mode_answers_with_its_own_status() {
    let site = Site::start().await;
    for (mode, status, text) in [
        (ObixMode::BasicOk, 200, "obix:About"),
        (ObixMode::DigestOnly, 401, "Unauthorized"),
        (ObixMode::RedirectLogin, 302, ""),
        (ObixMode::Disabled, 410, "disabled"),
        (ObixMode::Unlicensed500, 500, "obixDriver"),
        (ObixMode::Unlicensed403, 403, "not licensed"),
        (ObixMode::NoServlet, 404, "No servlet"),
    ] {
        site.station
            .switches()
            .change(|switches| switches.obix.mode = mode);
        let answer = site.send(OBIX, "GET", "/obix/about/", None).await;
        assert_eq!(answer.status, status, "{mode:?}");
        assert!(answer.text.contains(text), "{mode:?}: {}", answer.text);
        if mode == ObixMode::RedirectLogin {
            assert!(answer.location.ends_with("/login"));
        }
        if mode == ObixMode::Unlicensed403 {
            assert!(answer.media_type.starts_with("text/plain"));
        }
    }
}

#[tokio::test]
async fn a_document_starts_as_the_station_writes_it() {
    let site = Site::start().await;
    let answer = site.send(OBIX, "GET", "/obix/about/", None).await;
    assert!(answer.text.starts_with(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<?xml-stylesheet type='text/xsl' href='/obix/xsl'?>\n<obj"
    ));
    assert!(
        answer
            .text
            .contains("xsi:schemaLocation=\"http://obix.org/ns/schema/1.0 /obix/xsd\"")
    );
}

#[tokio::test]
async fn other_methods_are_not_supported() {
    let site = Site::start().await;
    let answer = site
        .send(ADMIN, "DELETE", "/obix/config/Logic/Sum/", None)
        .await;
    assert_eq!(answer.status, 405);
    let error = decode::document(answer.text.as_bytes()).unwrap().unwrap();
    assert_eq!(attribute(&error, "is"), "obix:UnsupportedErr");
    let put = site
        .object(ADMIN, "PUT", "/obix/about/", Some("<str val='x'/>"))
        .await;
    assert_eq!(attribute(&put, "is"), "obix:UnsupportedErr");
}

#[tokio::test]
async fn hostile_bodies_are_refused_with_a_reason() {
    let site = Site::start().await;
    let target = "/obix/histories/Sample/Doubled/~historyQuery/";
    let doctype = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><obj><str name='start' val='&a;'/></obj>";
    for (body, reason) in [
        (doctype.to_owned(), "document type"),
        (
            "<obj><int name='limit' val='&a;'/></obj>".to_owned(),
            "Invalid XML",
        ),
        ("<obj>".repeat(1000), "levels"),
        ("<obj".to_owned(), "Invalid XML"),
    ] {
        let error = site.post(OBIX, target, &body).await;
        assert_eq!(error.tag, "err");
        let display = attribute(&error, "display");
        assert!(display.contains(reason), "{display}");
    }
}
