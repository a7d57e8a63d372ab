//! Savings that are not told by forecast: backcast, standard conditions, chaining (M&V §6.4).

use super::baseline::Baseline;
use super::coverage::{Coverage, CoverageTier, ExtrapolationPolicy};
use super::daily::DailyFrame;
use super::forecast::{
    ForecastSaving, Kernel, Projection, SavingDecline, is_beyond_rounding, student_t,
};
use super::rows::{coverage_caveat, kernel_caveat, range_caveat, rho_caveat};
use crate::numeric::{round, share_of};
use crate::run_config::MvMethod;
use crate::wall_clock::DAY;

/// Whose model projects beside that of the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectedWith {
    Reporting,
    Intermediate,
}

/// Figures of a saving, rounded as they are told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MethodTotals {
    pub savings: f64,
    /// Savings as a share of what would have been used.
    pub share: Option<f64>,
    pub fsu: Option<f64>,
    /// Half the width of the band.
    pub uncertainty: Option<f64>,
    pub enpi: Option<f64>,
    pub enpi_uncertainty: Option<f64>,
}

/// A saving.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodSaving {
    pub with: ProjectedWith,
    /// Short name and R² of that model.
    pub model: &'static str,
    pub r2: f64,
    /// Autocorrelation of the projecting model's residuals; none when it cannot be told, or when two models project.
    pub rho: Option<f64>,
    pub report_days: usize,
    /// Energies as they are told, rounded.
    pub projected: Option<f64>,
    pub measured: Option<f64>,
    /// Either the figures, or why there are none.
    pub totals: Result<MethodTotals, String>,
    /// The worst of all projections.
    pub tier: CoverageTier,
    pub range_valid: bool,
    pub caveats: Vec<String>,
}

/// A projection, judged by the weather that its model knows.
struct Judged<'a> {
    projection: Projection<'a>,
    coverage: Coverage,
    range_valid: bool,
    /// What it is called where a method has several: `baseline model: `.
    name: &'static str,
}

impl<'a> Judged<'a> {
    fn of(
        baseline: &'a Baseline,
        frame: &'a DailyFrame,
        policy: &ExtrapolationPolicy,
        name: &'static str,
    ) -> Self {
        Self {
            projection: Projection::of(baseline, frame),
            coverage: Coverage::of(&baseline.domain, &baseline.model, frame, policy),
            range_valid: baseline.domain.is_near(&baseline.model, frame),
            name,
        }
    }

    fn is_severe(&self) -> bool {
        self.coverage.tier == CoverageTier::Severe
    }

    /// Why no saving can be told.
    fn severe(&self) -> Option<String> {
        self.is_severe().then(|| {
            format!(
                "{}severe extrapolation, no defensible saving: {}",
                self.name, self.coverage
            )
        })
    }

    fn caveats(&self) -> Vec<String> {
        let told = format!("{}{}", self.name, self.coverage);
        coverage_caveat(self.coverage.tier, &told)
            .into_iter()
            .chain(range_caveat(self.range_valid, self.name))
            .collect()
    }
}

/// The model of the reporting period over the baseline days.
pub fn backcast(
    reporting: &Baseline,
    report_days: usize,
    baseline_days: &DailyFrame,
    kernel: Kernel,
    policy: &ExtrapolationPolicy,
) -> MethodSaving {
    let saving = ForecastSaving::of(reporting, baseline_days, kernel, policy);
    let projection = Projection::of(reporting, baseline_days);
    let (measured, saved) = (projection.actual, projection.actual - projection.projected);
    let totals = match saving.totals {
        Err(SavingDecline::SevereExtrapolation) => Err(format!(
            "severe extrapolation, no defensible saving: {}",
            saving.coverage
        )),
        Err(SavingDecline::NoReportingDays) => {
            Err("no day of the baseline can be compared with the reporting model".to_owned())
        }
        Ok(totals) => {
            let enpi = ratio(projection.projected, measured);
            Ok(MethodTotals {
                savings: round(saved, 2),
                share: ratio(saved, measured).map(|share| round(share, 4)),
                fsu: totals.fsu,
                uncertainty: totals.uncertainty,
                enpi: enpi.map(|enpi| round(enpi, 6)),
                enpi_uncertainty: enpi
                    .zip(totals.uncertainty)
                    .map(|(enpi, band)| round(enpi.abs() * band / measured.abs(), 6)),
            })
        }
    };
    let mut caveats: Vec<String> = Vec::new();
    caveats.extend(coverage_caveat(
        saving.coverage.tier,
        &saving.coverage.to_string(),
    ));
    caveats.extend(kernel_caveat(kernel, MvMethod::Backcast));
    caveats.extend(rho_caveat(reporting.rho));
    caveats.extend(range_caveat(saving.range_valid, ""));
    MethodSaving {
        with: ProjectedWith::Reporting,
        model: reporting.model.code(),
        r2: reporting.statistics.r2,
        rho: reporting.rho,
        report_days,
        projected: totals.is_ok().then(|| round(projection.projected, 2)),
        measured: Some(saving.actual),
        totals,
        tier: saving.coverage.tier,
        range_valid: saving.range_valid,
        caveats,
    }
}

