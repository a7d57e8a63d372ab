//! Whether a shift only follows a setpoint that was moved (Drift §5.1).

use super::detector::Case;
use super::measure::{Measure, Measured};
use crate::finding::Metrics;
use crate::numeric::round;

/// What is corrected, and the names of the figures.
pub struct SetpointCorrection<'s> {
    pub setpoint: &'s str,
    pub status: &'s str,
    /// A setpoint that moved by less explains nothing.
    pub least_shift: f64,
    pub decimals: usize,
    pub shift_name: &'s str,
    pub residual_name: &'s str,
    pub driven_name: &'s str,
}

impl SetpointCorrection<'_> {
    /// Judges again what is left of a shift without that of its setpoint; the milder verdict counts.
    pub fn apply(
        &self,
        case: &Case<'_>,
        measure: &Measure<'_>,
        measured: &mut Measured,
        metrics: &mut Metrics,
    ) {
        let mut driven = false;
        if let Some(shift) = case.running_shift(self.setpoint, self.status, self.decimals) {
            metrics.number(self.shift_name, shift);
            if shift.abs() >= self.least_shift {
                let residual = round(measured.shift.drift - shift, 4);
                let sigma = measured.kept.baseline.sigma;
                let sigmas = match sigma > 0.0 {
                    true => residual / sigma,
                    false => f64::NAN,
                };
                metrics.number(self.residual_name, residual);
                let left = measure.floors.judge(residual, sigmas, measure.direction);
                // Severities are worst first in order.
                driven = left > measured.severity;
                measured.caveats.push(match driven {
                    true => format!(
                        "The setpoint moved by {shift:+.2} between the windows, which explains the shift but for {residual:+.2}."
                    ),
                    false => format!(
                        "The setpoint moved by {shift:+.2} between the windows, which does not explain the shift."
                    ),
                });
                if driven {
                    measured.severity = left;
                }
            }
        }
        metrics.set(self.driven_name, driven);
    }
}
