//! Baselines that somebody froze, as the reference stores them: read, never written (M&V §10).

use serde_json::Value;

use super::baseline::Baseline;
use super::change_point::{ChangePointModel, ModelKind};
use super::coverage::{Domain, ExtrapolationPolicy, Support};
use super::daily::DailyFrame;
use super::degree_days::{DegreeDayKind, DegreeDayModel};
use super::forecast::Kernel;
use super::least_squares::LeastSquares;
use super::ledger::LedgerEntry;
use super::model::BaselineModel;
use super::statistics::{AcceptanceLimit, FitStatistics};
use crate::run_config::mv_ledger::ledger_entry;
use crate::run_config::{MvMethod, Section};
use crate::wall_clock::{DAY, parse_bound};

/// One version of a meter's baseline.
#[derive(Debug, Clone, PartialEq)]
pub struct FrozenVersion {
    pub number: u64,
    pub baseline: Baseline,
    /// Words of the terms beside the temperature, in the order of the model.
    pub drivers: Vec<String>,
    /// Whether it met its acceptance when it was frozen.
    pub accepted: bool,
    /// Whether it was valid by SEP then; none when that is not stored.
    pub sep_valid: Option<bool>,
    /// Midnight of the first, and after the last, day of its window.
    pub start: i64,
    pub end: i64,
    pub frozen_at: String,
    pub accepted_by: String,
    pub method: Option<MvMethod>,
    pub kernel: Kernel,
    /// SHA-256 of the rows that it was fitted on, each a line of its midnight, temperature and energy.
    pub fit_rows_digest: Option<String>,
    /// What people recorded against it since.
    pub adjustments: Vec<LedgerEntry>,
    /// Keys of the triggers that it answers.
    pub answers: Vec<String>,
    /// First days and energies of the bills that it was fitted on; empty for days.
    pub bills: Vec<(i64, f64)>,
    /// Days that these bills cover.
    pub days: f64,
}

/// Bills are the same when their energies differ by less than the last digit that is stored.
const SAME_ENERGY: f64 = 0.01;

impl FrozenVersion {
    /// `v2`.
    pub fn name(&self) -> String {
        format!("v{}", self.number)
    }

    /// Whether bills are those that it was fitted on.
    pub fn is_fitted_on(&self, bills: &DailyFrame) -> bool {
        let stored = self.bills.iter();
        bills.len() == self.bills.len()
            && stored.enumerate().all(|(row, (day, energy))| {
                let now = bills.energy.get(row).copied().unwrap_or(f64::NAN);
                bills.days.get(row) == Some(day)
                    && (now * bills.service_days(row) - energy).abs() < SAME_ENERGY
            })
    }
}

/// Whose baselines are looked up.
#[derive(Debug, Clone, Copy)]
pub struct MeterKey<'a> {
    /// The facility's id and the site's name, as far as the configuration tells them.
    pub places: &'a [&'a str],
    pub equip: &'a str,
    /// `mv_power`, `mv_bills`.
    pub kind: &'a str,
}

/// The versions of a meter, oldest first.
///
/// # Errors
/// The text is no store of baselines, or a record of the meter cannot be read; the problem for people.
pub fn versions(
    text: &str,
    key: MeterKey<'_>,
    policy: &ExtrapolationPolicy,
) -> Result<Vec<FrozenVersion>, String> {
    let store: Value =
        serde_json::from_str(text).map_err(|error| format!("it is no JSON ({error})"))?;
    if store.get("schema").and_then(Value::as_u64) != Some(1) {
        return Err("it is no store of baselines of schema 1".to_owned());
    }
    let records = store
        .get("mv_baselines")
        .and_then(Value::as_array)
        .ok_or("it has no mv_baselines")?;
    let Some(record) = records.iter().find(|record| is_of(record, key)) else {
        return Ok(Vec::new());
    };
    let history = record.get("history").and_then(Value::as_array);
    let mut versions: Vec<FrozenVersion> = history
        .into_iter()
        .flatten()
        .chain([record])
        .map(|record| {
            read(record, policy).map_err(|problem| {
                format!("the record of {:?} ({}): {problem}", key.equip, key.kind)
            })
        })
        .collect::<Result<_, _>>()?;
    versions.sort_by_key(|version| version.number);
    Ok(versions)
}

