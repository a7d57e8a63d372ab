//! Figures that the reference answers for the same meter and the same ledgers.

use super::other_methods::OtherSaving;
use super::*;
use crate::frame::{Frame, RoleFrame};
use crate::mv::daily::DailyRule;
use crate::mv::testing::{hourly, since_2023};
use crate::mv::{ExtrapolationPolicy, ForecastSaving, methods};
use crate::run_config::MvMethod;
use crate::wall_clock::Window;

/// Two years from 2023 on with an event in each, the second year with a tenth less.
fn meter() -> RoleFrame {
    let temperature = |day: f64| {
        55.0 + 25.0 * (std::f64::consts::TAU * (day - 105.0) / 365.0).sin()
            + 5.0 * (2.3 * day).sin()
    };
    hourly(
        731,
        |hour| temperature(f64::from(hour / 24)),
        |hour| {
            let number = hour / 24;
            let day = f64::from(number);
            let load = 40.0
                + 1.5 * (temperature(day) - 60.0).max(0.0)
                + 4.0 * (0.35 * day).sin()
                + 3.0 * (1.7 * day).sin();
            let event = match number {
                460..500 => 6.0,
                200..230 => 5.0,
                _ => 0.0,
            };
            load * if number >= 365 { 0.9 } else { 1.0 } + event
        },
    )
}

fn days(table: &RoleFrame, first: usize, end: usize) -> DailyFrame {
    let window = Window {
        start: Some(since_2023(first)),
        end: Some(since_2023(end) - 1),
    };
    DailyFrame::of(&Frame::whole(table), "power", window, DailyRule::DEFAULT).unwrap()
}

fn entry(change: Change, start: usize, end: Option<usize>) -> LedgerEntry {
    LedgerEntry {
        change,
        start: since_2023(start),
        end: end.map(since_2023),
        reason: "x".to_owned(),
        factor: None,
        has_evidence: true,
        is_approved: false,
        is_proposed: false,
    }
}

fn engineering() -> LedgerEntry {
    let change = Change::Amount {
        amount: 1000.0,
        error: 100.0,
    };
    entry(change, 425, None)
}

fn area(ratio_error: f64, share_error: f64) -> LedgerEntry {
    let change = Change::Proportional {
        ratio: 1.1,
        ratio_error,
        share: 0.5,
        share_error,
    };
    entry(change, 486, None)
}

fn event() -> LedgerEntry {
    entry(Change::Indicator, 460, Some(500))
}

fn event_of_baseline() -> LedgerEntry {
    entry(Change::Indicator, 200, Some(230))
}

fn adjusted(entries: Vec<LedgerEntry>, kernel: Kernel) -> Result<[f64; 6], LedgerRefusal> {
    let table = meter();
    let policy = ExtrapolationPolicy::default();
    let (fitted, reporting) = (days(&table, 0, 365), days(&table, 365, 731));
    let baseline = Baseline::of(&fitted, &policy).unwrap();
    let saving = ForecastSaving::of(&baseline, &reporting, kernel, &policy);
    let totals = saving.totals.unwrap();
    let unadjusted = Unadjusted {
        baseline: &baseline,
        fitted: &fitted,
        reporting: &reporting,
        kernel,
        projected: totals.projected,
        actual: saving.actual,
        band: totals.uncertainty,
        reporting_start: since_2023(365),
    };
    let ledger = Ledger {
        entries,
        settle_days: 14,
        ..Ledger::default()
    };
    let adjusted = Adjusted::of(unadjusted, &ledger)?;
    Ok([
        adjusted.baseline,
        adjusted.savings,
        adjusted.savings_share.unwrap(),
        adjusted.uncertainty.unwrap(),
        adjusted.enpi.unwrap(),
        adjusted.enpi_uncertainty.unwrap(),
    ])
}

/// To a millionth, or the last digit that is told.
fn agree(ours: [f64; 6], theirs: [f64; 6]) {
    for (our, their) in ours.iter().zip(theirs) {
        let slack = (1e-6 * their.abs()).max(1e-9);
        assert!((our - their).abs() <= slack, "{ours:?} against {theirs:?}");
    }
}

