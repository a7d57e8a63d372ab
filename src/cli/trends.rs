//! `trends`: stored trends from and into files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use chrono_tz::Tz;
use clap::{Args, Subcommand, ValueEnum};

use super::output;
use super::shutdown::Ending;
use super::store::{StorePlace, folder};
use crate::durable_file::{Staged, failed, folder_of};
use crate::trends::files::profile::PROFILES;
use crate::trends::files::{
    ExportFormat, FileBins, FileForm, FileImport, FilesError, FrameExport, ImportReport,
    LongColumns, Mapping, Profile,
};
use crate::trends::store::wall_clock::parse_bound;
use crate::trends::store::{BinWidth, FacilityId, TrendStore, Window};
use crate::visible_text::one_line;

/// What can be typed behind `trends`.
#[derive(Debug, Args)]
pub struct TrendsArguments {
    #[command(subcommand)]
    pub command: TrendsCommand,
    #[command(flatten)]
    pub place: StorePlace,
}

#[derive(Debug, Subcommand)]
pub enum TrendsCommand {
    /// Write stored trends into a file: a row per equipment and time, a column per role.
    Export(ExportArguments),
    /// Read CSV files into the store.
    Import(Box<ImportArguments>),
}

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// Id of the facility.
    pub facility: String,
    #[arg(long, value_enum, default_value_t = FormatName::Csv)]
    pub format: FormatName,
    /// File to write; without it standard output.
    #[arg(long)]
    pub output: Option<PathBuf>,
    /// Only this equipment; may be given several times.
    #[arg(long = "equipment", value_name = "ID")]
    pub equipment: Vec<String>,
    /// Only this role; may be given several times.
    #[arg(long = "role", value_name = "ROLE")]
    pub roles: Vec<String>,
    /// First time, on the clock of the site: 2026-03-01 or 2026-03-01T06:00.
    #[arg(long, value_parser = bound)]
    pub from: Option<i64>,
    /// Last time; a day alone is taken to its end.
    #[arg(long, value_parser = last)]
    pub to: Option<i64>,
    /// Mean values of this width instead of single samples, such as 15min or 1h.
    #[arg(long, value_parser = width)]
    pub resample: Option<BinWidth>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormatName {
    Csv,
    Parquet,
    /// Arrow IPC, also known as Feather 2.
    Arrow,
}

#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Id of the facility.
    pub facility: String,
    /// The files, or folders of CSV files.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// How the files hold their points.
    #[arg(long, value_enum, default_value_t = FormName::Wide)]
    pub form: FormName,
    /// Mapping file: which name stands for which role and equipment (JSON).
    #[arg(long)]
    pub mapping: Option<PathBuf>,
    /// Value for a {name} in the mapping file, as name=value; may be given several times.
    #[arg(long = "variable", value_name = "NAME=VALUE", value_parser = pair)]
    pub variables: Vec<(String, String)>,
    /// How numbers and times are written: generic, niagara_n4, metasys, webctrl, tracer, desigo.
    #[arg(long, default_value = "generic")]
    pub profile: String,
    /// Time zone of the site, such as Europe/Berlin; without it that of the registered facility.
    #[arg(long)]
    pub zone: Option<Tz>,
    /// Unit of a role where the files state none, as role=unit; may be given several times.
    #[arg(long = "unit", value_name = "ROLE=UNIT", value_parser = pair)]
    pub units: Vec<(String, String)>,
    /// Equipment of points that the mapping gives none.
    #[arg(long)]
    pub equip: Option<String>,
    /// Class of equipment that the mapping gives none, such as AHU.
    #[arg(long = "class")]
    pub equip_class: Option<String>,
    /// Name of the column of times; wide: the first without it, long: timestamp.
    #[arg(long)]
    pub timestamp: Option<String>,
    /// Name of the column of points, long form.
    #[arg(long, default_value = "point")]
    pub point_column: String,
    /// Name of the column of values, long form.
    #[arg(long, default_value = "value")]
    pub value_column: String,
    /// Name of the column of units, long form.
    #[arg(long, default_value = "unit")]
    pub unit_column: String,
    /// Measure that each equipment has, per-point form.
    #[arg(long, default_value = crate::trends::files::forms::USUAL_MARKER)]
    pub marker: String,
    /// Store mean values of this width instead of the numbers as they are written, such as 15min or 1h.
    #[arg(long, value_parser = width)]
    pub resample: Option<BinWidth>,
    /// So long a number holds where a bin of --resample has none, for logs that record changes only, such as 4h.
    #[arg(long, value_parser = width, requires = "resample")]
    pub hold: Option<BinWidth>,
    /// Width of the steps in which states are stored as the share of time that they were on; without it that of --resample,
    /// of the facility's ingest, or 15min.
    #[arg(long, value_parser = width)]
    pub state_interval: Option<BinWidth>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FormName {
    /// A column of times and a column per point.
    Wide,
    /// A record per sample: timestamp, point, value and perhaps unit.
    Long,
    /// Files named EQUIP_MEASURE.csv with times and values.
    PerPoint,
    /// Niagara's own export of a history.
    NiagaraHistory,
}

