//! The worked examples of M&V §6.1 and §11, and figures that the reference answers for the same meters.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::frame::{Frame, RoleFrame};
use crate::mv::daily::DailyRule;
use crate::mv::testing::{hourly, since_2023, worked_days};
use crate::mv::{FitStatistics, FullYear};
use crate::wall_clock::Window;

const POLICY: ExtrapolationPolicy = ExtrapolationPolicy {
    support_quantile: 0.01,
    edge_tolerance: 0.05,
    caveat_share: 0.05,
    caveat_distance: 0.10,
    decline_share: 0.25,
    decline_distance: 0.5,
    min_points_outside: 2,
    decline: true,
    widen_fsu: true,
};

/// Two years from 2023 on; the second uses a tenth less, and may be warmer. `more` is added to the rate of a day.
fn meter(warmer: f64, more: impl Fn(f64) -> f64) -> RoleFrame {
    let temperature =
        |day: f64| 55.0 + 25.0 * (std::f64::consts::TAU * (day - 105.0) / 365.0).sin();
    let day = |hour: u32| f64::from(hour / 24);
    let second_year = |hour: u32| hour >= 365 * 24;
    hourly(
        731,
        |hour| temperature(day(hour)) + if second_year(hour) { warmer } else { 0.0 },
        |hour| {
            let day = day(hour);
            let load = 40.0 + 1.5 * (temperature(day) - 60.0).max(0.0) + (1.7 * day).sin();
            load * if second_year(hour) { 0.9 } else { 1.0 } + more(day)
        },
    )
}

/// Days `first..end` since 2023-01-01.
fn days(table: &RoleFrame, first: usize, end: usize) -> DailyFrame {
    let window = Window {
        start: Some(since_2023(first)),
        end: Some(since_2023(end) - 1),
    };
    DailyFrame::of(&Frame::whole(table), "power", window, DailyRule::DEFAULT).unwrap()
}

fn baseline(table: &RoleFrame, end: usize) -> Baseline {
    Baseline::of(&days(table, 0, end), &POLICY).unwrap()
}

fn saving(table: &RoleFrame, kernel: Kernel) -> ForecastSaving {
    ForecastSaving::of(
        &baseline(table, 365),
        &days(table, 365, 731),
        kernel,
        &POLICY,
    )
}

/// Projected, avoided, share, FSU, band, EnPI and its band.
fn told(saving: &ForecastSaving) -> [f64; 7] {
    let totals = saving.totals.unwrap();
    [
        totals.projected,
        totals.avoided,
        totals.savings_share.unwrap(),
        totals.fsu.unwrap(),
        totals.uncertainty.unwrap(),
        totals.enpi.unwrap(),
        totals.enpi_uncertainty.unwrap(),
    ]
}

#[test]
fn the_worked_example_of_three_reporting_days() {
    let baseline = Baseline::of(&worked_days(), &POLICY).unwrap();
    let reporting = DailyFrame {
        days: (0..3).map(since_2023).collect(),
        temperature: vec![33.0, 55.0, 75.0],
        energy: vec![95.0, 97.0, 120.0],
        ..DailyFrame::default()
    };
    let guideline = ForecastSaving::of(&baseline, &reporting, Kernel::Guideline14, &POLICY);
    assert_eq!(guideline.actual, 312.0);
    assert_eq!(told(&guideline)[..5], [337.08, 25.08, 0.0744, 0.2162, 5.42]);
    assert_eq!(guideline.extrapolation_factor, None);
    let exact = ForecastSaving::of(&baseline, &reporting, Kernel::Exact, &POLICY);
    assert_eq!(told(&exact)[..5], [337.08, 25.08, 0.0744, 0.1791, 4.49]);
    assert_eq!(exact.extrapolation_factor, Some(1.0));
}

#[test]
fn the_baseline_of_a_year_is_found_by_search_and_criterion() {
    let baseline = baseline(&meter(0.0, |_| 0.0), 365);
    assert_eq!(baseline.model.code(), "4P");
    let FitStatistics {
        n,
        r2,
        cv_rmse,
        nmbe,
        ..
    } = baseline.statistics.rounded();
    assert_eq!((n, r2, cv_rmse, nmbe.abs()), (365, 0.9959, 0.0152, 0.0));
    assert_eq!(baseline.rho, Some(0.0));
    assert!(baseline.accepted());
    assert_eq!(round(baseline.support.low, 9), 30.011342983);
    assert_eq!(round(baseline.support.high, 9), 79.988657017);
}

