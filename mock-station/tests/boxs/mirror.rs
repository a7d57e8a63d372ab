//! A client that only applies what polls bring holds what the station holds, whatever happens there.

use indexmap::IndexMap;
use mock_station::model::{Facets, Flags, Handle, Station, Status, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::direct::{Direct, sample};

const TARGET: &str = "slot:/Drivers/BacnetNetwork/AHU_1/points/SupplyTempSp";
const SOURCE: &str = "slot:/Logic/Average";
const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// The slots of one component, by name, as a client keeps them.
#[derive(Debug, Default)]
struct Mirror {
    slots: IndexMap<String, Json>,
    knobs: Vec<Json>,
}

impl Mirror {
    fn load(body: &Json) -> Self {
        let slots = body["s"].as_array().unwrap().iter();
        Self {
            slots: slots
                .map(|slot| (slot["n"].as_str().unwrap().to_owned(), slot.clone()))
                .collect(),
            knobs: body["nk"].as_array().cloned().unwrap_or_default(),
        }
    }

    fn apply(&mut self, operation: &Json) {
        let text = |key: &str| operation[key].as_str().unwrap_or_default().to_owned();
        let name = text("n");
        match operation["nm"].as_str().unwrap() {
            "s" => {
                self.slots.insert(name, operation["b"].clone());
            }
            "a" => {
                let before = self.slots.insert(name, operation["b"].clone());
                assert_eq!(before, None, "{operation}");
            }
            "v" => {
                let gone = self.slots.shift_remove(&name);
                assert!(gone.is_some(), "{operation}");
            }
            "r" => {
                let position = self.slots.get_index_of(&text("o")).unwrap();
                let (_, mut node) = self.slots.shift_remove_index(position).unwrap();
                node["n"] = json!(name);
                self.slots.shift_insert(position, name, node);
            }
            "o" => {
                let order = text("o");
                let order: Vec<&str> = order.split(';').filter(|name| !name.is_empty()).collect();
                for name in order {
                    let node = self.slots.shift_remove(name).unwrap();
                    self.slots.insert(name.to_owned(), node);
                }
            }
            "f" => self.attribute(&name, "f", &operation["f"]),
            "x" => self.attribute(&name, "x", &operation["x"]),
            "k" => self.knobs.push(operation["nk"].clone()),
            "j" => self.knobs.retain(|knob| knob["id"] != operation["id"]),
            "l" => *self = Self::load(&operation["b"]),
            other => panic!("unknown operation {other}"),
        }
        self.show(operation);
    }

    /// Takes over the display name and text that an operation carries for its slot.
    fn show(&mut self, operation: &Json) {
        let name = operation["n"].as_str().unwrap_or_default();
        let (Some(display_name), Some(node)) = (operation.get("dn"), self.slots.get_mut(name))
        else {
            return;
        };
        if let Some(text) = operation.get("d") {
            node["d"] = text.clone();
        }
        match *display_name == name {
            true => {
                node.as_object_mut().unwrap().shift_remove("dn");
            }
            false => node["dn"] = display_name.clone(),
        }
    }

    fn attribute(&mut self, slot: &str, key: &str, value: &Json) {
        let Some(node) = self.slots.get_mut(slot).and_then(Json::as_object_mut) else {
            return;
        };
        node.shift_remove(key);
        if value != "" {
            node.insert(key.to_owned(), value.clone());
        }
    }

    /// Everything a load shows is in the mirror, as it is there and in its order; dynamic slots are exactly the same.
    fn assert_shows(&self, station: &Station, handle: Handle, load: &Json) {
        let fresh = Self::load(load);
        let dynamic = |mirror: &Self| -> Vec<String> {
            let names = mirror.slots.keys().cloned();
            names
                .filter(|name| station.slot(handle, name).is_none_or(|slot| !slot.frozen))
                .collect()
        };
        assert_eq!(dynamic(self), dynamic(&fresh));
        for (name, node) in &fresh.slots {
            let mirrored = self.slots.get(name);
            assert_eq!(mirrored, Some(node), "{name}");
        }
        let mut knobs = self.knobs.clone();
        knobs.sort_by_key(|knob| knob["id"].as_u64());
        let mut fresh_knobs = fresh.knobs;
        fresh_knobs.sort_by_key(|knob| knob["id"].as_u64());
        assert_eq!(knobs, fresh_knobs);
    }
}

/// One edit; edits that the model refuses change nothing.
fn edit(station: &mut Station, kind: u8, one: usize, two: usize) {
    let handle = station.resolve_component(TARGET).unwrap();
    let (name, other) = (NAMES[one], NAMES[two]);
    let number = f64::from(kind) + two as f64;
    let _ = match kind {
        0 => station.set(
            handle,
            ["in8", "in9", "in10", "fallback"][one],
            Value::status_numeric(number, Status::ok()),
        ),
        1 => station.set(
            handle,
            ["in8", "in9", "in10", "fallback"][one],
            Value::status_numeric(0.0, Status::null()),
        ),
        2 => station
            .add_value(handle, Some(name), number.into(), Flags::OPERATOR, None)
            .map(drop),
        3 => station.set(handle, name, number.into()),
        4 | 5 => station.remove(handle, name),
        6 => station.rename(handle, name, other),
        7 => {
            let slots = station.slots(handle);
            let mut names: Vec<String> = slots
                .iter()
                .filter(|slot| !slot.frozen)
                .map(|slot| slot.name.to_owned())
                .collect();
            let steps = one % names.len().max(1);
            names.rotate_left(steps);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            station.reorder(handle, &names)
        }
        8 => station.set_flags(handle, name, [Flags::NONE, Flags::HIDDEN][two % 2]),
        9 => {
            let facets = Facets::new().with("precision", Value::Integer(two as i32));
            station.set_slot_facets(handle, name, facets)
        }
        10 => station.add(handle, Some(name), "baja:Folder").map(drop),
        11 => match station.make_link(
            handle,
            "out",
            station.resolve_component(SOURCE).unwrap(),
            "inA",
        ) {
            Ok(link) => {
                let target = station.resolve_component(SOURCE).unwrap();
                station
                    .add_value(target, Some(name), link, Flags::NONE, None)
                    .map(drop)
            }
            Err(error) => Err(error),
        },
        12 => {
            let target = station.resolve_component(SOURCE).unwrap();
            station.remove(target, name)
        }
        _ => station.set_slot_display_name(handle, name, other),
    };
}

fn present(station: &Direct) -> Json {
    station.ask("ord", "resolve", json!({"o": TARGET}))["o"].clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_client_that_applies_every_poll_holds_the_stations_state(
        rounds in prop::collection::vec(
            prop::collection::vec((0u8..14, 0usize..4, 0usize..4), 0..12),
            1..6,
        ),
    ) {
        let station = sample();
        let session = station.session();
        let loads = station.call(&session, "sub", json!([TARGET]));
        let mut mirror = Mirror::load(&loads["e"]["ops"][0]["b"]);
        let handle = station.context.station.read().resolve_component(TARGET).unwrap();
        for edits in rounds {
            for (kind, one, two) in edits {
                edit(&mut station.context.station.write(), kind, one, two);
            }
            for operation in station.poll(&session) {
                mirror.apply(&operation);
            }
            let load = present(&station);
            mirror.assert_shows(&station.context.station.read(), handle, &load);
        }
    }
}
