//! Outputs that components compute: writables, kitControl logic, proxy extensions.

use super::changes::ChangeEvent;
use super::component::{Component, Handle};
use super::point;
use super::registry::TypeDef;
use super::schedule;
use super::station::Station;
use super::status::Status;
use super::value::{PointKind, Value};
use chrono::{DateTime, Utc};
use std::f64::consts::TAU;
use std::sync::Arc;

/// What a component with memory keeps between ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Memory {
    /// Instant of the last computation.
    at: DateTime<Utc>,
    /// The integral term of a loop, or nothing.
    integral: f64,
    /// The last error of a loop.
    error: f64,
    /// Input of a delay and since when it has it.
    input: Option<(bool, DateTime<Utc>)>,
}

/// Whether the output changes without any input changing.
pub(super) fn depends_on_time(ty: &TypeDef) -> bool {
    [
        "kitControl:Ramp",
        "kitControl:SineWave",
        "kitControl:LoopPoint",
        "kitControl:BooleanDelay",
    ]
    .iter()
    .any(|spec| ty.is(spec))
}

impl Station {
    /// Computes the output of a component anew and carries changes over its links.
    pub(super) fn reevaluate(&mut self, handle: Handle) {
        for slot in self.recompute(handle) {
            self.follow_links(handle, &slot);
        }
    }

    /// Computes the output of a component anew; names the slots that changed.
    pub(super) fn recompute(&mut self, handle: Handle) -> Vec<Arc<str>> {
        let now = self.now;
        let Some(component) = self.component(handle) else {
            return Vec::new();
        };
        if component.is_fed() && !component.ty.is_writable_point() {
            return Vec::new();
        }
        let mut memory = component.memory.clone();
        let output = match component.ty.point_kind() {
            Some(kind) if component.ty.is_writable_point() => {
                Some(point::arbitrate(component, kind, now))
            }
            Some(kind) => compute(component, kind, now, &mut memory),
            None if schedule::is_schedule(component.ty) => self.schedule_output(handle),
            None => None,
        };
        let Some(output) = output else {
            return Vec::new();
        };
        let changed = component
            .stored("out")
            .is_none_or(|old| !old.same_as(&output));
        if let Some(component) = self.component_mut(handle) {
            component.memory = memory;
            if changed {
                component.store("out", output);
            }
        }
        if !changed {
            return Vec::new();
        }
        self.changes
            .record(handle, ChangeEvent::Set { slot: "out".into() });
        vec!["out".into()]
    }

    /// Properties that a proxy extension takes from its point's driver.
    pub(super) fn proxy_property(&self, proxy: &Component, name: &str) -> Option<Value> {
        let point = self.component(proxy.parent()?)?;
        let sample = point.feed.as_ref()?.sample(self.now);
        let bits =
            sample.status & (Status::DISABLED | Status::FAULT | Status::DOWN | Status::STALE);
        match name {
            "status" => Some(Value::Status(Status::from_bits(bits))),
            "readValue" => {
                let kind = point.ty.point_kind()?;
                let current = proxy.stored(name)?;
                let value =
                    Value::status_value(kind, sample.value, Status::from_bits(sample.status));
                (current.type_spec() == value.type_spec()).then_some(value)
            }
            "faultCause" if bits & Status::FAULT != 0 => {
                Some(Value::from("Read fault: device reports an error"))
            }
            _ => None,
        }
    }
}

fn status_input(component: &Component, slot: &str) -> (Option<Value>, Status) {
    match component.stored(slot).and_then(Value::as_status_value) {
        Some((value, status)) => (Some(value.clone()), status.clone()),
        None => (None, Status::null()),
    }
}

/// A numeric input; null inputs do not take part.
fn number(component: &Component, slot: &str) -> Option<(f64, u32)> {
    let (value, status) = status_input(component, slot);
    (!status.has(Status::NULL)).then_some((value?.as_f64()?, status.bits))
}

fn truth(component: &Component, slot: &str) -> Option<(bool, u32)> {
    let (value, status) = status_input(component, slot);
    (!status.has(Status::NULL)).then_some((value?.as_bool()?, status.bits))
}

