//! Cooling that chilled water carries (Plant rules §1.5).

/// gpm · °F per ton: 12,000 Btu/h over 500 Btu/h per gpm and °F.
const GPM_DEGREES_PER_TON: f64 = 24.0;

/// Temperature differences in °F of supply and return that are credible.
pub const CREDIBLE_DELTA: std::ops::RangeInclusive<f64> = -2.0..=40.0;

/// Tons of cooling of a flow in gpm between two temperatures in °F.
///
/// ```
/// use niagara_analytics::rules::plant::chilled_water::tons;
/// assert_eq!(tons(240.0, 54.0, 44.0), 100.0);
/// ```
pub fn tons(flow_gpm: f64, return_f: f64, supply_f: f64) -> f64 {
    flow_gpm * (return_f - supply_f) / GPM_DEGREES_PER_TON
}
