use super::*;

fn read(block: &str) -> Result<WriteRules, ConfigError> {
    let mut settings = Settings::empty("config.yaml".into());
    settings.read_text("config.yaml", &format!("writes:\n  enabled: true\n{block}"))?;
    WriteRules::read(&settings)
}

fn rules(block: &str) -> WriteRules {
    read(block).unwrap_or_else(|error| panic!("{error}"))
}

/// The policy that refuses, or what the rules say.
fn judged(
    rules: &WriteRules,
    user: Option<&str>,
    path: &str,
    priority: Option<i64>,
) -> Result<Ruling, &'static str> {
    let path: SlotPath = path.parse().unwrap();
    let intended = Intended {
        user,
        path: &path,
        priority: priority.map(|level| Priority::new(level).unwrap()),
        override_for: None,
        destructive: false,
        with_subtree: false,
        of_whole_station: false,
    };
    rules.judge(&intended).map_err(|refusal| refusal.policy)
}

const MARIA: Option<&str> = Some("maria");

#[test]
fn nothing_is_written_until_it_is_switched_on_and_the_key_is_named() {
    let read_only = WriteRules::read(&Settings::empty("none".into())).unwrap();
    assert_eq!(judged(&read_only, MARIA, "slot:/A", None), Err("read-only"));
    let path = SlotPath::root();
    let intended = Intended {
        user: None,
        path: &path,
        priority: None,
        override_for: None,
        destructive: false,
        with_subtree: false,
        of_whole_station: false,
    };
    let refusal = read_only.judge(&intended).unwrap_err().to_string();
    assert!(refusal.contains("writes.enabled: true"), "{refusal}");
    assert_eq!(
        judged(&rules(""), MARIA, "slot:/A", Some(16)),
        Ok(Ruling::Allowed)
    );
    assert_eq!(
        judged(&rules(""), None, "slot:/A", None),
        Ok(Ruling::Allowed)
    );
    let people_only = rules("  serviceAccountMayWrite: false\n");
    assert_eq!(
        judged(&people_only, None, "slot:/A", None),
        Err("service-account")
    );
    assert_eq!(
        judged(&people_only, MARIA, "slot:/A", None),
        Ok(Ruling::Allowed)
    );
}

#[test]
fn a_denied_path_stays_denied_whatever_allows_it() {
    let rules = rules(
        "  allow: ['slot:/Drivers/**', /Logic/*]\n  deny: ['/Drivers/Safety/**']\n  \
         principals:\n    maria: { allow: ['/**'], deny: [/Drivers/Boiler] }\n    guest: { allow: [] }\n",
    );
    for (user, path, expected) in [
        (Some("otto"), "slot:/Drivers", Ok(Ruling::Allowed)),
        (Some("otto"), "slot:/Drivers/A/B", Ok(Ruling::Allowed)),
        (Some("otto"), "slot:/Drivers/Safety", Err("ord-denied")),
        (Some("otto"), "slot:/Drivers/Safety/A", Err("ord-denied")),
        (Some("otto"), "slot:/Logic/A", Ok(Ruling::Allowed)),
        (Some("otto"), "slot:/Logic/A/B", Err("ord-not-allowed")),
        (Some("otto"), "slot:/Services", Err("ord-not-allowed")),
        (MARIA, "slot:/Services", Ok(Ruling::Allowed)),
        (MARIA, "slot:/Drivers/Boiler", Err("ord-denied")),
        (MARIA, "slot:/Drivers/Safety/A", Err("ord-denied")),
        (Some("guest"), "slot:/Drivers/A", Err("ord-not-allowed")),
    ] {
        assert_eq!(
            judged(&rules, user, path, None),
            expected,
            "{user:?} {path}"
        );
    }
}

