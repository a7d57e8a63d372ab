//! Files into the store (Store §10.2, §11).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use chrono_tz::Tz;
use serde::Serialize;

use super::forms::{FileForm, FileSeries, equipment_of_files, read_file};
use super::profile::is_nothing;
use super::resample::{FileBins, Samples, means, shares};
use super::{FilesError, Mapping, Profile};
use crate::knowledge::camber_roles::{CamberRole, camber_role_named};
use crate::trends::duty::usual_bins;
use crate::trends::ingest::progress_state::state_bins_of;
use crate::trends::site_time::SiteClock;
use crate::trends::states::state_of_word;
use crate::trends::store::lock::wait_from_environment;
use crate::trends::store::{
    BinWidth, EquipmentRows, FacilityId, Registration, RoleColumn, Selection, StoreError,
    TrendStore, Window,
};
use crate::trends::units::{Conversion, file_unit};

/// What is imported, and how it is to be understood.
#[derive(Debug)]
pub struct FileImport<'a> {
    pub store: &'a TrendStore,
    pub facility: FacilityId,
    pub mapping: Mapping,
    pub profile: Profile,
    pub form: FileForm,
    /// Zone of the site; without one that of the registry.
    pub zone: Option<Tz>,
    /// Unit by role, where the files state none.
    pub units: BTreeMap<String, String>,
    /// Equipment of points that the mapping gives none.
    pub equip: Option<String>,
    /// Class of equipment that the mapping gives none.
    pub equip_class: Option<String>,
    pub bins: FileBins,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportReport {
    pub files: usize,
    pub points: usize,
    pub samples: u64,
    /// Samples whose point has one at that time already.
    pub stored_already: u64,
    /// Records with bad status or flags.
    pub invalid: u64,
    /// Cells that hold no value.
    pub without_value: u64,
    /// Further samples of one time.
    pub repeated: u64,
    /// Cells that are no times.
    pub without_time: u64,
    /// Names that the mapping does not know.
    pub unmapped: Vec<String>,
    pub warnings: Vec<String>,
}

