//! What an entry's periods make doubtful although savings are told by them (M&V §2, §6).

use crate::roles;
use crate::run_config::{MvEntry, MvMeter, MvMethod, Period};
use crate::wall_clock::{DAY, date};

/// Days of a year, the least that a normal year has.
const YEAR: usize = 365;

/// What an entry leaves open, each with its place.
pub fn questions(entry: &MvEntry) -> Vec<String> {
    let terms = &entry.terms;
    let place = &entry.place;
    let mut found = Vec::new();
    if let Some(reporting) = terms.reporting {
        found.extend(
            of_reporting(terms.method, terms.period, reporting)
                .map(|told| format!("{place}.reporting_period: {told}")),
        );
    }
    if let MvMeter::Trended(meter) = &entry.meter {
        found.extend(of_role(&meter.role).map(|told| format!("{place}.role: {told}")));
    }
    let days = terms.normal_year.len();
    if (1..YEAR).contains(&days) {
        found.push(format!(
            "{place}.normal_year: it has {days} daily temperatures, fewer than the {YEAR} of a year, so that energies and \
             savings at standard conditions are those of {days} days, not of a year"
        ));
    }
    found
}

/// A role that measures no rate of energy, by its unit.
fn of_role(slug: &str) -> Option<String> {
    let unit = roles::role(slug)?.unit.as_str();
    let is_rate = ["kW", "kBtu/h"].iter().any(|rate| unit.starts_with(rate));
    (!is_rate).then(|| {
        format!(
            "{slug} ({unit}) is no rate of energy: what is told is the sum of its readings over hours, which is no energy; name \
             the role of the meter, such as power"
        )
    })
}

/// Periods that reach beyond the data by a day or more, which lies between two stamps.
pub fn beyond_data(entry: &MvEntry, data: Option<(i64, i64)>) -> Vec<String> {
    let Some((first, last)) = data else {
        return Vec::new();
    };
    let terms = &entry.terms;
    let periods = [
        ("period", terms.period),
        ("intermediate_period", terms.intermediate),
        ("reporting_period", terms.reporting),
    ];
    periods
        .into_iter()
        .filter_map(|(key, period)| {
            let period = period?;
            let (first_day, last_day) = (first.div_euclid(DAY), last.div_euclid(DAY));
            let mut ends = Vec::new();
            if period.first_day() < first_day {
                ends.push(format!("the data begins on {}", date(first)));
            }
            if period.last_day() > last_day {
                ends.push(format!("the data ends on {}", date(last)));
            }
            (!ends.is_empty()).then(|| {
                format!(
                    "{}.{key}: {period} reaches beyond what is stored, {}: what is told of it is of the days with data alone",
                    entry.place,
                    ends.join(" and ")
                )
            })
        })
        .collect()
}

/// Entries that say what an earlier one says.
pub fn repeated(entries: &[MvEntry]) -> Vec<String> {
    let says_the_same = |one: &MvEntry, other: &MvEntry| {
        MvEntry {
            place: other.place.clone(),
            ..one.clone()
        } == *other
    };
    entries
        .iter()
        .enumerate()
        .filter_map(|(number, entry)| {
            let mut earlier = entries.iter().take(number);
            let first = earlier.find(|first| says_the_same(first, entry))?;
            Some(format!(
                "{}: it says the same as {}: each meter's saving is told twice, and is not to be added up",
                entry.place, first.place
            ))
        })
        .collect()
}

