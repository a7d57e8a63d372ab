//! Whether billed quantities can be right by what they cost: units are mistaken by thousands, as when the M of a bill is read
//! as million where it means thousand (M&V §8).
//!
//! Bands of prices are those that the reference applies.

use super::rows::{MvFinding, MvRule};
use crate::finding::{Metrics, Severity, Verdict};

/// By what a mistaken unit may be off.
const SCALES: [f64; 2] = [0.001, 1_000.0];

/// What is billed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fuel {
    Electricity,
    Gas,
    Steam,
    ChilledWater,
}

impl Fuel {
    /// The words by which a configuration names the fuels.
    pub const WORDS: [&'static str; 5] = [
        "electricity",
        "gas",
        "natural_gas",
        "steam",
        "chilled_water",
    ];

    /// The fuel of a configuration's word; none when no band of its prices is known.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "electricity" => Some(Self::Electricity),
            "gas" | "natural_gas" => Some(Self::Gas),
            "steam" => Some(Self::Steam),
            "chilled_water" => Some(Self::ChilledWater),
            _ => None,
        }
    }

    /// Lowest and highest price that a bill can state, US dollars per MMBtu.
    const fn possible(self) -> (f64, f64) {
        match self {
            Self::Electricity => (0.35, 3_000.0),
            Self::Gas => (0.2, 1_000.0),
            Self::Steam => (0.25, 3_000.0),
            Self::ChilledWater => (0.25, 2_500.0),
        }
    }

    /// Between which prices bills usually are, US dollars per MMBtu.
    const fn usual(self) -> (f64, f64) {
        match self {
            Self::Electricity => (5.0, 300.0),
            Self::Gas => (1.5, 150.0),
            Self::Steam => (4.0, 200.0),
            Self::ChilledWater => (3.0, 200.0),
        }
    }
}

/// What the energy of all bills cost.
#[derive(Debug, Clone, PartialEq)]
pub struct BilledPrice {
    pub fuel: Fuel,
    /// The unit of the bills, as they name it.
    pub unit: String,
    pub dollars_per_mmbtu: f64,
    /// Which heat was taken for a volume or mass.
    pub caveat: Option<String>,
}

/// What a baseline of implausible quantities is declined with.
pub const IMPLAUSIBLE: &str = "the billed quantities are implausible as they are given (finding unit_scale): set \
     bills.scale_override with a reason, or scale_check.on_implausible \"warn\"";

impl BilledPrice {
    fn is_within(&self, scale: f64, (low, high): (f64, f64)) -> bool {
        let price = self.dollars_per_mmbtu / scale;
        low <= price && price <= high
    }

    /// The row of quantities that cannot be right; none when they can.
    pub fn finding(&self, equip: &str) -> Option<MvFinding> {
        let possible = self.fuel.possible();
        if self.is_within(1.0, possible) {
            return None;
        }
        let scale = SCALES
            .into_iter()
            .find(|scale| self.is_within(*scale, possible));
        let likely = match scale {
            None => "no multiple of a thousand makes them plausible".to_owned(),
            Some(scale) if self.is_within(scale, self.fuel.usual()) => {
                format!("{scale} times as much would cost what is usual")
            }
            Some(scale) => format!("{scale} times as much would cost what is possible"),
        };
        let mut metrics = Metrics::new();
        metrics
            .set("status", "implausible")
            .number_or_null("scale", scale)
            .set("confidence", if scale.is_some() { "medium" } else { "low" });
        let summary = format!(
            "the billed quantities, as {}, are implausible: they cost {:.4} dollars per MMBtu, where bills state {} to {}; \
             {likely}. Nothing was corrected: look at the unit on the bill, and set bills.scale_override with a reason if it \
             is wrong",
            self.unit, self.dollars_per_mmbtu, possible.0, possible.1
        );
        let verdict =
            Verdict::new(Severity::Warn, metrics, summary).with_caveats(self.caveat.clone());
        Some(MvFinding::new(MvRule::UnitScale, equip, verdict))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(fuel: Fuel, dollars_per_mmbtu: f64) -> Option<(Value, Value)> {
        let price = BilledPrice {
            fuel,
            unit: "kWh".to_owned(),
            dollars_per_mmbtu,
            caveat: None,
        };
        let row = price.finding("M1")?;
        let figure = |name: &str| row.verdict.metrics.get(name).cloned().unwrap();
        Some((figure("scale"), figure("confidence")))
    }

    #[test]
    fn a_price_beyond_all_bills_tells_by_what_the_unit_is_off() {
        // Ten cents a kWh are 29 dollars per MMBtu.
        let cents = 29.3;
        assert_eq!(told(Fuel::Electricity, cents), None);
        for (price, scale, confidence) in [
            (cents * 1e3, json!(1000.0), "medium"),
            (cents / 1e3, json!(0.001), "medium"),
            (cents * 1e6, Value::Null, "low"),
        ] {
            assert_eq!(
                told(Fuel::Electricity, price),
                Some((scale, json!(confidence)))
            );
        }
        for (fuel, possible, not) in [
            (Fuel::Gas, 1_000.0, 1_001.0),
            (Fuel::Steam, 0.25, 0.249),
            (Fuel::ChilledWater, 2_500.0, 2_501.0),
        ] {
            assert_eq!(told(fuel, possible), None);
            assert!(told(fuel, not).is_some());
        }
        assert_eq!(Fuel::named("natural_gas"), Some(Fuel::Gas));
        assert_eq!(Fuel::named("wood"), None);
    }
}
