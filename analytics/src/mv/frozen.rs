//! A meter whose baseline somebody froze: read, not fitted again (M&V §10).

use super::baseline::FullYear;
use super::daily::DailyFrame;
use super::rows::{MeterContext, MvFinding, MvRule};
use super::trended::MvError;
use super::triggers::{Assessment, Trigger};
use super::versioned::{FrozenVersion, in_force};
use crate::finding::{Metrics, Severity, Verdict};
use crate::run_config::mv_drivers::Drivers;
use crate::run_config::mv_units::MeterUnit;
use crate::run_config::{MvEntry, MvMethod, Period};
use crate::wall_clock::{DAY, Window, date};

/// Tells a saving of an entry against a baseline, over these rows of the reporting period.
pub type Saving<'a> =
    dyn Fn(&MvEntry, &MeterContext<'_>, &DailyFrame) -> Result<MvFinding, MvError> + 'a;

/// A meter with frozen baselines.
pub struct FrozenRun<'a> {
    pub entry: &'a MvEntry,
    pub equip: &'a str,
    pub unit: Option<&'a MeterUnit>,
    /// Terms beside the temperature that the entry names, as its rows have them.
    pub drivers: Option<&'a Drivers>,
    /// Oldest first; at least one.
    pub versions: &'a [FrozenVersion],
    /// The rows of a window.
    pub rows: &'a dyn Fn(Window) -> DailyFrame,
    pub of_bills: bool,
    /// SHA-256 of rows as the store's writer takes it; none where rows are bills.
    pub digest: Option<&'a dyn Fn(&DailyFrame) -> String>,
    pub saving: &'a Saving<'a>,
}