fn of_reporting(method: MvMethod, period: Option<Period>, reporting: Period) -> Option<String> {
    let Some(baseline) = period else {
        return Some(format!(
            "the baseline takes all data, the reporting period {reporting} included: it has learned what it is to judge, and \
             savings come out too small; give the entry a period that ends before the reporting period"
        ));
    };
    if baseline == reporting {
        return Some(format!(
            "it is the baseline period {baseline} itself: a saving against the same days is zero but for rounding"
        ));
    }
    if baseline.start <= reporting.start && reporting.end <= baseline.end {
        return Some(format!(
            "{reporting} lies inside the baseline period {baseline}: the baseline has learned what it is to judge, and a saving \
             comes out too small"
        ));
    }
    if reporting.end < baseline.start {
        // A backcast projects backward, but still from what came after.
        return (method != MvMethod::Chaining).then(|| {
            format!(
                "{reporting} lies before the baseline period {baseline}: a saving is then told of the time before the measure"
            )
        });
    }
    (reporting.start <= baseline.end).then(|| {
        format!(
            "{reporting} overlaps the baseline period {baseline}: the baseline has learned a part of what it is to judge, and a \
             saving comes out too small"
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::run_config::mv::entries;
    use crate::run_config::{NoFiles, Section};
    use crate::wall_clock::parse_bound;

    fn asked(entry: Value) -> Vec<String> {
        let content = json!({"mv": [entry]});
        let root = Section::root(content.as_object().unwrap());
        questions(&entries(&root, None, &NoFiles).unwrap()[0])
    }

    #[test]
    fn a_reporting_period_that_the_baseline_has_seen_is_questioned() {
        let baseline = ["2023-01-01", "2023-12-31"];
        for (reporting, told) in [
            (
                ["2023-03-01", "2023-06-01"],
                "2023-03-01..2023-06-01 lies inside the baseline period 2023-01-01..2023-12-31",
            ),
            (["2023-01-01", "2023-12-30"], "lies inside"),
            (
                baseline,
                "it is the baseline period 2023-01-01..2023-12-31 itself",
            ),
            (["2023-12-31", "2024-12-31"], "overlaps"),
            (["2022-06-01", "2023-01-01"], "overlaps"),
            (["2022-06-01", "2024-01-01"], "overlaps"),
            (["2022-01-01", "2022-12-31"], "lies before"),
        ] {
            let found =
                asked(json!({"class": "METER", "period": baseline, "reporting_period": reporting}));
            let [one] = &found[..] else {
                panic!("{reporting:?}: {found:?}");
            };
            assert!(
                one.starts_with("mv[0].reporting_period: ") && one.contains(told),
                "{one}"
            );
        }
        let open =
            asked(json!({"class": "METER", "reporting_period": ["2024-01-01", "2024-12-31"]}));
        assert!(open[0].contains("the baseline takes all data"), "{open:?}");
    }

    #[test]
    fn a_meter_that_reads_no_energy_is_questioned() {
        for (role, told) in [
            ("oat", Some("mv[0].role: oat (degF) is no rate of energy")),
            (
                "supply_fan_status",
                Some("supply_fan_status (0/1) is no rate"),
            ),
            ("cool_valve", Some("cool_valve (percent) is no rate")),
            ("power", None),
            ("energy_rate", None),
            ("gas_input_rate", None),
        ] {
            let found = asked(json!({"class": "METER", "role": role}));
            match told {
                Some(told) => assert!(found[0].contains(told), "{found:?}"),
                None => assert_eq!(found, [""; 0], "{role}"),
            }
        }
    }

    fn read(mv: Value) -> Vec<MvEntry> {
        let content = json!({ "mv": mv });
        let root = Section::root(content.as_object().unwrap());
        entries(&root, None, &NoFiles).unwrap()
    }

    #[test]
    fn a_period_that_reaches_beyond_the_data_is_questioned() {
        let data = ["2023-01-01T06:00", "2024-12-31T04:00"]
            .map(|text| parse_bound(text).unwrap())
            .into();
        let told = |period: [&str; 2], reporting: [&str; 2]| {
            let entry =
                json!([{"class": "METER", "period": period, "reporting_period": reporting}]);
            beyond_data(&read(entry)[0], Some(data))
        };
        let (year, next) = (["2023-01-01", "2023-12-31"], ["2024-01-01", "2024-12-31"]);
        assert_eq!(told(year, next), [""; 0]);
        let found = told(["2022-12-31", "2023-12-31"], ["2024-01-01", "2026-12-31"]);
        assert_eq!(
            found,
            [
                "mv[0].period: 2022-12-31..2023-12-31 reaches beyond what is stored, the data begins on 2023-01-01: what is told \
                 of it is of the days with data alone",
                "mv[0].reporting_period: 2024-01-01..2026-12-31 reaches beyond what is stored, the data ends on 2024-12-31: what \
                 is told of it is of the days with data alone",
            ]
        );
        let found = told(["2021-01-01", "2025-12-31"], next);
        assert!(
            found[0].contains("begins on 2023-01-01 and the data ends on 2024-12-31"),
            "{found:?}"
        );
        assert_eq!(
            beyond_data(&read(json!([{"class": "METER"}]))[0], None),
            [""; 0]
        );
    }

    #[test]
    fn an_entry_that_stands_twice_is_questioned_once() {
        let entry = json!({"class": "METER", "role": "power"});
        let other = json!({"class": "METER", "role": "power", "min_days": 90});
        let found = repeated(&read(json!([entry, other, entry])));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("mv[2]: it says the same as mv[0]"),
            "{found:?}"
        );
    }

    #[test]
    fn periods_one_after_the_other_and_a_whole_normal_year_are_not() {
        let entry = |days: usize| {
            json!({"class": "METER", "method": "standard_conditions", "normal_year": vec![55.0; days],
                "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"]})
        };
        assert_eq!(asked(entry(365)), [""; 0]);
        assert_eq!(asked(json!({"class": "METER", "role": "power"})), [""; 0]);
        let short = asked(entry(364));
        assert!(
            short[0].starts_with("mv[0].normal_year: it has 364 daily temperatures"),
            "{short:?}"
        );
    }
}
