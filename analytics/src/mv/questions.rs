//! What an entry's periods make doubtful although savings are told by them (M&V §2, §6).

use crate::run_config::{MvEntry, MvMethod, Period};

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
    let days = terms.normal_year.len();
    if (1..YEAR).contains(&days) {
        found.push(format!(
            "{place}.normal_year: it has {days} daily temperatures, fewer than the {YEAR} of a year, so that energies and \
             savings at standard conditions are those of {days} days, not of a year"
        ));
    }
    found
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
    fn periods_one_after_the_other_and_a_whole_normal_year_are_not() {
        let entry = |days: usize| {
            json!({"class": "METER", "method": "standard_conditions", "normal_year": vec![55.0; days],
                "period": ["2023-01-01", "2023-12-31"], "reporting_period": ["2024-01-01", "2024-12-31"]})
        };
        assert_eq!(asked(entry(365)), [""; 0]);
        assert_eq!(asked(json!({"class": "METER"})), [""; 0]);
        let short = asked(entry(364));
        assert!(
            short[0].starts_with("mv[0].normal_year: it has 364 daily temperatures"),
            "{short:?}"
        );
    }
}
