//! CAMBER 0.110 and we tell the same of meters of which a model knows more than the temperature: days of use, holidays and
//! breaks by calendars, and baselines with such terms that somebody froze.

use std::path::Path;

use serde_json::{Value, json};

use crate::camber_mv_bills::{Project, compare, project, with};

fn school(drivers: Value) -> Value {
    json!({"class": "METER", "role": "power", "method": "forecast", "model": "cp_driver", "drivers": drivers,
        "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"]})
}

fn calendars(folder: &Path) -> Vec<Project> {
    let used = school(json!(["occupied_day"]));
    let breaks = with(
        &school(json!(["occupied_day", "break_day", "airflow"])),
        json!({"break_calendar": {"files": [folder.join("breaks.csv")]}}),
    );
    let shut = folder.join("shut.csv");
    let mut all = Vec::new();
    for more in [
        json!({"holiday_calendar": "US"}),
        json!({"holiday_calendar": "no"}),
        json!({"holiday_calendar": {"country": "US"}, "holidays": ["2023-03-15"]}),
        json!({"holiday_calendar": {"files": [shut]}}),
        json!({"holiday_calendar": {"files": [shut], "country": "NO", "dates": ["2023-03-15"]}}),
        json!({"holiday_calendar": {"dates": ["2023-03-15", "2024-03-15"]}, "occupied_weekdays": ["Mon", "Sat"]}),
        json!({"holiday_calendar": "US", "kernel": "exact", "validity": "sep"}),
        json!({"holiday_calendar": "US", "method": "backcast"}),
        // Refused.
        json!({"holiday_calendar": "DE"}),
        json!({"holiday_calendar": "ES"}),
        json!({"holiday_calendar": "US-CA"}),
        json!({"holiday_calendar": {}}),
        json!({"holiday_calendar": {"subdivision": "MD"}}),
        json!({"holiday_calendar": {"dates": ["soon"]}}),
        json!({"holiday_calendar": {"files": [folder.join("none.csv")]}}),
        json!({"holiday_calendar": 5}),
        json!({"break_calendar": "US"}),
        json!({"drivers": ["weekday"], "holiday_calendar": "US"}),
        json!({"drivers": ["break_day"]}),
    ] {
        all.push(project("school", with(&used, more)));
    }
    for more in [
        json!({}),
        json!({"holiday_calendar": "US"}),
        json!({"holiday_calendar": {"files": [shut]}, "kernel": "exact"}),
        json!({"drivers": ["break_day"], "holiday_calendar": "US"}),
        json!({"drivers": ["weekday", "break_day"]}),
        json!({"method": "backcast", "holiday_calendar": "US"}),
        json!({"break_calendar": {"files": null, "dates": ["2023-04-03", "2023-04-04", "2023-04-05", "2024-04-03"]}}),
        json!({"break_calendar": {"files": null}}),
    ] {
        all.push(project("school", with(&breaks, more)));
    }
    all
}

fn frozen(folder: &Path) -> Vec<Project> {
    let breaks = with(
        &school(json!(["occupied_day", "break_day", "airflow"])),
        json!({"break_calendar": {"files": [folder.join("breaks.csv")]}, "holiday_calendar": "US"}),
    );
    let event = json!({"rebaseline": {"events": [{"date": "2024-07-01", "description": "chiller", "magnitude": "major"}]}});
    let engineering = json!({"kind": "nra", "method": "engineering", "start": "2024-03-01", "reason": "x", "amount": 1000,
        "se": 100, "evidence": "e"});
    let mut all = Vec::new();
    for more in [
        json!({}),
        json!({"reporting_period": null}),
        json!({"drivers": ["airflow", "break_day", "occupied_day"]}),
        json!({"kernel": "exact"}),
        json!({"method": "backcast"}),
        json!({"holiday_calendar": null}),
        json!({ "adjustments": [engineering] }),
        event,
    ] {
        all.push(Project {
            steps: vec![(breaks.clone(), vec!["freeze"])],
            ..project("school", with(&breaks, more))
        });
    }
    let backcast = with(&breaks, json!({"method": "backcast"}));
    let exact = with(&breaks, json!({"kernel": "exact"}));
    let few = school(json!(["weekday"]));
    for entry in [backcast, exact, few] {
        all.push(Project {
            steps: vec![(entry.clone(), vec!["freeze"])],
            ..project("school", entry)
        });
    }
    all
}

#[tokio::test]
async fn camber_and_we_tell_the_same_of_calendars_and_frozen_terms() {
    let test = "camber_and_we_tell_the_same_of_calendars";
    compare(test, |folder| {
        let mut projects = calendars(folder);
        projects.extend(frozen(folder));
        projects
    })
    .await;
}
