//! Boilers and compressors that start too often (Plant rules §2.1, §2.12).

use super::run_gates::Firing;
use super::start_count::{self, Starts};
use super::trend_interval::Resolution;
use crate::finding::{EventCount, Judgement, Metrics, Severity, Verdict};
use crate::frame::Frame;
use crate::masks;
use crate::parameters::Parameters;
use crate::rules::RuleCode;

/// Boilers.
pub const BOILER: RuleCode =
    RuleCode::equipment("boiler_short_cycle", analyse_boiler).judged_by(judge_boiler);

/// Compressors.
pub const COMPRESSOR: RuleCode =
    RuleCode::equipment("compressor_short_cycle", analyse_compressor).judged_by(judge_compressor);

/// Words for the machine that starts.
struct Machine {
    starts: &'static str,
    status: &'static str,
    works: &'static str,
}

const THE_BOILER: Machine = Machine {
    starts: "boiler starts",
    status: "boiler status",
    works: "fires",
};

const THE_COMPRESSOR: Machine = Machine {
    starts: "compressor starts",
    status: "compressor status",
    works: "runs",
};

fn analyse_boiler(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let firing = Firing::of(frame);
    let starts = firing
        .as_ref()
        .and_then(|firing| Starts::of(frame.stamps(), &firing.duty));
    Some(verdict(
        &THE_BOILER,
        frame,
        parameters,
        starts.as_ref(),
        firing.as_ref(),
    ))
}

fn analyse_compressor(frame: &Frame<'_>, parameters: &Parameters) -> Option<Verdict> {
    let starts = Starts::of(frame.stamps(), frame.column("compressor_status")?);
    Some(verdict(
        &THE_COMPRESSOR,
        frame,
        parameters,
        starts.as_ref(),
        None,
    ))
}

fn verdict(
    machine: &Machine,
    frame: &Frame<'_>,
    parameters: &Parameters,
    starts: Option<&Starts>,
    firing: Option<&Firing<'_>>,
) -> Verdict {
    let equip = frame.equip();
    let Machine { status, works, .. } = machine;
    let Some(starts) = starts else {
        return Verdict::info(
            Metrics::new(),
            format!("{equip}: insufficient {status} to count starts."),
        );
    };
    let limit = parameters.number("max_starts_per_day");
    let mut metrics = Metrics::new();
    metrics
        .number("starts_per_day", starts.per_day)
        .number("max_starts_per_day", limit)
        .number("runtime_pct", starts.runtime_pct)
        .count("n_starts", starts.count())
        .number("n_days", starts.days)
        .number("n_days_observed", starts.days_observed)
        .number_or_null("interval_min", starts.interval_min)
        .count("n_partial", starts.n_partial);
    if let Some(firing) = firing {
        firing.mark(&mut metrics);
    }
    let severity = Severity::at_least(starts.per_day, limit, 2.0 * limit);
    let mut verdict = Verdict::new(
        severity,
        metrics,
        format!(
            "{equip} starts {:.1} times a day (limit {limit:.0}) and {works} {:.0} % of the time.",
            starts.per_day, starts.runtime_pct
        ),
    )
    .with_caveats(firing.and_then(Firing::caveat));
    let before = verdict.caveats.len();
    let resolution = Resolution {
        counted: machine.starts,
        interval_min: starts.interval_min,
        max_interval_min: parameters.number("max_interval_min"),
        n_partial: starts.n_partial,
        limit,
    };
    let declined = resolution.apply(&mut verdict);
    // Gas has said already that its counts are approximate.
    if !declined && firing.is_some_and(|firing| firing.is_from_gas) {
        verdict.caveats.truncate(before);
    }
    verdict.with_caveats(starts.coverage_caveat())
}

fn events(machine: &Machine, starts: &Starts) -> EventCount {
    EventCount {
        name: machine.starts.to_owned(),
        count: starts.count(),
        stamps: starts.stamps.clone(),
    }
}