fn property(component: &Component, slot: &str) -> f64 {
    component
        .stored(slot)
        .and_then(Value::as_f64)
        .unwrap_or_default()
}

fn enabled(component: &Component) -> bool {
    component
        .stored("enabled")
        .and_then(Value::as_bool)
        .unwrap_or(true)
}

/// Status of a computed output: the bits of `propagateFlags` that any used input has; null if nothing could be computed.
fn propagated(component: &Component, inputs: u32) -> Status {
    match component.stored("propagateFlags") {
        Some(Value::Status(mask)) => Status::from_bits(mask.bits & inputs),
        _ => Status::ok(),
    }
}

fn compute(
    component: &Component,
    kind: PointKind,
    now: DateTime<Utc>,
    memory: &mut Option<Box<Memory>>,
) -> Option<Value> {
    let name = component.ty.spec().strip_prefix("kitControl:")?;
    match name {
        "NumericConst" | "BooleanConst" => component.stored("value").cloned(),
        "Ramp" | "SineWave" => enabled(component)
            .then(|| Value::status_numeric(wave(component, name, now), Status::ok())),
        "NumericSwitch" | "BooleanSwitch" => Some(switch(component, kind)),
        "LoopPoint" => Some(run_loop(component, now, memory)),
        "Reset" => Some(reset(component)),
        "BooleanDelay" => Some(delay(component, now, memory)),
        _ if kind == PointKind::Numeric => Some(arithmetic(component, name)),
        _ if component.ty.is("kitControl:Comparison") => Some(comparison(component, name)),
        _ if component.ty.is("kitControl:Logic") => Some(logic(component, name)),
        _ => None,
    }
}

fn arithmetic(component: &Component, name: &str) -> Value {
    let inputs: Vec<(f64, u32)> = ["inA", "inB", "inC", "inD"]
        .iter()
        .filter_map(|slot| number(component, slot))
        .collect();
    let bits = inputs.iter().fold(0, |all, (_, bits)| all | bits);
    let numbers: Vec<f64> = inputs.iter().map(|(number, _)| *number).collect();
    let pair = number(component, "inA")
        .zip(number(component, "inB"))
        .map(|((a, _), (b, _))| (a, b));
    let result = match name {
        "Add" => numbers.iter().copied().reduce(|a, b| a + b),
        "Multiply" => numbers.iter().copied().reduce(|a, b| a * b),
        "Average" => numbers
            .iter()
            .copied()
            .reduce(|a, b| a + b)
            .map(|sum| sum / numbers.len() as f64),
        "Minimum" => numbers.iter().copied().reduce(f64::min),
        "Maximum" => numbers.iter().copied().reduce(f64::max),
        "Subtract" => pair.map(|(a, b)| a - b),
        "Divide" => pair.map(|(a, b)| if b == 0.0 { f64::NAN } else { a / b }),
        _ => None,
    };
    match result {
        Some(number) => Value::status_numeric(number, propagated(component, bits)),
        None => Value::status_numeric(0.0, Status::null()),
    }
}

fn comparison(component: &Component, name: &str) -> Value {
    let Some(((a, a_bits), (b, b_bits))) = number(component, "inA").zip(number(component, "inB"))
    else {
        return Value::status_boolean(false, Status::null());
    };
    let result = match name {
        "GreaterThan" => a > b,
        "GreaterThanEqual" => a >= b,
        "LessThan" => a < b,
        "LessThanEqual" => a <= b,
        _ => a == b,
    };
    Value::status_boolean(result, propagated(component, a_bits | b_bits))
}

fn logic(component: &Component, name: &str) -> Value {
    let slots: &[&str] = if name == "Not" {
        &["in"]
    } else {
        &["inA", "inB", "inC", "inD"]
    };
    let inputs: Vec<(bool, u32)> = slots
        .iter()
        .filter_map(|slot| truth(component, slot))
        .collect();
    if inputs.is_empty() {
        return Value::status_boolean(false, Status::null());
    }
    let bits = inputs.iter().fold(0, |all, (_, bits)| all | bits);
    let mut flags = inputs.iter().map(|(flag, _)| *flag);
    let result = match name {
        "And" => flags.all(|flag| flag),
        "Or" => flags.any(|flag| flag),
        "Xor" => flags.filter(|flag| *flag).count() % 2 == 1,
        _ => !flags.next().unwrap_or_default(),
    };
    Value::status_boolean(result, propagated(component, bits))
}

