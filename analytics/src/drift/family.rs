//! The ten families, and which detectors each has (Drift §5).

use super::detector::Detector;
use super::detectors::air_handler::coil_leak::CoilLeak;
use super::detectors::air_handler::coil_valve::CoilValve;
use super::detectors::air_handler::duct_static::DuctStatic;
use super::detectors::air_handler::economizer::EconomizerDamper;
use super::detectors::air_handler::fan_power::FanPower;
use super::detectors::air_handler::filter::FilterLoading;
use super::detectors::boiler::BoilerEfficiency;
use super::detectors::chiller::approach::Approach;
use super::detectors::chiller::approach_alarm::ApproachAlarm;
use super::detectors::chiller::condenser_range::CondenserRange;
use super::detectors::chiller::head_pressure::HeadPressure;
use super::detectors::chiller::refrigerant::Refrigerant;
use super::detectors::chiller::suction_pressure::SuctionPressure;
use super::detectors::chiller::tower_approach::TowerApproach;
use super::detectors::dx::airflow::IndoorAirflow;
use super::detectors::dx::charge::RefrigerantCharge;
use super::detectors::dx::discharge_superheat::DischargeSuperheat;
use super::detectors::pump::Water;
use super::detectors::pump::deltat::LoopDeltaT;
use super::detectors::pump::differential_pressure::LoopPressure;
use super::detectors::pump::flow::PumpFlow;
use super::detectors::pump::head::PumpHead;
use super::detectors::pump::power::PumpPower;
use super::detectors::terminal::damper::BoxDamper;
use super::detectors::terminal::reheat_valve::ReheatValve;
use super::detectors::tower_fan::TowerFanEffort;
use crate::RunFrame;
use crate::families;
use crate::run_config::DriftEntry;
use crate::runner::applicability::ClassGate;

/// One family of detectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    AirHandler,
    Boiler,
    Chiller,
    Condenser,
    Dx,
    Evaporator,
    HotWaterPump,
    Pump,
    Tower,
    Terminal,
}

impl Family {
    /// All of them, by word.
    pub const ALL: [Self; 10] = [
        Self::AirHandler,
        Self::Boiler,
        Self::Chiller,
        Self::Condenser,
        Self::Dx,
        Self::Evaporator,
        Self::HotWaterPump,
        Self::Pump,
        Self::Tower,
        Self::Terminal,
    ];

