//! Files come into the store with the mapping of the specification, and frames leave it in three formats.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use niagara_bridge::trends::files::{
    ExportFormat, FileBins, FileForm, FileImport, FrameExport, ImportReport, LongColumns, Mapping,
    Profile,
};
use niagara_bridge::trends::store::{BinWidth, TrendStore, Window};

use crate::store_support::{column, equipment, id, samples, write};

struct Case {
    folder: tempfile::TempDir,
    store: TrendStore,
}

impl Case {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store = TrendStore::create(folder.path().join("trends")).expect("a store");
        Self { folder, store }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    fn import(&self, mapping: &str, form: FileForm) -> FileImport<'_> {
        FileImport {
            store: &self.store,
            facility: id("hq"),
            mapping: Mapping::parse(mapping, &Default::default()).expect("a mapping"),
            profile: Profile::named("generic").expect("a profile"),
            form,
            zone: Some(chrono_tz::America::Chicago),
            units: Default::default(),
            equip: Some("AHU-1".into()),
            equip_class: Some("AHU".into()),
            bins: FileBins::default(),
        }
    }
}

fn run(import: &FileImport<'_>, files: &[PathBuf]) -> ImportReport {
    import.run(files).expect("imported")
}

const WIDE: FileForm = FileForm::Wide { timestamp: None };

#[test]
fn a_wide_file_is_split_by_its_mapping_and_a_second_import_changes_nothing() {
    let case = Case::new();
    let file = case.file(
        "wide.csv",
        "\u{feff}time,SAT,Fan,Valve,ZN-1 Temp,junk\n\
         2024-03-01T06:00:00Z,21.0,On,0.25,70,1\n\
         2024-03-01T06:15:00Z,Comm Fail,Off,0.5,71,1\n\
         2024-03-01T06:15:00Z,99,On,0.5,72,1\n\
         2024-03-01T06:30:00Z,22.5,standby,1,\"1,071\",1\n",
    );
    let mapping = r#"{"aliases": {"sat": "supply_air_temp", "FAN": "supply_fan_status", "Valve": "cool_valve"},
        "patterns": [["^zn.*temp", "space_temp"]], "equipment": {"ZN-1 Temp": "VAV-1"}, "equipment_classes": {"VAV-1": "VAV"}}"#;
    let mut import = case.import(mapping, WIDE);
    import.units.insert("supply_air_temp".into(), "degC".into());
    let report = run(&import, std::slice::from_ref(&file));
    assert_eq!(
        samples(&case.store, "hq"),
        [
            "AHU-1 cool_valve 2024-03-01T00:00:00 25",
            "AHU-1 cool_valve 2024-03-01T00:15:00 50",
            "AHU-1 cool_valve 2024-03-01T00:30:00 100",
            "AHU-1 supply_air_temp 2024-03-01T00:00:00 69.8",
            "AHU-1 supply_air_temp 2024-03-01T00:30:00 72.5",
            "AHU-1 supply_fan_status 2024-03-01T00:00:00 1",
            "AHU-1 supply_fan_status 2024-03-01T00:15:00 0",
            "AHU-1 supply_fan_status 2024-03-01T00:30:00 0",
            "VAV-1 space_temp 2024-03-01T00:00:00 70",
            "VAV-1 space_temp 2024-03-01T00:15:00 71",
            "VAV-1 space_temp 2024-03-01T00:30:00 1071",
        ]
    );
    assert_eq!((report.samples, report.without_value), (11, 1));
    assert_eq!(report.unmapped, ["junk"]);
    let entry_zone = case
        .store
        .registry()
        .entry("hq")
        .and_then(|entry| entry.time_zone(|_| None));
    assert_eq!(entry_zone.as_deref(), Some("America/Chicago"));
    let again = run(&import, &[file]);
    assert_eq!((again.samples, again.stored_already), (0, 11));
    assert_eq!(samples(&case.store, "hq").len(), 11);
}

