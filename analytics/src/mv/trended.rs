//! A trended meter: its days, its baseline and its saving (M&V §3–§7).

use super::baseline::{Baseline, FullYear};
use super::daily::{DailyFrame, DailyRule};
use super::forecast::ForecastSaving;
use super::methods;
use super::proposal::{Grounds, Proposal};
use super::rows::{self, MeterContext, MvFinding, MvRule};
use super::rows_adjusted::{self, ToldWith};
use crate::frame::Frame;
use crate::run_config::{MvEntry, MvMethod, MvTerms, Period, TrendedMeter};
use crate::wall_clock::Window;

/// A project that cannot be computed: not a saving that is declined, but an entry that makes no sense for its data.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct MvError {
    /// `mv[0]`.
    pub place: String,
    pub problem: String,
}

/// One meter of an entry.
pub struct TrendedRun<'a> {
    pub entry: &'a MvEntry,
    pub meter: &'a TrendedMeter,
    /// On a grid of one hour.
    pub frame: Frame<'a>,
    pub rule: DailyRule<'a>,
}

impl TrendedRun<'_> {
    /// The rows of the meter.
    ///
    /// # Errors
    /// A period has days, but too few or too odd ones for any model.
    pub fn findings(&self) -> Result<Vec<MvFinding>, MvError> {
        let terms = self.terms();
        let fitted = match self.fitted_days() {
            Ok(fitted) => fitted,
            Err(reason) => return Ok(self.declined(&reason)),
        };
        let baseline = self.model(&fitted, "baseline")?;
        let context = MeterContext {
            equip: self.frame.equip(),
            terms,
            unit: self.meter.unit.as_ref(),
            drivers: self.meter.drivers.as_ref(),
            baseline: &baseline,
            fitted: &fitted,
            year: FullYear {
                min_days: self.entry.rebaseline.min_baseline_days,
                max_missing: self.entry.rebaseline.max_missing,
            },
        };
        let mut found = vec![rows::baseline(&context)];
        if let Some(reporting) = terms.reporting {
            found.push(self.saving(&context, &self.days(reporting.window()))?);
        }
        Ok(found)
    }

    fn terms(&self) -> &MvTerms {
        &self.entry.terms
    }

    /// The days of the baseline, or why there is none.
    fn fitted_days(&self) -> Result<DailyFrame, String> {
        if self.frame.with_data(&self.meter.role).is_none() {
            return Err(format!("there is no data of the role {}", self.meter.role));
        }
        if self.frame.with_data("oat").is_none() {
            return Err("there is no outdoor temperature".to_owned());
        }
        let absent: Vec<&str> = self
            .meter
            .drivers
            .iter()
            .flat_map(|drivers| drivers.roles())
            .filter(|role| self.frame.with_data(role).is_none())
            .collect();
        if !absent.is_empty() {
            return Err(format!(
                "there is no data of the drivers {}",
                absent.join(", ")
            ));
        }
        let fitted = self.days(self.terms().period.map_or(Window::OPEN, Period::window));
        match fitted.len() < self.meter.min_days {
            true => Err(format!(
                "only {} usable days, fewer than {}",
                fitted.len(),
                self.meter.min_days
            )),
            false => Ok(fitted),
        }
    }

    /// The days of a window; none where the meter, or the weather, has no sample.
    pub fn days(&self, window: Window) -> DailyFrame {
        let days =
            DailyFrame::of(&self.frame, &self.meter.role, window, self.rule).unwrap_or_default();
        match &self.meter.drivers {
            Some(drivers) => days.with_drivers(&self.frame, window, drivers, self.rule),
            None => days,
        }
    }

    fn model(&self, days: &DailyFrame, of: &str) -> Result<Baseline, MvError> {
        Baseline::of(days, &self.terms().extrapolation).ok_or_else(|| MvError {
            place: self.entry.place.clone(),
            problem: format!(
                "no model can be fitted to the {} days of the {of} period of {:?}; at least 3 days, and more than a model has \
                 parameters, are needed",
                days.len(),
                self.frame.equip(),
            ),
        })
    }

    /// Neither a baseline nor, where one is asked for, a saving.
    fn declined(&self, reason: &str) -> Vec<MvFinding> {
        let equip = self.frame.equip();
        let mut found = vec![MvFinding::declined(MvRule::Baseline, equip, reason)];
        if self.terms().reporting.is_some() {
            let reason = format!("no baseline: {reason}");
            found.push(MvFinding::declined(MvRule::Savings, equip, &reason));
        }
        found
    }

    /// The row of a saving, or of a proposal.
    ///
    /// # Errors
    /// A period has days, but too few or too odd ones for any model.
    pub fn saving(
        &self,
        context: &MeterContext<'_>,
        reporting: &DailyFrame,
    ) -> Result<MvFinding, MvError> {
        let terms = self.terms();
        let policy = &terms.extrapolation;
        let (baseline, fitted) = (context.baseline, context.fitted);
        let declined =
            |reason: &str| MvFinding::declined(MvRule::Savings, self.frame.equip(), reason);
        if terms.method == MvMethod::Auto {
            let grounds = Grounds {
                terms,
                baseline_days: fitted,
                reporting_days: reporting,
                min_days: self.meter.min_days,
                days_of: &|period| self.days(period.window()),
            };
            return Ok(rows::proposal(context, &Proposal::of(&grounds)));
        }
        if reporting.is_empty() {
            return Ok(declined("the reporting period has no usable day"));
        }
        match terms.method {
            MvMethod::Forecast | MvMethod::Auto => {
                let saving = ForecastSaving::of(baseline, reporting, terms.kernel, policy);
                let mut row = rows::forecast(context, &saving);
                rows_adjusted::forecast(&mut row, self.entry, context, reporting, &saving);
                Ok(row)
            }
            MvMethod::Backcast => {
                let model = self.model(reporting, "reporting")?;
                let days = reporting.len();
                let saving = methods::backcast(&model, days, fitted, terms.kernel, policy);
                let mut row = rows::method(context, &saving, &[("reporting", &model)]);
                let with = ToldWith {
                    model: &model,
                    reporting,
                    normal_year: None,
                };
                rows_adjusted::method(&mut row, self.entry, context, &saving, with);
                Ok(row)
            }
            MvMethod::StandardConditions => {
                let model = self.model(reporting, "reporting")?;
                let models = [baseline, &model];
                let year = methods::normal_days(&terms.normal_year);
                let days = reporting.len();
                let saving =
                    methods::standard_conditions(models, days, &year, terms.kernel, policy);
                let named = [("baseline", baseline), ("reporting", &model)];
                let mut row = rows::method(context, &saving, &named);
                let with = ToldWith {
                    model: &model,
                    reporting,
                    normal_year: Some(&year),
                };
                rows_adjusted::method(&mut row, self.entry, context, &saving, with);
                Ok(row)
            }
            MvMethod::Chaining => {
                let window = terms.intermediate.map_or(Window::OPEN, Period::window);
                let between = self.days(window);
                if between.len() < self.meter.min_days {
                    return Ok(declined(&format!(
                        "the intermediate period has only {} usable days, fewer than {}",
                        between.len(),
                        self.meter.min_days
                    )));
                }
                let model = self.model(&between, "intermediate")?;
                let saving = methods::chaining(&model, fitted, reporting, policy);
                let mut row = rows::method(context, &saving, &[("intermediate", &model)]);
                let with = ToldWith {
                    model: &model,
                    reporting,
                    normal_year: None,
                };
                rows_adjusted::method(&mut row, self.entry, context, &saving, with);
                Ok(row)
            }
        }
    }
}
