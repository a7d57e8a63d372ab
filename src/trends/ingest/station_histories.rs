//! Which history a mapped point records into, and in which unit.

use std::collections::HashMap;

use chrono_tz::Tz;

use super::mapped_points::MappedPoint;
use crate::station::facade::{
    FacadeError, FacadeResult, HistoryFilter, ListedHistory, PageRequest, SampleKind, StationFacade,
};
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::ord::{Ord, SlotPath, unescape};
use crate::trends::store::BinWidth;
use crate::trends::units::{Conversion, check_state_unit, chosen_unit};

/// Everything that a station can have; lists are asked for whole.
const ALL: PageRequest = PageRequest {
    offset: 0,
    limit: 1_000_000,
};

/// What a station tells of its histories and points, asked once per ingest.
#[derive(Debug)]
pub struct StationHistories {
    pub zone: Tz,
    pub station_name: String,
    by_id: HashMap<String, ListedHistory>,
    by_point: HashMap<String, Vec<String>>,
    facets: HashMap<String, Facets>,
}

/// Where the records of a mapped point come from.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordSource {
    Listed(Box<ListedHistory>),
    /// The station lists no histories to this user: the point is asked for its own.
    OfPoint(Ord),
}

impl RecordSource {
    /// Id of the history, where it is known before reading.
    pub fn history_id(&self) -> Option<&str> {
        match self {
            Self::Listed(history) => Some(&history.id),
            Self::OfPoint(_) => None,
        }
    }

    pub fn listed(&self) -> Option<&ListedHistory> {
        match self {
            Self::Listed(history) => Some(history),
            Self::OfPoint(_) => None,
        }
    }
}

/// A point with its source, its unit and what was remarkable about them.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSource {
    pub source: RecordSource,
    pub conversion: Conversion,
    /// The unit that counts, as the station or the knowledge file names it; empty for bare numbers.
    pub unit: String,
    pub remarks: Vec<String>,
}

