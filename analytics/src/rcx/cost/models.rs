//! Models of the energy that a finding's rule sees wasted (RCx report §4).

use super::Energy;
use crate::rcx::items::Item;
use crate::run_config::EquipmentLoad;
use crate::run_config::report::{CostParameters, KBTU_PER_KWH, KBTU_PER_THERM};

/// Why a model gives no energy.
pub(super) enum Uncosted {
    /// A figure of `report.rcx.loads`, or one of several.
    Needs(&'static [&'static str]),
    /// The same with the reason.
    NeedsSince(&'static str, &'static str),
    NoModel,
    Because(String),
}

/// Energy with the words for its basis.
type Priced = Result<(Energy, String), Uncosted>;

/// A finding with the sizes of its equipment.
pub(super) struct Model<'a> {
    pub item: &'a Item<'a>,
    pub load: EquipmentLoad,
    pub parameters: &'a CostParameters,
}

/// A percentage as a part, 0 to 1; a missing one is 0.
fn part(percent: Option<f64>) -> f64 {
    clamped(percent.map(|percent| percent / 100.0))
}

fn clamped(value: Option<f64>) -> f64 {
    value
        .filter(|value| !value.is_nan())
        .map_or(0.0, |value| value.clamp(0.0, 1.0))
}

fn above(value: f64, limit: f64) -> f64 {
    (value - limit).max(0.0)
}