fn bound(text: &str) -> Result<i64, String> {
    parse_bound(text)
        .ok_or_else(|| "write a day as 2026-03-01 or a time as 2026-03-01T06:00".to_owned())
}

/// As [`bound`], but of a day its last moment, as for `ingest --to`.
fn last(text: &str) -> Result<i64, String> {
    let stamp = bound(text)?;
    let is_day = !text.contains([':', 'T', ' ']);
    Ok(match is_day {
        true => stamp.saturating_add(NANOS_PER_DAY - 1),
        false => stamp,
    })
}

/// Stamps of the store count nanoseconds.
const NANOS_PER_DAY: i64 = 86_400 * 1_000_000_000;

fn width(text: &str) -> Result<BinWidth, String> {
    BinWidth::parse(text).ok_or_else(|| "write a width such as 15min or 1h".to_owned())
}

fn pair(text: &str) -> Result<(String, String), String> {
    text.split_once('=')
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .ok_or_else(|| "write NAME=VALUE".to_owned())
}

/// Runs one of the commands.
///
/// # Errors
/// The store or a file cannot be used.
pub fn run(arguments: &TrendsArguments) -> anyhow::Result<Ending> {
    let root = folder(&arguments.place)?;
    match &arguments.command {
        TrendsCommand::Export(export) => run_export(&TrendStore::open(root)?, export)?,
        TrendsCommand::Import(import) => run_import(&TrendStore::create(root)?, import)?,
    }
    Ok(Ending::Finished)
}

fn run_export(store: &TrendStore, arguments: &ExportArguments) -> anyhow::Result<()> {
    if let (Some(from), Some(to)) = (arguments.from, arguments.to)
        && to < from
    {
        bail!("--to lies before --from; exchange the two");
    }
    let export = FrameExport {
        facility: FacilityId::parse(&arguments.facility)?,
        equipment: arguments.equipment.iter().cloned().collect::<BTreeSet<_>>(),
        roles: arguments.roles.iter().cloned().collect(),
        window: Window {
            start: arguments.from,
            end: arguments.to,
        },
        bins: arguments.resample,
    };
    let format = match arguments.format {
        FormatName::Csv => ExportFormat::Csv,
        FormatName::Parquet => ExportFormat::Parquet,
        FormatName::Arrow => ExportFormat::Arrow,
    };
    let Some(path) = &arguments.output else {
        let mut out = BufWriter::with_capacity(PORTION, output::Portions::default());
        let outcome = export.write(store, format, &mut out);
        let outcome = outcome.and_then(|rows| {
            out.flush()
                .map_err(|error| FilesError::Write(error.to_string()))?;
            Ok(rows)
        });
        // What the buffer still holds after a failure is not for the reader.
        let (portions, _) = out.into_parts();
        return portions.ended(outcome);
    };
    let rows = match Target::of(path) {
        Target::File(target) => {
            let mut temp = target.as_os_str().to_owned();
            temp.push(".new");
            let mut staged = Staged::create(temp.into(), target)?;
            let rows = match staged.file() {
                Some(file) => write_to(&export, store, format, file)?,
                None => 0,
            };
            // Its rights become those of the file that it replaces.
            staged.fill(&[])?;
            staged.commit()?;
            rows
        }
        Target::Stream => {
            let mut stream = std::fs::OpenOptions::new()
                .write(true)
                .open(path)
                .map_err(failed("open", path))?;
            write_to(&export, store, format, &mut stream)?
        }
    };
    output::say(&format!("{rows} rows were written to {}.", path.display()));
    Ok(())
}

/// How much of an export is kept before it is written.
const PORTION: usize = 1 << 20;