impl StationHistories {
    /// Asks the station of that name for its zone, its histories and the facets of its points.
    ///
    /// # Errors
    /// Station errors. A list that the station does not offer to this user is left out.
    pub async fn read(
        station: &StationFacade,
        scope: &CallScope,
        station_name: String,
    ) -> FacadeResult<Self> {
        let zone = station.zone(scope).await?;
        let histories = match station
            .histories(scope, HistoryFilter::default(), ALL, false)
            .await
        {
            Ok(page) => page.items,
            Err(error) if is_refusal(&error) => {
                tracing::warn!(%error, "the station lists no histories; each point is asked for its own");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let root = Ord::slot(SlotPath::root());
        let points = match station.points_below(scope, &root, ALL).await {
            Ok(page) => page.items,
            Err(error) if is_refusal(&error) => {
                tracing::warn!(%error, "the station lists no points; units are those of the histories");
                Vec::new()
            }
            Err(error) => return Err(error),
        };
        let facets = points.into_iter().map(|point| (point.ord, point.facets));
        Ok(Self::new(zone, station_name, histories, facets.collect()))
    }

    fn new(
        zone: Tz,
        station_name: String,
        histories: Vec<ListedHistory>,
        facets: HashMap<String, Facets>,
    ) -> Self {
        let mut by_point: HashMap<String, Vec<String>> = HashMap::new();
        for history in &histories {
            if let Some(point) = &history.point_ord {
                by_point
                    .entry(point.clone())
                    .or_default()
                    .push(history.id.clone());
            }
        }
        let by_id = histories
            .into_iter()
            .map(|history| (history.id.clone(), history));
        Self {
            zone,
            station_name,
            by_id: by_id.collect(),
            by_point,
            facets,
        }
    }

    /// The source of a mapped point.
    ///
    /// # Errors
    /// Why the point is not ingested: it has no history, or its unit is missing, unknown or contradictory.
    pub fn find(&self, point: &MappedPoint) -> Result<FoundSource, String> {
        let mut remarks = Vec::new();
        let source = self.source(point, &mut remarks)?;
        if let Some(kind) = source.listed().and_then(|history| history.kind) {
            super::sample_rule::SampleRule::check_kind(point.role, kind)
                .map_err(|problem| problem.to_string())?;
        }
        let of_history = source.listed().and_then(|history| history.facets.unit());
        let facets = point
            .point
            .as_ref()
            .and_then(|ord| self.facets.get(&ord.absolute()));
        let of_point = facets.and_then(Facets::unit);
        let stated = point.unit.as_deref();
        let (conversion, unit) =
            chosen_unit(point.role, of_history, of_point, stated, &mut remarks)
                .map_err(|problem| problem.to_string())?;
        if source.listed().and_then(|history| history.kind) == Some(SampleKind::Numeric) {
            check_state_unit(point.role, &unit).map_err(|problem| problem.to_string())?;
        }
        Ok(FoundSource {
            source,
            conversion,
            unit,
            remarks,
        })
    }

    /// The interval at which most histories of the station are recorded, if it is a part of an hour that begins with it.
    pub fn usual_interval(&self) -> Option<BinWidth> {
        let mut counts: HashMap<i64, usize> = HashMap::new();
        for interval in self
            .by_id
            .values()
            .filter_map(|history| history.interval_millis)
        {
            *counts.entry(interval).or_default() += 1;
        }
        let (interval, _) = counts
            .into_iter()
            .max_by_key(|(interval, count)| (*count, *interval))?;
        let is_part_of_hour = interval >= 60_000 && 3_600_000 % interval == 0;
        BinWidth::from_nanos(interval.saturating_mul(1_000_000))
            .filter(|_| is_part_of_hour && interval % 60_000 == 0)
    }

    /// Whether a history is written by another station and comes here by and by: that it tells nothing new does not mean
    /// that nothing has changed.
    pub fn is_imported(&self, source: &RecordSource) -> bool {
        let device = source.listed().and_then(|history| {
            let own = history.id.trim_start_matches('/').split('/').next();
            own.filter(|device| !device.is_empty())
        });
        device.is_some_and(|device| unescape(device) != self.station_name)
    }

    fn source(
        &self,
        point: &MappedPoint,
        remarks: &mut Vec<String>,
    ) -> Result<RecordSource, String> {
        if let Some(id) = &point.history {
            let id = id.to_string();
            return match self.by_id.get(&id) {
                Some(history) => Ok(RecordSource::Listed(Box::new(history.clone()))),
                None if self.by_id.is_empty() => {
                    Ok(RecordSource::Listed(Box::new(ListedHistory {
                        id,
                        ..ListedHistory::default()
                    })))
                }
                None => Err(format!(
                    "the station lists no history {id}; listHistories names those that it has"
                )),
            };
        }
        let Some(ord) = &point.point else {
            return Err("the role has no ord; map a point to it".to_owned());
        };
        if self.by_point.is_empty() {
            return Ok(RecordSource::OfPoint(ord.clone()));
        }
        let absolute = ord.absolute();
        let own = self
            .by_point
            .get(&absolute)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let listed = own.iter().filter_map(|id| self.by_id.get(id));
        // Samples at regular times are worth more than changes, a long history more than a short one.
        let best = listed.max_by_key(|history| {
            (
                history.interval_millis.is_some(),
                history.capacity_records.unwrap_or(u64::MAX),
                std::cmp::Reverse(&history.id),
            )
        });
        let Some(best) = best else {
            return match ord {
                // A handle is in no list.
                Ord::Handle(_) => Ok(RecordSource::OfPoint(ord.clone())),
                _ => Err(
                    "the point has no history; add a history extension to it, or name its history under 'histories' of the \
                     equipment in the knowledge file"
                        .to_owned(),
                ),
            };
        };
        if own.len() > 1 {
            remarks.push(format!(
                "has {} histories, of which {} is read; name another one under 'histories' of the equipment if that is wrong",
                own.len(),
                best.id
            ));
        }
        Ok(RecordSource::Listed(Box::new(best.clone())))
    }
}

/// The station works but does not offer this to the user.
fn is_refusal(error: &FacadeError) -> bool {
    use crate::station::error::StationError;
    matches!(
        error,
        FacadeError::Station(
            StationError::InterfaceMissing { .. }
                | StationError::PermissionDenied { .. }
                | StationError::NotFound { .. }
                | StationError::BadQuery { .. }
        )
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knowledge::camber_roles::camber_role_named;
    use crate::station::facade::SampleKind;

    fn history(id: &str, unit: &str) -> ListedHistory {
        ListedHistory {
            id: id.into(),
            point_ord: Some("station:|slot:/A/T".into()),
            kind: Some(SampleKind::Numeric),
            facets: Facets::parse_display(&format!("units={unit}")),
            ..ListedHistory::default()
        }
    }

    fn station(histories: Vec<ListedHistory>, point_unit: &str) -> StationHistories {
        let facets = Facets::parse_display(&format!("units={point_unit}"));
        let facets = [("station:|slot:/A/T".to_owned(), facets)].into();
        StationHistories::new(Tz::UTC, "S".into(), histories, facets)
    }

    fn point() -> MappedPoint {
        MappedPoint {
            equip: "a".into(),
            equip_class: "AHU",
            role: camber_role_named("oat").expect("a role"),
            mapped_as: "oat".into(),
            point: Some(Ord::component("slot:/A/T").expect("an ord")),
            history: None,
            unit: None,
        }
    }

    #[test]
    fn the_unit_is_that_of_history_and_point_which_must_agree() {
        let found = station(vec![history("/S/T", "°C")], "°C")
            .find(&point())
            .expect("found");
        assert_eq!(
            (found.unit.as_str(), found.conversion.apply(10.0)),
            ("celsius", 50.0)
        );
        let of_point = station(vec![history("/S/T", "null")], "°C")
            .find(&point())
            .expect("found");
        assert_eq!(of_point.conversion.apply(10.0), 50.0);
        let disagreeing = station(vec![history("/S/T", "°C")], "°F");
        let reason = disagreeing.find(&point()).expect_err("two units");
        assert!(
            reason.contains("celsius") && reason.contains("fahrenheit"),
            "{reason}"
        );
        for (history_unit, point_unit) in [("null", "null"), ("kW", "kW"), ("bananas", "null")] {
            let station = station(vec![history("/S/T", history_unit)], point_unit);
            assert!(
                station.find(&point()).is_err(),
                "{history_unit} {point_unit}"
            );
        }
    }

    #[test]
    fn the_knowledge_file_states_a_unit_where_the_station_tells_none_and_never_another_one() {
        let find = |history_unit: &str, point_unit: &str, stated: &str| {
            let stated = MappedPoint {
                unit: Some(stated.into()),
                ..point()
            };
            station(vec![history("/S/T", history_unit)], point_unit).find(&stated)
        };
        for (history_unit, point_unit, stated, of_ten) in [
            ("null", "null", "celsius", 50.0),
            ("null", "null", "degF", 10.0),
            ("°C", "°C", "degC", 50.0),
            ("null", "°C", "celsius", 50.0),
            // A name that nothing is known of says nothing against it.
            ("bananas", "null", "celsius", 50.0),
            // Of two units of the station the file says which is right.
            ("°C", "°F", "celsius", 50.0),
            ("°C", "°F", "fahrenheit", 10.0),
        ] {
            let found = find(history_unit, point_unit, stated).expect(stated);
            assert_eq!(
                found.conversion.apply(10.0),
                of_ten,
                "{history_unit} {point_unit} {stated}"
            );
            let decided = history_unit != point_unit && history_unit == "°C";
            assert_eq!(!found.remarks.is_empty(), decided, "{:?}", found.remarks);
        }
        for (history_unit, point_unit, stated) in [
            ("°F", "°F", "celsius"),
            ("°C", "null", "degF"),
            ("null", "°F", "kelvin"),
            ("°C", "°F", "kelvin"),
            ("kW", "kW", "celsius"),
            ("°C", "°C", "kW"),
            ("null", "null", "bananas"),
            ("null", "null", ""),
        ] {
            let reason = find(history_unit, point_unit, stated).expect_err(stated);
            assert!(
                reason.contains("'units'") || reason.contains("contradicts"),
                "{history_unit} {point_unit} {stated}: {reason}"
            );
        }
    }

    #[test]
    fn numbers_in_a_unit_are_no_states() {
        let fan = MappedPoint {
            role: camber_role_named("supply_fan_status").expect("a role"),
            ..point()
        };
        let reason = station(vec![history("/S/T", "%")], "%")
            .find(&fan)
            .expect_err("a speed");
        assert!(
            reason.contains("supply_fan_status") && reason.contains("percent"),
            "{reason}"
        );
        assert!(
            station(vec![history("/S/T", "null")], "null")
                .find(&fan)
                .is_ok()
        );
    }

    #[test]
    fn the_usual_interval_is_that_of_most_histories() {
        let of = |millis: &[Option<i64>]| {
            let histories = millis
                .iter()
                .enumerate()
                .map(|(number, millis)| ListedHistory {
                    interval_millis: *millis,
                    ..history(&format!("/S/{number}"), "°F")
                });
            let width = station(histories.collect(), "°F").usual_interval();
            width.map(|width| width.to_string())
        };
        let minutes = |minutes: i64| Some(minutes * 60_000);
        assert_eq!(
            of(&[minutes(5), minutes(15), None, minutes(5), None]).as_deref(),
            Some("5min")
        );
        for none in [
            &[None, None][..],
            &[minutes(7)],
            &[Some(10_000)],
            &[minutes(1440)],
        ] {
            assert_eq!(of(none), None);
        }
    }

    #[test]
    fn histories_of_other_stations_are_imported_ones() {
        let station = StationHistories::new(Tz::UTC, "Main St".into(), Vec::new(), HashMap::new());
        for (id, imported) in [("/Main$20St/T", false), ("/Jace1/T", true)] {
            let source = RecordSource::Listed(Box::new(history(id, "°F")));
            assert_eq!(station.is_imported(&source), imported, "{id}");
        }
    }

    #[test]
    fn of_several_histories_the_regular_one_is_read_and_that_is_said() {
        let regular = ListedHistory {
            interval_millis: Some(900_000),
            ..history("/S/Regular", "°F")
        };
        let found = station(vec![history("/S/Cov", "°F"), regular], "°F")
            .find(&point())
            .expect("found");
        assert_eq!(found.source.history_id(), Some("/S/Regular"));
        assert!(
            found.remarks[0].contains("2 histories"),
            "{:?}",
            found.remarks
        );
        let named = MappedPoint {
            history: Some("/S/Cov".parse().expect("an id")),
            ..point()
        };
        let station = station(vec![history("/S/Cov", "°F")], "°F");
        assert_eq!(
            station.find(&named).expect("found").source.history_id(),
            Some("/S/Cov")
        );
        let unknown = MappedPoint {
            history: Some("/S/Gone".parse().expect("an id")),
            ..point()
        };
        assert!(
            station
                .find(&unknown)
                .expect_err("unknown")
                .contains("/S/Gone")
        );
    }

    #[test]
    fn a_point_without_a_history_and_one_of_states_are_refused() {
        let mut elsewhere = history("/S/U", "°F");
        elsewhere.point_ord = Some("station:|slot:/A/U".into());
        let reason = station(vec![elsewhere], "°F")
            .find(&point())
            .expect_err("no history");
        assert!(reason.contains("history extension"), "{reason}");
        let states = ListedHistory {
            kind: Some(SampleKind::Boolean),
            ..history("/S/T", "null")
        };
        let reason = station(vec![states], "°F")
            .find(&point())
            .expect_err("states");
        assert!(reason.contains("boolean"), "{reason}");
        let none = station(Vec::new(), "°F")
            .find(&point())
            .expect("asked itself");
        assert!(matches!(none.source, RecordSource::OfPoint(_)));
    }
}