#[test]
fn a_long_file_states_units_and_slips_are_named() {
    let case = Case::new();
    let text = "timestamp,point,value,unit\n2024-03-01 00:00,DSP,249.08891,Pa\n2024-03-01 00:05,DSP,0,Pa\n2024-03-01 00:00,OAT,50,\n";
    let file = case.file("long.csv", text);
    let mapping = r#"{"aliases": {"DSP": "duct_static"}}"#;
    let long = || FileForm::Long(LongColumns::default());
    run(&case.import(mapping, long()), &[file]);
    assert_eq!(
        samples(&case.store, "hq"),
        [
            "AHU-1 duct_static 2024-03-01T00:00:00 1",
            "AHU-1 duct_static 2024-03-01T00:05:00 0",
            "AHU-1 oat 2024-03-01T00:00:00 50"
        ]
    );
    for (text, word) in [
        ("time,point,value\n1,2,3\n", "timestamp"),
        (
            "timestamp,point,value,unit\n2024-03-01 00:00,OAT,1,Pa\n",
            "contradicts",
        ),
        ("timestamp,point,value\nsoon,OAT,1\n", "no cell"),
        ("one column\n1\n", "delimiter"),
    ] {
        let file = case.file("slip.csv", text);
        let error = case
            .import(mapping, long())
            .run(&[file])
            .expect_err(word)
            .to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn per_point_files_find_their_equipment_by_the_measure_that_each_has() {
    let case = Case::new();
    let files = [
        case.file(
            "VAV_1_SpaceTemp.csv",
            "t,temp (degC)\n2024-03-01 00:00:00,20\n",
        ),
        case.file("VAV_1_Flow.csv", "t,flow (cfm)\n2024-03-01 00:00:00,300\n"),
    ];
    let form = FileForm::PerPoint {
        marker: "SpaceTemp".into(),
    };
    let mapping = r#"{"aliases": {"SpaceTemp": "space_temp", "Flow": "airflow"}}"#;
    run(&case.import(mapping, form), &files);
    assert_eq!(
        samples(&case.store, "hq"),
        [
            "VAV_1 airflow 2024-03-01T00:00:00 300",
            "VAV_1 space_temp 2024-03-01T00:00:00 68"
        ]
    );
}

#[test]
fn a_history_export_of_niagara_leaves_out_what_the_station_marked_as_bad() {
    let case = Case::new();
    let file = case.file(
        "AHU1_SAT.csv",
        "Timestamp,Trend Flags,Status,Value (°F)\n\
         02-Nov-26 12:00:00 AM EST,{start},{ok},55.1\n\
         02-Nov-26 12:15:00 AM EST,{ },\"{down,stale}\",0.0\n\
         02-Nov-26 12:30:00 AM EST,{hidden},{ok},56\n\
         02-Nov-26 12:45:00 AM EST,{ },\"{alarm,unackedAlarm}\",57.5\n",
    );
    let mut import = case.import(
        r#"{"aliases": {"AHU1_SAT": "supply_air_temp"}}"#,
        FileForm::NiagaraHistory,
    );
    import.profile = Profile::named("niagara_n4").expect("a profile");
    let report = run(&import, &[file]);
    assert_eq!(report.invalid, 2);
    assert_eq!(
        samples(&case.store, "hq"),
        [
            "AHU-1 supply_air_temp 2026-11-02T00:00:00 55.1",
            "AHU-1 supply_air_temp 2026-11-02T00:45:00 57.5"
        ]
    );
}

#[test]
fn numbers_are_resampled_when_asked_and_states_are_always_told_as_shares() {
    let case = Case::new();
    let file = case.file(
        "log.csv",
        "time,SAT,Fan,Warm,Valve\n\
         2024-03-01 00:10,10,on,off,0.2\n\
         2024-03-01 00:30,20,off,,0.4\n\
         2024-03-01 01:45,,on,on,\n\
         2024-03-01 02:15,40,off,off,1.6\n",
    );
    let mapping = r#"{"aliases": {"SAT": "supply_air_temp", "Fan": "supply_fan_status", "Warm": "warmup", "Valve": "cool_valve"}}"#;
    let mut import = case.import(mapping, WIDE);
    import.units.insert("supply_air_temp".into(), "degC".into());
    import.bins.numbers = Some(BinWidth::HOUR);
    run(&import, std::slice::from_ref(&file));
    let stored = samples(&case.store, "hq");
    assert_eq!(
        stored,
        [
            "AHU-1 cool_valve 2024-03-01T00:00:00 0.30000000000000004",
            "AHU-1 cool_valve 2024-03-01T02:00:00 1.6",
            "AHU-1 supply_air_temp 2024-03-01T00:00:00 59",
            "AHU-1 supply_air_temp 2024-03-01T02:00:00 104",
            "AHU-1 supply_fan_status 2024-03-01T00:00:00 0.4",
            "AHU-1 supply_fan_status 2024-03-01T01:00:00 0.25",
            "AHU-1 supply_fan_status 2024-03-01T02:00:00 0.25",
            "AHU-1 warmup 2024-03-01T00:00:00 0",
            "AHU-1 warmup 2024-03-01T01:00:00 1",
            "AHU-1 warmup 2024-03-01T02:00:00 1",
        ]
    );
    let again = run(&import, std::slice::from_ref(&file));
    assert_eq!((again.samples, again.stored_already), (0, 10));

    // A log of changes: the number holds for an hour.
    let held = Case::new();
    let mut import = held.import(mapping, WIDE);
    import.bins = FileBins {
        numbers: Some(BinWidth::HOUR),
        hold: Some(BinWidth::HOUR),
        states: BinWidth::parse("30min"),
    };
    run(&import, &[file]);
    let stored = samples(&held.store, "hq");
    let of = |role: &str| stored.iter().filter(|line| line.contains(role)).count();
    assert_eq!((of("supply_air_temp"), of("supply_fan_status")), (3, 5));
    assert!(
        stored.contains(&"AHU-1 supply_air_temp 2024-03-01T01:00:00 20".to_owned()),
        "{stored:?}"
    );
}

#[test]
fn a_point_in_several_files_is_one_log() {
    let case = Case::new();
    let files = [
        case.file("a.csv", "time,Fan,OAT\n2024-03-01 00:10,on,50\n"),
        case.file("b.csv", "time,Fan,OAT\n2024-03-01 00:40,off,70\n"),
    ];
    let mapping = r#"{"aliases": {"Fan": "supply_fan_status"}}"#;
    let mut import = case.import(mapping, WIDE);
    import.bins.numbers = Some(BinWidth::HOUR);
    run(&import, &files);
    assert_eq!(
        samples(&case.store, "hq"),
        [
            "AHU-1 oat 2024-03-01T00:00:00 60",
            "AHU-1 supply_fan_status 2024-03-01T00:00:00 0.6"
        ]
    );
}

#[test]
fn damaged_files_are_named_with_their_line_and_store_nothing() {
    let case = Case::new();
    for (bytes, line, word) in [
        (
            &b"time,OAT\n2024-03-01 00:00,1\n2024-03-01 01:00,\xff\n"[..],
            3,
            "UTF-8",
        ),
        (
            b"time,OAT\n\"2024-03-01 00:00,1\n2024-03-01 01:00,2\n",
            2,
            "never closed",
        ),
    ] {
        let path = case.file("slip.csv", "");
        std::fs::write(&path, bytes).expect("written");
        let error = case
            .import("{}", WIDE)
            .run(std::slice::from_ref(&path))
            .expect_err(word);
        let text = error.to_string();
        let place = format!("{}, line {line}: ", path.display());
        assert!(text.starts_with(&place) && text.contains(word), "{text}");
    }
    assert!(case.store.facilities().expect("a store").is_empty());
}

#[test]
fn slips_of_whoever_imports_are_refused_before_anything_is_stored() {
    let case = Case::new();
    let file = case.file("log.csv", "time,OAT\n2024-03-01 00:00,20\n");
    let with_unit = |role: &str, unit: &str| {
        let mut import = case.import("{}", WIDE);
        import.units.insert(role.into(), unit.into());
        import
    };
    let data_set = FileImport {
        facility: id("ds-office"),
        ..case.import("{}", WIDE)
    };
    for (import, word) in [
        // Stored as degF without a word otherwise.
        (with_unit("oatt", "degC"), "no such role"),
        (with_unit("co2", "degC"), "contradicts"),
        (with_unit("oat", "parsec"), "not known"),
        // No capability would show it.
        (data_set, "begin with ds-"),
    ] {
        let error = import
            .run(std::slice::from_ref(&file))
            .expect_err(word)
            .to_string();
        assert!(error.contains(word), "{error}");
    }
    for (text, place) in [
        (
            "time,OAT\n2024-03-01 00:00,20\n2024-03-01 01:00,20,5\n",
            "line 3",
        ),
        ("", "it is empty"),
    ] {
        let file = case.file("slip.csv", text);
        let error = case
            .import("{}", WIDE)
            .run(&[file])
            .expect_err(place)
            .to_string();
        assert!(error.contains(place), "{error}");
    }
    assert!(case.store.facilities().expect("a store").is_empty());
}

#[test]
fn what_is_left_out_or_taken_for_granted_is_told() {
    let case = Case::new();
    let text = "time,OAT,junk,SAT\n\
        2024-11-03 00:00,50,1,55\n\
        2024-11-03 01:00,51,1,56\n\
        2024-11-03 01:00,52,1,\n\
        soon,53,1,58\n\
        2024-11-03 02:00,54,1,59\n";
    let file = case.file("autumn.csv", text);
    let mapping = r#"{"aliases": {"SAT": "supply_air_temp"}, "equipment": {"SAT": "AHU-2"}}"#;
    let mut import = case.import(mapping, WIDE);
    import.equip_class = None;
    let report = run(&import, &[file]);
    // The second record of one o'clock, of the points that are mapped and have a value in it.
    assert_eq!(
        (report.samples, report.repeated, report.without_time),
        (6, 1, 1)
    );
    let told = report.warnings.join("\n");
    for word in [
        "autumn.csv, line 5: \"soon\" is no time",
        "no unit is stated for oat (degF), supply_air_temp (degF)",
        "no class is given for AHU-1, AHU-2",
    ] {
        assert!(told.contains(word), "{told}");
    }

    let days = case.file(
        "days.csv",
        "time,OAT\n11/02/2026 10:00,50\n12/02/2026 10:00,51\n13/02/2026 10:00,52\n",
    );
    let mut import = case.import("{}", WIDE);
    import.facility = id("annex");
    import.units.insert("oat".into(), "degF".into());
    let report = run(&import, &[days]);
    assert_eq!(
        samples(&case.store, "annex"),
        [
            "AHU-1 oat 2026-02-11T10:00:00 50",
            "AHU-1 oat 2026-02-12T10:00:00 51",
            "AHU-1 oat 2026-02-13T10:00:00 52"
        ]
    );
    let [told] = report.warnings.as_slice() else {
        panic!("{:?}", report.warnings);
    };
    assert!(
        told.contains("days.csv, line 4: \"13/02/2026 10:00\" tells that the days come first"),
        "{told}"
    );
}

#[test]
fn cells_that_hold_something_else_than_a_value_are_told_and_never_guessed() {
    let case = Case::new();
    let text = "time,Flow,Fan\n\
        2024-03-01 00:00,\"5,8\",On\n\
        2024-03-01 01:00,\"1,005.8\",l\u{e4}uft\n\
        2024-03-01 02:00,12%,\n\
        2024-03-01 03:00,n/a,Off\n";
    let file = case.file("german.csv", text);
    let mut import = case.import(
        r#"{"aliases": {"Fan": "supply_fan_status", "Flow": "airflow"}}"#,
        WIDE,
    );
    import.units.insert("airflow".into(), "cfm".into());
    import.bins.states = BinWidth::parse("1h");
    let report = run(&import, &[file]);
    assert_eq!(report.without_value, 5);
    let stored = samples(&case.store, "hq");
    assert!(
        stored.contains(&"AHU-1 airflow 2024-03-01T01:00:00 1005.8".to_owned()),
        "{stored:?}"
    );
    assert_eq!(
        stored
            .iter()
            .filter(|line| line.contains(" airflow "))
            .count(),
        1,
        "{stored:?}"
    );
    assert_eq!(
        report.warnings,
        [
            "\"Flow\": 2 cells hold something that is no number, the first \"5,8\"",
            "\"Fan\": 1 cells hold something that is no state, the first \"l\u{e4}uft\"",
        ]
    );
}

#[test]
fn an_import_beside_a_damaged_facility_is_done() {
    let case = Case::new();
    let file = case.file("log.csv", "time,OAT\n2024-03-01 00:00,20\n");
    let annex = case
        .store
        .root()
        .join("facility_id=annex/year=2024/month=3");
    std::fs::create_dir_all(&annex).expect("a folder");
    std::fs::write(annex.join("part-0.parquet"), "no Parquet").expect("damaged");
    let report = run(&case.import("{}", WIDE), &[file]);
    assert_eq!(report.samples, 1);
    assert_eq!(samples(&case.store, "hq").len(), 1);
}

fn exported(store: &TrendStore, format: ExportFormat, bins: Option<BinWidth>) -> Vec<u8> {
    let export = FrameExport {
        facility: id("hq"),
        equipment: Default::default(),
        roles: Default::default(),
        window: Window::OPEN,
        bins,
    };
    let mut bytes = Vec::new();
    export.write(store, format, &mut bytes).expect("exported");
    bytes
}

#[test]
fn frames_are_exported_as_csv_parquet_and_arrow() {
    let case = Case::new();
    let rows = [
        equipment(
            "AHU-1",
            "AHU",
            vec![
                column("oat", "2024-03-01", 30, 2, 50.0),
                column("supply_air_temp", "2024-03-01", 60, 1, 55.5),
            ],
        ),
        equipment(
            "VAV, 1",
            "VAV",
            vec![column("space_temp", "2024-03-01", 60, 1, 70.0)],
        ),
    ];
    write(&case.store)
        .append(&id("hq"), &rows, None)
        .expect("appended");
    let csv = String::from_utf8(exported(&case.store, ExportFormat::Csv, None)).expect("text");
    assert_eq!(
        csv,
        "equip,ts,oat,space_temp,supply_air_temp\n\
         AHU-1,2024-03-01T00:00:00,50,,55.5\n\
         AHU-1,2024-03-01T00:30:00,51,,\n\
         \"VAV, 1\",2024-03-01T00:00:00,,70,\n"
    );
    let hourly = String::from_utf8(exported(
        &case.store,
        ExportFormat::Csv,
        Some(BinWidth::HOUR),
    ))
    .expect("text");
    assert!(
        hourly.contains("AHU-1,2024-03-01T00:00:00,50.5,,55.5\n"),
        "{hourly}"
    );

    let parquet = exported(&case.store, ExportFormat::Parquet, None);
    let batches: Vec<RecordBatch> =
        parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(
            bytes::Bytes::from(parquet),
            1024,
        )
        .expect("a file")
        .collect::<Result<_, _>>()
        .expect("rows");
    check(&batches);
    let arrow = exported(&case.store, ExportFormat::Arrow, None);
    let batches: Vec<RecordBatch> =
        arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(arrow), None)
            .expect("a file")
            .collect::<Result<_, _>>()
            .expect("rows");
    check(&batches);
    let nothing = FrameExport {
        facility: id("hq"),
        equipment: ["AHU-9".to_owned()].into(),
        roles: Default::default(),
        window: Window::OPEN,
        bins: None,
    };
    let error = nothing
        .write(&case.store, ExportFormat::Csv, &mut Vec::new())
        .expect_err("nothing");
    assert!(error.to_string().contains("no such equipment"), "{error}");
}

fn check(batches: &[RecordBatch]) {
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    assert_eq!(rows, 3);
    let first = &batches[0];
    let names: Vec<&str> = first
        .schema_ref()
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    assert_eq!(
        names,
        ["equip", "ts", "oat", "space_temp", "supply_air_temp"]
    );
    assert_eq!(first.column(3).null_count(), first.num_rows().min(2));
}