fn switch(component: &Component, kind: PointKind) -> Value {
    let Some((on, _)) = truth(component, "inSwitch") else {
        return Value::status_value(kind, kind.default_value(), Status::null());
    };
    let (value, status) = status_input(component, if on { "inTrue" } else { "inFalse" });
    Value::status_value(
        kind,
        value.unwrap_or_else(|| kind.default_value()),
        Status::from_bits(status.bits),
    )
}

/// Triangle, saw tooth or sine around `offset`, a pure function of time.
fn wave(component: &Component, name: &str, now: DateTime<Utc>) -> f64 {
    let period = property(component, "period").max(1.0);
    let phase = (now.timestamp_millis() as f64).rem_euclid(period) / period;
    let shape = match (
        name,
        component.stored("waveform").map(Value::encode).as_deref(),
    ) {
        ("SineWave", _) => (TAU * phase).sin(),
        (_, Some("sawTooth")) => 2.0 * phase - 1.0,
        (_, Some("invertedSawTooth")) => 1.0 - 2.0 * phase,
        _ => 1.0 - 4.0 * (phase - 0.5).abs(),
    };
    property(component, "offset") + property(component, "amplitude") * shape
}

/// Linear from the input range to the output range, held at its ends.
fn reset(component: &Component) -> Value {
    let limit = |slot| number(component, slot).map(|(number, _)| number);
    let input = limit("inA");
    let range = limit("inputLowLimit").zip(limit("inputHighLimit"));
    let output = limit("outputLowLimit").zip(limit("outputHighLimit"));
    match (input, range, output) {
        (Some(input), Some((low, high)), Some((at_low, at_high))) if high != low => {
            let share = ((input - low) / (high - low)).clamp(0.0, 1.0);
            Value::status_numeric(at_low + share * (at_high - at_low), Status::ok())
        }
        _ => Value::status_numeric(0.0, Status::null()),
    }
}

/// A PI(D) loop; the integral constant is repeats per minute, times are minutes.
fn run_loop(component: &Component, now: DateTime<Utc>, memory: &mut Option<Box<Memory>>) -> Value {
    let enabled = truth(component, "loopEnable").is_none_or(|(on, _)| on);
    let inputs = number(component, "controlledVariable").zip(number(component, "setpoint"));
    let (Some(((variable, _), (setpoint, _))), true) = (inputs, enabled) else {
        *memory = None;
        return Value::status_numeric(
            0.0,
            if enabled {
                Status::null()
            } else {
                Status::ok()
            },
        );
    };
    let reverse = component.stored("loopAction").map(Value::encode).as_deref() == Some("reverse");
    let error = if reverse {
        setpoint - variable
    } else {
        variable - setpoint
    };
    let low = property(component, "minimumOutput");
    let high = property(component, "maximumOutput").max(low);
    let gain = property(component, "proportionalConstant");
    let repeats = property(component, "integralConstant");
    let (minutes, mut integral, last_error) = match memory.as_deref() {
        Some(last) => (
            (now - last.at).num_milliseconds() as f64 / 60_000.0,
            last.integral,
            last.error,
        ),
        None => (0.0, 0.0, error),
    };
    if repeats > 0.0 && minutes > 0.0 {
        integral = (integral + gain * repeats * error * minutes).clamp(low - high, high - low);
    }
    let derivative = if minutes > 0.0 {
        property(component, "derivativeConstant") * gain * (error - last_error) / minutes
    } else {
        0.0
    };
    // The bias stands in for the integral as long as there is no integral action.
    let base = if repeats > 0.0 {
        integral
    } else {
        property(component, "bias")
    };
    *memory = Some(Box::new(Memory {
        at: now,
        integral,
        error,
        input: None,
    }));
    Value::status_numeric(
        (gain * error + base + derivative).clamp(low, high),
        Status::ok(),
    )
}

