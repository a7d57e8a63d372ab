use super::*;
use crate::knowledge::{decode, format};

fn model(text: &str) -> KnowledgeModel {
    let (_, tree) = format::parse("test", text).unwrap();
    KnowledgeModel::new(decode::decode("test", tree).unwrap().document)
}

fn found(model: &KnowledgeModel, query: &str) -> Vec<(String, u32, &'static str)> {
    find_equipment(model, query)
        .into_iter()
        .map(|hit| (hit.equipment.id.clone(), hit.score, hit.tier.name()))
        .collect()
}

fn hit(id: &str, score: u32, tier: &'static str) -> (String, u32, &'static str) {
    (id.to_owned(), score, tier)
}

#[test]
fn scores_are_those_of_the_contract() {
    let model = model(
        "equipment:\n- {id: x, name: Roof, aliases: [ahu 1, other]}\n- {id: ahu-1, name: AHU 1}\n\
         - {id: tower, name: Cooling, aliases: [the ahu 1 twin]}\n- {id: fan-roof, name: Fan}\n",
    );
    assert_eq!(
        found(&model, "AHU 1"),
        [
            hit("ahu-1", 90, "exact"),
            hit("x", 80, "exact"),
            hit("tower", 40, "word")
        ]
    );
    assert_eq!(
        found(&model, "AHU-1"),
        [
            hit("ahu-1", 100, "exact"),
            hit("x", 20, "word"),
            hit("tower", 20, "word")
        ]
    );
    assert_eq!(
        found(&model, "roof"),
        [hit("x", 90, "exact"), hit("fan-roof", 30, "word")]
    );
    assert_eq!(found(&model, "Kessel"), []);
}

#[test]
fn within_a_score_beginnings_come_before_words_and_words_before_the_rest() {
    let model = model(
        "equipment:\n- {id: a, name: Superpump}\n- {id: b, name: Hot water pump}\n- {id: c, name: Pump 1}\n\
         - {id: d, name: Pump 2}\n- {id: e, name: Station2pump}\n",
    );
    assert_eq!(
        found(&model, "pump"),
        [
            hit("c", 50, "prefix"),
            hit("d", 50, "prefix"),
            hit("b", 50, "word"),
            hit("e", 50, "word"),
            hit("a", 50, "substring"),
        ]
    );
}

#[test]
fn an_empty_query_finds_everything_by_what_it_has() {
    let model = model(
        "equipment:\n- {id: a}\n- {id: b, aliases: [other]}\n- {id: c, name: Named}\n- {id: d, name: Named too}\n",
    );
    let scores: Vec<(String, u32)> = found(&model, "")
        .into_iter()
        .map(|(id, score, _)| (id, score))
        .collect();
    let expected = [("c", 50), ("d", 50), ("b", 40), ("a", 30)];
    assert_eq!(scores, expected.map(|(id, score)| (id.to_owned(), score)));
}

#[test]
fn all_words_in_any_order_are_a_last_resort_and_numbers_are_whole() {
    let model = model(
        "equipment:\n- {id: vav-3-12, name: Floor 3 box 12}\n- {id: vav-3-1, name: Floor 3 box 1, aliases: [Schreiner]}\n",
    );
    assert_eq!(found(&model, "box 1 floor"), [hit("vav-3-1", 20, "word")]);
    assert_eq!(found(&model, "VAV 12"), [hit("vav-3-12", 20, "word")]);
    assert_eq!(found(&model, "schrein floor"), [hit("vav-3-1", 20, "word")]);
    assert_eq!(found(&model, "floor chiller"), []);
}