fn write_to(
    export: &FrameExport,
    store: &TrendStore,
    format: ExportFormat,
    file: &mut std::fs::File,
) -> Result<u64, FilesError> {
    let mut buffered = BufWriter::with_capacity(PORTION, file);
    let rows = export.write(store, format, &mut buffered)?;
    buffered
        .flush()
        .map_err(|error| FilesError::Write(error.to_string()))?;
    Ok(rows)
}

/// What a name given for the output stands for.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    /// A file, there or not yet, that is replaced as a whole; behind a link the one that it leads to.
    File(PathBuf),
    /// A pipe or a device, which is written to: a file in its place would break whoever uses it.
    Stream,
}

impl Target {
    fn of(path: &Path) -> Self {
        match std::fs::metadata(path) {
            Ok(facts) if facts.is_file() => {
                Self::File(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
            }
            // A folder cannot be opened as a stream either; replacing it fails with a clear word.
            Ok(facts) if !facts.is_dir() => Self::Stream,
            Ok(_) => Self::File(path.to_owned()),
            // Behind a link to a file that is still to be made.
            Err(_) => Self::File(match std::fs::read_link(path) {
                Ok(leads_to) => folder_of(path).join(leads_to),
                Err(_) => path.to_owned(),
            }),
        }
    }
}

fn run_import(store: &TrendStore, arguments: &ImportArguments) -> anyhow::Result<()> {
    let variables: BTreeMap<String, String> = arguments.variables.iter().cloned().collect();
    let mapping = match &arguments.mapping {
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("the mapping file {} cannot be read", path.display()))?;
            Mapping::parse(&text, &variables)?
        }
        None => Mapping::default(),
    };
    let Some(profile) = Profile::named(&arguments.profile) else {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        bail!(
            "there is no profile {:?}; choose one of {}",
            arguments.profile,
            names.join(", ")
        );
    };
    let form = match arguments.form {
        FormName::Wide => FileForm::Wide {
            timestamp: arguments.timestamp.clone(),
        },
        FormName::Long => FileForm::Long(LongColumns {
            timestamp: arguments
                .timestamp
                .clone()
                .unwrap_or_else(|| LongColumns::default().timestamp),
            point: arguments.point_column.clone(),
            value: arguments.value_column.clone(),
            unit: arguments.unit_column.clone(),
        }),
        FormName::PerPoint => FileForm::PerPoint {
            marker: arguments.marker.clone(),
        },
        FormName::NiagaraHistory => FileForm::NiagaraHistory,
    };
    let import = FileImport {
        store,
        facility: FacilityId::parse(&arguments.facility)?,
        mapping,
        profile,
        form,
        zone: arguments.zone,
        units: arguments.units.iter().cloned().collect(),
        equip: arguments.equip.clone(),
        equip_class: arguments.equip_class.clone(),
        bins: FileBins {
            numbers: arguments.resample,
            hold: arguments.hold,
            states: arguments.state_interval,
        },
    };
    let report = import.run(&csv_files(&arguments.files)?)?;
    if arguments.json {
        output::print(&format!("{:#}\n", serde_json::to_value(&report)?))
    } else {
        output::print(&text_of(&report))
    }
}

/// The files, with folders replaced by the CSV files in them, in order of their names.
fn csv_files(given: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let is_csv = |path: &Path| {
        path.extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("csv"))
    };
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path)
            .with_context(|| format!("the folder {} cannot be read", path.display()))?;
        let mut found = Vec::new();
        for entry in entries {
            found.push(
                entry
                    .with_context(|| format!("the folder {} cannot be read", path.display()))?
                    .path(),
            );
        }
        found.retain(|file| is_csv(file));
        found.sort();
        files.extend(found);
    }
    if files.is_empty() {
        bail!("there is no CSV file in the folders that were named");
    }
    Ok(files)
}

fn text_of(report: &ImportReport) -> String {
    let mut text = format!(
        "{} new samples of {} points from {} files.\n",
        report.samples, report.points, report.files
    );
    for (count, what) in [
        (report.stored_already, "samples were stored already"),
        (
            report.repeated,
            "further samples of the same time were left out",
        ),
        (report.invalid, "records have a bad status"),
        (report.without_value, "cells hold no value"),
        (report.without_time, "records have no time"),
    ] {
        if count > 0 {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{count} {what}.");
        }
    }
    if !report.unmapped.is_empty() {
        let _ = writeln!(
            text,
            "Not mapped to a role and an equipment: {}.",
            one_line(&report.unmapped.join(", "))
        );
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "{}.", one_line(warning));
    }
    text
}
