//! Twenty people with two hundred writes at once: each acts as themselves, and nobody as another.

use std::collections::BTreeMap;

use futures::future::join_all;
use mock_station::model::accounts::{ADMIN, CrewMember, TEST_ITERATIONS};
use mock_station::server::{LoginOutcome, WriteOutcome};
use serde_json::json;

use crate::office::{OTHER_POINT, Office, context, failure_of};

const PEOPLE: usize = 20;

/// Levels that need no confirmation; each is one writer of each person.
const LEVELS: [u8; 10] = [2, 3, 4, 5, 6, 7, 9, 10, 11, 12];

/// Adds people with a point each that nobody else may write.
fn crew(office: &Office) -> Vec<CrewMember> {
    let mut station = office.site.frozen.station.station().write();
    let crew = station.add_crew(PEOPLE, TEST_ITERATIONS).expect("a crew");
    let root = station.root();
    let folder = station
        .add(root, Some("Crew"), "baja:Folder")
        .expect("a folder");
    for member in &crew {
        let point = station
            .add(folder, Some(&member.user), "control:NumericWritable")
            .expect("a point");
        station
            .set_categories(point, Some(member.mask))
            .expect("a category");
    }
    drop(station);
    for member in &crew {
        office.keep_password(&member.user, &member.password);
    }
    crew
}

fn point_of(user: &str) -> String {
    format!("station:|slot:/Crew/{user}")
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_writers_of_twenty_users_never_act_as_one_another() {
    let office = Office::new().await;
    // Room for everybody's session and for more: a session too many would be seen in the counts.
    let switches = office.site.frozen.station.switches();
    switches.change(|switches| switches.boxs.session_limit = 32);
    let crew = crew(&office);
    let writers = crew.iter().enumerate().flat_map(|(number, member)| {
        let office = &office;
        LEVELS.into_iter().map(move |level| async move {
            let value = number * 100 + usize::from(level);
            let arguments =
                json!({"ord": point_of(&member.user), "value": value, "priority": level});
            let caller = context(Some(&member.user));
            let answer = office.call(caller, "writePoint", arguments).await;
            let answer = answer.expect("answered");
            assert_eq!(answer["isError"], false, "{}: {answer}", member.user);
        })
    });
    // Each tries the point of the next at the same time: whoever got that person's cookie would succeed.
    let intruders = crew
        .iter()
        .zip(crew.iter().cycle().skip(1))
        .map(|(member, next)| {
            let office = &office;
            async move {
                let arguments = json!({"ord": point_of(&next.user), "value": -1, "priority": 14});
                let caller = context(Some(&member.user));
                let answer = office.call(caller, "writePoint", arguments).await;
                let (code, data) = failure_of(&answer.expect("answered"));
                assert_eq!((code, &data["user"]), (-32010, &json!(member.user)));
            }
        });
    tokio::join!(join_all(writers), join_all(intruders));

    let station = &office.site.frozen.station;
    for (number, member) in crew.iter().enumerate() {
        let path = format!("slot:/Crew/{}", member.user);
        for level in LEVELS {
            let value = (number * 100 + usize::from(level)) as f64;
            let held = office.site.input(&path, &format!("in{level}"));
            assert_eq!(
                held,
                (format!("{value:?}"), "0".to_owned()),
                "{path} in{level}"
            );
        }
        let mut did = office.audited_by_station(&member.user);
        did.sort();
        let mut expected: Vec<String> = LEVELS
            .iter()
            .map(|level| format!("Changed {path} in{level}"))
            .collect();
        expected.sort();
        assert_eq!(did, expected, "in the name of {}", member.user);
        let done = station.box_writes_of(&member.user);
        let done = done
            .iter()
            .filter(|write| write.outcome == WriteOutcome::Done);
        assert_eq!(done.count(), LEVELS.len(), "each was sent once");
    }
    let sessions = station.sessions_by_user();
    let expected: BTreeMap<String, usize> =
        crew.iter().map(|member| (member.user.clone(), 1)).collect();
    assert_eq!(sessions, expected, "one session each");
    let writes = PEOPLE * LEVELS.len() + PEOPLE;
    office.last_line(writes, writes);
    let mut by_user: BTreeMap<String, usize> = BTreeMap::new();
    for line in office.log() {
        let user = line["user"].as_str().expect("a user").to_owned();
        assert!(line["ord"].as_str().expect("an ord").contains("/Crew/"));
        *by_user.entry(user).or_default() += 1;
    }
    assert!(
        by_user.values().all(|count| *count == LEVELS.len() + 1),
        "{by_user:?}"
    );
    office.users.close().await;
    assert_eq!(
        (station.sessions(), station.box_sessions()),
        (0, 0),
        "all are logged out"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_password_is_tried_once_and_others_go_on_writing() {
    let office = Office::new().await;
    let crew = crew(&office);
    let (locked, free) = (&crew[0], &crew[1]);
    let station = &office.site.frozen.station;
    station
        .change_password(&locked.user, "Another-1")
        .expect("changed");
    let arguments = |member: &CrewMember| json!({"ord": point_of(&member.user), "value": 7});
    for attempt in 0..3 {
        let call = office.call(context(Some(&locked.user)), "writePoint", arguments(locked));
        let answer = call.await.expect("answered");
        let (code, data) = failure_of(&answer);
        assert_eq!(
            (code, &data["kind"]),
            (-32603, &json!("station-auth")),
            "{data}"
        );
        let message = answer["content"][0]["text"].as_str().expect("a text");
        assert!(message.contains(&locked.user), "{message}");
        assert!(!message.contains(&locked.password), "{message}");
        let wait = data["retryAfterSeconds"].as_u64();
        assert!(attempt == 0 || wait > Some(0), "{data}");
    }
    let answer = office.call(context(Some(&free.user)), "writePoint", arguments(free));
    assert_eq!(answer.await.expect("answered")["isError"], false);
    let arguments = json!({"ord": OTHER_POINT, "value": 22, "priority": 10});
    office.answer(ADMIN, "writePoint", arguments).await;
    let logins = station.logins();
    let attempts: Vec<LoginOutcome> = logins
        .into_iter()
        .filter(|login| login.user == locked.user)
        .map(|login| login.outcome)
        .collect();
    assert_eq!(attempts, [LoginOutcome::BadProof], "one attempt");
    assert_eq!(office.audited_by_station(&locked.user), [""; 0]);
    let line = office.last_line(5, 5);
    assert_eq!(line["resultOk"], true);
}
