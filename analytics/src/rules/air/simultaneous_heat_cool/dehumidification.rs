//! What tells dehumidification with reheat from coils that fight each other (Air rules §2.24).

use crate::frame::Frame;
use crate::gates;
use crate::parameters::Parameters;
use crate::psychrometrics::dew_point;

/// A fan beyond this runs, percent of its speed.
const FAN_ON: f64 = 5.0;

/// What tells dehumidification from a fight of the coils, by row; columns are NaN where they are not known.
struct Moisture<'a> {
    /// Supply air above the air that leaves the cooling coil, °F.
    lift: Option<Vec<f64>>,
    leaving: Option<&'a [f64]>,
    dew_point: Option<Vec<f64>>,
    humidity: Option<Vec<f64>>,
}

impl<'a> Moisture<'a> {
    fn of(frame: &Frame<'a>) -> Self {
        let coil = frame
            .column("cool_coil_leaving_temp")
            .zip(frame.column("supply_air_temp"));
        let humidity = frame
            .column("return_air_humidity")
            .map(|humidity| gates::percent(humidity).into_owned());
        let outdoor = frame.column("oat").zip(
            frame
                .column("outdoor_rh")
                .map(|humidity| gates::percent(humidity).into_owned()),
        );
        let dew_points = |temperature: &[f64], humidity: &[f64]| -> Vec<f64> {
            temperature
                .iter()
                .zip(humidity)
                .map(|(temperature, humidity)| dew_point(*temperature, *humidity))
                .collect()
        };
        let outdoor = outdoor.map(|(temperature, humidity)| dew_points(temperature, &humidity));
        let returned = frame
            .column("return_air_temp")
            .zip(humidity.as_deref())
            .map(|(temperature, humidity)| dew_points(temperature, humidity));
        Self {
            lift: coil.map(|(leaving, supply)| {
                supply
                    .iter()
                    .zip(leaving)
                    .map(|(supply, leaving)| supply - leaving)
                    .collect()
            }),
            leaving: coil.map(|(leaving, _)| leaving),
            dew_point: match (outdoor, returned) {
                // The lower of those that are known: f64::min passes over NaN.
                (Some(outdoor), Some(returned)) => Some(
                    outdoor
                        .iter()
                        .zip(&returned)
                        .map(|(outdoor, returned)| outdoor.min(*returned))
                        .collect(),
                ),
                (outdoor, returned) => outdoor.or(returned),
            },
            humidity,
        }
    }

    /// Names of the evidence that is there, sorted.
    fn evidence(&self) -> Vec<&'static str> {
        [
            ("coil_leaving_temp", self.leaving.is_some()),
            ("dew_point", self.dew_point.is_some()),
            ("humidity", self.humidity.is_some()),
        ]
        .into_iter()
        .filter(|(_, is_there)| *is_there)
        .map(|(name, _)| name)
        .collect()
    }

    fn row(&self, row: usize, limits: &Limits) -> Signs {
        let at = |column: Option<&[f64]>| {
            column
                .and_then(|column| column.get(row))
                .copied()
                .filter(|value| !value.is_nan())
        };
        let leaving = at(self.leaving);
        Signs {
            reheat: at(self.lift.as_deref()).map(|lift| lift >= limits.lift),
            wet: leaving
                .zip(at(self.dew_point.as_deref()))
                .map(|(leaving, dew_point)| leaving <= dew_point + limits.margin),
            humid: at(self.humidity.as_deref()).map(|humidity| humidity >= limits.humid),
        }
    }
}

struct Limits {
    lift: f64,
    margin: f64,
    humid: f64,
}

impl Limits {
    fn of(parameters: &Parameters) -> Self {
        Self {
            lift: parameters.number("reheat_lift_f"),
            margin: parameters.number("dewpoint_margin_f"),
            humid: parameters.number("humid_rh_pct"),
        }
    }
}

/// Signs of one sample; none where it is not known.
#[derive(Clone, Copy)]
struct Signs {
    reheat: Option<bool>,
    wet: Option<bool>,
    humid: Option<bool>,
}

impl Signs {
    /// Whether the sample is dehumidification with reheat, and whether it may be.
    fn read(self, is_declared: bool) -> (bool, bool) {
        let reheats = self.reheat == Some(true);
        let is_humid = self.humid == Some(true);
        let may_be_wet = self.wet != Some(false);
        let may_reheat = self.reheat.is_none() && is_humid && may_be_wet;
        if is_declared {
            return (reheats && may_be_wet, may_reheat);
        }
        let latent = self.wet == Some(true) || (self.wet.is_none() && is_humid);
        let is_blind = self.wet.is_none() && self.humid.is_none();
        (reheats && latent, (reheats && is_blind) || may_reheat)
    }
}

/// Both-open samples by what they are.
pub(super) struct Classes {
    pub(super) dehumidifying: Vec<bool>,
    pub(super) possible: Vec<bool>,
    pub(super) evidence: Vec<&'static str>,
}

impl Classes {
    /// None when dehumidification is ruled out, or nothing tells of it.
    pub(super) fn of(
        frame: &Frame<'_>,
        parameters: &Parameters,
        simultaneous: &[bool],
    ) -> Option<Self> {
        let declared = parameters.value("dehumidification").as_bool();
        let moisture = Moisture::of(frame);
        let evidence = moisture.evidence();
        if declared == Some(false) || evidence.is_empty() {
            return None;
        }
        let fan = fan(frame);
        let limits = Limits::of(parameters);
        let (dehumidifying, possible) = simultaneous
            .iter()
            .zip(&fan)
            .enumerate()
            .map(|(row, (simultaneous, fan))| {
                if !(*simultaneous && *fan) {
                    return (false, false);
                }
                let (is, may_be) = moisture.row(row, &limits).read(declared == Some(true));
                (is, may_be && !is)
            })
            .unzip();
        Some(Self {
            dehumidifying,
            possible,
            evidence,
        })
    }
}

fn fan(frame: &Frame<'_>) -> Vec<bool> {
    if let Some(status) = frame.with_data("supply_fan_status") {
        return status.iter().map(|status| *status > 0.5).collect();
    }
    if let Some(speed) = frame.with_data("supply_fan_speed") {
        return gates::percent(speed)
            .iter()
            .map(|speed| *speed > FAN_ON)
            .collect();
    }
    vec![true; frame.len()]
}