#[test]
fn every_entry_alone_with_the_band_of_guideline_14() {
    let excluded = entry(Change::Exclude, 460, Some(500));
    for (entry, told) in [
        (
            engineering(),
            [431322.29, 41926.59, 0.0972, 7081.36, 0.902795, 0.014822],
        ),
        (
            area(0.0, 0.0),
            [445982.52, 56586.82, 0.1269, 7337.08, 0.873119, 0.014364],
        ),
        (
            area(0.02, 0.1),
            [445982.52, 56586.82, 0.1269, 10340.38, 0.873119, 0.020244],
        ),
        (
            event(),
            [435560.34, 46164.64, 0.106, 7255.81, 0.894011, 0.014893],
        ),
        (
            entry(Change::Indicator, 460, None),
            [436086.26, 46690.56, 0.1071, 12653.3, 0.892933, 0.025909],
        ),
        (
            event_of_baseline(),
            [426385.83, 36990.13, 0.0868, 7315.51, 0.913247, 0.015669],
        ),
        (
            entry(Change::Indicator, 353, Some(384)),
            [430236.72, 40841.02, 0.0949, 7964.5, 0.905073, 0.016755],
        ),
        (
            excluded,
            [389166.62, 42273.91, 0.1086, 6783.8, 0.891373, 0.015538],
        ),
    ] {
        agree(adjusted(vec![entry], Kernel::Guideline14).unwrap(), told);
    }
}

#[test]
fn several_entries_follow_each_other_with_the_exact_band() {
    let excluded = entry(Change::Exclude, 547, Some(566));
    for (entries, told) in [
        (
            vec![area(0.0, 0.0), event(), engineering(), excluded.clone()],
            [417990.94, 57189.19, 0.1368, 8068.51, 0.863181, 0.016662],
        ),
        (
            vec![area(0.0, 0.0), event_of_baseline(), engineering(), excluded],
            [409678.21, 48876.46, 0.1193, 7233.69, 0.880695, 0.01555],
        ),
        (
            vec![area(0.0, 0.0), entry(Change::Exclude, 547, Some(566))],
            [411752.89, 50951.15, 0.1237, 7908.57, 0.876258, 0.01683],
        ),
        (
            vec![event(), entry(Change::Exclude, 547, Some(566))],
            [402960.69, 42158.95, 0.1046, 7802.82, 0.895377, 0.017338],
        ),
        (
            vec![event(), entry(Change::Indicator, 609, Some(628))],
            [434581.68, 45185.98, 0.104, 8184.11, 0.896024, 0.016874],
        ),
        (
            vec![entry(Change::Exclude, 181, Some(379)), event_of_baseline()],
            [412953.58, 35361.49, 0.0856, 7121.28, 0.914369, 0.015768],
        ),
        (
            vec![entry(Change::Exclude, 460, Some(500))],
            [389166.62, 42273.91, 0.1086, 7282.07, 0.891373, 0.016679],
        ),
    ] {
        agree(adjusted(entries, Kernel::Exact).unwrap(), told);
    }
}

#[test]
fn a_ledger_that_cannot_be_applied_is_refused_as_a_whole() {
    let refused = |entries| adjusted(entries, Kernel::Exact).unwrap_err();
    assert_eq!(
        refused(vec![
            engineering(),
            entry(Change::Indicator, 460, Some(461))
        ]),
        LedgerRefusal::TooFewRows {
            inside: 1,
            outside: 365
        }
    );
    assert_eq!(
        refused(vec![
            event_of_baseline(),
            entry(Change::Indicator, 50, Some(80))
        ]),
        LedgerRefusal::TwoOfBaseline
    );
    assert_eq!(
        refused(vec![entry(Change::Exclude, 365, Some(731))]),
        LedgerRefusal::NothingLeft
    );
}