/// The place of a point in the store.
type Place = (String, &'static str);

/// What the files hold of one point in one unit.
struct Part {
    role: &'static CamberRole,
    /// The name in the file, for warnings.
    token: String,
    unit: String,
    conversion: Conversion,
    read: Samples,
}

impl FileImport<'_> {
    /// Imports files. A file that is imported again changes nothing.
    ///
    /// # Errors
    /// A file is not of the form, a unit is not known, or the store cannot be written.
    pub fn run(&self, files: &[PathBuf]) -> Result<ImportReport, FilesError> {
        let mut report = ImportReport {
            files: files.len(),
            ..ImportReport::default()
        };
        // Before files are read that may be large.
        self.store.check_takes_data(&self.facility)?;
        self.store.check_is_no_dataset(&self.facility)?;
        self.check_units()?;
        let registry = self.store.registry();
        let entry = registry.entry(self.facility.as_str());
        let registered = entry.and_then(|entry| entry.time_zone(|_| None));
        let zone = self.zone_beside(registered.as_deref())?;
        let equips = match &self.form {
            FileForm::PerPoint { marker } => equipment_of_files(files, marker),
            _ => Vec::new(),
        };
        let mut parts: BTreeMap<Place, Vec<Part>> = BTreeMap::new();
        for file in files {
            let content = read_file(
                file,
                &self.form,
                &self.profile,
                zone.map(SiteClock::new),
                &equips,
            )?;
            report.without_time += content.without_time;
            if let Some((line, cell)) = content.first_without_time {
                report.warnings.push(format!(
                    "{}, line {line}: {cell:?} is no time as the others of the file are written",
                    file.display()
                ));
            }
            if let Some((line, cell)) = content.day_first {
                report.warnings.push(format!(
                    "{}, line {line}: {cell:?} tells that the days come first; all dates of the file are read so",
                    file.display()
                ));
            }
            if content.clock_as_written {
                report.warnings.push(format!(
                    "{}: the times are instants and the zone of the site is not known; they keep the clock that the file \
                     shows (--zone names the zone)",
                    file.display()
                ));
            }
            // Of two columns for one role the first counts.
            let mut taken = BTreeSet::new();
            for series in content.series {
                let Some((equip, role)) = self.place(&series) else {
                    report.unmapped.push(series.token);
                    continue;
                };
                if !taken.insert((equip.clone(), &role.role)) {
                    report.warnings.push(format!(
                        "{}: {:?} is left out, another column stands for {} of {equip}",
                        file.display(),
                        series.token,
                        role.role
                    ));
                    continue;
                }
                let of_point = parts.entry((equip, role.role.as_str())).or_default();
                self.read(role, series, of_point, &mut report)?;
            }
        }
        report.points = parts.len();
        report.warnings.extend(without_unit(&parts));
        report.warnings.extend(self.without_class(&parts));
        let state_bins = self.state_bins()?;
        let mut points: BTreeMap<Place, Samples> = BTreeMap::new();
        for (place, parts) in parts {
            let mut samples = Samples::new();
            for part in parts {
                let converted = self.convert(&place.0, part, state_bins, &mut report)?;
                for (stamp, value) in converted {
                    samples.entry(stamp).or_insert(value);
                }
            }
            points.insert(place, samples);
        }
        self.store_points(points, zone, registered.is_none(), &mut report)?;
        Ok(report)
    }

    /// A unit under a name that no role has would change nothing, and the numbers would be taken for what they are not.
    fn check_units(&self) -> Result<(), FilesError> {
        for (role, unit) in &self.units {
            let problem = match camber_role_named(role) {
                None => "there is no such role".to_owned(),
                Some(role) => match file_unit(role, unit) {
                    Ok(_) => continue,
                    Err(problem) => problem.to_string(),
                },
            };
            return Err(StoreError::Refused(format!(
                "the unit {role}={unit} is no use: {problem}"
            ))
            .into());
        }
        Ok(())
    }

    fn zone_beside(&self, registered: Option<&str>) -> Result<Option<Tz>, FilesError> {
        let known = registered.and_then(|name| {
            chrono_tz::TZ_VARIANTS
                .into_iter()
                .find(|zone| zone.name().eq_ignore_ascii_case(name))
        });
        match (self.zone, known) {
            (Some(given), Some(known)) if given != known => Err(StoreError::Refused(format!(
                "facility \"{}\" is stored in the time zone {known}, not in {given}; leave --zone out or choose another \
                 facility",
                self.facility
            ))
            .into()),
            (given, known) => Ok(given.or(known)),
        }
    }

    fn place(&self, series: &FileSeries) -> Option<(String, &'static CamberRole)> {
        let role = self.mapping.role(&series.token)?;
        let equip = self
            .mapping
            .equipment(&series.token)
            .or(series.equip.as_deref())
            .or(self.equip.as_deref())?;
        Some((equip.to_owned(), role))
    }

    /// Equipment of which nothing is known but its name: analyses pick what they look at by class.
    fn without_class(&self, parts: &BTreeMap<Place, Vec<Part>>) -> Option<String> {
        let equips: BTreeSet<&str> = parts.keys().map(|(equip, _)| equip.as_str()).collect();
        let unnamed: Vec<&str> = equips
            .into_iter()
            .filter(|equip| self.class_of(equip).is_none())
            .collect();
        (!unnamed.is_empty()).then(|| {
            format!(
                "no class is given for {}, so that analyses pass it over: name one under 'equipment_classes' of the mapping \
                 file or with --class",
                unnamed.join(", ")
            )
        })
    }

    fn class_of(&self, equip: &str) -> Option<&str> {
        let class = self.mapping.class(equip).or(self.equip_class.as_deref());
        class.filter(|class| !class.is_empty())
    }

    /// Width of the bins of states: the one that was asked for, else that in which the facility's states are stored.
    fn state_bins(&self) -> Result<BinWidth, FilesError> {
        if let Some(width) = self.bins.states.or(self.bins.numbers) {
            return Ok(width);
        }
        let of_facility = state_bins_of(self.store.root(), &self.facility)
            .map_err(|error| StoreError::Refused(error.to_string()))?;
        Ok(of_facility.unwrap_or_else(usual_bins))
    }

    /// Reads the cells of a series, and adds them to what other files hold of the point in the same unit.
    fn read(
        &self,
        role: &'static CamberRole,
        series: FileSeries,
        parts: &mut Vec<Part>,
        report: &mut ImportReport,
    ) -> Result<(), FilesError> {
        report.invalid += series.invalid;
        report.repeated += series.repeated;
        let stated = series
            .unit
            .as_deref()
            .or(self.units.get(&role.role).map(String::as_str));
        let unit = stated.unwrap_or_default();
        let conversion = file_unit(role, unit).map_err(|problem| {
            StoreError::Refused(format!(
                "{:?}: {problem} (or give it with --unit {}=…)",
                series.token, role.role
            ))
        })?;
        let at = parts.iter().position(|part| part.unit == unit);
        let at = at.unwrap_or_else(|| {
            parts.push(Part {
                role,
                token: series.token.clone(),
                unit: unit.to_owned(),
                conversion,
                read: Samples::new(),
            });
            parts.len() - 1
        });
        let Some(part) = parts.get_mut(at) else {
            return Ok(());
        };
        let mut unread: Option<(u64, &str)> = None;
        for (stamp, cell) in series.stamps.iter().zip(&series.cells) {
            let number = if role.status {
                (!is_nothing(cell))
                    .then(|| state_of_word(cell).map(|on| f64::from(u8::from(on))))
                    .flatten()
            } else {
                self.profile.number(cell)
            };
            let Some(number) = number else {
                report.without_value += 1;
                if !is_nothing(cell) {
                    unread = Some(unread.map_or((1, cell), |(count, first)| (count + 1, first)));
                }
                continue;
            };
            // Of several readings at one time the first counts, of several states the last (Store §11).
            match part.read.entry(*stamp) {
                std::collections::btree_map::Entry::Vacant(free) => {
                    free.insert(number);
                }
                std::collections::btree_map::Entry::Occupied(mut known) => {
                    report.repeated += 1;
                    if role.status {
                        known.insert(number);
                    }
                }
            }
        }
        if let Some((count, first)) = unread {
            let what = if role.status { "state" } else { "number" };
            report.warnings.push(format!(
                "{:?}: {count} cells hold something that is no {what}, the first {first:?}",
                series.token
            ));
        }
        Ok(())
    }

    /// In bins, in the unit of the role, as percent: in this order (Store §10.2).
    fn convert(
        &self,
        equip: &str,
        part: Part,
        state_bins: BinWidth,
        report: &mut ImportReport,
    ) -> Result<Samples, FilesError> {
        let role = part.role;
        if role.status {
            return Ok(shares(role, &part.read, state_bins));
        }
        let mut samples = match self.bins.numbers {
            Some(width) => means(equip, role, &part.read, width, self.bins.hold)?,
            None => part.read,
        };
        for value in samples.values_mut() {
            *value = part.conversion.apply(*value);
        }
        if role.percent && part.unit.is_empty() && are_shares(samples.values().copied()) {
            samples.values_mut().for_each(|value| *value *= 100.0);
        }
        report
            .warnings
            .extend(implausible(role, &part.token, &samples));
        Ok(samples)
    }

    fn store_points(
        &self,
        points: BTreeMap<Place, Samples>,
        zone: Option<Tz>,
        register_zone: bool,
        report: &mut ImportReport,
    ) -> Result<(), FilesError> {
        let mut writer = self.store.writer(wait_from_environment())?;
        let mut rows: HashMap<String, EquipmentRows> = HashMap::new();
        for ((equip, role), mut samples) in points {
            report.stored_already += self.leave_out_stored(&equip, role, &mut samples)?;
            if samples.is_empty() {
                continue;
            }
            report.samples += samples.len() as u64;
            let class = self.class_of(&equip);
            let of_equip = rows.entry(equip.clone()).or_insert_with(|| EquipmentRows {
                equip_class: class.unwrap_or_default().to_owned(),
                equip,
                columns: Vec::new(),
            });
            let (stamps, values) = samples.into_iter().unzip();
            of_equip.columns.push(RoleColumn {
                role: role.to_owned(),
                stamps,
                values,
            });
        }
        let mut rows: Vec<EquipmentRows> = rows.into_values().collect();
        rows.sort_by(|one, other| one.equip.cmp(&other.equip));
        if rows.is_empty() {
            return Ok(());
        }
        let zone = zone.filter(|_| register_zone).map(Tz::name);
        writer.append(
            &self.facility,
            &rows,
            Some(&Registration::active(None, zone)),
        )?;
        writer.offer_catalogue()?;
        Ok(())
    }

    fn leave_out_stored(
        &self,
        equip: &str,
        role: &str,
        samples: &mut Samples,
    ) -> Result<u64, FilesError> {
        let (Some((first, _)), Some((last, _))) =
            (samples.first_key_value(), samples.last_key_value())
        else {
            return Ok(0);
        };
        let selection = Selection {
            roles: Some([role.to_owned()].into()),
            window: Window {
                start: Some(*first),
                end: Some(*last),
            },
        };
        let stored = match self.store.equipment(&self.facility, equip, &selection) {
            Ok(series) => series,
            Err(StoreError::NoData(_)) => return Ok(0),
            Err(error) => return Err(error.into()),
        };
        let before = samples.len();
        for stamp in stored
            .roles
            .get(role)
            .into_iter()
            .flat_map(|role| &role.stamps)
        {
            samples.remove(stamp);
        }
        Ok((before - samples.len()) as u64)
    }
}

