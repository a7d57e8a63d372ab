//! Batches: answers in order, one per member.

use super::site::{POINTS, Site, attribute, val};
use crate::model::accounts::{OBIX, OPERATOR};

#[tokio::test]
async fn members_are_answered_in_their_places_and_a_bad_one_harms_no_other() {
    let site = Site::start().await;
    let supply = format!("{POINTS}/SupplyTemp/out");
    let fan = format!("{}{POINTS}/FanStatus/out/", site.station.url());
    let set = format!("{POINTS}/SupplyTempSp/set/");
    let body = format!(
        "<list is='obix:BatchIn' of='obix:uri'>\
         <uri is='obix:Read' val='{supply}'/>\
         <uri is='obix:Read' val='/obix/config/Nowhere/'/>\
         <uri is='obix:Read' val='/config/Logic/'/>\
         <uri is='obix:Read' val='{fan}'/>\
         <uri is='obix:Invoke' val='{set}'><real name='in' val='22.0'/></uri>\
         <uri is='obix:Invoke' val='{set}'/>\
         <uri is='obix:Write' val='{supply}'><real name='in' val='22.0'/></uri>\
         <uri is='obix:Subscribe' val='{supply}'/>\
         <int val='3'/></list>"
    );
    let answer = site.post(OBIX, "/obix/batch", &body).await;
    assert_eq!(
        (&*answer.tag, attribute(&answer, "of")),
        ("list", "obix:BatchOut")
    );
    assert_eq!((answer.get("is"), answer.get("name")), (None, None));
    let members = &answer.children;
    assert_eq!(members.len(), 9);
    assert_eq!(
        (&*members[0].tag, attribute(&members[0], "val")),
        ("real", "14.5")
    );
    assert_eq!(attribute(&members[0], "href"), supply);
    assert_eq!(attribute(&members[1], "is"), "obix:BadUriErr");
    assert_eq!(attribute(&members[1], "href"), "/obix/config/Nowhere/");
    assert_eq!(
        attribute(&members[2], "is"),
        "obix:BadUriErr",
        "the path lacks /obix"
    );
    assert_eq!(attribute(&members[3], "href"), fan.trim_end_matches('/'));
    assert_eq!(
        attribute(&members[4], "is"),
        "obix:PermissionErr",
        "a reader commands nothing"
    );
    assert!(attribute(&members[5], "display").contains("named in"));
    for member in &members[4..] {
        assert_eq!(member.tag, "err", "{member:?}");
    }
}

#[tokio::test]
async fn a_batch_that_is_no_list_is_refused_whole() {
    let site = Site::start().await;
    for body in ["<obj><list/></obj>", "", "<list", "<!DOCTYPE a []><list/>"] {
        let error = site.post(OPERATOR, "/obix/batch/", body).await;
        assert_eq!((&*error.tag, error.get("is")), ("err", None), "{body}");
    }
    let nested = "<list><uri is='obix:Invoke' val='/obix/batch/'><list name='in'/></uri></list>";
    let answer = site.post(OPERATOR, "/obix/batch/", nested).await;
    assert_eq!(attribute(&answer.children[0], "is"), "obix:UnsupportedErr");
    assert!(
        site.post(OPERATOR, "/obix/batch/", "<list/>")
            .await
            .children
            .is_empty()
    );
}

#[tokio::test]
async fn two_hundred_values_come_in_one_answer() {
    let site = Site::start().await;
    let uri = format!("<uri is='obix:Read' val='{POINTS}/SupplyTempSp'/>");
    let answer = site
        .post(
            OBIX,
            "/obix/batch/",
            &format!("<list>{}</list>", uri.repeat(200)),
        )
        .await;
    assert_eq!(answer.children.len(), 200);
    assert!(
        answer
            .children
            .iter()
            .all(|point| val(point, "in10") == "15.5")
    );
}