/// Days of these temperatures, of which nobody metered any.
pub fn normal_days(temperatures: &[f64]) -> DailyFrame {
    let days = (0_i64..).map(|day| day * DAY);
    DailyFrame {
        days: days.take(temperatures.len()).collect(),
        temperature: temperatures.to_vec(),
        energy: vec![0.0; temperatures.len()],
        ..DailyFrame::default()
    }
}

/// Both models over a normal year: that of the baseline, then that of the reporting period.
pub fn standard_conditions(
    [baseline, reporting]: [&Baseline; 2],
    report_days: usize,
    normal_year: &DailyFrame,
    kernel: Kernel,
    policy: &ExtrapolationPolicy,
) -> MethodSaving {
    let before = Judged::of(baseline, normal_year, policy, "baseline model: ");
    let after = Judged::of(reporting, normal_year, policy, "reporting model: ");
    let mut caveats: Vec<String> = [&before, &after]
        .iter()
        .flat_map(|judged| judged.caveats())
        .collect();
    let (rho_before, rho_after, substituted) = known_rhos(baseline.rho, reporting.rho);
    caveats.extend(substituted);
    caveats.extend(kernel_caveat(kernel, MvMethod::StandardConditions));
    let (total, rest) = (before.projection.projected, after.projection.projected);
    let saved = total - rest;
    let t = student_t(
        baseline
            .model
            .degrees_of_freedom()
            .min(reporting.model.degrees_of_freedom()),
    );
    let enpi = ratio(rest, total);
    let (band, enpi_uncertainty) = match kernel {
        Kernel::Exact => {
            let (v_before, v_after) = (
                parameter_variance(&before.projection, rho_before),
                parameter_variance(&after.projection, rho_after),
            );
            let relative = v_before / total.powi(2) + v_after / rest.powi(2);
            (
                t * (v_before + v_after).sqrt(),
                enpi.map(|enpi| t * enpi.abs() * relative.sqrt()),
            )
        }
        Kernel::Guideline14 => {
            caveats.push(
                "kernel g14 gives no band of the energy performance indicator at standard conditions; kernel exact does"
                    .to_owned(),
            );
            let u = guideline_share(baseline, rho_before) * total;
            let v = guideline_share(reporting, rho_after) * rest;
            (t * u.hypot(v), None)
        }
    };
    let reason = declined(policy, [&before, &after]);
    let totals = match reason {
        Some(reason) => Err(reason),
        None => Ok(MethodTotals {
            savings: round(saved, 2),
            share: ratio(saved, total).map(|share| round(share, 4)),
            fsu: told(
                ratio(band, saved.abs()).filter(|_| is_beyond_rounding(saved, total)),
                4,
            ),
            uncertainty: told(Some(band), 2),
            enpi: told(ratio(round(rest, 2), round(total, 2)), 6),
            enpi_uncertainty: told(enpi_uncertainty, 6),
        }),
    };
    let shown = totals.is_ok() || !before.is_severe();
    MethodSaving {
        with: ProjectedWith::Reporting,
        model: reporting.model.code(),
        r2: reporting.statistics.r2,
        rho: None,
        report_days,
        projected: shown.then(|| round(total, 2)),
        measured: None,
        totals,
        tier: before.coverage.tier.max(after.coverage.tier),
        range_valid: before.range_valid && after.range_valid,
        caveats,
    }
}

