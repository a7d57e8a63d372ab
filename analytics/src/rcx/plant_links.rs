//! Warm chilled water behind warm supply air (RCx report §5.2).

use super::Ground;
use super::issues::Draft;
use super::samples::{Mask, Overlap};
use super::zone_chains::{self, Chain};
use crate::numeric::round;

const PLANT_RULE: &str = "chw_supply_tracking";

/// An issue of a plant upstream of an issue of an air handler; both stay.
#[derive(Debug, Clone)]
pub(super) struct PlantLink {
    /// Places in the order of ranks.
    pub air: usize,
    pub plant: usize,
    /// Items.
    air_item: usize,
    plant_item: usize,
    /// The topology says so; else the report assumes it.
    is_stated: bool,
    /// None when either side has no samples.
    overlap: Option<Overlap>,
    shared_hours: Option<f64>,
}

/// All links between issues.
pub(super) fn find(ground: &Ground<'_>, ranked: &[Draft]) -> Vec<PlantLink> {
    let member = |draft: &Draft, is: &dyn Fn(usize) -> bool| -> Option<usize> {
        draft
            .bucket
            .members
            .iter()
            .copied()
            .find(|place| is(*place))
    };
    let plants: Vec<(usize, usize)> = ranked
        .iter()
        .enumerate()
        .filter_map(|(place, draft)| {
            let item = member(draft, &|item| {
                ground
                    .item(item)
                    .is_some_and(|item| item.rule == PLANT_RULE)
            })?;
            Some((place, item))
        })
        .collect();
    let mut links = Vec::new();
    for (air, draft) in ranked.iter().enumerate() {
        let is_high = |item: usize| {
            ground
                .item(item)
                .is_some_and(|item| Chain::SupplyHigh.is_root(item))
        };
        let Some(air_item) = member(draft, &is_high) else {
            continue;
        };
        for (plant, plant_item) in &plants {
            links.extend(link(ground, (air, air_item), (*plant, *plant_item)));
        }
    }
    links
}

fn link(
    ground: &Ground<'_>,
    (air, air_item): (usize, usize),
    (plant, plant_item): (usize, usize),
) -> Option<PlantLink> {
    let (handler, chiller) = (ground.item(air_item)?, ground.item(plant_item)?);
    let is_stated = ground.input.topology.is_some_and(|topology| {
        zone_chains::nearest(topology, &handler.equip, |equip| {
            (equip == chiller.equip).then_some(())
        })
        .is_some()
    });
    let masks = masks(ground, air_item, plant_item);
    let (overlap, shared_hours) = match &masks {
        None => (None, None),
        Some((of_air, of_plant)) => {
            let overlap = Overlap::of(of_air, of_plant).filter(|overlap| overlap.is_enough())?;
            let hours = super::samples::hours(overlap.common, &of_air.stamps);
            (Some(overlap), Some(hours))
        }
    };
    Some(PlantLink {
        air,
        plant,
        air_item,
        plant_item,
        is_stated,
        overlap,
        shared_hours,
    })
}

/// The flagged samples of both while the fan of the air handler runs: what the plant lacks at other times it does not feel.
fn masks(ground: &Ground<'_>, air: usize, plant: usize) -> Option<(Mask, Mask)> {
    let place = ground.item(air)?.place?;
    let table = ground.input.frames.get(place)?.table();
    let gate = ground.units.get(place)?.fan.as_ref();
    let (input, items, judgements) = (ground.input, &ground.items, &ground.judgements);
    let of_air = zone_chains::root_mask(input, items, judgements, air, Chain::SupplyHigh)?;
    let of_plant = zone_chains::mask(input, items, judgements, plant)?;
    Some((of_air.gated(table, gate), of_plant.gated(table, gate)))
}

impl PlantLink {
    /// The reason that it gives an issue of this place; none for other issues.
    pub fn line(&self, ground: &Ground<'_>, place: usize) -> Option<String> {
        let (air, plant) = (ground.item(self.air_item)?, ground.item(self.plant_item)?);
        let name = |equip: &str| ground.input.words.name(equip);
        if place == self.plant {
            return Some(format!(
                "Downstream: {} of {} is warm in the same hours",
                air.rule,
                name(&air.equip)
            ));
        }
        if place != self.air {
            return None;
        }
        let hours = match (self.overlap, self.shared_hours) {
            (Some(overlap), Some(hours)) => format!(
                "{hours} h in common, {} % of the air handler's and {} % of the plant's",
                round(100.0 * overlap.of_first, 1),
                round(100.0 * overlap.of_second, 1)
            ),
            _ => "hours that cannot be compared".to_owned(),
        };
        let basis = match self.is_stated {
            true => "the topology states that it serves the air handler",
            false => "the report assumes that it serves the air handler",
        };
        Some(format!(
            "Upstream: {} of {} ({}), {hours}; {basis}",
            plant.rule,
            name(&plant.equip),
            plant.severity()
        ))
    }
}
