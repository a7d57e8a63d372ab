//! Where a reset should have put a setpoint: trim and respond, and the outdoor-temperature map (Air rules §1.8).

/// Trim and respond of one setpoint (ASHRAE Guideline 36 §5.1.14).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrimRespond {
    /// Where the setpoint starts.
    pub start: f64,
    pub min: f64,
    pub max: f64,
    /// Requests that are ignored.
    pub ignored: f64,
    /// What is added in a cycle without requests; its sign is away from the demand.
    pub trim: f64,
    /// What is added for each request.
    pub respond: f64,
    /// The most that is added in a cycle, with the sign of `respond`.
    pub respond_cap: f64,
}

/// Supply air temperature, °F.
pub const SUPPLY_AIR: TrimRespond = TrimRespond {
    start: 65.0,
    min: 55.0,
    max: 65.0,
    ignored: 2.0,
    trim: 0.2,
    respond: -0.3,
    respond_cap: -1.0,
};

/// Duct static pressure, in. w.c.
pub const DUCT_STATIC: TrimRespond = TrimRespond {
    start: 0.5,
    min: 0.1,
    max: 1.5,
    ignored: 2.0,
    trim: -0.05,
    respond: 0.06,
    respond_cap: 0.13,
};

impl TrimRespond {
    /// Width of what the setpoint may be.
    pub fn band(&self) -> f64 {
        self.max - self.min
    }

    /// Where the setpoint ends without demand.
    pub fn idle_end(&self) -> f64 {
        if self.trim > 0.0 { self.max } else { self.min }
    }

    /// Where the setpoint ends under lasting demand.
    pub fn demand_end(&self) -> f64 {
        if self.trim > 0.0 { self.min } else { self.max }
    }

    /// Requests beyond those that are ignored.
    pub fn effective(&self, requests: f64) -> f64 {
        requests - self.ignored
    }

    /// The setpoint after each cycle.
    ///
    /// ```
    /// use niagara_analytics::rules::air::trim_respond::DUCT_STATIC;
    /// let setpoints = DUCT_STATIC.replay(&[0.0, 3.0, 6.0]);
    /// assert_eq!(format!("{setpoints:.2?}"), "[0.45, 0.51, 0.64]");
    /// ```
    pub fn replay(&self, requests: &[f64]) -> Vec<f64> {
        let mut setpoint = self.start;
        requests
            .iter()
            .map(|requests| {
                let effective = self.effective(*requests);
                setpoint += if effective > 0.0 {
                    let wanted = effective * self.respond;
                    if wanted.abs() > self.respond_cap.abs() {
                        self.respond_cap
                    } else {
                        wanted
                    }
                } else {
                    self.trim
                };
                setpoint = setpoint.clamp(self.min, self.max);
                setpoint
            })
            .collect()
    }
}

/// Supply air setpoint by outdoor temperature: warm air in cool weather, a straight line between (°F).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutdoorReset {
    /// Setpoint from `oat_max` on.
    pub min_supply: f64,
    /// Setpoint up to `oat_min`.
    pub max_supply: f64,
    pub oat_min: f64,
    pub oat_max: f64,
}

impl Default for OutdoorReset {
    /// The map of Guideline 36.
    fn default() -> Self {
        Self {
            min_supply: 55.0,
            max_supply: 65.0,
            oat_min: 60.0,
            oat_max: 70.0,
        }
    }
}

impl OutdoorReset {
    /// The setpoint at an outdoor temperature; NaN when that is.
    ///
    /// ```
    /// use niagara_analytics::rules::air::trim_respond::OutdoorReset;
    /// let map = OutdoorReset::default();
    /// assert_eq!([50.0, 60.0, 65.0, 80.0].map(|oat| map.target(oat)), [65.0, 65.0, 60.0, 55.0]);
    /// ```
    pub fn target(&self, oat: f64) -> f64 {
        let share = ((self.oat_max - oat) / (self.oat_max - self.oat_min)).clamp(0.0, 1.0);
        self.min_supply + share * (self.max_supply - self.min_supply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::round;

    #[test]
    fn supply_air_warms_up_when_idle_and_cools_down_by_at_most_a_degree() {
        let setpoints: Vec<f64> = SUPPLY_AIR
            .replay(&[0.0, 0.0, 3.0, 6.0, 6.0])
            .iter()
            .map(|setpoint| round(*setpoint, 6))
            .collect();
        assert_eq!(setpoints, [65.0, 65.0, 64.7, 63.7, 62.7]);
        assert_eq!(SUPPLY_AIR.replay(&[1e300; 40]).last(), Some(&55.0));
        assert_eq!((SUPPLY_AIR.idle_end(), DUCT_STATIC.idle_end()), (65.0, 0.1));
    }

    #[test]
    fn two_requests_are_ignored() {
        assert_eq!(round(DUCT_STATIC.replay(&[2.0])[0], 9), 0.45);
        assert_eq!(round(DUCT_STATIC.replay(&[5.0])[0], 9), 0.63);
        assert!(OutdoorReset::default().target(f64::NAN).is_nan());
    }
}