fn delay(component: &Component, now: DateTime<Utc>, memory: &mut Option<Box<Memory>>) -> Value {
    let Some((input, bits)) = truth(component, "in") else {
        return Value::status_boolean(false, Status::null());
    };
    let since = match memory.as_deref().and_then(|last| last.input) {
        Some((last, since)) if last == input => since,
        _ => now,
    };
    *memory = Some(Box::new(Memory {
        at: now,
        integral: 0.0,
        error: 0.0,
        input: Some((input, since)),
    }));
    let wait = property(component, if input { "onDelay" } else { "offDelay" });
    let output = if (now - since).num_milliseconds() as f64 >= wait {
        input
    } else {
        component
            .stored("out")
            .and_then(Value::as_bool)
            .unwrap_or_default()
    };
    Value::status_boolean(output, Status::from_bits(bits & !Status::NULL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::{TimeDelta, TimeZone};

    fn station() -> Station {
        Station::new(
            "T",
            chrono_tz::Tz::UTC,
            Utc.with_ymd_and_hms(2026, 3, 10, 10, 0, 0).unwrap(),
        )
    }

    fn with_inputs(spec: &str, inputs: &[(&str, Value)]) -> (Station, Handle) {
        let mut station = station();
        let handle = station.add(station.root(), Some("X"), spec).unwrap();
        for (slot, value) in inputs {
            station.set(handle, slot, value.clone()).unwrap();
        }
        (station, handle)
    }

    fn result(spec: &str, inputs: &[(&str, Value)]) -> (String, u32) {
        let (station, handle) = with_inputs(spec, inputs);
        let (value, status) = station.out(handle).unwrap();
        (value.encode(), status.bits)
    }

    fn number(number: f64) -> Value {
        Value::status_numeric(number, Status::ok())
    }

    fn flag(flag: bool) -> Value {
        Value::status_boolean(flag, Status::ok())
    }

    #[test]
    fn arithmetic_leaves_null_inputs_out() {
        let abc = [
            ("inA", number(6.0)),
            ("inB", number(3.0)),
            ("inD", number(0.5)),
        ];
        assert_eq!(result("kitControl:Add", &abc).0, "9.5");
        assert_eq!(result("kitControl:Multiply", &abc).0, "9.0");
        assert_eq!(result("kitControl:Average", &abc[..2]).0, "4.5");
        assert_eq!(result("kitControl:Minimum", &abc).0, "0.5");
        assert_eq!(result("kitControl:Maximum", &abc).0, "6.0");
        assert_eq!(result("kitControl:Subtract", &abc[..2]).0, "3.0");
        assert_eq!(
            result(
                "kitControl:Divide",
                &[("inA", number(1.0)), ("inB", number(0.0))]
            )
            .0,
            "nan"
        );
        assert_eq!(
            result("kitControl:Subtract", &abc[..1]),
            ("0.0".into(), Status::NULL)
        );
        assert_eq!(result("kitControl:Add", &[]), ("0.0".into(), Status::NULL));
    }

    #[test]
    fn logic_and_comparison_decide() {
        let ab = [("inA", flag(true)), ("inB", flag(false))];
        assert_eq!(result("kitControl:And", &ab).0, "false");
        assert_eq!(result("kitControl:Or", &ab).0, "true");
        assert_eq!(result("kitControl:Xor", &ab).0, "true");
        assert_eq!(result("kitControl:Not", &[("in", flag(true))]).0, "false");
        assert_eq!(
            result("kitControl:Not", &[]),
            ("false".into(), Status::NULL)
        );
        let numbers = [("inA", number(2.0)), ("inB", number(2.0))];
        assert_eq!(result("kitControl:GreaterThan", &numbers).0, "false");
        assert_eq!(result("kitControl:GreaterThanEqual", &numbers).0, "true");
        assert_eq!(result("kitControl:LessThan", &numbers).0, "false");
        assert_eq!(result("kitControl:Equal", &numbers).0, "true");
    }

    #[test]
    fn only_chosen_status_flags_pass_through() {
        let fault = Value::status_numeric(1.0, Status::from_bits(Status::FAULT | Status::ALARM));
        assert_eq!(result("kitControl:Add", &[("inA", fault.clone())]).1, 0);
        let mask = Value::Status(Status::from_bits(Status::FAULT));
        assert_eq!(
            result(
                "kitControl:Add",
                &[("propagateFlags", mask), ("inA", fault)]
            )
            .1,
            Status::FAULT
        );
    }

    #[test]
    fn a_switch_passes_the_chosen_input_with_its_status() {
        let down = Value::status_numeric(7.0, Status::from_bits(Status::DOWN));
        let inputs = [
            ("inTrue", number(1.0)),
            ("inFalse", down),
            ("inSwitch", flag(false)),
        ];
        assert_eq!(
            result("kitControl:NumericSwitch", &inputs),
            ("7.0".into(), Status::DOWN)
        );
        assert_eq!(
            result("kitControl:NumericSwitch", &inputs[..2]),
            ("0.0".into(), Status::NULL)
        );
    }

    #[test]
    fn a_reset_is_linear_between_its_limits() {
        let limits = [
            ("inputLowLimit", number(0.0)),
            ("inputHighLimit", number(20.0)),
            ("outputLowLimit", number(80.0)),
            ("outputHighLimit", number(40.0)),
        ];
        for (input, output) in [(-10.0, "80.0"), (5.0, "70.0"), (30.0, "40.0")] {
            let mut inputs = limits.to_vec();
            inputs.push(("inA", number(input)));
            assert_eq!(result("kitControl:Reset", &inputs).0, output);
        }
    }

    #[test]
    fn waves_are_functions_of_time() {
        let (mut station, handle) =
            with_inputs("kitControl:Ramp", &[("period", Value::RelTime(40_000))]);
        let start = Utc.timestamp_opt(40 * 1_000_000, 0).unwrap();
        for (seconds, expected) in [(0, 0.0), (10, 50.0), (20, 100.0), (30, 50.0), (40, 0.0)] {
            station.tick(start + TimeDelta::seconds(seconds));
            assert_eq!(
                station.out(handle).unwrap().0,
                Value::Double(expected),
                "{seconds}"
            );
        }
        station
            .set(handle, "enabled", Value::Boolean(false))
            .unwrap();
        station.tick(start + TimeDelta::seconds(55));
        assert_eq!(
            station.out(handle).unwrap().0,
            Value::Double(0.0),
            "a disabled ramp holds"
        );
    }

    #[test]
    fn a_loop_integrates_over_minutes_and_stays_in_its_limits() {
        let (mut station, handle) = with_inputs(
            "kitControl:LoopPoint",
            &[
                ("controlledVariable", number(22.0)),
                ("setpoint", number(20.0)),
                ("proportionalConstant", Value::Double(10.0)),
                ("integralConstant", Value::Double(0.5)),
            ],
        );
        let start = station.now();
        let out = |station: &Station| station.out(handle).unwrap().0.as_f64().unwrap();
        assert_eq!(out(&station), 20.0);
        station.tick(start + TimeDelta::minutes(1));
        assert_eq!(out(&station), 30.0);
        station.tick(start + TimeDelta::hours(5));
        assert_eq!(out(&station), 100.0);
        station.invoke(handle, "resetIntegral", None).unwrap();
        assert_eq!(out(&station), 20.0);
        station.set(handle, "loopEnable", flag(false)).unwrap();
        assert_eq!(out(&station), 0.0);
    }

    #[test]
    fn a_delay_waits_for_its_input_to_last() {
        let (mut station, handle) = with_inputs("kitControl:BooleanDelay", &[("in", flag(true))]);
        let start = station.now();
        let out = |station: &Station| station.out(handle).unwrap().0;
        station.tick(start + TimeDelta::seconds(9));
        assert_eq!(out(&station), Value::Boolean(false));
        station.tick(start + TimeDelta::seconds(10));
        assert_eq!(out(&station), Value::Boolean(true));
        station.set(handle, "in", flag(false)).unwrap();
        station.tick(start + TimeDelta::seconds(19));
        station.set(handle, "in", flag(true)).unwrap();
        station.tick(start + TimeDelta::seconds(21));
        assert_eq!(
            out(&station),
            Value::Boolean(true),
            "a short drop does not come through"
        );
    }
}
