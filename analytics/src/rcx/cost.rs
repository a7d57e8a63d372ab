//! What findings and issues cost a year (RCx report §4).

mod models;

use self::models::{Model, Uncosted};
use super::ReportInput;
use super::items::Item;
use crate::numeric::round;
use crate::run_config::report::EnergyPrice;

/// Energy of a year.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Energy {
    pub kwh: f64,
    pub therms: f64,
}

/// What one finding costs, or why nobody can tell.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Estimate {
    /// One decimal each.
    pub energy: Energy,
    /// US dollars a year; none when uncosted.
    pub cost: Option<f64>,
    /// How it is reckoned, or what is missing.
    pub basis: String,
    /// The rule judged the building by a line that is not its own: the estimate does not count.
    pub is_excluded: bool,
}

/// The estimate of a finding.
pub(super) fn estimate(input: &ReportInput<'_>, item: &Item<'_>) -> Estimate {
    let options = &input.config.report;
    let name = load_name(input, item);
    let model = Model {
        item,
        load: options.load(&name),
        parameters: &options.cost,
    };
    let is_excluded = uses_default_line(item);
    let (energy, basis) = match model.energy() {
        Ok(priced) => priced,
        Err(problem) => {
            let basis = match problem {
                Uncosted::Needs(keys) => format!("uncosted: needs {}", load_keys(&name, keys)),
                Uncosted::NeedsSince(key, why) => {
                    format!("uncosted: needs {}: {why}", load_keys(&name, &[key]))
                }
                Uncosted::NoModel => "uncosted: there is no cost model for this rule".to_owned(),
                Uncosted::Because(why) => format!("uncosted: {why}"),
            };
            return Estimate {
                energy: Energy::default(),
                cost: None,
                basis,
                is_excluded,
            };
        }
    };
    if !(energy.kwh > 0.0 || energy.therms > 0.0) {
        return Estimate {
            energy: Energy::default(),
            cost: None,
            basis: format!("uncosted: no waste by {basis}"),
            is_excluded,
        };
    }
    Estimate {
        cost: Some(round(dollars(energy, options.price), 2)),
        energy: Energy {
            kwh: round(energy.kwh, 1),
            therms: round(energy.therms, 1),
        },
        basis,
        is_excluded,
    }
}

/// Where sizes of an equipment are given: `report.rcx.loads.AHU-1.fan_kw`.
fn load_keys(name: &str, keys: &[&str]) -> String {
    let places: Vec<String> = keys
        .iter()
        .map(|key| format!("report.rcx.loads.{name}.{key}"))
        .collect();
    places.join(" or ")
}

fn dollars(energy: Energy, price: EnergyPrice) -> f64 {
    energy.kwh * price.electricity_per_kwh + energy.therms * price.gas_per_therm
}

/// Whether the compliance rule took the line of Guideline 36 for want of the building's own.
pub(super) fn uses_default_line(item: &Item<'_>) -> bool {
    item.rule == "supply_air_reset_compliance" && item.word("target_source") == Some("g36")
}

/// Whose size counts: of a fleet the worst group, or the group of the worst zone.
fn load_name(input: &ReportInput<'_>, item: &Item<'_>) -> String {
    if item.place.is_some() {
        return item.equip.to_string();
    }
    if let Some(group) = item.word("worst_group") {
        return group.to_owned();
    }
    let of_zone = item.word("worst_zone").and_then(|zone| {
        let declared = input.topology.and_then(|topology| topology.group(zone));
        declared.map(str::to_owned).or_else(|| {
            let equipment = input.frames.iter();
            let named = crate::topology::Topology::named(
                equipment.map(|frame| (frame.equip(), frame.equip_class())),
            );
            named.group(zone).map(str::to_owned)
        })
    });
    of_zone.unwrap_or_else(|| item.equip.to_string())
}

/// What an issue costs: the largest estimate of its members, since they overlap.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct IssueCost {
    pub annual_cost: Option<f64>,
    pub note: String,
    /// By member.
    pub estimates: Vec<Estimate>,
}

/// The cost of an issue with these members, the root first.
pub(super) fn of_issue(input: &ReportInput<'_>, members: &[&Item<'_>]) -> IssueCost {
    let estimates: Vec<Estimate> = members.iter().map(|item| estimate(input, item)).collect();
    let mut shown: Option<(usize, f64)> = None;
    let mut counted = 0;
    for (place, estimate) in estimates.iter().enumerate() {
        if let Some(cost) = estimate.cost.filter(|_| !estimate.is_excluded) {
            counted += 1;
            if shown.is_none_or(|(_, best)| cost > best) {
                shown = Some((place, cost));
            }
        }
    }
    let rule = |place: usize| members.get(place).map_or("", |item| &*item.rule);
    let mut note = match shown {
        Some((place, _)) => {
            let basis = estimates.get(place).map_or("", |estimate| &estimate.basis);
            let own = format!("{basis} ({})", rule(place));
            match counted {
                1 => own,
                _ => format!(
                    "the findings overlap, the largest of {counted} estimates is shown: {own}"
                ),
            }
        }
        None => estimates
            .first()
            .map(|estimate| estimate.basis.clone())
            .unwrap_or_default(),
    };
    for (place, estimate) in estimates.iter().enumerate() {
        if estimate.is_excluded {
            note.push_str(&format!(
                "; {} is left out of the cost: it judges by the line of Guideline 36, not by the building's own",
                rule(place)
            ));
        }
    }
    IssueCost {
        annual_cost: shown.map(|(_, cost)| round(cost, 2)),
        note,
        estimates,
    }
}