    /// The word in arguments and configurations.
    pub const fn word(self) -> &'static str {
        match self {
            Self::AirHandler => "ahu",
            Self::Boiler => "boiler",
            Self::Chiller => "chiller",
            Self::Condenser => "condenser",
            Self::Dx => "dx",
            Self::Evaporator => "evaporator",
            Self::HotWaterPump => "hw_pump",
            Self::Pump => "pump",
            Self::Tower => "tower",
            Self::Terminal => "vav",
        }
    }

    /// What it looks at, for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::AirHandler => "AHU air-side drift",
            Self::Boiler => "Boiler combustion-efficiency drift",
            Self::Chiller => "Chiller drift",
            Self::Condenser => "Condenser heat-rejection drift",
            Self::Dx => "DX / heat-pump refrigerant-side drift",
            Self::Evaporator => "Evaporator / chilled-water drift",
            Self::HotWaterPump => "Hot-water pump / loop drift",
            Self::Pump => "Pump / hydronic drift",
            Self::Tower => "Cooling-tower drift",
            Self::Terminal => "VAV zone-terminal drift",
        }
    }

    /// The family of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.word() == word)
    }

    /// The family that a class of equipment is judged by unless something else is said (Drift §2).
    ///
    /// ```
    /// use niagara_analytics::drift::Family;
    /// assert_eq!(Family::of_class("AHU"), Some(Family::AirHandler));
    /// assert_eq!(Family::of_class("METER"), None);
    /// ```
    pub fn of_class(class: &str) -> Option<Self> {
        match families::family(class)? {
            "air_handler" => Some(Self::AirHandler),
            "terminal" => Some(Self::Terminal),
            "chw_plant" => Some(Self::Chiller),
            "dx" => Some(Self::Dx),
            "hw_plant" => Some(Self::Boiler),
            "cooling_tower" => Some(Self::Tower),
            "pump" => Some(Self::Pump),
            _ => None,
        }
    }

    /// Families that a class is not judged by unless they are named, and that have a detector with all of its inputs on one
    /// of these frames of the class, which the usual family has not.
    pub fn unasked<'f>(
        class: &str,
        frames: impl Iterator<Item = &'f RunFrame> + Clone,
    ) -> Vec<Self> {
        let usual = Self::of_class(class);
        let detectors = |family: Self| family.detectors(&DriftEntry::bare(class, family));
        let known: Vec<&str> = usual
            .map(detectors)
            .unwrap_or_default()
            .iter()
            .map(|detector| detector.rule())
            .collect();
        let has_inputs = |family: Self| {
            detectors(family).iter().any(|detector| {
                let inputs = detector.inputs();
                let gate = ClassGate::of_families(detector.equip_families(), class);
                let applies = !matches!(gate, ClassGate::Declines { .. });
                // What needs no point of its own says nothing of the machine.
                applies
                    && !inputs.required.is_empty()
                    && !known.contains(&detector.rule())
                    && frames.clone().any(|frame| {
                        inputs.required.iter().any(|role| frame.stores(role))
                            && inputs.are_there(|role| frame.has(role))
                    })
            })
        };
        Self::ALL
            .into_iter()
            .filter(|family| Some(*family) != usual && has_inputs(*family))
            .collect()
    }

    /// Its detectors in the order of the run, as an entry of a configuration wants them.
    pub fn detectors(self, entry: &DriftEntry) -> Vec<Box<dyn Detector>> {
        match self {
            Self::AirHandler => air_handler(entry),
            Self::Terminal => vec![Box::new(BoxDamper), Box::new(ReheatValve)],
            Self::Chiller => {
                let mut all: Vec<Box<dyn Detector>> = vec![
                    Box::new(Approach),
                    Box::new(CondenserRange),
                    Box::new(TowerApproach),
                    Box::new(HeadPressure),
                    Box::new(Refrigerant::Subcooling),
                    Box::new(Refrigerant::Superheat),
                    Box::new(SuctionPressure),
                ];
                if entry.sustained_alarm {
                    all.push(Box::new(ApproachAlarm));
                }
                all
            }
            Self::Condenser => vec![
                Box::new(Approach),
                Box::new(CondenserRange),
                Box::new(TowerApproach),
                Box::new(HeadPressure),
            ],
            Self::Evaporator => vec![
                Box::new(Approach),
                Box::new(Refrigerant::Superheat),
                Box::new(SuctionPressure),
            ],
            Self::Pump => pump(Water::Chilled),
            Self::HotWaterPump => pump(Water::Hot),
            Self::Boiler => vec![Box::new(BoilerEfficiency)],
            Self::Tower => vec![Box::new(TowerApproach), Box::new(TowerFanEffort)],
            Self::Dx => vec![
                Box::new(RefrigerantCharge),
                Box::new(IndoorAirflow),
                Box::new(DischargeSuperheat),
            ],
        }
    }
}

fn air_handler(entry: &DriftEntry) -> Vec<Box<dyn Detector>> {
    let mut all: Vec<Box<dyn Detector>> = vec![
        Box::new(FanPower),
        Box::new(FilterLoading),
        Box::new(DuctStatic),
        Box::new(EconomizerDamper),
    ];
    for coil in &entry.coils {
        all.push(Box::new(CoilValve(*coil)));
    }
    for coil in &entry.coil_leak {
        if let Some(parameters) = &entry.coil_leak_params {
            all.push(Box::new(CoilLeak {
                coil: *coil,
                parameters: parameters.clone(),
            }));
        }
    }
    all
}

fn pump(water: Water) -> Vec<Box<dyn Detector>> {
    vec![
        Box::new(PumpFlow(water)),
        Box::new(PumpHead(water)),
        Box::new(LoopDeltaT(water)),
        Box::new(LoopPressure(water)),
        Box::new(PumpPower(water)),
    ]
}
