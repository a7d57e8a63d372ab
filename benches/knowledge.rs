//! A knowledge model of 10,000 equipment entries: reading, checking, changing and saving it.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use niagara_bridge::knowledge::search::{PointQuery, find_equipment, find_points};
use niagara_bridge::knowledge::{
    DocumentFormat, Edited, Editor, Equipment, EquipmentType, KnowledgeDocument, KnowledgeModel,
    KnowledgeStore, Space, TypicalPoint, validate,
};

const EQUIPMENT: usize = 10_000;
const SPACES: usize = 500;
const ROLES: [&str; 5] = [
    "zone_temp",
    "zone_temp_sp",
    "damper_cmd",
    "airflow",
    "reheat_cmd",
];

/// A campus: boxes of five points each, in rooms of one building.
fn campus() -> KnowledgeDocument {
    let spaces = (0..SPACES).map(|at| Space {
        id: format!("room-{at}"),
        name: Some(format!("Room {at}")),
        parent: (at > 0).then(|| "room-0".to_owned()),
        ..Space::default()
    });
    let vav = EquipmentType {
        id: "vav".to_owned(),
        name: Some("Air terminal".to_owned()),
        typical_points: ROLES
            .map(|role| TypicalPoint {
                role: role.to_owned(),
                ..TypicalPoint::default()
            })
            .to_vec(),
        ..EquipmentType::default()
    };
    let equipment = (0..EQUIPMENT).map(|at| {
        let ord = format!(
            "station:|slot:/Drivers/BacnetNetwork/Floor_{}/VAV_{at}",
            at % 40
        );
        Equipment {
            id: format!("vav-{at}"),
            name: Some(format!("VAV {at}")),
            aliases: vec![format!("Terminal {at}"), format!("Zuluftregler {at}")],
            equipment_type: Some("vav".to_owned()),
            space: Some(format!("room-{}", at % SPACES)),
            points: ROLES
                .iter()
                .map(|role| ((*role).to_owned(), format!("{ord}/points/{role}")))
                .collect(),
            ord: Some(ord),
            ..Equipment::default()
        }
    });
    KnowledgeDocument {
        spaces: spaces.collect(),
        equipment_types: vec![vav],
        equipment: equipment.collect(),
        ..KnowledgeDocument::default()
    }
}

fn knowledge(criterion: &mut Criterion) {
    let document = campus();
    let folder = tempfile::tempdir().expect("a folder");
    let mut group = criterion.benchmark_group("knowledge, 10,000 equipment entries");
    group.sample_size(20);
    for format in [DocumentFormat::Yaml, DocumentFormat::Json] {
        let path = folder.path().join(format!("site.{}", format.name()));
        let text = document
            .to_text("the campus", format)
            .expect("within the limits");
        println!("{} of {} bytes", format.name(), text.len());
        std::fs::write(&path, text).expect("a file");
        group.bench_function(format!("load, {}", format.name()), |bencher| {
            bencher.iter(|| KnowledgeStore::open(black_box(&path)));
        });
        // One store for all rounds: the first edit of a file that another program just wrote waits until it rests.
        let store = KnowledgeStore::open(&path);
        group.bench_function(format!("edit and save, {}", format.name()), |bencher| {
            save(bencher, &store);
        });
    }
    let model = KnowledgeModel::new(document);
    group.bench_function("validate", |bencher| {
        bencher.iter(|| validate(black_box(&model)))
    });
    group.bench_function("index", |bencher| {
        bencher.iter(|| KnowledgeModel::new(black_box(model.document()).clone()));
    });
    group.bench_function("first search after a change", |bencher| {
        bencher.iter_batched(
            || KnowledgeModel::new(campus()),
            |model| find_equipment(&model, "vav-4711").len(),
            BatchSize::LargeInput,
        );
    });
    // The first search of a snapshot may make its index.
    assert_eq!(find_equipment(&model, "Zuluftregler 4711").len(), 1);
    for query in [
        "vav-4711",
        "Zuluftregler 4711",
        "vav",
        "nothing of the kind",
    ] {
        group.bench_function(format!("findEquipment '{query}'"), |bencher| {
            bencher.iter(|| find_equipment(black_box(&model), query).len());
        });
    }
    let points = PointQuery {
        role: Some("airflow"),
        text: Some("regler 47"),
        ..PointQuery::default()
    };
    group.bench_function("findPoints by role and text", |bencher| {
        bencher.iter(|| find_points(black_box(&model), points).len());
    });
    group.finish();
}

/// One edit as a tool makes it: copy, change, check of the file, write, sync, backup, replace, index, log.
fn save(bencher: &mut criterion::Bencher<'_>, store: &KnowledgeStore) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let editor = Editor {
        principal: "bench".to_owned(),
        session_id: String::new(),
        tool: "updateEquipment".to_owned(),
    };
    let mut round = 0;
    bencher.iter(|| {
        round += 1;
        let note = format!("looked at {round} times");
        let edit = store.edit(&editor, "updateEquipment", move |document| {
            if let Some(entry) = document.equipment.get_mut(EQUIPMENT / 2) {
                entry.description = Some(note);
            }
            Ok(Edited::new("vav-5000", ()))
        });
        runtime.block_on(edit).expect("an edit");
    });
}

criterion_group!(benches, knowledge);
criterion_main!(benches);