#[test]
fn a_year_of_savings_with_both_bands() {
    let table = meter(0.0, |_| 0.0);
    let guideline = saving(&table, Kernel::Guideline14);
    assert_eq!((guideline.report_days, guideline.actual), (366, 382654.32));
    assert_eq!(
        told(&guideline),
        [
            425197.9, 42543.58, 0.1001, 0.0165, 702.13, 0.899944, 0.001486
        ]
    );
    assert_eq!(guideline.coverage.tier, CoverageTier::InRange);
    assert!(guideline.range_valid);
    assert_eq!(
        told(&saving(&table, Kernel::Exact))[3..],
        [0.0184, 784.92, 0.899944, 0.001661]
    );
}

#[test]
fn autocorrelated_days_widen_the_band() {
    let table = meter(0.0, |day| {
        8.0 * (0.35 * day).sin() + 3.0 * (1.7 * day).sin()
    });
    let baseline = baseline(&table, 365);
    assert_eq!(baseline.model.code(), "3PC");
    assert_eq!(baseline.rho.map(|rho| round(rho, 9)), Some(0.726247445));
    assert_eq!(baseline.statistics.rounded().r2, 0.7597);
    assert_eq!(
        told(&saving(&table, Kernel::Guideline14)),
        [
            425995.85, 43334.81, 0.1017, 0.3513, 15224.1, 0.898274, 0.032102
        ]
    );
    assert_eq!(
        told(&saving(&table, Kernel::Exact))[3..],
        [0.3938, 17064.41, 0.898274, 0.035983]
    );
}

#[test]
fn a_warmer_year_widens_the_band_and_a_much_warmer_one_declines() {
    let moderate = saving(&meter(4.0, |_| 0.0), Kernel::Guideline14);
    assert_eq!(
        told(&moderate),
        [
            449044.71, 66390.39, 0.1478, 0.0112, 745.01, 0.852152, 0.001414
        ]
    );
    assert_eq!(moderate.extrapolation_factor, Some(1.0047));
    assert_eq!(moderate.coverage.tier, CoverageTier::Moderate);
    assert_eq!(moderate.coverage.outside, 41);
    assert_eq!(round(moderate.coverage.share_of_days, 4), 0.112);
    assert_eq!(
        moderate
            .coverage
            .share_of_energy
            .map(|share| round(share, 4)),
        Some(0.1643)
    );

    let severe = saving(&meter(8.0, |_| 0.0), Kernel::Guideline14);
    assert_eq!(severe.totals, Err(SavingDecline::SevereExtrapolation));
    assert_eq!((severe.actual, severe.report_days), (382654.32, 366));
    assert_eq!(severe.extrapolation_factor, Some(1.027));
    assert_eq!(severe.coverage.outside, 79);
    assert_eq!(
        severe.coverage.beyond_share.map(|share| round(share, 4)),
        Some(0.16)
    );
    assert!(severe.range_valid);
}

#[test]
fn extrapolation_never_narrows_the_band() {
    let table = meter(3.0, |_| 0.0);
    let saving = ForecastSaving::of(
        &baseline(&table, 212),
        &days(&table, 365, 731),
        Kernel::Guideline14,
        &POLICY,
    );
    assert_eq!(saving.extrapolation_factor, Some(0.9974));
    assert_eq!(
        told(&saving),
        [
            442887.29, 60232.97, 0.136, 0.0118, 713.49, 0.863999, 0.001392
        ]
    );
}