impl FrozenRun<'_> {
    /// The rows of the meter.
    ///
    /// # Errors
    /// As those of the saving.
    pub fn findings(&self) -> Result<Vec<MvFinding>, MvError> {
        let reporting = self.entry.terms.reporting;
        let current = reporting.and_then(|period| in_force(self.versions, period.start));
        let Some(version) = current.or(self.versions.last()) else {
            return Ok(Vec::new());
        };
        let window = Window {
            start: Some(version.start),
            end: Some(version.end - 1),
        };
        let places = match self.places(version) {
            Ok(places) => places,
            Err(reason) => {
                return Ok(vec![MvFinding::declined(
                    MvRule::Baseline,
                    self.equip,
                    &reason,
                )]);
            }
        };
        let all = (self.rows)(window);
        let changed = self.is_changed(version, &all);
        let fitted = all.with_columns(&places);
        let mut judged = version.clone();
        let mut accepted = version.accepted;
        if changed == Some(true) && !fitted.is_empty() {
            judged.baseline = version.baseline.judged_by(&fitted);
            accepted = judged.baseline.accepted();
        }
        let version = &judged;
        let mut found = vec![self.baseline_row(version, &fitted, changed, accepted)];
        let Some(reporting) = reporting else {
            return Ok(found);
        };
        if current.is_none() {
            let reason = "no frozen baseline ended before the reporting period begins";
            found.push(MvFinding::declined(MvRule::Savings, self.equip, reason));
            return Ok(found);
        }
        if let Some(reason) = self.other_method(version) {
            found.push(MvFinding::declined(MvRule::Savings, self.equip, &reason));
            return Ok(found);
        }
        self.told(version, &fitted, &places, reporting, &mut found)?;
        Ok(found)
    }

    /// Where the entry's rows have the terms of a version's model, in its order.
    fn places(&self, version: &FrozenVersion) -> Result<Vec<usize>, String> {
        let known = || self.drivers.iter().flat_map(|drivers| &drivers.list);
        let place = |name: &String| known().position(|driver| driver.word() == name);
        let places: Option<Vec<usize>> = version.drivers.iter().map(place).collect();
        places.ok_or_else(|| {
            format!(
                "the frozen baseline {} knows {} beside the temperature; declare them in drivers, with model \"cp_driver\"",
                version.name(),
                version.drivers.join(", ")
            )
        })
    }

    /// Whether the rows of the baseline's window are others than those that it was fitted on; none when nobody knows.
    fn is_changed(&self, version: &FrozenVersion, rows: &DailyFrame) -> Option<bool> {
        match (self.digest, &version.fit_rows_digest) {
            (Some(digest), Some(stored)) => Some(digest(rows) != *stored),
            _ if self.of_bills => Some(!version.is_fitted_on(rows)),
            _ => None,
        }
    }

    /// A declared method may not differ from the frozen one.
    fn other_method(&self, version: &FrozenVersion) -> Option<String> {
        let terms = &self.entry.terms;
        let frozen = version.method?;
        let differs =
            terms.method_declared && terms.method != MvMethod::Auto && terms.method != frozen;
        differs.then(|| {
            format!(
                "method {} is not the one that was frozen with {} ({}); another method needs a new baseline",
                terms.method.word(),
                version.name(),
                frozen.word()
            )
        })
    }

    fn told(
        &self,
        version: &FrozenVersion,
        fitted: &DailyFrame,
        places: &[usize],
        reporting: Period,
        found: &mut Vec<MvFinding>,
    ) -> Result<(), MvError> {
        let since = (self.rows)(Window {
            start: Some(version.end),
            end: Some(reporting.end),
        })
        .with_columns(places);
        let rows = (self.rows)(reporting.window()).with_columns(places);
        let later: Vec<FrozenVersion> = self
            .versions
            .iter()
            .filter(|other| other.number > version.number)
            .cloned()
            .collect();
        let ledger = &self.entry.ledger;
        let triggers = Assessment {
            version,
            later: &later,
            policy: &self.entry.rebaseline,
            extrapolation: &self.entry.terms.extrapolation,
            ecm_dates: &ledger.ecm_dates,
            settle_days: ledger.settle_days,
            since: &since,
            reporting: &rows,
            reporting_start: reporting.start,
            of_days: !self.of_bills,
        }
        .triggers();
        let cut = self.cut(&triggers, &later, reporting);
        let name = version.name();
        let mut saving = match &cut {
            Some((day, reason)) if *day <= reporting.start => {
                MvFinding::declined(MvRule::Savings, self.equip, reason)
            }
            _ => {
                let kept = rows.kept(|row| {
                    let end = rows.days.get(row).map(|day| {
                        let days = rows.service_days(row) - 1.0;
                        #[expect(
                            clippy::cast_possible_truncation,
                            reason = "a whole number of days, and a cast of a float saturates"
                        )]
                        day.saturating_add((days as i64).saturating_mul(DAY))
                    });
                    cut.as_ref()
                        .is_none_or(|(cut, _)| end.is_some_and(|end| end < *cut))
                });
                let entry = self.against(version);
                let context = MeterContext {
                    equip: self.equip,
                    terms: &entry.terms,
                    unit: self.unit,
                    drivers: self.drivers.filter(|_| !places.is_empty()),
                    baseline: &version.baseline,
                    fitted,
                    year: FullYear {
                        min_days: self.entry.rebaseline.min_baseline_days,
                        max_missing: self.entry.rebaseline.max_missing,
                    },
                };
                let mut row = (self.saving)(&entry, &context, &kept)?;
                row.verdict.metrics.set("partial", cut.is_some());
                if let Some((day, reason)) = &cut {
                    row.verdict.caveats.push(format!(
                        "partial: nothing is told from {} on: {reason}",
                        date(*day)
                    ));
                }
                row
            }
        };
        saving.verdict.metrics.set("baseline_version", name.clone());
        found.push(saving);
        found.extend(
            triggers
                .iter()
                .map(|trigger| trigger.row(self.equip, &name)),
        );
        Ok(())
    }

    /// The entry as it stands against a frozen baseline: the method, kernel and ledger are those that were frozen with it.
    fn against(&self, version: &FrozenVersion) -> MvEntry {
        let mut entry = self.entry.clone();
        entry.terms.kernel = version.kernel;
        if entry.terms.method != MvMethod::Auto {
            entry.terms.method = version.method.unwrap_or(entry.terms.method);
            entry.terms.method_declared = true;
        }
        entry.terms.period = Some(Period {
            start: version.start,
            end: version.end - 1,
        });
        let mut entries = version.adjustments.clone();
        entries.append(&mut entry.ledger.entries);
        entry.ledger.entries = entries;
        entry
    }

    /// From which day on nothing is told, and why.
    fn cut(
        &self,
        triggers: &[Trigger],
        later: &[FrozenVersion],
        reporting: Period,
    ) -> Option<(i64, String)> {
        let stopped = triggers
            .iter()
            .find(|trigger| trigger.stops())
            .map(|trigger| {
                let reason = format!(
                    "{} is not resolved ({}); record an adjustment for it, or renew the baseline",
                    trigger.key(),
                    trigger.detail
                );
                (trigger.day, reason)
            });
        let superseded = later.first().map(|next| {
            let reason = format!("baseline {} takes over", next.name());
            (next.start, reason)
        });
        [stopped, superseded]
            .into_iter()
            .flatten()
            .filter(|(day, _)| *day <= reporting.end)
            .min_by_key(|(day, _)| *day)
    }

    fn baseline_row(
        &self,
        version: &FrozenVersion,
        fitted: &DailyFrame,
        changed: Option<bool>,
        accepted: bool,
    ) -> MvFinding {
        let baseline = &version.baseline;
        let statistics = baseline.statistics.rounded();
        let mut metrics = Metrics::new();
        metrics
            .set("model", baseline.model.code())
            .number("r2", statistics.r2)
            .number("cv_rmse", statistics.cv_rmse)
            .number("nmbe", statistics.nmbe)
            .set("accept", accepted)
            .number_or_null("rho", baseline.rho)
            .set("baseline_version", version.name())
            .count("versions", self.versions.len())
            .set("frozen_at", version.frozen_at.clone())
            .set("accepted_by", version.accepted_by.clone())
            .set("frozen_method", version.method.map(MvMethod::word))
            .set("baseline_data_changed", changed);
        if !version.drivers.is_empty() {
            metrics.set("model_form", "cp_driver");
        }
        match self.of_bills {
            false => {
                metrics.count("n_days", statistics.n);
            }
            true => {
                metrics
                    .set("billing", true)
                    .set("g14_interval", "monthly")
                    .count("n_bills", statistics.n)
                    .number("n_days", version.days)
                    .set("weighted_by_days", fitted.weights().is_some());
                let (heating, cooling) = baseline.bases.unwrap_or((None, None));
                for (key, base) in [("heating_base_f", heating), ("cooling_base_f", cooling)] {
                    if let Some(base) = base {
                        metrics.number(key, base);
                    }
                }
            }
        }
        if let Some(unit) = self.unit
            && let Some(report) = unit.report
        {
            metrics
                .set("unit_system", report.system.word())
                .set("meter_unit", unit.energy);
        }
        let summary = format!(
            "{} baseline {} of {} to {}, frozen and not fitted again: R² {:.2}, CV(RMSE) {:.1}%",
            baseline.model.label(),
            version.name(),
            date(version.start),
            date(version.end - 1),
            statistics.r2,
            100.0 * statistics.cv_rmse
        );
        let severity = match accepted {
            true => Severity::Ok,
            false => Severity::Info,
        };
        let moved = (changed == Some(true)).then(|| {
            "the data of the baseline's window are no longer those that it was fitted on".to_owned()
        });
        let verdict = Verdict::new(severity, metrics, summary).with_caveats(moved);
        MvFinding::new(MvRule::Baseline, self.equip, verdict)
    }
}
