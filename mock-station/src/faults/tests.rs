use super::*;

fn occasion(interface: Interface) -> Occasion {
    Occasion {
        time: DateTime::UNIX_EPOCH,
        interface,
        writes: false,
        method: "GET".to_owned(),
        target: "/x".to_owned(),
    }
}

fn hits(board: &Switchboard, interface: Interface, requests: usize) -> Vec<bool> {
    (0..requests)
        .map(|_| !board.draw(&occasion(interface)).is_empty())
        .collect()
}

#[test]
fn a_fault_begins_after_some_requests_and_ends_after_some_more() {
    let board = Switchboard::default();
    let id = board
        .set(Fault::new(FaultKind::Cut).after(1).requests(2))
        .unwrap();
    assert_eq!(
        hits(&board, Interface::Box, 5),
        [false, true, true, false, false]
    );
    assert!(board.list().is_empty(), "it is used up");
    assert!(!board.clear(id));
    assert_eq!(board.fired().len(), 2);
    assert_eq!(board.fired()[0].interface, Interface::Box);
}

#[test]
fn a_limited_fault_leaves_other_interfaces_alone_and_does_not_count_them() {
    let board = Switchboard::default();
    let fault = Fault::new(FaultKind::Cut).on(Interface::Obix).requests(1);
    board.set(fault).unwrap();
    assert_eq!(hits(&board, Interface::Ord, 3), [false; 3]);
    assert_eq!(hits(&board, Interface::Obix, 2), [true, false]);
    board.set(Fault::new(FaultKind::BoxAbsent)).unwrap();
    assert_eq!(hits(&board, Interface::Obix, 1), [false]);
    assert_eq!(hits(&board, Interface::Box, 1), [true]);
    board.clear_all();
    assert_eq!(hits(&board, Interface::Box, 1), [false]);
}

#[test]
fn chance_repeats_with_its_seed() {
    let series = |seed, probability| {
        let board = Switchboard::default();
        board
            .set(Fault::new(FaultKind::Cut).chance(probability, seed))
            .unwrap();
        hits(&board, Interface::Ord, 400)
    };
    assert_eq!(series(1, 0.25), series(1, 0.25));
    assert_ne!(series(1, 0.25), series(2, 0.25));
    let hit = series(1, 0.25).iter().filter(|hit| **hit).count();
    assert!((60..=140).contains(&hit), "{hit} of 400");
    assert!(series(1, 0.0).iter().all(|hit| !hit));
    assert!(series(1, 1.0).iter().all(|hit| *hit));
}

#[test]
fn events_happen_once_unless_told_otherwise() {
    let board = Switchboard::default();
    board
        .set(Fault::new(FaultKind::ClockJump { seconds: 60 }))
        .unwrap();
    assert_eq!(hits(&board, Interface::Ord, 2), [true, false]);
    board
        .set(Fault::new(FaultKind::Restart { down_millis: 0 }).requests(2))
        .unwrap();
    assert_eq!(hits(&board, Interface::Ord, 3), [true, true, false]);
}

#[test]
fn impossible_faults_are_refused_with_a_remedy() {
    let board = Switchboard::default();
    let refused = |fault: Fault| board.set(fault).unwrap_err();
    assert_eq!(
        refused(Fault::new(FaultKind::Cut).chance(1.5, 0)),
        FaultError::Probability(1.5)
    );
    assert!(matches!(
        refused(Fault::new(FaultKind::Cut).chance(f64::NAN, 0)),
        FaultError::Probability(_)
    ));
    assert_eq!(
        refused(Fault::new(FaultKind::ServerError { status: 200 })),
        FaultError::Status(200)
    );
    assert_eq!(
        refused(Fault::new(FaultKind::BoxAbsent).on(Interface::Obix)),
        FaultError::NeverMeets
    );
    assert!(board.list().is_empty());
}

#[test]
fn faults_are_written_as_plain_json() {
    let text = r#"{"fault":{"kind":"slow-drip","pauseMillis":5},"interface":"obix","requests":3}"#;
    let fault: Fault = serde_json::from_str(text).unwrap();
    let expected = FaultKind::SlowDrip {
        bytes: 16,
        pause_millis: 5,
    };
    assert_eq!(fault, Fault::new(expected).on(Interface::Obix).requests(3));
    let unknown = r#"{"fault":{"kind":"cut"},"times":3}"#;
    let error = serde_json::from_str::<Fault>(unknown).unwrap_err();
    assert!(error.to_string().contains("times"), "{error}");
}