#[test]
fn priorities_are_those_of_the_person_or_of_everybody() {
    let rules = rules(
        "  priorities: [10-12, 16]\n  principals:\n    maria: { priorities: [1, 8] }\n    service: { priorities: 16 }\n",
    );
    let allowed = |user| -> Vec<i64> {
        (1..=16)
            .filter(|level| judged(&rules, user, "slot:/A", Some(*level)) != Err("priority"))
            .collect()
    };
    assert_eq!(allowed(Some("otto")), [10, 11, 12, 16]);
    assert_eq!(allowed(MARIA), [1, 8]);
    assert_eq!(allowed(None), [16]);
}

#[test]
fn an_override_without_an_end_is_longer_than_any_limit() {
    let judged = |rules: &WriteRules, seconds: u64| {
        let path = SlotPath::root();
        let intended = Intended {
            user: MARIA,
            path: &path,
            priority: None,
            override_for: Some(Duration::from_secs(seconds)),
            destructive: false,
            with_subtree: false,
            of_whole_station: false,
        };
        rules.judge(&intended).map_err(|refusal| refusal.policy)
    };
    let limited = rules("  maxOverrideMinutes: 30\n");
    assert_eq!(judged(&limited, 1800), Ok(Ruling::Allowed));
    assert_eq!(judged(&limited, 1801), Err("override"));
    assert_eq!(judged(&limited, 0), Err("override"));
    assert_eq!(judged(&rules(""), 0), Ok(Ruling::Allowed));
}

#[test]
fn levels_1_and_8_removals_and_chosen_paths_are_confirmed() {
    let asks = |rules: &WriteRules, path: &str, priority, destructive| {
        let path: SlotPath = path.parse().unwrap();
        let intended = Intended {
            user: MARIA,
            path: &path,
            priority: Priority::new(priority).ok(),
            override_for: None,
            destructive,
            with_subtree: false,
            of_whole_station: false,
        };
        rules.judge(&intended).unwrap() != Ruling::Allowed
    };
    let careful = rules("  confirm: ['/Plant/**']\n");
    for (path, priority, destructive, expected) in [
        ("slot:/A", 1, false, true),
        ("slot:/A", 8, false, true),
        ("slot:/A", 9, false, false),
        ("slot:/A", 0, true, true),
        ("slot:/Plant/A", 16, false, true),
        ("slot:/A", 0, false, false),
    ] {
        assert_eq!(
            asks(&careful, path, priority, destructive),
            expected,
            "{path} {priority}"
        );
    }
    assert!(!asks(
        &rules("  confirmDestructive: false\n"),
        "slot:/A",
        0,
        true
    ));
}

#[test]
fn mistakes_are_named_with_their_key_and_line() {
    for (block, parts) in [
        ("  allow: [Drivers]\n", ["writes.allow", "slot:/Drivers/**"]),
        ("  deny: ['/A//B']\n", ["writes.deny", "single slashes"]),
        (
            "  confirm: ['/A**']\n",
            ["writes.confirm", "** for any names"],
        ),
        (
            "  priorities: [17]\n",
            ["writes.priorities", "17 is not a priority"],
        ),
        (
            "  priorities: [12-9]\n",
            ["writes.priorities", "write 9-12"],
        ),
        (
            "  principals: { maria: { alow: [/A] } }\n",
            ["writes.principals", "maria: 'alow' is unknown"],
        ),
        (
            "  principals: { maria: 7 }\n",
            ["writes.principals", "maria: it must hold"],
        ),
    ] {
        let message = read(block).expect_err(block).to_string();
        for part in parts.iter().chain(&["line 3"]) {
            assert!(message.contains(part), "{block} → {message}");
        }
    }
}

#[test]
fn stars_stand_for_parts_of_names_and_double_stars_for_names() {
    for (pattern, path, expected) in [
        ("/", "slot:/", true),
        ("/", "slot:/A", false),
        ("/**", "slot:/", true),
        ("station:|slot:/A", "slot:/A", true),
        ("/A/*", "slot:/A", false),
        ("/*/B", "slot:/A/B", true),
        ("/**/B", "slot:/B", true),
        ("/**/B/**/C", "slot:/B/A/B/C/D/C", true),
        ("/**/B/**/C", "slot:/B/A/B/C/D", false),
        ("/A*C*E", "slot:/ABCDE", true),
        ("/A*C*E", "slot:/ABCDEF", false),
        ("/a", "slot:/A", false),
        ("/Pt$20*", "slot:/Pt$201", true),
        ("/A/*/**/C", "slot:/A/B/C", true),
    ] {
        let parsed: PathPattern = pattern.parse().unwrap();
        assert_eq!(
            parsed.matches(&path.parse().unwrap()),
            expected,
            "{pattern} {path}"
        );
    }
}

