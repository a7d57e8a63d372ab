//! What windows make doubtful although a run judges by them: notices beside its figures (Drift §2.2).

use std::collections::BTreeMap;

use super::baseline::FitRule;
use super::outcome::FamilyRun;
use super::shift::FEWEST_SCORED;
use crate::resample::BinWidth;
use crate::run_config::WrittenWindow;
use crate::wall_clock::{Window, spaced};

/// Told of one pair of windows at most so many families.
const TOLD: usize = 6;

/// What the windows of a run's families leave open, over data from `first` to `last` in bins of this width.
pub fn questions(families: &[FamilyRun], (first, last): (i64, i64), bins: BinWidth) -> Vec<String> {
    let data = Span {
        start: first,
        end: last,
    };
    let mut told: BTreeMap<(usize, String), Vec<String>> = BTreeMap::new();
    for (place, family) in families.iter().enumerate() {
        for question in of_family(family, data, bins) {
            // In the order of the families that raise them first.
            let known = told.keys().find(|(_, known)| *known == question).cloned();
            let name = format!("{} of {}", family.family.word(), family.equip_class);
            told.entry(known.unwrap_or((place, question)))
                .or_default()
                .push(name);
        }
    }
    told.into_iter()
        .map(|((_, question), names)| {
            let more = match names.len().saturating_sub(TOLD) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let names: Vec<&str> = names.iter().take(TOLD).map(String::as_str).collect();
            format!("{}{more}: {question}", names.join(", "))
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Span {
    start: i64,
    end: i64,
}

impl Span {
    /// A window whose open ends are those of the data.
    fn of(window: Window, data: Self) -> Self {
        Self {
            start: window.start.unwrap_or(data.start),
            end: window.end.unwrap_or(data.end),
        }
    }

    /// Bins of the data in the window.
    fn rows(self, data: Self, bins: BinWidth) -> usize {
        let (start, end) = (self.start.max(data.start), self.end.min(data.end));
        match end.checked_sub(start) {
            Some(length) if length >= 0 => {
                usize::try_from(length / bins.nanos()).map_or(usize::MAX, |whole| whole + 1)
            }
            _ => 0,
        }
    }
}

fn of_family(family: &FamilyRun, data: Span, bins: BinWidth) -> Vec<String> {
    let fewest_fitted = FitRule::FEWEST_SAMPLES;
    let baseline = Span::of(family.baseline.window, data);
    let current = Span::of(family.current.window, data);
    let is_fitted = family.reference.is_some();
    let mut found = Vec::new();
    let (of_baseline, of_current) = (shown(&family.baseline), shown(&family.current));
    let (rows, scored) = (baseline.rows(data, bins), current.rows(data, bins));
    if is_fitted && rows < fewest_fitted {
        found.push(format!(
            "the baseline window ({of_baseline}) holds at most {rows} rows at {bins}, and a baseline is fitted to \
             {fewest_fitted} or more; name a longer one"
        ));
    }
    if scored < FEWEST_SCORED {
        found.push(format!(
            "the current window ({of_current}) holds at most {scored} rows at {bins}, and {FEWEST_SCORED} or more are \
             compared; name a longer one"
        ));
    }
    // Another machine may well be looked at in the same time.
    if family.compares_own_past() && rows > 0 && scored > 0 {
        found.extend(order(
            (baseline, &of_baseline),
            (current, &of_current),
            data,
        ));
    }
    found
}

/// What is odd about the order of a machine's own windows.
fn order(
    (baseline, of_baseline): (Span, &str),
    (current, of_current): (Span, &str),
    data: Span,
) -> Option<String> {
    let is_same = baseline.start.max(data.start) == current.start.max(data.start)
        && baseline.end.min(data.end) == current.end.min(data.end);
    if is_same {
        return Some(format!(
            "the current window ({of_current}) is the baseline window itself, so that no drift can show; name a later one"
        ));
    }
    if current.end <= baseline.start {
        return Some(format!(
            "the current window ({of_current}) lies before the baseline window ({of_baseline}): shifts are told backwards in \
             time; exchange the two if that is not meant"
        ));
    }
    if current.start < baseline.end {
        return Some(format!(
            "the current window ({of_current}) overlaps the baseline window ({of_baseline}), so that drift shows smaller than \
             it is; let it begin where the baseline ends"
        ));
    }
    None
}

/// "2024-03-01 to 2024-04-01", "from 2024-04-01 on".
fn shown(window: &WrittenWindow) -> String {
    let text = |written: &Option<String>, stamp: Option<i64>| {
        written.clone().or_else(|| stamp.map(spaced))
    };
    let start = text(&window.start, window.window.start);
    let end = text(&window.end, window.window.end);
    match (start, end) {
        (Some(start), Some(end)) => format!("{start} to {end}"),
        (Some(start), None) => format!("from {start} on"),
        (None, Some(end)) => format!("up to {end}"),
        (None, None) => "all data".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drift::Family;
    use crate::wall_clock::parse_bound;

    fn asked(
        baseline: [&str; 2],
        current: [Option<&str>; 2],
        reference: Option<&str>,
    ) -> Vec<String> {
        let [start, end] = baseline;
        let run = |family| FamilyRun {
            equip_class: "AHU".to_owned(),
            family,
            baseline: WrittenWindow::of(Some(start), Some(end)).unwrap(),
            current: WrittenWindow::of(current[0], current[1]).unwrap(),
            reference: reference.map(str::to_owned),
        };
        let data = ["2024-01-01", "2024-12-31"].map(|text| parse_bound(text).unwrap());
        questions(
            &[run(Family::AirHandler), run(Family::Dx)],
            data.into(),
            BinWidth::HOUR,
        )
    }

    const PERIOD: Option<&str> = Some("period 2024-03-01 .. 2024-04-01");
    const SPRING: [&str; 2] = ["2024-03-01", "2024-04-01"];

    #[test]
    fn a_window_after_the_baseline_raises_no_question() {
        for current in [
            [Some("2024-04-01"), None],
            [Some("2024-04-01"), Some("2024-04-02")],
        ] {
            assert_eq!(asked(SPRING, current, PERIOD), [""; 0], "{current:?}");
        }
    }

    #[test]
    fn windows_in_the_wrong_order_are_told_once_for_all_families() {
        for (current, told) in [
            (
                [Some("2024-01-01"), Some("2024-02-01")],
                "lies before the baseline window (2024-03-01 to 2024-04-01)",
            ),
            ([Some("2024-01-01"), Some("2024-03-01")], "lies before"),
            (
                [Some("2024-03-01"), Some("2024-04-01")],
                "is the baseline window itself",
            ),
            (
                [Some("2024-03-15"), Some("2024-05-01")],
                "(2024-03-15 to 2024-05-01) overlaps",
            ),
            ([Some("2024-03-10"), Some("2024-03-20")], "overlaps"),
            ([None, Some("2024-03-20")], "(up to 2024-03-20) overlaps"),
            ([None, None], "(all data) overlaps"),
        ] {
            let found = asked(SPRING, current, PERIOD);
            let [one] = &found[..] else {
                panic!("{current:?}: {found:?}");
            };
            assert!(
                one.starts_with("ahu of AHU, dx of AHU: the current window") && one.contains(told),
                "{one}"
            );
        }
        let all = asked(["2023-01-01", "2025-01-01"], [None, None], PERIOD);
        assert!(all[0].contains("is the baseline window itself"), "{all:?}");
    }

    #[test]
    fn the_time_of_another_machine_or_of_frozen_baselines_is_free() {
        let same = [Some("2024-03-01"), Some("2024-04-01")];
        assert_eq!(asked(SPRING, same, Some("equipment CH-2")), [""; 0]);
        assert_eq!(asked(SPRING, same, None), [""; 0]);
        assert_eq!(asked(["2024-03-01", "2024-03-01"], same, None), [""; 0]);
    }

    #[test]
    fn windows_that_no_detector_can_work_with_are_told() {
        let short = asked(
            ["2024-03-01", "2024-03-02"],
            [Some("2024-04-01"), None],
            PERIOD,
        );
        assert!(
            short[0]
                .contains("holds at most 25 rows at 1h, and a baseline is fitted to 30 or more"),
            "{short:?}"
        );
        let enough = asked(
            ["2024-03-01", "2024-03-02T05:00"],
            [Some("2024-04-01"), None],
            PERIOD,
        );
        assert_eq!(enough, [""; 0]);
        let after = asked(SPRING, [Some("2024-12-30T20:00"), None], PERIOD);
        assert!(
            after[0].contains("(from 2024-12-30T20:00 on) holds at most 5 rows at 1h"),
            "{after:?}"
        );
        let outside = asked(
            ["2025-03-01", "2025-04-01"],
            [Some("2025-04-01"), None],
            PERIOD,
        );
        assert_eq!(outside.len(), 2, "{outside:?}");
    }
}