/// Roles whose numbers are taken as they are because nobody tells their unit.
fn without_unit(parts: &BTreeMap<Place, Vec<Part>>) -> Option<String> {
    let mut roles: BTreeSet<String> = BTreeSet::new();
    for part in parts.values().flatten() {
        let role = part.role;
        if part.unit.is_empty() && has_rivals(role) {
            roles.insert(format!("{} ({})", role.role, role.unit));
        }
    }
    let roles: Vec<String> = roles.into_iter().collect();
    (!roles.is_empty()).then(|| {
        format!(
            "no unit is stated for {}: the numbers are taken to be in the unit in brackets (--unit ROLE=UNIT states another)",
            roles.join(", ")
        )
    })
}

/// Whether the numbers of a role are written in one unit here and in another there.
fn has_rivals(role: &CamberRole) -> bool {
    let rivals = [
        "temperature",
        "temperature_difference",
        "flow",
        "pressure",
        "power",
    ];
    rivals.contains(&role.kind())
}

/// Whether values of a percent role are written as 0 to 1 (Store §5).
fn are_shares(values: impl Iterator<Item = f64>) -> bool {
    let mut finite = values.filter(|value| value.is_finite()).peekable();
    finite.peek().is_some() && finite.all(|value| (-0.01..=1.5).contains(&value))
}

/// Warns of a unit that is likely wrong (Store §10.2).
fn implausible(role: &CamberRole, token: &str, samples: &Samples) -> Option<String> {
    let (low, high) = match role.role.as_str() {
        "discharge_superheat_temp" => (-10.0, 150.0),
        _ if role.temperature_difference => (-10.0, 60.0),
        _ if role.unit == "degF" => (-80.0, 260.0),
        "duct_static" | "duct_static_sp" | "filter_diff_press" => (-1.0, 10.0),
        _ => return None,
    };
    let mut values: Vec<f64> = samples
        .values()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    values.sort_by(f64::total_cmp);
    let median = *values.get(values.len() / 2)?;
    (!(low..=high).contains(&median)).then(|| {
        format!(
            "{token:?}: the middle value of {} is {median:.1} {}, usual are {low} to {high}; is the unit right?",
            role.role, role.unit
        )
    })
}
