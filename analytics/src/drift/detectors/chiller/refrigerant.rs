//! Subcooling and superheat of a chiller at the same tons (Drift §5.2).

use super::{CHILLED_WATER, OverTons, over_tons};
use crate::drift::detector::{Case, Detector, Inputs, Judged};
use crate::drift::shift::{Direction, Floors};

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refrigerant {
    Subcooling,
    Superheat,
}

impl Refrigerant {
    const fn role(self) -> &'static str {
        match self {
            Self::Subcooling => "subcooling_temp",
            Self::Superheat => "superheat_temp",
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::Subcooling => "subcooling",
            Self::Superheat => "superheat",
        }
    }
}

impl Detector for Refrigerant {
    fn rule(&self) -> &'static str {
        match self {
            Self::Subcooling => "chiller_subcooling_drift",
            Self::Superheat => "chiller_superheat_drift",
        }
    }

    fn inputs(&self) -> Inputs {
        Inputs::of(&CHILLED_WATER, &[self.role()])
    }

    fn judge(&self, case: &Case<'_>) -> Judged {
        let (kind, range, sizes) = match self {
            Self::Subcooling => ("chiller_subcooling", (-20.0, 80.0), (1.0, 2.0)),
            Self::Superheat => ("chiller_superheat", (-20.0, 150.0), (2.0, 4.0)),
        };
        let over = OverTons {
            kind,
            names: (self.word(), "f"),
            range,
            direction: Direction::Both,
            floors: Floors::of(sizes, (3.0, 6.0)),
        };
        let values = over_tons(case, |side| side.column(self.role()).map(<[f64]>::to_vec));
        let Some(signals) = values else {
            return case.decline(
                Some(&format!("{}_not_mapped", self.word())),
                self.word(),
                format!(
                    "{} is not trended, and cannot be derived: that takes the pressure, the temperature of the line, and the \
                     refrigerant of the equipment.",
                    self.role()
                ),
            );
        };
        let (measured, metrics) = match over.scored(case, &signals, |_| ()) {
            Ok(scored) => scored,
            Err(why) => return why.declined(case, self.word()),
        };
        let summary = measured.told(case, self.word(), "°F", "tons");
        measured.into_judged(metrics, summary)
    }
}