fn is_of(record: &Value, key: MeterKey<'_>) -> bool {
    let text = |name: &str| record.get(name).and_then(Value::as_str).unwrap_or_default();
    let place = match text("facility_id") {
        "" => text("site"),
        facility => facility,
    };
    text("equip") == key.equip
        && text("kind") == key.kind
        && !place.is_empty()
        && key.places.contains(&place)
}

/// The latest version whose window ended before a reporting period begins.
pub fn in_force(versions: &[FrozenVersion], reporting_start: i64) -> Option<&FrozenVersion> {
    versions
        .iter()
        .rev()
        .find(|version| version.end <= reporting_start)
}

fn read(record: &Value, policy: &ExtrapolationPolicy) -> Result<FrozenVersion, String> {
    let provenance = field(record, "provenance")?;
    let text = |of: &Value, name: &str| {
        of.get(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
            .ok_or_else(|| format!("it has no {name}"))
    };
    let day = |name: &str| {
        let text = text(record, name)?;
        let stamp = parse_bound(&text).ok_or_else(|| format!("its {name} {text:?} is no date"))?;
        Ok::<i64, String>(stamp.div_euclid(DAY).saturating_mul(DAY))
    };
    let statistics = field(provenance, "fit_stats")?;
    let number = |name: &str| {
        statistics
            .get(name)
            .and_then(Value::as_f64)
            .unwrap_or(f64::NAN)
    };
    let count = |name: &str| {
        let value = statistics.get(name).and_then(Value::as_u64);
        usize::try_from(value.unwrap_or(0)).unwrap_or(0)
    };
    let fit = FitStatistics {
        n: count("n"),
        p: count("p"),
        r2: number("r2"),
        adjusted_r2: number("adj_r2"),
        rmse: number("rmse"),
        cv_rmse: number("cv_rmse"),
        nmbe: number("nmbe"),
        f: number("f_stat"),
    };
    let adjustments = provenance.get("adjustments").and_then(Value::as_array);
    let method = text(provenance, "method").unwrap_or_default();
    let billing = provenance
        .get("billing")
        .filter(|billing| !billing.is_null());
    let (start, end) = (day("period_start")?, day("period_end")?.saturating_add(DAY));
    let coefficients = field(record, "coefficients")?;
    let bills: Vec<StoredBill> = billing
        .and_then(|billing| billing.get("bills"))
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(StoredBill::read)
        .filter(|bill| bill.first >= start && bill.last < end)
        .collect();
    Ok(FrozenVersion {
        number: provenance
            .get("version")
            .and_then(Value::as_u64)
            .ok_or("it has no provenance.version")?,
        baseline: baseline(coefficients, fit, billing.is_some(), policy)?,
        drivers: coefficients
            .get("driver_names")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        accepted: statistics.get("accept").and_then(Value::as_bool) == Some(true),
        sep_valid: provenance
            .pointer("/sep_validity/sep_valid")
            .and_then(Value::as_bool),
        start,
        end,
        frozen_at: text(record, "frozen_at")?,
        accepted_by: text(record, "accepted_by").unwrap_or_default(),
        method: MvMethod::ALL
            .into_iter()
            .find(|known| known.word() == method),
        kernel: match provenance.get("kernel").and_then(Value::as_str) {
            Some("exact") => Kernel::Exact,
            _ => Kernel::Guideline14,
        },
        fit_rows_digest: text(provenance, "fit_frame_sha256").ok(),
        adjustments: adjustments
            .into_iter()
            .flatten()
            .filter_map(|adjustment| adjustment.get("entry"))
            .map(recorded_entry)
            .collect::<Result<_, _>>()?,
        answers: provenance
            .get("trigger_ids")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|key| key.as_str().map(str::to_owned))
            .collect(),
        days: bills.iter().map(|bill| bill.days).sum(),
        bills: bills
            .into_iter()
            .map(|bill| (bill.first, bill.energy))
            .collect(),
    })
}

/// A bill of a record, which lists those after its window too.
struct StoredBill {
    first: i64,
    last: i64,
    days: f64,
    energy: f64,
}

impl StoredBill {
    fn read(bill: &Value) -> Option<Self> {
        let day = |name: &str| parse_bound(bill.get(name)?.as_str()?);
        let number = |name: &str| bill.get(name)?.as_f64();
        Some(Self {
            first: day("start")?,
            last: day("end")?,
            days: number("days")?,
            energy: number("energy")?,
        })
    }
}

