//! The figures of the whole report (RCx report §5).

use serde_json::{Value, json};

use super::Ground;
use super::issues::Issue;
use super::units::{AIR_ROLES, OUTDOOR};
use crate::numeric::{count, mean, round, share_of};

/// Figures of all issues, whatever page shows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Kpis {
    /// Sum of the costs that rest on no doubtful sensor, US dollars a year; none when there is none.
    pub annual_cost: Option<f64>,
    pub n_costed: usize,
    /// Sum of the costs that rest on a doubtful sensor.
    pub at_risk: Option<f64>,
    pub n_issues: usize,
    pub n_uncosted: usize,
    pub n_conditional: usize,
    /// Costed issues of which only the cost rests on a doubtful sensor.
    pub n_cost_conditional: usize,
    /// Mean coverage of the points of the air side, percent.
    pub coverage_pct: Option<f64>,
    pub n_declined: usize,
}

impl Kpis {
    /// As the capability writes them.
    pub fn to_json(&self) -> Value {
        json!({
            "annual_cost_usd": self.annual_cost,
            "n_costed": self.n_costed,
            "at_risk_usd": self.at_risk,
            "n_issues": self.n_issues,
            "n_uncosted": self.n_uncosted,
            "n_conditional": self.n_conditional,
            "n_cost_conditional": self.n_cost_conditional,
            "coverage_pct": self.coverage_pct,
            "n_declined": self.n_declined,
        })
    }
}

/// The figures of a report.
pub(super) fn of(ground: &Ground<'_>, issues: &[Issue]) -> Kpis {
    let costs = |at_risk: bool| -> Vec<f64> {
        issues
            .iter()
            .filter(|issue| issue.is_at_risk() == at_risk)
            .filter_map(|issue| issue.annual_cost)
            .collect()
    };
    let (certain, at_risk) = (costs(false), costs(true));
    let sum = |costs: &[f64]| round(costs.iter().sum(), 2);
    let counted = |is: &dyn Fn(&Issue) -> bool| issues.iter().filter(|issue| is(issue)).count();
    Kpis {
        annual_cost: (!certain.is_empty()).then(|| sum(&certain)),
        n_costed: certain.len(),
        at_risk: Some(sum(&at_risk)).filter(|sum| *sum > 0.0),
        n_issues: issues.len(),
        n_uncosted: counted(&|issue| issue.annual_cost.is_none()),
        n_conditional: counted(&|issue| !issue.conditional_on.is_empty()),
        n_cost_conditional: counted(&|issue| {
            issue.annual_cost.is_some()
                && issue.conditional_on.is_empty()
                && !issue.cost_conditional_on.is_empty()
        }),
        coverage_pct: coverage(ground),
        n_declined: ground.items.iter().filter(|item| item.is_declined).count(),
    }
}

fn coverage(ground: &Ground<'_>) -> Option<f64> {
    let shares: Vec<f64> = ground
        .input
        .frames
        .iter()
        .zip(&ground.units)
        .filter(|(frame, unit)| unit.is_air && !frame.is_empty())
        .flat_map(|(frame, _)| {
            AIR_ROLES
                .iter()
                .chain([&OUTDOOR])
                .filter_map(|role| frame.table().column(role))
                .map(|values| share_of(count(values)) / share_of(values.len()))
        })
        .collect();
    (!shares.is_empty()).then(|| round(100.0 * mean(&shares), 1))
}
