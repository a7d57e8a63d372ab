//! Detectors of a pump and its loop (Drift §5.3).

pub mod deltat;
pub mod differential_pressure;
pub mod flow;
pub mod head;
pub mod power;

use crate::catalogue::RuleCatalogue;
use crate::drift::baseline::{FitRule, Signal};
use crate::drift::detector::{Case, Judged};
use crate::drift::detectors::air_handler::coil_leak::alarm_rule;
use crate::drift::measure::{Measure, Measured};
use crate::drift::normaliser::{LoadGate, SPEED_SPAN, SpeedGate, constant_span, is_constant};
use crate::drift::shift::{Direction, Floors};
use crate::drift::windows::{Side, kept};
use crate::finding::Metrics;
use crate::parameters::Parameters;

/// The status that tells a running pump.
pub(super) const STATUS: &str = "pump_status";

/// Whose pump it is, and the roles around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Water {
    Chilled,
    Hot,
}

impl Water {
    pub(super) const fn pick(self, chilled: &'static str, hot: &'static str) -> &'static str {
        match self {
            Self::Chilled => chilled,
            Self::Hot => hot,
        }
    }

    pub(super) const fn flow(self) -> &'static str {
        self.pick("chw_flow", "hw_flow")
    }

    pub(super) const fn speed(self) -> &'static str {
        self.pick("chw_pump_speed", "hw_pump_speed")
    }

    pub(super) const fn pressure(self) -> &'static str {
        self.pick("chw_diff_press", "hw_diff_press")
    }

    pub(super) const fn pressure_setpoint(self) -> &'static str {
        self.pick("chw_diff_press_sp", "hw_diff_press_sp")
    }

    pub(super) const fn warm(self) -> &'static str {
        self.pick("chw_return_temp", "hw_supply_temp")
    }

    pub(super) const fn cool(self) -> &'static str {
        self.pick("chw_supply_temp", "hw_return_temp")
    }
}

/// The parameters of a detector at their defaults; none for a name that the catalogue does not have.
pub(super) fn defaults(rule: &str) -> Option<Parameters> {
    RuleCatalogue::shipped().entry(rule).map(Parameters::of)
}

/// The values of a role while the pump runs.
pub(super) fn running(side: &Side<'_>, role: &str) -> Vec<f64> {
    match side.column(role) {
        Some(values) => kept(values, &side.running(STATUS)),
        None => vec![f64::NAN; side.len()],
    }
}

/// What a metric of a pump is compared at.
pub(super) trait Normalised {
    fn fit(&self) -> &FitRule;

    /// The metric of both windows.
    fn signals(&self) -> &[Signal; 2];

    /// The figures of gate and mode.
    fn write(&self, measured: &Measured, prefix: &str, metrics: &mut Metrics);
}

/// What tells the metrics of a pump and its loop apart.
pub(super) struct PumpMetric {
    pub subject: &'static str,
    /// Under which the baseline is kept.
    pub kind: &'static str,
    /// Of the names of its figures, and the unit in them.
    pub prefix: &'static str,
    pub unit: &'static str,
    pub direction: Direction,
    /// From which on a shift is worth a warning or a fault, in the unit.
    pub floors: (f64, f64),
    /// Whether a baseline without scatter is worth a caveat.
    pub notes_no_scatter: bool,
}

impl PumpMetric {
    /// The shift with its figures, and how it was measured.
    ///
    /// # Errors
    /// There is no baseline, or nothing to compare with it: the verdict that says so.
    pub fn measured(
        &self,
        case: &Case<'_>,
        over: &impl Normalised,
        parameters: &Parameters,
    ) -> Result<(Measure<'static>, Measured, Metrics), Box<Judged>> {
        let sigmas = (
            parameters.number("warn_sigma"),
            parameters.number("fault_sigma"),
        );
        let mut measure = Measure::new(
            self.kind,
            (self.prefix, self.unit),
            *over.fit(),
            self.direction,
            Floors::of(self.floors, sigmas),
        );
        measure.alarm = Some((alarm_rule(parameters), self.direction));
        let [before, after] = over.signals();
        let mut measured = Measured::of(case, &measure, before, after)
            .map_err(|why| Box::new(why.declined(case, self.subject)))?;
        if self.notes_no_scatter {
            measured.note_no_scatter();
        }
        measured.note_level();
        let mut metrics = measured.metrics();
        over.write(&measured, self.prefix, &mut metrics);
        Ok((measure, measured, metrics))
    }
}

/// How a normaliser moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Variable,
    Constant,
    StatusOnly,
}

impl Mode {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Variable => "variable",
            Self::Constant => "constant",
            Self::StatusOnly => "status_only",
        }
    }
}