/// An entry as the store writes it, with keys that only a fit fills.
fn recorded_entry(entry: &Value) -> Result<LedgerEntry, String> {
    const FITTED: [&str; 7] = [
        "rate",
        "rate_se",
        "n_rows",
        "fit_period",
        "fit",
        "material",
        "caveats",
    ];
    let mut fields = entry
        .as_object()
        .cloned()
        .ok_or("an adjustment is no object")?;
    fields.retain(|key, value| !value.is_null() && !FITTED.contains(&key.as_str()));
    ledger_entry(&Section::root(&fields)).map_err(|error| format!("an adjustment: {error}"))
}

fn field<'a>(of: &'a Value, name: &str) -> Result<&'a Value, String> {
    of.get(name)
        .filter(|value| !value.is_null())
        .ok_or_else(|| format!("it has no {name}"))
}

fn numbers(value: Option<&Value>) -> Vec<f64> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_f64).collect()
}

fn baseline(
    stored: &Value,
    statistics: FitStatistics,
    of_bills: bool,
    policy: &ExtrapolationPolicy,
) -> Result<Baseline, String> {
    let record = field(stored, "fit_record")?;
    let inverse: Vec<Vec<f64>> = record
        .get("xtx_pinv")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|row| numbers(Some(row)))
        .collect();
    let sse = stored
        .get("sse")
        .and_then(Value::as_f64)
        .unwrap_or(f64::NAN);
    let fit = |coefficients: Vec<f64>| {
        LeastSquares::known(coefficients, sse, &inverse)
            .ok_or_else(|| "its model and its covariance do not fit together".to_owned())
    };
    let kind = stored
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let model = match stored.get("type").and_then(Value::as_str) {
        Some("ChangePointModel" | "ChangePointDriverModel") => {
            let points = numbers(stored.get("change_points"));
            let coefficients = stored.get("coeffs").and_then(Value::as_object);
            let base_and_slopes = coefficients
                .into_iter()
                .flatten()
                .filter(|(name, _)| !name.starts_with("Tc"))
                .filter_map(|(_, value)| value.as_f64());
            let kind = ModelKind::ALL
                .into_iter()
                .find(|known| known.code() == kind)
                .ok_or_else(|| format!("there is no model {kind:?}"))?;
            let further = numbers(stored.get("driver_coef"));
            let drivers = further.len();
            let fit = fit(base_and_slopes.chain(further).collect())?;
            let model = ChangePointModel::known(kind, &points, drivers, fit, statistics.n)
                .ok_or("its change points do not fit its kind")?;
            BaselineModel::ChangePoint(model)
        }
        Some("BillingDegreeDayModel") => {
            let kind = DegreeDayKind::ALL
                .into_iter()
                .find(|known| known.code() == kind)
                .ok_or_else(|| format!("there is no model {kind:?}"))?;
            let number = |name: &str| stored.get(name).and_then(Value::as_f64);
            let coefficients = ["intercept", "heating_slope", "cooling_slope"]
                .into_iter()
                .filter(|name| match kind {
                    DegreeDayKind::Heating => *name != "cooling_slope",
                    DegreeDayKind::Cooling => *name != "heating_slope",
                    DegreeDayKind::Both => true,
                })
                .filter_map(number)
                .collect();
            let base = |name: &str| number(name).unwrap_or(f64::NAN);
            let bases = (base("heating_base_f"), base("cooling_base_f"));
            let fit = fit(coefficients)?;
            BaselineModel::DegreeDays(DegreeDayModel::known(kind, bases, fit, statistics.n))
        }
        Some(other) => return Err(format!("models of type {other} cannot be read here")),
        None => return Err("its model has no type".to_owned()),
    };
    let supports: Vec<Support> = record
        .get("values")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|values| Support::of(&numbers(Some(values)), policy))
        .collect();
    let support = supports
        .first()
        .copied()
        .ok_or("it does not say what drove its fit")?;
    let leverage = record.get("h_max").and_then(Value::as_f64);
    Ok(Baseline::known(
        model,
        statistics,
        record.get("rho").and_then(Value::as_f64),
        Domain {
            leverage: leverage.filter(|_| supports.len() > 1),
            supports,
        },
        support,
        record
            .get("weight_scale")
            .and_then(Value::as_f64)
            .unwrap_or(1.0),
        match of_bills {
            true => AcceptanceLimit::BILLS,
            false => AcceptanceLimit::DAILY,
        },
    ))
}
