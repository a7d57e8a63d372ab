//! The worked inputs of the plant-side rules: the reference's severity, every figure, the number of caveats, and the
//! totals of the flagged samples (Plant rules, companion data).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use niagara_analytics::evidence::Violations;
use niagara_analytics::finding::{Flagged, Judgement, Verdict};
use niagara_analytics::frame::{Frame, RoleFrame};
use niagara_analytics::parameters::Parameters;
use niagara_analytics::rules::{self, Analysis, FleetFrames, RuleCode};
use niagara_analytics::wall_clock::{SECOND, parse_bound};
use niagara_analytics::{RuleCatalogue, Topology};
use serde_json::Value;

/// Constructed inputs, and irregular ones with missing samples.
fn vector_files() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut files: Vec<(String, Value)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            let text = name
                .starts_with("plant-vectors")
                .then(|| fs::read_to_string(&path).unwrap())?;
            Some((name, serde_json::from_str(&text).unwrap()))
        })
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

/// Hours of the flagged samples. Of missed free cooling the reference has the judged samples alone, and takes the step of
/// these.
fn violations(rule: &RuleCode, stamps: &[i64], samples: &Flagged) -> Violations {
    if rule.id != "free_cooling_missed" {
        return Violations::of(stamps, "", samples);
    }
    let of_judged = |flags: &[bool]| -> Vec<bool> {
        let rows = flags.iter().zip(&samples.judged);
        rows.filter(|(_, judged)| **judged)
            .map(|(flag, _)| *flag)
            .collect()
    };
    let judged_stamps: Vec<i64> = stamps
        .iter()
        .zip(&samples.judged)
        .filter(|(_, judged)| **judged)
        .map(|(stamp, _)| *stamp)
        .collect();
    let judged = Flagged {
        judged: of_judged(&samples.judged),
        flagged: of_judged(&samples.flagged),
    };
    Violations::of(&judged_stamps, "", &judged)
}

/// What a text of the reference is replaced by.
const ANY_TEXT: &str = "<text>";

fn table(equip: &str, input: &Value) -> RoleFrame {
    let rows = usize::try_from(input["n"].as_u64().unwrap()).unwrap();
    let start = parse_bound(input["start"].as_str().unwrap()).unwrap();
    let seconds: Vec<i64> = match input["times_s_from_start"].as_array() {
        Some(times) => times.iter().map(|time| time.as_i64().unwrap()).collect(),
        None => {
            let step = input["step_s"].as_i64().unwrap();
            (0..i64::try_from(rows).unwrap())
                .map(|row| row * step)
                .collect()
        }
    };
    let column = |pattern: &Value| -> Vec<f64> {
        let pattern = pattern.as_array().unwrap();
        (0..rows)
            .map(|row| pattern[row % pattern.len()].as_f64().unwrap_or(f64::NAN))
            .collect()
    };
    RoleFrame {
        equip: equip.to_owned(),
        equip_class: input["equip_class"].as_str().unwrap_or_default().to_owned(),
        stamps: seconds.iter().map(|after| start + after * SECOND).collect(),
        columns: input["roles"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(role, pattern)| (role.clone(), column(pattern)))
            .collect(),
    }
}

struct Outcome {
    verdict: Verdict,
    judgement: Option<Judgement>,
    stamps: Vec<i64>,
}

fn outcome(rule: &RuleCode, vector: &Value) -> Outcome {
    let entry = RuleCatalogue::shipped().entry(rule.id).unwrap();
    let mut parameters = Parameters::of(entry);
    let set = vector["params"].as_object().unwrap();
    parameters.set(entry, set, &entry.non_tunable_args).unwrap();
    if let Some(check) = rule.check {
        check(&parameters).unwrap();
    }
    let input = &vector["input"];
    match rule.analysis {
        Analysis::Equipment(analyse) => {
            let table = table(vector["expect"]["equip"].as_str().unwrap(), input);
            let frame = Frame::whole(&table);
            Outcome {
                verdict: analyse(&frame, &parameters).unwrap(),
                judgement: rule.judge.and_then(|judge| judge(&frame, &parameters)),
                stamps: table.stamps.clone(),
            }
        }
        Analysis::Fleet(analyse) => {
            let tables: Vec<RoleFrame> = input["units"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(equip, unit)| table(equip, unit))
                .collect();
            let fleet = FleetFrames {
                frames: tables.iter().map(Frame::whole).collect(),
                topology: None::<&Topology>,
            };
            Outcome {
                verdict: analyse(&fleet, &parameters).unwrap(),
                judgement: None,
                stamps: Vec::new(),
            }
        }
    }
}

