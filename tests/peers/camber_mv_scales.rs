//! CAMBER 0.110 and we tell the same of bills whose quantities cannot be right by what they cost.

use std::path::Path;

use serde_json::{Value, json};

use crate::camber_mv_bills::{Project, compare, project, with};

/// The bills cost a tenth of a dollar a unit, and three dollars each.
fn scaled(folder: &Path) -> Vec<Project> {
    let bills = |more: Value| {
        let entry = json!({"bills": {"file": folder.join("both.csv"), "units": "kWh"}, "oat": {"file": folder.join("oat.csv")},
            "method": "forecast", "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"]});
        project("calm", with(&entry, json!({ "bills": more })))
    };
    let by = |factor: f64| json!({"scale_override": {"factor": factor, "reason": "the unit on the bill"}});
    let mut all: Vec<Project> = [
        json!({}),
        by(1e-6),
        by(0.001),
        by(1000.0),
        by(1e6),
        with(&by(0.001), json!({"scale_check": false})),
        with(&by(0.001), json!({"scale_check": {"enabled": false}})),
        with(
            &by(0.001),
            json!({"scale_check": {"on_implausible": "warn"}}),
        ),
        with(&by(0.001), json!({"scale_check": {"fuel": "gas"}})),
        json!({"scale_check": {"cost": "cost"}}),
        with(&by(0.001), json!({"estimated": "read", "cost": "cost"})),
        json!({"units": "therms"}),
        json!({"units": "ton-hours"}),
        json!({"units": "CCF"}),
        json!({"units": "CCF", "heat_content": "1037 kBtu/ft3"}),
        json!({"units": "klb"}),
        json!({"units": "klb", "enthalpy": "1 Btu/lb"}),
        json!({"units": "MMBtu"}),
        json!({"units": "MMBtu", "scale_check": {"fuel": "electricity"}}),
        json!({"units": "MMBtu", "scale_check": {"fuel": "steam"}}),
        json!({"units": "furlong"}),
        // Refused.
        json!({"scale_check": 5}),
        json!({"scale_check": {"x": 1}}),
        json!({"scale_check": {"on_implausible": "shout"}}),
        json!({"scale_check": {"cost": "price"}}),
        json!({"units": null, "scale_check": {"on_implausible": "warn"}}),
    ]
    .into_iter()
    .map(bills)
    .collect();
    for more in [
        by(0.001),
        json!({"scale_check": {"on_implausible": "warn"}}),
    ] {
        all.push(Project {
            sections: json!({"units": "ip"}),
            ..bills(more)
        });
    }
    all
}

/// Bills whose unit slipped after their baseline was frozen.
fn slipped(folder: &Path) -> Vec<Project> {
    let entry = json!({"bills": {"file": folder.join("both.csv"), "units": "kWh"}, "oat": {"file": folder.join("oat.csv")},
        "method": "forecast", "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"]});
    let by = |factor: f64| json!({"scale_override": {"factor": factor, "reason": "the unit on the bill"}});
    [json!({}), by(0.001), by(1000.0)]
        .into_iter()
        .map(|bills| Project {
            steps: vec![(entry.clone(), vec!["freeze", "--allow-short"])],
            ..project("calm", with(&entry, json!({ "bills": bills })))
        })
        .collect()
}

#[tokio::test]
async fn camber_and_we_tell_the_same_of_implausible_bills() {
    let test = "camber_and_we_tell_the_same_of_implausible_bills";
    compare(test, |folder| {
        let mut projects = scaled(folder);
        projects.extend(slipped(folder));
        projects
    })
    .await;
}
