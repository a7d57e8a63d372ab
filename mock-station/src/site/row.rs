//! One line of an equipment table: a point, what it measures and how it is commanded, trended and alarmed.

use super::measure::Measure;
use super::sim::signal::*;

/// How a point is commanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read from a controller.
    Sensor,
    /// A setpoint or command that people may override.
    Writable,
}

/// How a point is trended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trend {
    None,
    /// Every quarter of an hour.
    Interval,
    /// On change of value.
    Change,
}

/// Limits of an alarm extension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limits {
    None,
    /// Out of a range, in the units of the simulation.
    Range(f64, f64),
    /// In a state.
    State(bool),
}

/// One point of an equipment table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Display name by naming style of the installer.
    pub names: [&'static str; 3],
    /// The signal; equipment of several has its index filled in.
    pub signal: Signal,
    pub measure: Measure,
    /// CAMBER role, empty if none.
    pub role: &'static str,
    pub access: Access,
    pub trend: Trend,
    pub limits: Limits,
}

pub(super) const fn point(names: [&'static str; 3], signal: Signal, measure: Measure) -> Row {
    Row {
        names,
        signal,
        measure,
        role: "",
        access: Access::Sensor,
        trend: Trend::Interval,
        limits: Limits::None,
    }
}

impl Row {
    pub(super) const fn role(mut self, role: &'static str) -> Self {
        self.role = role;
        self
    }

    pub(super) const fn writable(mut self) -> Self {
        self.access = Access::Writable;
        self
    }

    pub(super) const fn untrended(mut self) -> Self {
        self.trend = Trend::None;
        self
    }

    pub(super) const fn on_change(mut self) -> Self {
        self.trend = Trend::Change;
        self
    }

    pub(super) const fn alarmed(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// A name that every installer of the site used.
pub(super) const fn same(name: &'static str) -> [&'static str; 3] {
    [name, name, name]
}