/// Figures of a saving by another method, with entries: baseline's side, savings, share, band, indicator and its band.
fn by_method(method: MvMethod, entries: Vec<LedgerEntry>) -> Result<[f64; 6], LedgerRefusal> {
    let table = meter();
    let policy = ExtrapolationPolicy::default();
    let (fitted, reporting) = (days(&table, 0, 365), days(&table, 365, 731));
    let baseline = Baseline::of(&fitted, &policy).unwrap();
    let model = Baseline::of(&reporting, &policy).unwrap();
    let year = methods::normal_days(&[40.0, 55.0, 62.0, 70.0, 78.0]);
    let exact = Kernel::Exact;
    let saving = match method {
        MvMethod::Backcast => methods::backcast(&model, 366, &fitted, exact, &policy),
        _ => methods::standard_conditions([&baseline, &model], 366, &year, exact, &policy),
    };
    let totals = saving.totals.unwrap();
    let projected = saving.projected.unwrap();
    let measured = saving.measured.unwrap_or(projected);
    let other = OtherSaving {
        baseline: &baseline,
        fitted: &fitted,
        model: &model,
        reporting: &reporting,
        kernel: exact,
        sides: (measured, measured - totals.savings),
        band: totals.uncertainty,
        reporting_start: since_2023(365),
    };
    let ledger = Ledger {
        entries,
        ..Ledger::default()
    };
    let adjusted = match method {
        MvMethod::Backcast => other_methods::backcast(other, &ledger),
        _ => other_methods::standard_conditions(other, &year, &ledger),
    }?;
    Ok([
        adjusted.baseline,
        adjusted.savings,
        adjusted.savings_share.unwrap(),
        adjusted.uncertainty.unwrap(),
        adjusted.enpi.unwrap(),
        adjusted.enpi_uncertainty.unwrap(),
    ])
}

#[test]
fn an_entry_counts_for_its_share_of_the_reporting_days_where_rows_have_other_dates() {
    let plain = by_method(MvMethod::Backcast, Vec::new()).unwrap();
    let with = |entries| by_method(MvMethod::Backcast, entries).unwrap();
    let amount = with(vec![engineering()]);
    assert_eq!(round(amount[0] - plain[0], 2), 1000.0);
    assert!(amount[3] > plain[3]);
    // A tenth more area from day 486 on, half of which the energy follows: 245 of 366 days.
    let wing = with(vec![area(0.0, 0.0)]);
    assert_eq!(
        round(wing[0] - plain[0], 0),
        round(plain[0] * 0.05 * 245.0 / 366.0, 0)
    );
    assert_eq!(wing[3], plain[3], "a measured baseline is not uncertain");
    let normal = |entries| by_method(MvMethod::StandardConditions, entries).unwrap();
    let (usual, grown) = (normal(Vec::new()), normal(vec![area(0.0, 0.0)]));
    assert_eq!(
        round(grown[0] - usual[0], 0),
        round(usual[0] * 0.05 * 245.0 / 366.0, 0)
    );
    assert!(grown[3] > usual[3], "a projected one is");
}

#[test]
fn an_event_is_taken_out_of_the_model_that_saw_it() {
    let plain = by_method(MvMethod::Backcast, Vec::new()).unwrap();
    let with = by_method(MvMethod::Backcast, vec![event()]).unwrap();
    // 6 an hour for 40 of 366 days.
    let expected = 6.0 * 24.0 * 40.0 * 365.0 / 366.0;
    assert!(
        (with[1] - plain[1] - expected).abs() < 0.1 * expected,
        "{with:?} against {plain:?}"
    );
    assert!(
        with[3] < plain[3],
        "the fit without the event scatters less"
    );
    let normal = by_method(MvMethod::StandardConditions, vec![event_of_baseline()]).unwrap();
    let usual = by_method(MvMethod::StandardConditions, Vec::new()).unwrap();
    assert!(normal[0] < usual[0]);
}

#[test]
fn what_other_methods_cannot_tell_is_refused() {
    assert_eq!(
        by_method(MvMethod::Backcast, vec![event_of_baseline()]),
        Err(LedgerRefusal::MeasuredBaseline)
    );
    let excluded = |start, end| entry(Change::Exclude, start, Some(end));
    assert_eq!(
        by_method(MvMethod::Backcast, vec![excluded(0, 365)]),
        Err(LedgerRefusal::NothingLeft)
    );
    assert_eq!(
        by_method(MvMethod::StandardConditions, vec![excluded(400, 410)]),
        Err(LedgerRefusal::NoDates("exclude", "standard_conditions"))
    );
    let twice = vec![event_of_baseline(), entry(Change::Indicator, 50, Some(80))];
    assert_eq!(
        by_method(MvMethod::StandardConditions, twice),
        Err(LedgerRefusal::TwoOfBaseline)
    );
}