#[test]
fn what_is_denied_below_is_not_removed_with_its_parent_and_saving_has_no_path() {
    let rules = rules("  deny: ['/Plant/**/Safety', '/Logic/x*']\n  confirmDestructive: false\n");
    let removal = |path: &str, with_subtree, of_whole_station| {
        let path: SlotPath = path.parse().unwrap();
        let intended = Intended {
            user: MARIA,
            path: &path,
            priority: None,
            override_for: None,
            destructive: true,
            with_subtree,
            of_whole_station,
        };
        rules.judge(&intended).map_err(|refusal| refusal.policy)
    };
    for path in [
        "slot:/",
        "slot:/Plant",
        "slot:/Plant/Line1/Cell",
        "slot:/Logic",
    ] {
        assert_eq!(removal(path, true, false), Err("ord-denied"), "{path}");
        assert_eq!(removal(path, false, false), Ok(Ruling::Allowed), "{path}");
    }
    for path in ["slot:/Drivers", "slot:/Logic/y", "slot:/Logic/y/x"] {
        assert_eq!(removal(path, true, false), Ok(Ruling::Allowed), "{path}");
    }
    let denied = "slot:/Plant/Safety";
    assert_eq!(removal(denied, false, false), Err("ord-denied"));
    assert_eq!(removal(denied, false, true), Ok(Ruling::Allowed));
}

#[test]
fn rules_reach_what_lies_below_and_what_is_not_there_yet() {
    let rules = rules(
        "  allow: [/Plant, /Plant/Cell]\n  deny: ['/Plant/Safety*']\n  confirm: [/Plant/Chiller]\n",
    );
    for (path, expected) in [
        ("slot:/Plant", Ok(Ruling::Allowed)),
        ("slot:/Plant/Cell/Pump", Err("ord-not-allowed")),
        ("slot:/Plant/Safety", Err("ord-denied")),
        ("slot:/Plant/SafetyValve/proxyExt", Err("ord-denied")),
    ] {
        assert_eq!(judged(&rules, MARIA, path, None), expected, "{path}");
    }
    let added = |path: &str| {
        let path: SlotPath = path.parse().unwrap();
        rules
            .judge_added(MARIA, &path)
            .map_err(|refusal| refusal.policy)
    };
    assert_eq!(added("slot:/Plant/Cell/Pump"), Ok(Ruling::Allowed));
    assert_eq!(added("slot:/Plant/Safety2"), Err("ord-denied"));
    assert_eq!(added("slot:/Plant/Safety2/Trend"), Err("ord-denied"));
    assert!(matches!(
        added("slot:/Plant/Chiller/Pump"),
        Ok(Ruling::NeedsConfirmation(_))
    ));
}