/// The model of a period between: back over the baseline days, and forward over the reporting days.
pub fn chaining(
    intermediate: &Baseline,
    baseline_days: &DailyFrame,
    reporting_days: &DailyFrame,
    policy: &ExtrapolationPolicy,
) -> MethodSaving {
    let back = Judged::of(
        intermediate,
        baseline_days,
        policy,
        "back to the baseline: ",
    );
    let forth = Judged::of(
        intermediate,
        reporting_days,
        policy,
        "forward to the reporting period: ",
    );
    let mut caveats: Vec<String> = [&back, &forth]
        .iter()
        .flat_map(|judged| judged.caveats())
        .collect();
    caveats.extend(rho_caveat(intermediate.rho));
    let model = &intermediate.model;
    let (b, r) = (&back.projection, &forth.projection);
    let saved = (b.actual - b.projected) + (r.projected - r.actual);
    let enpi = ratio(b.projected, b.actual)
        .zip(ratio(r.actual, r.projected))
        .map(|(back, forth)| back * forth);
    let t = b.student_t();
    let scatter = b.scatter();
    let apart: Vec<f64> = r
        .terms
        .iter()
        .zip(&b.terms)
        .map(|(forth, back)| forth - back)
        .collect();
    let band = t * (scatter * (model.variance_of(&apart) + b.scatters() + r.scatters())).sqrt();
    let relative: Vec<f64> = b
        .terms
        .iter()
        .zip(&r.terms)
        .map(|(back, forth)| back / b.projected - forth / r.projected)
        .collect();
    let noise = b.scatters() / b.actual.powi(2) + r.scatters() / r.actual.powi(2);
    let enpi_uncertainty =
        enpi.map(|enpi| t * enpi.abs() * (scatter * (model.variance_of(&relative) + noise)).sqrt());
    let totals = match declined(policy, [&back, &forth]) {
        Some(reason) => Err(reason),
        None => Ok(MethodTotals {
            savings: round(saved, 2),
            share: told(enpi.map(|enpi| 1.0 - enpi), 4),
            fsu: told(
                ratio(band, saved.abs()).filter(|_| is_beyond_rounding(saved, b.actual)),
                4,
            ),
            uncertainty: told(Some(band), 2),
            enpi: told(enpi, 6),
            enpi_uncertainty: told(enpi_uncertainty, 6),
        }),
    };
    MethodSaving {
        with: ProjectedWith::Intermediate,
        model: model.code(),
        r2: intermediate.statistics.r2,
        rho: intermediate.rho,
        report_days: reporting_days.len(),
        projected: None,
        measured: Some(round(r.actual, 2)),
        totals,
        tier: back.coverage.tier.max(forth.coverage.tier),
        range_valid: back.range_valid && forth.range_valid,
        caveats,
    }
}

/// Why no saving can be told, by the first projection that leaves its weather too far.
fn declined(policy: &ExtrapolationPolicy, projections: [&Judged<'_>; 2]) -> Option<String> {
    projections
        .iter()
        .filter(|_| policy.decline)
        .find_map(|judged| judged.severe())
}

/// The autocorrelations of two models: that of the other where one cannot be told, and what is said of it.
pub(super) fn known_rhos(before: Option<f64>, after: Option<f64>) -> (f64, f64, Option<String>) {
    let substituted = |missing: &str, other: &str, rho: f64| {
        Some(format!(
            "the autocorrelation of the {missing} model's residuals could not be told; that of the {other}'s ({rho:.2}) \
             stands for it"
        ))
    };
    match (before, after) {
        (Some(before), Some(after)) => (before, after, None),
        (Some(known), None) => (known, known, substituted("reporting", "baseline", known)),
        (None, Some(known)) => (known, known, substituted("baseline", "reporting", known)),
        (None, None) => (0.0, 0.0, rho_caveat(None)),
    }
}

/// Variance of a projected total that comes from the parameters alone.
pub(super) fn parameter_variance(projection: &Projection<'_>, rho: f64) -> f64 {
    let model = &projection.baseline.model;
    let scatter = (1.0 + rho) / (1.0 - rho) * model.sse() / share_of(model.degrees_of_freedom());
    scatter * model.variance_of(&projection.terms)
}

/// Standard error of a projected total as a share of it, by Guideline 14.
fn guideline_share(baseline: &Baseline, rho: f64) -> f64 {
    let statistics = baseline.statistics.rounded();
    let n = share_of(statistics.n);
    let independent = n * (1.0 - rho) / (1.0 + rho);
    statistics.cv_rmse * ((n / independent) * (share_of(statistics.p) / n)).sqrt()
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole != 0.0).then(|| part / whole)
}

fn told(value: Option<f64>, decimals: usize) -> Option<f64> {
    value
        .filter(|value| value.is_finite())
        .map(|value| round(value, decimals))
}