impl Model<'_> {
    /// Energy of a year by the model of the finding's rule.
    ///
    /// # Errors
    /// There is none, or it lacks a figure.
    pub fn energy(&self) -> Priced {
        let percent = |name: &str| part(self.item.number(name));
        match &*self.item.rule {
            "simultaneous_heat_cool" => self.heat(percent("simultaneous_hc_pct"), true),
            "reheat_penalty" => self.heat(
                part(self.first(&[
                    "reheat_above_min_flow_pct",
                    "reheat_and_coldsupply_pct",
                    "valve_open_pct",
                ])),
                false,
            ),
            "reheat_minimization_g36" => self.heat(percent("reheat_hours_pct"), false),
            "supply_air_reset_compliance" => {
                let gap = self
                    .item
                    .number("mean_gap_f")
                    .map(|gap| gap / self.get("g36_gap_ref_f"));
                self.heat(percent("pct_below_target") * clamped(gap), false)
            }
            "sat_reset_effectiveness" | "static_reset_effectiveness" => self.reset(),
            "sat_rogue_zone_census" | "static_rogue_zone_census" => self.rogue_zone(),
            "sat_cohort_starvation" => Err(Uncosted::Because(
                "starved zones are a matter of comfort, not of energy".to_owned(),
            )),
            "static_cohort_starvation" => self.fan(
                clamped(self.item.number("worst_group_frac")),
                "reset_fan_excess_frac",
            ),
            "chiller_efficiency" => self.chiller(),
            "cooling_tower_approach" => self.tower(),
            "hw_pump_dp_reset" | "chw_pump_dp_reset" => self.pump(),
            "duct_static_high" | "damper_census" => {
                self.fan(percent("pct_boxes_low"), "fan_excess_frac")
            }
            "boiler_short_cycle" => self.boiler_starts(),
            "outdoor_air_fraction" | "economizer_high_limit" => self.outdoor_air(),
            _ => self.told(),
        }
    }

    fn get(&self, name: &str) -> f64 {
        self.parameters.get(name)
    }

    fn first(&self, names: &[&str]) -> Option<f64> {
        names.iter().find_map(|name| self.item.number(name))
    }

    fn needs(&self, value: Option<f64>, name: &'static [&'static str]) -> Result<f64, Uncosted> {
        value.ok_or(Uncosted::Needs(name))
    }

    /// Heat that is given and taken away again, or given in vain.
    fn heat(&self, part: f64, with_cooling: bool) -> Priced {
        let capacity = self.needs(
            self.load.heating_capacity_kbtuh,
            &["heating_capacity_kbtuh"],
        )?;
        let kbtu = capacity * self.load.hours() * part * self.get("reheat_diversity");
        let cooling = if with_cooling {
            kbtu / KBTU_PER_KWH / self.get("cool_cop")
        } else {
            0.0
        };
        let energy = Energy {
            kwh: cooling,
            therms: kbtu / KBTU_PER_THERM / self.get("boiler_efficiency"),
        };
        let basis = if with_cooling {
            "reheat gas and the cooling that undoes it"
        } else {
            "reheat gas"
        };
        Ok((energy, basis.to_owned()))
    }

    fn fan(&self, part: f64, excess: &'static str) -> Priced {
        let power = self.needs(self.load.fan_kw, &["fan_kw"])?;
        let energy = Energy {
            kwh: power * self.load.hours() * part * self.get(excess),
            therms: 0.0,
        };
        Ok((energy, "excess fan energy".to_owned()))
    }

    fn reset(&self) -> Priced {
        match self.item.word("reason") {
            Some("not_trimming") => {
                let idle = part(self.item.number("pct_idle_untrimmed"));
                match &*self.item.rule {
                    "static_reset_effectiveness" => self.fan(idle, "reset_fan_excess_frac"),
                    _ => self.heat(idle, false),
                }
            }
            reason => Err(Uncosted::Because(format!(
                "a reset that is {} is a matter of comfort or has no certain sign",
                reason.unwrap_or("not told").replace('_', " ")
            ))),
        }
    }

    fn rogue_zone(&self) -> Priced {
        if self.item.flag("grouped") != Some(true) {
            return Err(Uncosted::Because(
                "the zones are not grouped by a topology".to_owned(),
            ));
        }
        let share = clamped(self.item.number("worst_zone_share"));
        match &*self.item.rule {
            "static_rogue_zone_census" => self.fan(share, "reset_fan_excess_frac"),
            _ => self.heat(share, false),
        }
    }

    fn chiller(&self) -> Priced {
        let design = self
            .item
            .number("design_kw_per_ton")
            .unwrap_or(self.get("chiller_target_kw_per_ton"));
        let tons = self.needs(
            self.item.number("tons_median").or(self.load.cooling_tons),
            &["cooling_tons"],
        )?;
        let excess = above(self.item.number("kw_per_ton_median").unwrap_or(0.0), design);
        let hours = part(self.item.number("pct_hours_inefficient")) * self.load.hours();
        let energy = Energy {
            kwh: excess * tons * hours,
            therms: 0.0,
        };
        Ok((energy, format!("chiller power above {design} kW per ton")))
    }

    fn tower(&self) -> Priced {
        let tons = self.needs(self.load.cooling_tons, &["cooling_tons"])?;
        let per_ton = self.needs(self.load.chiller_kw_per_ton, &["chiller_kw_per_ton"])?;
        let excess = above(
            self.item.number("approach_median_f").unwrap_or(0.0),
            self.item.number("design_approach_f").unwrap_or(0.0),
        );
        let power = tons * per_ton * self.get("chiller_load_factor");
        let energy = Energy {
            kwh: excess
                * self.get("ct_kw_per_approach_f")
                * power
                * part(self.item.number("pct_hours_high_approach"))
                * self.load.hours(),
            therms: 0.0,
        };
        Ok((
            energy,
            "chiller power for condenser water that is too warm".to_owned(),
        ))
    }

    fn pump(&self) -> Priced {
        let power = self.needs(self.load.pump_kw, &["pump_kw"])?;
        let share = part(self.first(&["pct_running_near_full", "median_speed_pct"]));
        let energy = Energy {
            kwh: power * self.load.hours() * share * self.get("pump_excess_frac"),
            therms: 0.0,
        };
        Ok((energy, "excess pump energy".to_owned()))
    }

    fn boiler_starts(&self) -> Priced {
        let capacity = self.needs(
            self.load.heating_capacity_kbtuh,
            &["heating_capacity_kbtuh"],
        )?;
        let figure = |name: &str| self.item.number(name).unwrap_or(0.0);
        let excess = above(figure("starts_per_day"), figure("max_starts_per_day"));
        let loss = (excess * self.get("per_start_loss")).min(0.1);
        let burnt = capacity * self.load.hours() * part(self.item.number("runtime_pct"))
            / KBTU_PER_THERM
            / self.get("boiler_efficiency");
        let energy = Energy {
            kwh: 0.0,
            therms: burnt * loss,
        };
        Ok((energy, "gas that starts above the limit lose".to_owned()))
    }

    /// Outdoor air above the configured minimum.
    fn outdoor_air(&self) -> Priced {
        let item = self.item;
        let refuse = |why: &str| Err(Uncosted::Because(why.to_owned()));
        if item.number("min_oa_pct").is_none()
            || !matches!(item.word("min_oa_source"), None | Some("configured"))
        {
            return refuse(
                "needs min_oa_pct, the unit's design minimum, among the rule's parameters",
            );
        }
        if item.flag("oa_cost_flagged") == Some(false) {
            return refuse("the finding is not of excess outdoor air");
        }
        let observed = item.number("oa_cost_observed_h").unwrap_or(0.0);
        if !(observed > 0.0) {
            return refuse("no hour has excess outdoor air that could be priced");
        }
        let [cool, heat] = self.excess_kbtu()?;
        if !(cool > 0.0 || heat > 0.0) {
            return refuse("no hour has excess outdoor air");
        }
        let scale = self.load.hours() / observed;
        let (cool, heat) = (cool * scale, heat * scale);
        let mut energy = Energy {
            kwh: cool / KBTU_PER_KWH / self.get("cool_cop"),
            therms: 0.0,
        };
        match self.load.heat_pump_cop.filter(|cop| *cop > 0.0) {
            Some(cop) => energy.kwh += heat / KBTU_PER_KWH / cop,
            None => energy.therms = heat / KBTU_PER_THERM / self.get("boiler_efficiency"),
        }
        Ok((
            energy,
            "conditioning of outdoor air above the minimum".to_owned(),
        ))
    }

    /// Cooling and heating of the excess air in the hours that were seen, kBtu.
    fn excess_kbtu(&self) -> Result<[f64; 2], Uncosted> {
        let item = self.item;
        let whole =
            ["oa_cost_excess_cool_kbtu", "oa_cost_excess_heat_kbtu"].map(|name| item.number(name));
        if let [Some(cool), Some(heat)] = whole {
            return Ok([cool, heat]);
        }
        let per_cfm = [
            "oa_cost_excess_cool_btu_per_cfm",
            "oa_cost_excess_heat_btu_per_cfm",
        ]
        .map(|name| item.number(name).unwrap_or(0.0));
        let airflow = match (self.load.supply_airflow_cfm, self.load.design_oa_cfm) {
            (Some(airflow), _) => airflow,
            (None, Some(outdoor)) => {
                let seasonal = item
                    .verdict
                    .metrics
                    .get("min_oa_pct_by_month")
                    .is_some_and(|months| !months.is_null());
                let minimum = item.number("min_oa_pct").unwrap_or(0.0) / 100.0;
                if seasonal || !(minimum > 0.0) {
                    return Err(Uncosted::NeedsSince(
                        "supply_airflow_cfm",
                        "the minimum changes with the season",
                    ));
                }
                outdoor / minimum
            }
            (None, None) => {
                return Err(Uncosted::Needs(&["supply_airflow_cfm", "design_oa_cfm"]));
            }
        };
        Ok(per_cfm.map(|btu| btu * airflow / 1000.0))
    }

    /// What the finding itself tells of waste.
    fn told(&self) -> Priced {
        let figure = |name: &str| self.item.number(name).unwrap_or(0.0).max(0.0);
        let energy = Energy {
            kwh: figure("waste_kwh"),
            therms: figure("waste_therms"),
        };
        match energy.kwh > 0.0 || energy.therms > 0.0 {
            true => Ok((energy, "the waste that the finding tells".to_owned())),
            false => Err(Uncosted::NoModel),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::{Value, json};

    use super::super::{dollars, load_keys};
    use super::*;
    use crate::finding::{Metrics, Severity, Verdict};
    use crate::numeric::round;
    use crate::run_config::report::EnergyPrice;

    fn priced(rule: &'static str, figures: Value, load: EquipmentLoad) -> Result<Energy, String> {
        let mut metrics = Metrics::new();
        for (name, value) in figures.as_object().unwrap() {
            metrics.set(name, value.clone());
        }
        let item = Item {
            id: None,
            rule: Cow::Borrowed(rule),
            equip: Cow::Borrowed("E"),
            place: Some(0),
            verdict: Cow::Owned(Verdict::new(Severity::Warn, metrics, "")),
            chosen: None,
            is_declined: false,
            source: None,
            scope: None,
        };
        let parameters = CostParameters::default();
        let model = Model {
            item: &item,
            load,
            parameters: &parameters,
        };
        match model.energy() {
            Ok((energy, _)) => Ok(Energy {
                kwh: round(energy.kwh, 1),
                therms: round(energy.therms, 1),
            }),
            Err(Uncosted::Needs(keys)) => Err(format!("needs {}", load_keys("AHU-1", keys))),
            Err(Uncosted::NeedsSince(key, why)) => {
                Err(format!("needs {}: {why}", load_keys("AHU-1", &[key])))
            }
            Err(Uncosted::NoModel) => Err("no model".to_owned()),
            Err(Uncosted::Because(why)) => Err(why),
        }
    }

    fn energy(kwh: f64, therms: f64) -> Result<Energy, String> {
        Ok(Energy { kwh, therms })
    }

    #[test]
    fn both_coils_open_cost_gas_and_the_cooling_that_undoes_it() {
        let load = EquipmentLoad {
            heating_capacity_kbtuh: Some(500.0),
            ..EquipmentLoad::default()
        };
        let figures = json!({"simultaneous_hc_pct": 36.36});
        assert_eq!(
            priced("simultaneous_heat_cool", figures.clone(), load),
            energy(40007.6, 5972.1)
        );
        assert_eq!(
            priced("simultaneous_heat_cool", figures, EquipmentLoad::default()),
            Err("needs report.rcx.loads.AHU-1.heating_capacity_kbtuh".to_owned())
        );
        let whole = Energy {
            kwh: 477_770.4 / 3.412 / 3.5,
            therms: 477_770.4 / 100.0 / 0.8,
        };
        assert_eq!(round(dollars(whole, EnergyPrice::default()), 2), 13167.69);
    }

    #[test]
    fn fans_pumps_and_chillers_cost_what_they_take_too_much() {
        let load = EquipmentLoad {
            fan_kw: Some(10.0),
            pump_kw: Some(4.0),
            cooling_tons: Some(100.0),
            chiller_kw_per_ton: Some(0.6),
            annual_hours: Some(1000.0),
            heating_capacity_kbtuh: Some(800.0),
            ..EquipmentLoad::default()
        };
        let untrimmed = json!({"reason": "not_trimming", "pct_idle_untrimmed": 50.0});
        assert_eq!(
            priced("static_reset_effectiveness", untrimmed.clone(), load),
            energy(750.0, 0.0)
        );
        assert_eq!(
            priced("sat_reset_effectiveness", untrimmed, load),
            energy(0.0, 1500.0)
        );
        let stuck = priced(
            "static_reset_effectiveness",
            json!({"reason": "stuck"}),
            load,
        );
        assert!(stuck.unwrap_err().contains("stuck"));
        assert_eq!(
            priced(
                "hw_pump_dp_reset",
                json!({"pct_running_near_full": null, "median_speed_pct": 80.0}),
                load
            ),
            energy(480.0, 0.0)
        );
        assert_eq!(
            priced(
                "chiller_efficiency",
                json!({"kw_per_ton_median": 1.05, "design_kw_per_ton": 0.85, "tons_median": 50.0,
                    "pct_hours_inefficient": 40.0}),
                load
            ),
            energy(4000.0, 0.0)
        );
        assert_eq!(
            priced(
                "cooling_tower_approach",
                json!({"approach_median_f": 12.0, "design_approach_f": 7.0, "pct_hours_high_approach": 50.0}),
                load
            ),
            energy(1350.0, 0.0)
        );
        assert_eq!(
            priced(
                "boiler_short_cycle",
                json!({"starts_per_day": 16.0, "max_starts_per_day": 6.0, "runtime_pct": 20.0}),
                load
            ),
            energy(0.0, 100.0)
        );
        assert_eq!(
            priced("damper_census", json!({"pct_boxes_low": 250.0}), load),
            energy(1500.0, 0.0)
        );
        assert!(priced("sat_rogue_zone_census", json!({"grouped": false}), load).is_err());
        assert_eq!(
            priced(
                "sat_rogue_zone_census",
                json!({"grouped": true, "worst_zone_share": 0.5}),
                load
            ),
            energy(0.0, 1500.0)
        );
        assert_eq!(
            priced("control_hunting", json!({}), load),
            Err("no model".to_owned())
        );
        assert_eq!(
            priced("control_hunting", json!({"waste_kwh": 5.0}), load),
            energy(5.0, 0.0)
        );
    }

    #[test]
    fn outdoor_air_is_priced_only_above_a_minimum_of_the_unit() {
        let figures = |extra: Value| {
            let mut figures = json!({"min_oa_pct": 20.0, "min_oa_source": "configured", "oa_cost_observed_h": 876.0,
                "oa_cost_flagged": true, "oa_cost_excess_cool_btu_per_cfm": 341.2,
                "oa_cost_excess_heat_btu_per_cfm": 80.0});
            for (name, value) in extra.as_object().unwrap() {
                figures[name] = value.clone();
            }
            figures
        };
        let load = EquipmentLoad {
            supply_airflow_cfm: Some(1000.0),
            ..EquipmentLoad::default()
        };
        let of = |extra: Value, load| priced("outdoor_air_fraction", figures(extra), load);
        assert_eq!(of(json!({}), load), energy(285.7, 10.0));
        let design = EquipmentLoad {
            design_oa_cfm: Some(200.0),
            heat_pump_cop: Some(2.0),
            ..EquipmentLoad::default()
        };
        assert_eq!(of(json!({}), design), energy(402.9, 0.0));
        assert!(of(json!({"min_oa_pct_by_month": {"1": 10}}), design).is_err());
        assert!(of(json!({"min_oa_source": "assumed"}), load).is_err());
        assert!(of(json!({"oa_cost_flagged": false}), load).is_err());
        assert!(of(json!({}), EquipmentLoad::default()).is_err());
        let whole = json!({"oa_cost_excess_cool_kbtu": 0.0, "oa_cost_excess_heat_kbtu": 8.0});
        assert_eq!(of(whole, EquipmentLoad::default()), energy(0.0, 1.0));
    }
}
