//! A billed meter: its bills, its baseline and its saving (M&V §8).

use super::baseline::{Baseline, FullYear};
use super::bills::{AvoidedCost, BillRows, Weather};
use super::daily::{BilledDays, DailyFrame};
use super::forecast::ForecastSaving;
use super::methods;
use super::proposal::{Grounds, Proposal};
use super::rows::{self, MeterContext, MvFinding, MvRule};
use super::rows_adjusted::{self, ToldWith};
use super::trended::MvError;
use super::unit_scale::IMPLAUSIBLE;
use crate::finding::{Metrics, Severity, Verdict};
use crate::numeric::round;
use crate::run_config::mv_bills::{BilledMeter, CostOfEnergy, DegreeDayBase};
use crate::run_config::{MvEntry, MvMethod, MvTerms, Period};
use crate::wall_clock::Window;

/// The bases of degree days unless the bills choose one for a side, °F.
const USUAL_BASE: f64 = 65.0;

/// The bills of an entry with the weather of their days.
pub struct BilledRun<'a> {
    pub entry: &'a MvEntry,
    pub meter: &'a BilledMeter,
    /// Outdoor temperatures and where they are from, or why there are none.
    pub weather: Result<(&'a Weather, &'a str), &'a str>,
}

impl BilledRun<'_> {
    /// The rows of the meter.
    ///
    /// # Errors
    /// A period has bills, but too few for any model.
    pub fn findings(&self) -> Result<Vec<MvFinding>, MvError> {
        let warning = self.scale_warning();
        if warning.is_some() && self.declines_implausible() {
            let declined = self.declined(IMPLAUSIBLE, &self.bill_caveats());
            return Ok(warning.into_iter().chain(declined).collect());
        }
        let mut found = self.fitted()?;
        found.extend(warning);
        Ok(found)
    }

    /// The row of quantities that cannot be right by what they cost.
    pub fn scale_warning(&self) -> Option<MvFinding> {
        let check = self.meter.check.as_ref()?;
        check.price.finding(&self.meter.label)
    }

    /// Whether nothing is told of such quantities but that row.
    pub fn declines_implausible(&self) -> bool {
        self.meter
            .check
            .as_ref()
            .is_some_and(|check| check.declines)
    }

    /// The rows of bills whose quantities are taken as they are.
    fn fitted(&self) -> Result<Vec<MvFinding>, MvError> {
        let (weather, source) = match self.weather {
            Ok(known) => known,
            Err(reason) => return Ok(self.declined(reason, &[])),
        };
        let terms = self.terms();
        let all = BillRows::of(&self.meter.bills, weather, terms.min_coverage);
        let caveats = self.caveats(&all);
        let rows = all.within(terms.period.map_or(Window::OPEN, Period::window));
        if rows.frame.len() < self.meter.min_bills {
            let reason = format!(
                "only {} usable bills in the baseline, fewer than {}",
                rows.frame.len(),
                self.meter.min_bills
            );
            return Ok(self.declined(&reason, &caveats));
        }
        let baseline = self.model(&rows.frame, "baseline")?;
        let context = MeterContext {
            equip: &self.meter.label,
            terms,
            unit: self.meter.unit.as_ref(),
            drivers: None,
            baseline: &baseline,
            fitted: &rows.frame,
            year: FullYear::default(),
        };
        let mut found = vec![self.baseline_row(&context, &rows, source)];
        if let Some(reporting) = terms.reporting {
            found.push(self.saving(&context, &all, &all.within(reporting.window()))?);
        }
        for row in &mut found {
            row.verdict.caveats.extend(caveats.iter().cloned());
        }
        Ok(found)
    }

    fn terms(&self) -> &MvTerms {
        &self.entry.terms
    }

    fn model(&self, bills: &DailyFrame, of: &str) -> Result<Baseline, MvError> {
        let policy = &self.terms().extrapolation;
        let baseline = match &self.meter.base {
            DegreeDayBase::Fixed(_) => Baseline::of(bills, policy),
            DegreeDayBase::Chosen(search) => Baseline::of_degree_days(bills, search, policy),
        };
        baseline.ok_or_else(|| MvError {
            place: self.entry.place.clone(),
            problem: format!(
                "no model can be fitted to the {} bills of the {of} period of {:?}; more bills than a model has parameters are \
                 needed",
                bills.len(),
                self.meter.label,
            ),
        })
    }

    /// Neither a baseline nor, where one is asked for, a saving.
    fn declined(&self, reason: &str, caveats: &[String]) -> Vec<MvFinding> {
        let label = &self.meter.label;
        let mut found = vec![MvFinding::declined(MvRule::Baseline, label, reason)];
        if self.terms().reporting.is_some() {
            let reason = format!("no baseline: {reason}");
            found.push(MvFinding::declined(MvRule::Savings, label, &reason));
        }
        for row in &mut found {
            row.verdict.caveats.extend(caveats.iter().cloned());
            self.name_units(row);
        }
        found
    }

    /// The units of a row that tells no energy.
    fn name_units(&self, row: &mut MvFinding) {
        let Some((unit, report)) = self
            .meter
            .unit
            .as_ref()
            .and_then(|unit| Some((unit, unit.report?)))
        else {
            return;
        };
        let metrics = &mut row.verdict.metrics;
        metrics
            .set("unit_system", report.system.word())
            .set("meter_unit", unit.energy);
        if row.rule == MvRule::Savings {
            metrics.set("energy_unit", report.system.energy());
        }
    }

    /// What was done with the bills before their weather was looked at.
    fn bill_caveats(&self) -> Vec<String> {
        let mut caveats = self.meter.bills.caveats();
        if let Some(scale) = &self.meter.scale {
            caveats.push(format!(
                "every billed quantity was multiplied by {} (scale_override: {})",
                scale.factor, scale.reason
            ));
        }
        caveats
    }

    /// What was done with the bills before anything was fitted.
    fn caveats(&self, all: &BillRows) -> Vec<String> {
        let mut caveats = self.bill_caveats();
        if all.dropped > 0 {
            caveats.push(format!(
                "{} bills were dropped: the outdoor temperature of less than {}% of their days is known, or they state no \
                 usable energy",
                all.dropped,
                round(100.0 * self.terms().min_coverage, 2)
            ));
        }
        caveats
    }

    /// Bases whose degree days are told: those that the bills chose, else the fixed one.
    fn bases(&self, baseline: &Baseline) -> (f64, f64) {
        match self.meter.base {
            DegreeDayBase::Fixed(base) => (base, base),
            DegreeDayBase::Chosen(_) => {
                let (heating, cooling) = baseline.bases.unwrap_or((None, None));
                (heating.unwrap_or(USUAL_BASE), cooling.unwrap_or(USUAL_BASE))
            }
        }
    }

    fn baseline_row(&self, context: &MeterContext<'_>, rows: &BillRows, source: &str) -> MvFinding {
        let baseline = context.baseline;
        let statistics = baseline.statistics.rounded();
        let weighted = rows.frame.weights().is_some();
        let days = rows.frame.total_days();
        let (heating, cooling) = self.bases(baseline);
        let mut metrics = Metrics::new();
        metrics
            .set("model", baseline.model.code())
            .set("billing", true)
            .set("weighted_by_days", weighted)
            .set("units", self.meter.unit_name.clone())
            .count("n_bills", rows.frame.len())
            .set("n_days", whole(days))
            .number("r2", statistics.r2)
            .number("cv_rmse", statistics.cv_rmse)
            .number("nmbe", statistics.nmbe)
            .set("accept", baseline.accepted())
            .set("g14_interval", "monthly")
            .number_or_null("rho", baseline.rho)
            .number("oat_fit_min", baseline.support.fit_min)
            .number("oat_fit_max", baseline.support.fit_max)
            .number("oat_support_lo", baseline.support.low)
            .number("oat_support_hi", baseline.support.high)
            .rounded("hdd_total", rows.heating_degree_days(heating), 1)
            .rounded("cdd_total", rows.cooling_degree_days(cooling), 1)
            .set("oat_source", source)
            .count("bills_dropped", rows.dropped)
            .count("estimated_merged", self.meter.bills.merged)
            .count("estimated_dropped", self.meter.bills.dropped)
            .rounded("mean_bill_days", baseline.mean_days, 2)
            .set("short_baseline", context.is_short());
        let mut bases = String::new();
        match &self.meter.base {
            DegreeDayBase::Fixed(base) => {
                metrics.number("base_f", *base);
            }
            DegreeDayBase::Chosen(_) => {
                let (own_heating, own_cooling) = baseline.bases.unwrap_or((None, None));
                metrics
                    .set("base_f", "auto")
                    .count("n_params", baseline.model.parameters())
                    .number("adj_r2", statistics.adjusted_r2)
                    .number("heating_base_f", heating)
                    .number("cooling_base_f", cooling);
                for (name, base) in [("heating", own_heating), ("cooling", own_cooling)] {
                    if let Some(base) = base {
                        bases.push_str(&format!("; {name} base {base} °F, chosen by the bills"));
                    }
                }
            }
        }
        if self.meter.cost == Some(CostOfEnergy::Billed)
            || rows.costs.iter().any(|cost| cost.is_finite())
        {
            let cost = rows.billed_cost().map(|cost| round(cost, 2));
            metrics.number_or_null("billed_cost", cost);
        }
        if let Some(unit) = &self.meter.unit
            && let Some(report) = unit.report
        {
            metrics
                .set("unit_system", report.system.word())
                .set("meter_unit", unit.energy);
        }
        let meets = match baseline.accepted() {
            true => "meets",
            false => "does not meet",
        };
        let summary = format!(
            "{} baseline over {} bills ({} days{}): R² {:.2}, CV(RMSE) {:.1}%; {meets} the acceptance of Guideline 14 for \
             monthly data{bases}{}",
            baseline.model.label(),
            rows.frame.len(),
            whole(days),
            if weighted {
                ", by which they are weighted"
            } else {
                ""
            },
            statistics.r2,
            100.0 * statistics.cv_rmse,
            if context.is_short() {
                "; short baseline"
            } else {
                ""
            },
        );
        let severity = match baseline.accepted() {
            true => Severity::Ok,
            false => Severity::Info,
        };
        let verdict = Verdict::new(severity, metrics, summary)
            .with_caveats(context.short_caveat())
            .with_caveats(self.edge_caveats(baseline));
        MvFinding::new(MvRule::Baseline, &self.meter.label, verdict)
    }

    /// Bases that were found at the edge of what was searched.
    fn edge_caveats(&self, baseline: &Baseline) -> Vec<String> {
        let DegreeDayBase::Chosen(search) = &self.meter.base else {
            return Vec::new();
        };
        let (heating, cooling) = baseline.bases.unwrap_or((None, None));
        [
            ("heating", heating, search.heating),
            ("cooling", cooling, search.cooling),
        ]
        .into_iter()
        .filter_map(|(name, base, (low, high))| {
            let base = base?;
            (base <= low || base + search.step > high).then(|| {
                format!(
                    "the {name} base of {base} °F is at the edge of the search, {low} to {high} °F: a better one may lie outside; \
                     widen base_search.{name}"
                )
            })
        })
        .collect()
    }

    /// The row of a saving, or of a proposal.
    ///
    /// # Errors
    /// A period has bills, but too few for any model.
    pub fn saving(
        &self,
        context: &MeterContext<'_>,
        all: &BillRows,
        reporting: &BillRows,
    ) -> Result<MvFinding, MvError> {
        let terms = self.terms();
        let policy = &terms.extrapolation;
        let (baseline, fitted) = (context.baseline, context.fitted);
        let bills = &reporting.frame;
        let declined = |reason: &str| MvFinding::declined(MvRule::Savings, context.equip, reason);
        if terms.method == MvMethod::Auto {
            let grounds = Grounds {
                terms,
                baseline_days: fitted,
                reporting_days: bills,
                min_days: self.meter.min_bills,
                days_of: &|period| all.within(period.window()).frame,
            };
            return Ok(rows::proposal(context, &Proposal::of(&grounds)));
        }
        if bills.is_empty() {
            return Ok(declined("the reporting period has no usable bill"));
        }
        let mut row = match terms.method {
            MvMethod::Forecast | MvMethod::Auto => {
                let saving = ForecastSaving::of(baseline, bills, terms.kernel, policy);
                let mut row = rows::forecast(context, &saving);
                rows_adjusted::forecast(&mut row, self.entry, context, bills, &saving);
                if let Ok(totals) = &saving.totals {
                    self.tell_cost(&mut row, context, reporting, totals.uncertainty);
                }
                row
            }
            MvMethod::Backcast => {
                let model = self.model(bills, "reporting")?;
                let days = bills.len();
                let saving = methods::backcast(&model, days, fitted, terms.kernel, policy);
                let mut row = rows::method(context, &saving, &[("reporting", &model)]);
                let with = ToldWith {
                    model: &model,
                    reporting: bills,
                    normal_year: None,
                };
                rows_adjusted::method(&mut row, self.entry, context, &saving, with);
                row
            }
            MvMethod::StandardConditions => {
                let model = self.model(bills, "reporting")?;
                let year = normal_days(&terms.normal_year);
                let saving = methods::standard_conditions(
                    [baseline, &model],
                    bills.len(),
                    &year,
                    terms.kernel,
                    policy,
                );
                let named = [("baseline", baseline), ("reporting", &model)];
                let mut row = rows::method(context, &saving, &named);
                let with = ToldWith {
                    model: &model,
                    reporting: bills,
                    normal_year: Some(&year),
                };
                rows_adjusted::method(&mut row, self.entry, context, &saving, with);
                row
            }
            MvMethod::Chaining => {
                let window = terms.intermediate.map_or(Window::OPEN, Period::window);
                let between = all.within(window);
                if between.frame.len() < self.meter.min_bills {
                    return Ok(declined(&format!(
                        "the intermediate period has only {} usable bills, fewer than {}",
                        between.frame.len(),
                        self.meter.min_bills
                    )));
                }
                let model = self.model(&between.frame, "intermediate")?;
                let saving = methods::chaining(&model, fitted, bills, policy);
                let mut row = rows::method(context, &saving, &[("intermediate", &model)]);
                let with = ToldWith {
                    model: &model,
                    reporting: bills,
                    normal_year: None,
                };
                rows_adjusted::method(&mut row, self.entry, context, &saving, with);
                row
            }
        };
        row.verdict
            .metrics
            .set("billing", true)
            .count("n_report_bills", bills.len())
            .set("n_report_days", whole(bills.total_days()));
        Ok(row)
    }

    /// What the energy that was not used would have cost.
    fn tell_cost(
        &self,
        row: &mut MvFinding,
        context: &MeterContext<'_>,
        reporting: &BillRows,
        band: Option<f64>,
    ) {
        let Some(how) = self.meter.cost else {
            return;
        };
        let projected = context.baseline.model.over(&reporting.frame);
        let (avoided, basis) = match how {
            CostOfEnergy::Rate(rate) => {
                let frame = &reporting.frame;
                let rows = projected.iter().zip(&frame.energy).enumerate();
                let energy: f64 = rows
                    .map(|(row, (projected, energy))| {
                        (projected - energy) * frame.service_days(row)
                    })
                    .sum();
                let cost = energy * rate;
                (
                    Some(AvoidedCost { cost, rate }),
                    format!("a rate of {rate} a unit"),
                )
            }
            CostOfEnergy::Billed => (
                AvoidedCost::at_billed_rates(reporting, &projected),
                "the rate of each reporting bill (its cost over its energy)".to_owned(),
            ),
        };
        row.verdict
            .metrics
            .number_or_null(
                "avoided_cost",
                avoided.map(|avoided| round(avoided.cost, 2)),
            )
            .number_or_null(
                "avoided_cost_rate",
                avoided.map(|avoided| round(avoided.rate, 6)),
            )
            .set("avoided_cost_basis", basis)
            .number_or_null(
                "avoided_cost_uncertainty",
                avoided
                    .zip(band)
                    .map(|(avoided, band)| round(avoided.rate.abs() * band, 2)),
            );
    }
}

/// Days of these temperatures as bills of one day each, so that models over degree days know them too.
fn normal_days(temperatures: &[f64]) -> DailyFrame {
    DailyFrame {
        bills: temperatures
            .iter()
            .map(|temperature| BilledDays {
                days: 1.0,
                weather: vec![vec![*temperature]],
            })
            .collect(),
        ..methods::normal_days(temperatures)
    }
}

/// Whole days as a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of days, and a cast of a float saturates"
)]
fn whole(days: f64) -> u64 {
    days as u64
}