/// Equal in type and value; numbers to 1e-9, a text of the reference is any text.
fn agrees(ours: &Value, expected: &Value) -> bool {
    match (ours, expected) {
        (Value::Number(a), Value::Number(b)) => {
            a.is_f64() == b.is_f64() && {
                let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
                (a - b).abs() <= 1e-9 * b.abs().max(1.0)
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && b.iter()
                    .all(|(key, expected)| a.get(key).is_some_and(|ours| agrees(ours, expected)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agrees(a, b))
        }
        (Value::String(_), Value::String(b)) if b == ANY_TEXT => true,
        (a, b) => a == b,
    }
}

fn differences(rule: &RuleCode, vector: &Value) -> Vec<String> {
    let expect = &vector["expect"];
    let Outcome {
        verdict,
        judgement,
        stamps,
    } = outcome(rule, vector);
    let mut differences = Vec::new();
    let mut compare = |name: &str, ours: Value, expected: &Value| {
        if !agrees(&ours, expected) {
            differences.push(format!("{name}: {ours} instead of {expected}"));
        }
    };
    compare(
        "severity",
        verdict.severity.word().into(),
        &expect["severity"],
    );
    compare(
        "caveats",
        verdict.caveats.len().into(),
        &expect["n_caveats"],
    );
    let metrics = verdict.metrics.as_map();
    let expected = expect["metrics"].as_object().unwrap();
    for name in metrics.keys().chain(expected.keys()) {
        let absent = Value::from("<absent>");
        let ours = metrics.get(name).unwrap_or(&absent);
        compare(name, ours.clone(), expected.get(name).unwrap_or(&absent));
    }
    let masks = judgement
        .as_ref()
        .filter(|judgement| !judgement.samples.judged.is_empty());
    // A pump that nothing places on a hot-water loop is declined; the reference flags its samples all the same.
    let is_declined_pump = rule.id == "hw_pump_summer_lockout" && expected.is_empty();
    if is_declined_pump {
        compare("masks", masks.is_some().into(), &Value::from(false));
    } else if let Some(flagged) = expect["flagged"].as_object() {
        let violations = masks.map(|judgement| violations(rule, &stamps, &judgement.samples));
        let ours = |read: fn(&Violations) -> Value| violations.as_ref().map_or(Value::Null, read);
        compare(
            "flagged",
            ours(|all| all.samples.into()),
            &flagged["samples"],
        );
        compare("hours", ours(|all| all.hours.into()), &flagged["hours"]);
    } else {
        compare("masks", masks.is_some().into(), &Value::from(false));
    }
    for (name, total) in expect["conditions"].as_object().into_iter().flatten() {
        let ours = judgement
            .iter()
            .flat_map(|judgement| &judgement.conditions)
            .find(|condition| condition.name == *name)
            .map(|condition| condition.samples.flagged.iter().filter(|set| **set).count());
        compare(name, ours.into(), total);
    }
    if let Some(judgement) = masks {
        let samples = &judgement.samples;
        let is_within = samples.flagged.len() == stamps.len()
            && samples.judged.len() == stamps.len()
            && samples
                .flagged
                .iter()
                .zip(&samples.judged)
                .all(|(flagged, judged)| *judged || !flagged);
        compare(
            "flagged within judged",
            is_within.into(),
            &Value::from(true),
        );
    }
    differences
}

#[test]
fn every_vector_of_the_rules_agrees_with_the_reference() {
    let mut passed: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (file, content) in vector_files() {
        for vector in content["vectors"].as_array().unwrap() {
            let name = vector["rule"].as_str().unwrap();
            let count = passed.entry(name.to_owned()).or_default();
            count.1 += 1;
            let Some(rule) = rules::rule(name) else {
                continue;
            };
            let differences = differences(rule, vector);
            if differences.is_empty() {
                count.0 += 1;
            } else {
                wrong.push(format!(
                    "{file} {}: {}",
                    vector["id"],
                    differences.join("; ")
                ));
            }
        }
    }
    for (rule, (passed, all)) in &passed {
        println!("{rule:<28} {passed:>2} of {all:>2}");
    }
    assert!(passed.values().map(|(_, all)| all).sum::<usize>() >= 163);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