#[test]
fn case_accents_and_scripts_do_not_stand_in_the_way() {
    let model = model(
        "equipment:\n- {id: l1, name: Lüftungsanlage Große Halle, aliases: [空調機 1号, Вентиляция Й, مكيف الهواء]}\n\
         - {id: l2, name: Échangeur, aliases: [ΨΎΚΤΗΣ]}\n- {id: l3, name: Ørsted łącze}\n",
    );
    for (query, id, score) in [
        ("LUFTUNGSANLAGE grosse", "l1", 50),
        ("空調機", "l1", 40),
        ("вентиляция й", "l1", 80),
        ("الهواء", "l1", 40),
        ("echangeur", "l2", 90),
        ("ψυκτης", "l2", 80),
        ("orsted lacze", "l3", 90),
    ] {
        let hits = found(&model, query);
        assert_eq!(
            hits.first().map(|(id, score, _)| (id.as_str(), *score)),
            Some((id, score)),
            "{query}: {hits:?}"
        );
    }
}

#[test]
fn kinds_of_equipment_points_come_from_the_type_and_its_ancestors() {
    let model = model(
        "equipment_types:\n- {id: ahu, typical_points: [{role: sat, kind: temperature}, {role: fan, kind: boolean}]}\n\
         - {id: rtu, extends: ahu, typical_points: [{role: fan, kind: percent}]}\n\
         equipment:\n- {id: rtu-1, name: Roof, type: rtu, points: {sat: 'slot:/R/S', fan: 'slot:/R/F', odd: 'slot:/R/O'}}\n\
         - {id: loose, points: {sat: 'slot:/L/S'}}\n\
         points:\n- {id: t1, name: Lobby, kind: Temperature, role_in_space: sat, ord: 'slot:/T'}\n",
    );
    let found = |role, kind, text| -> Vec<String> {
        let query = PointQuery { role, kind, text };
        find_points(&model, query)
            .into_iter()
            .map(|hit| match hit {
                PointHit::Equipment {
                    equipment,
                    role,
                    kind,
                    ..
                } => format!("{}/{role}:{}", equipment.id, kind.unwrap_or("?")),
                PointHit::Standalone(point) => point.id.clone(),
            })
            .collect()
    };
    assert_eq!(
        found(None, Some("TEMPERATURE"), None),
        ["rtu-1/sat:temperature", "t1"]
    );
    assert_eq!(found(Some("fan"), None, None), ["rtu-1/fan:percent"]);
    assert_eq!(
        found(Some("SAT"), None, None),
        ["rtu-1/sat:temperature", "loose/sat:?", "t1"]
    );
    assert_eq!(found(Some("sat"), None, Some("lob")), ["t1"]);
    assert_eq!(
        found(None, None, Some("roof")),
        ["rtu-1/sat:temperature", "rtu-1/fan:percent", "rtu-1/odd:?"]
    );
    assert_eq!(found(Some("fan"), Some("boolean"), None), [""; 0]);
}

#[test]
fn a_space_is_searched_with_its_descendants_even_when_they_form_a_cycle() {
    let model = model(
        "spaces:\n- {id: site}\n- {id: f1, parent: site}\n- {id: r1, parent: f1}\n- {id: a, parent: b}\n- {id: b, parent: a}\n\
         equipment:\n- {id: e1, space: r1, type: vav}\n- {id: e2, space: f1, type: ahu}\n- {id: e3, space: b}\n\
         points:\n- {id: p1, space: r1}\n",
    );
    let ids = |content: &SpaceContent<'_>| -> Vec<String> {
        let equipment = content.equipment.iter().map(|entry| entry.id.clone());
        equipment
            .chain(content.points.iter().map(|entry| entry.id.clone()))
            .collect()
    };
    let site = find_in_space(&model, "site", true, None).unwrap();
    assert_eq!(
        (site.spaces_included, ids(&site)),
        (3, ["e1", "e2", "p1"].map(str::to_owned).to_vec())
    );
    let site = find_in_space(&model, "site", false, None).unwrap();
    assert_eq!((site.spaces_included, ids(&site)), (1, Vec::new()));
    let vavs = find_in_space(&model, "f1", true, Some("vav")).unwrap();
    assert_eq!(ids(&vavs), ["e1", "p1"]);
    assert_eq!(
        find_in_space(&model, "a", true, None)
            .unwrap()
            .spaces_included,
        2
    );
    assert_eq!(find_in_space(&model, "attic", true, None), None);
}