fn judge_boiler(frame: &Frame<'_>, parameters: &Parameters) -> Option<Judgement> {
    let firing = Firing::of(frame)?;
    let busy = start_count::starts_of_busy_days(
        frame.stamps(),
        &firing.duty,
        parameters.number("max_starts_per_day"),
    );
    let mut judgement = Judgement::of("boiler status samples", masks::present(&firing.duty), busy);
    judgement.events =
        Vec::from_iter(Starts::of(frame.stamps(), &firing.duty).map(|s| events(&THE_BOILER, &s)));
    Some(judgement)
}

fn judge_compressor(frame: &Frame<'_>, _: &Parameters) -> Option<Judgement> {
    let starts = Starts::of(frame.stamps(), frame.column("compressor_status")?);
    let mut judgement = Judgement::whole_period(
        "the rule judges the rate of starts over all compressor status samples, not single hours",
    );
    judgement.events = Vec::from_iter(starts.map(|starts| events(&THE_COMPRESSOR, &starts)));
    Some(judgement)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::testing::{self, every, hourly};
    use crate::wall_clock::{DAY, MINUTE};

    #[test]
    fn a_boiler_that_fires_every_two_hours_is_a_fault_with_its_starts_counted() {
        let table = every(
            15 * MINUTE,
            96,
            &[("boiler_status", &|row| f64::from(u8::from(row % 8 < 2)))],
        );
        let verdict = testing::run(&BOILER, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Fault);
        assert_eq!(verdict.metrics.as_number("starts_per_day"), Some(12.0));
        assert!(verdict.caveats.is_empty());
        let judgement = testing::judge(&BOILER, &table, json!({})).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 12);
        assert_eq!(masks::count(&judgement.samples.judged), 96);
        assert_eq!(judgement.events[0].count, 12);
        let lenient = json!({"max_starts_per_day": 13.0});
        let judgement = testing::judge(&BOILER, &table, lenient).unwrap();
        assert_eq!(masks::count(&judgement.samples.flagged), 0);
        assert_eq!(judgement.events[0].stamps.len(), 12);
    }

    #[test]
    fn few_starts_on_an_hourly_trend_cannot_be_confirmed() {
        let table = hourly(
            48,
            &[("boiler_status", &|row| {
                if row % 12 == 0 { 0.25 } else { 0.0 }
            })],
        );
        let verdict = testing::run(&BOILER, &table, json!({})).unwrap();
        assert_eq!(
            (verdict.severity, verdict.caveats.len()),
            (Severity::Info, 1)
        );
        assert_eq!(verdict.metrics.as_number("starts_per_day"), Some(2.04));
        assert!(verdict.summary.contains("60 min"), "{}", verdict.summary);
    }

    #[test]
    fn gas_stands_in_for_the_status_and_says_so_once() {
        let table = hourly(
            96,
            &[("gas_input_rate", &|row| {
                if row % 4 < 2 { 100.0 } else { 2.0 }
            })],
        );
        let verdict = testing::run(&BOILER, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Warn);
        assert_eq!(verdict.metrics.get("run_source"), Some(&json!("gas")));
        assert_eq!(verdict.caveats.len(), 1);
        assert!(verdict.caveats[0].contains("95th percentile"));
    }

    #[test]
    fn a_compressor_seen_on_two_of_eleven_days_is_rated_over_those_two() {
        let mut table = every(
            5 * MINUTE,
            576,
            &[("compressor_status", &|row| {
                f64::from(u8::from(row % 96 < 48))
            })],
        );
        for stamp in table.stamps.iter_mut().skip(288) {
            *stamp += 9 * DAY;
        }
        let verdict = testing::run(&COMPRESSOR, &table, json!({})).unwrap();
        assert_eq!((verdict.severity, verdict.caveats.len()), (Severity::Ok, 1));
        assert_eq!(verdict.metrics.as_number("n_days_observed"), Some(2.0));
        let judgement = testing::judge(&COMPRESSOR, &table, json!({})).unwrap();
        assert_eq!(judgement.events[0].count, 6);
        assert!(judgement.note.is_some() && judgement.samples.judged.is_empty());
    }

    #[test]
    fn too_few_samples_are_no_verdict() {
        let table = hourly(9, &[("boiler_status", &|_| 1.0)]);
        let verdict = testing::run(&BOILER, &table, json!({})).unwrap();
        assert_eq!(verdict.severity, Severity::Info);
        assert!(verdict.metrics.as_map().is_empty());
    }
}