/// The rule of a fit: a line, or a level over what hardly moves.
fn fit_rule(
    mode: Mode,
    (min_load, span): (f64, f64),
    (low, high): (f64, f64),
    baseline: &Signal,
) -> FitRule {
    let scope = LoadGate {
        min_load,
        min_span: span,
    }
    .scope(low, high);
    let fit = FitRule::over(scope).spanning(span);
    match mode {
        Mode::Variable => fit,
        Mode::Constant | Mode::StatusOnly => {
            let usable = baseline.cleaned(&scope);
            fit.spanning(constant_span(&usable.load)).or_level()
        }
    }
}

/// A metric over the speed of its pump.
pub(super) struct OverSpeed {
    gate: SpeedGate,
    mode: Mode,
    fit: FitRule,
    signals: [Signal; 2],
}

impl OverSpeed {
    /// The metric of both windows; `range` is what is credible of it.
    pub fn of(
        case: &Case<'_>,
        water: Water,
        metric: &str,
        range: (f64, f64),
        parameters: &Parameters,
    ) -> Self {
        let role = water.speed();
        let has_speed = case.has(role);
        let speeds = |side: &Side<'_>| match has_speed {
            true => running(side, role),
            // A pump that only tells that it runs has one speed.
            false => vec![100.0; side.len()],
        };
        let signal =
            |side: &Side<'_>| Signal::new(side.stamps(), running(side, metric), speeds(side));
        let signals = [signal(&case.baseline), signal(&case.current)];
        let [baseline, _] = &signals;
        let (gate, mode) = match has_speed {
            false => (SpeedGate::DEFAULT, Mode::StatusOnly),
            true => (
                SpeedGate::of(parameters.optional("min_speed"), &baseline.load),
                match is_constant(&baseline.load, parameters.number("constant_speed_cv")) {
                    true => Mode::Constant,
                    false => Mode::Variable,
                },
            ),
        };
        let fit = fit_rule(mode, (gate.percent, SPEED_SPAN), range, baseline);
        Self {
            gate,
            mode,
            fit,
            signals,
        }
    }
}

impl Normalised for OverSpeed {
    fn fit(&self) -> &FitRule {
        &self.fit
    }

    fn signals(&self) -> &[Signal; 2] {
        &self.signals
    }

    fn write(&self, measured: &Measured, prefix: &str, metrics: &mut Metrics) {
        metrics
            .number(&format!("{prefix}_speed_gate_pct"), self.gate.percent)
            .set(&format!("{prefix}_speed_gate_source"), self.gate.source)
            .number_or_null(&format!("{prefix}_vfd_floor_pct"), self.gate.learned_floor)
            .set(&format!("{prefix}_speed_mode"), self.mode.word());
        measured.write_model(metrics);
    }
}

/// A metric over the flow of its loop.
pub(super) struct OverFlow {
    gate: LoadGate,
    source: &'static str,
    mode: Mode,
    fit: FitRule,
    signals: [Signal; 2],
}

impl OverFlow {
    /// The metric of both windows, formed of each side's running rows.
    pub fn of(
        case: &Case<'_>,
        water: Water,
        metric: impl Fn(&Side<'_>) -> Vec<f64>,
        range: (f64, f64),
        parameters: &Parameters,
    ) -> Self {
        let signal =
            |side: &Side<'_>| Signal::new(side.stamps(), metric(side), running(side, water.flow()));
        let signals = [signal(&case.baseline), signal(&case.current)];
        let [baseline, _] = &signals;
        let scaled = LoadGate::FLOW.scaled_to(&baseline.load);
        let explicit = (
            parameters.optional("min_load"),
            parameters.optional("min_load_span"),
        );
        let gate = LoadGate {
            min_load: explicit.0.unwrap_or(scaled.min_load),
            min_span: explicit.1.unwrap_or(scaled.min_span),
        };
        let mode = match is_constant(&baseline.load, parameters.number("constant_cv")) {
            true => Mode::Constant,
            false => Mode::Variable,
        };
        let fit = fit_rule(mode, (gate.min_load, gate.min_span), range, baseline);
        Self {
            gate,
            source: match explicit {
                (Some(_), Some(_)) => "explicit",
                _ => "size_relative",
            },
            mode,
            fit,
            signals,
        }
    }
}

impl Normalised for OverFlow {
    fn fit(&self) -> &FitRule {
        &self.fit
    }

    fn signals(&self) -> &[Signal; 2] {
        &self.signals
    }

    fn write(&self, measured: &Measured, prefix: &str, metrics: &mut Metrics) {
        metrics
            .number(&format!("{prefix}_load_gate"), self.gate.min_load)
            .number(&format!("{prefix}_load_span_gate"), self.gate.min_span)
            .set(&format!("{prefix}_gate_source"), self.source)
            .number_or_null(&format!("{prefix}_vfd_floor_pct"), None)
            .set(&format!("{prefix}_normalizer_mode"), self.mode.word());
        measured.write_model(metrics);
    }
}