#[test]
fn a_winter_says_nothing_of_a_summer() {
    let table = meter(0.0, |_| 0.0);
    let winter = baseline(&table, 100);
    // 2023-06-01 to 08-31.
    let summer = days(&table, 151, 243);
    let declined = ForecastSaving::of(&winter, &summer, Kernel::Guideline14, &POLICY);
    assert_eq!(declined.totals, Err(SavingDecline::SevereExtrapolation));
    assert_eq!(declined.actual, 146183.65);
    assert_eq!(
        (declined.coverage.outside, declined.coverage.days),
        (92, 92)
    );
    assert_eq!(
        declined.coverage.beyond_share.map(|share| round(share, 4)),
        Some(1.2299)
    );
    assert_eq!(declined.extrapolation_factor, Some(2.2631));

    let told_all_the_same = ExtrapolationPolicy {
        decline: false,
        ..POLICY
    };
    let saving = ForecastSaving::of(&winter, &summer, Kernel::Guideline14, &told_all_the_same);
    assert_eq!(saving.coverage.tier, CoverageTier::Severe);
    assert!(saving.totals.is_ok());
}

#[test]
fn seven_months_fall_short_of_a_year_but_still_tell_a_saving() {
    let table = meter(0.0, |_| 0.0);
    let seven_months = baseline(&table, 212);
    assert!(FullYear::default().falls_short(212, seven_months.statistics.n));
    let saving = ForecastSaving::of(
        &seven_months,
        &days(&table, 365, 731),
        Kernel::Guideline14,
        &POLICY,
    );
    let totals = saving.totals.unwrap();
    assert_eq!(
        (totals.avoided, totals.uncertainty),
        (42548.21, Some(685.0))
    );
}

#[test]
fn nothing_used_and_nothing_reported_have_no_band() {
    let mut idle = worked_days();
    idle.energy = vec![0.0; 12];
    let baseline = Baseline::of(&idle, &POLICY).unwrap();
    for kernel in [Kernel::Guideline14, Kernel::Exact] {
        let totals = ForecastSaving::of(&baseline, &idle, kernel, &POLICY)
            .totals
            .unwrap();
        assert_eq!((totals.projected, totals.avoided), (0.0, 0.0));
        assert_eq!(
            (totals.savings_share, totals.fsu, totals.uncertainty),
            (None, None, None)
        );
        assert_eq!((totals.enpi, totals.enpi_uncertainty), (None, None));
    }
    let nothing = ForecastSaving::of(
        &baseline,
        &DailyFrame::default(),
        Kernel::Guideline14,
        &POLICY,
    );
    assert_eq!(nothing.totals, Err(SavingDecline::NoReportingDays));
    assert_eq!(nothing.coverage.tier, CoverageTier::NotEvaluated);
}

#[test]
fn students_t_is_that_of_the_table() {
    assert_eq!(
        [0, 1, 5, 6, 30, 120, 121].map(student_t),
        [1.645, 2.015, 2.015, 1.812, 1.697, 1.658, 1.645]
    );
}

/// Ordinary readings beside everything that breaks arithmetic.
fn readings(rows: usize) -> impl Strategy<Value = Vec<f64>> {
    let values = vec![
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e300,
        -1e300,
        5e-324,
        0.0,
        -40.0,
        55.0,
        61.5,
        80.0,
    ];
    prop::collection::vec(select(values), rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn no_trend_makes_a_saving_panic_and_no_band_is_infinite(
        oat in readings(36),
        power in readings(36),
        hours in prop::collection::vec(0_i64..400, 36),
        exact in any::<bool>(),
    ) {
        let mut stamps: Vec<i64> = hours.iter().map(|hour| since_2023(0) + hour * crate::wall_clock::HOUR).collect();
        stamps.sort_unstable();
        let table = RoleFrame {
            stamps,
            columns: [("oat".to_owned(), oat), ("power".to_owned(), power)].into(),
            ..RoleFrame::default()
        };
        let rule = DailyRule { min_coverage: 0.0, ..DailyRule::DEFAULT };
        let daily = DailyFrame::of(&Frame::whole(&table), "power", Window::OPEN, rule);
        if let Ok(daily) = daily
            && let Some(baseline) = Baseline::of(&daily, &POLICY)
        {
            let kernel = if exact { Kernel::Exact } else { Kernel::Guideline14 };
            if let Ok(totals) = ForecastSaving::of(&baseline, &daily, kernel, &POLICY).totals {
                prop_assert!(totals.fsu.is_none_or(f64::is_finite));
                prop_assert!(totals.uncertainty.is_none_or(f64::is_finite));
            }
        }
    }
}