#[test]
fn names_are_written_as_people_see_them_or_as_the_station_stores_them() {
    for (shown, stored) in [
        ("Boiler-1", "Boiler$2d1"),
        ("Supply Air Temp", "Supply$20Air$20Temp"),
        ("L4.2", "L4$2e2"),
        ("Küche", "K$fcche"),
        ("2nd Floor", "$32nd$20Floor"),
        ("A(1)", "A$281$29"),
        ("温度", "$u6e29$u5ea6"),
        ("Pump😀", "Pump$ud83d$ude00"),
        ("Plain_1", "Plain_1"),
    ] {
        let path: SlotPath = format!("slot:/Plant/{stored}/Setpoint").parse().unwrap();
        let raised = stored.replace("$2d", "$2D").replace("$fc", "$FC");
        for name in [shown, stored, &raised] {
            let denied = rules(&format!("  deny: ['slot:/Plant/{name}/**']\n"));
            let whole = path.to_string();
            assert_eq!(
                judged(&denied, MARIA, &whole, None),
                Err("ord-denied"),
                "{name}"
            );
            let asked = rules(&format!("  confirm: ['/Plant/{name}/Set*']\n"));
            assert!(
                matches!(
                    judged(&asked, MARIA, &whole, None),
                    Ok(Ruling::NeedsConfirmation(_))
                ),
                "{name}"
            );
            let allowed = rules(&format!("  allow: ['/Plant/{name}/*']\n"));
            assert_eq!(
                judged(&allowed, MARIA, &whole, None),
                Ok(Ruling::Allowed),
                "{name}"
            );
            let own = rules(&format!(
                "  principals: {{ maria: {{ deny: ['/Plant/{name}/**'] }} }}\n"
            ));
            assert_eq!(
                judged(&own, MARIA, &whole, None),
                Err("ord-denied"),
                "{name}"
            );
        }
    }
    for (pattern, path, expected) in [
        ("/Boiler-*", "slot:/Boiler$2d1", true),
        ("/*-1", "slot:/Boiler$2d1", true),
        ("/*1st", "slot:/$31st", true),
        ("/A$2a", "slot:/A$2a", true),
        ("/A$2a", "slot:/AB", false),
        ("/A$2fB", "slot:/A$2fB", true),
        ("/Boiler-1", "slot:/Boiler_1", false),
        ("/Cost$", "slot:/Cost$24", true),
    ] {
        let parsed: PathPattern = pattern.parse().unwrap();
        let path = path.parse().unwrap();
        assert_eq!(parsed.matches(&path), expected, "{pattern} {path}");
    }
}

#[test]
fn a_subtree_is_allowed_only_as_a_whole_and_asked_about_for_its_parts() {
    let removal = |rules: &WriteRules, path: &str| {
        let path: SlotPath = path.parse().unwrap();
        let intended = Intended {
            user: MARIA,
            path: &path,
            priority: None,
            override_for: None,
            destructive: true,
            with_subtree: true,
            of_whole_station: false,
        };
        rules.judge(&intended).map_err(|refusal| refusal.policy)
    };
    let asked = rules(
        "  confirm: ['slot:/Plant/Chiller/**', '/Plant/Tower/Fan']\n  confirmDestructive: false\n",
    );
    for (path, expected) in [
        ("slot:/Plant", true),
        ("slot:/Plant/Chiller", true),
        ("slot:/Plant/Chiller/Pump", true),
        ("slot:/Plant/Tower", true),
        ("slot:/Plant/Tower/Fan", true),
        ("slot:/Plant/Tower/Fan/Point", true),
        ("slot:/Logic", false),
    ] {
        let is_asked = removal(&asked, path) != Ok(Ruling::Allowed);
        assert_eq!(is_asked, expected, "{path}");
    }
    let some = rules(
        "  allow: [/Plant/Pump, '/Logic/**', '/Drivers/*/**', '/**/Spare/**']\n  confirmDestructive: false\n",
    );
    for (path, expected) in [
        ("slot:/Plant/Pump", Err("ord-not-allowed")),
        ("slot:/Logic", Ok(Ruling::Allowed)),
        ("slot:/Logic/A/B", Ok(Ruling::Allowed)),
        ("slot:/Drivers", Err("ord-not-allowed")),
        ("slot:/Drivers/Net", Ok(Ruling::Allowed)),
        ("slot:/Plant/Spare", Ok(Ruling::Allowed)),
        ("slot:/Plant/Spare/A", Ok(Ruling::Allowed)),
        ("slot:/Plant", Err("ord-not-allowed")),
    ] {
        assert_eq!(removal(&some, path), expected, "{path}");
    }
    let path = "slot:/Plant/Pump".parse().unwrap();
    let alone = Intended {
        user: MARIA,
        path: &path,
        priority: None,
        override_for: None,
        destructive: true,
        with_subtree: false,
        of_whole_station: false,
    };
    assert_eq!(some.judge(&alone), Ok(Ruling::Allowed));
}
