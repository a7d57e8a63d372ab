use proptest::prelude::*;

use super::*;

fn filter(text: &str) -> Expression {
    parse(&format!("select name from baja:Component where {text}"))
        .unwrap_or_else(|error| panic!("{text}: {error}"))
        .filter
        .unwrap_or_else(|| panic!("{text}: no filter"))
}

#[test]
fn every_clause_is_read() {
    let select = parse(
        "SELECT TOP 5 DISTINCT slotPath as 'Path', out.value From control:NumericPoint stop \
         WHERE out.value > 3 HAVING name like 'A*' ORDER BY name DESC, out.value asc",
    )
    .expect("valid");
    assert_eq!(select.top, Some(5));
    assert!(select.distinct);
    let Projection::Columns(items) = &select.projection else {
        panic!("columns expected");
    };
    assert_eq!(items[0].alias.as_deref(), Some("Path"));
    assert_eq!(items[1].expression.to_string(), "out.value");
    assert_eq!(
        select.extent,
        Some(Extent {
            target: ExtentTarget::Type("control:NumericPoint".into()),
            stop: true
        })
    );
    assert!(select.filter.is_some() && select.having.is_some());
    let directions: Vec<bool> = select.order.iter().map(|key| key.descending).collect();
    assert_eq!(directions, [true, false]);
}

#[test]
fn precedence_follows_the_table() {
    let same = |left: &str, right: &str| assert_eq!(filter(left), filter(right), "{left}");
    same(
        "a = 1 or b = 2 and c = 3",
        "(a = 1) or ((b = 2) and (c = 3))",
    );
    same("a + b * c > d - e - f", "(a + (b * c)) > ((d - e) - f)");
    same("not a and b", "(not a) and b");
    same("!a = b", "(not a) = b");
    same("-a + b", "(-(a)) + b");
    same("a or b or c or d", "(a or b) or (c or d)");
    same(
        "name like 'x' and t in bqltime.today",
        "(name like 'x') and (t in bqltime.today)",
    );
}

#[test]
fn typed_literals_are_told_from_paths() {
    assert_eq!(
        filter("timestamp >= baja:AbsTime '2024-03-01T00:00:00.000Z'").to_string(),
        "(timestamp) >= (baja:AbsTime '2024-03-01T00:00:00.000Z')"
    );
    assert!(matches!(
        filter("sourceState != alarm:SourceState.normal"),
        Expression::Binary(Operator::NotEqual, _, right)
            if *right == Expression::Literal(Literal::Enum {
                type_spec: "alarm:SourceState".into(),
                tag: "normal".into()
            })
    ));
    assert!(matches!(
        filter("type = control:NumericWritable"),
        Expression::Binary(Operator::Equal, _, right)
            if *right == Expression::Literal(Literal::Type("control:NumericWritable".into()))
    ));
}

#[test]
fn projection_forms_are_told_apart() {
    let projection = |text: &str| parse(text).expect("valid").projection;
    assert_eq!(projection("select * from baja:Component"), Projection::All);
    assert_eq!(projection("select from baja:Component"), Projection::Whole);
    assert_eq!(projection("select"), Projection::Whole);
    let Projection::Columns(items) = projection("select COUNT(*), avg(out.value) from *") else {
        panic!("columns expected");
    };
    assert_eq!(
        items[0].expression,
        Expression::Aggregate(Aggregate::Count, None)
    );
    assert!(items[1].expression.has_aggregate());
}

#[test]
fn history_and_alarm_extents_are_read() {
    let target = |text: &str| parse(text).expect("valid").extent.expect("extent").target;
    assert_eq!(
        target("select * from /Stn/Oat$20East"),
        ExtentTarget::History("/Stn/Oat$20East".into())
    );
    assert_eq!(
        target("select * from openAlarms where ackState = 'unacked'"),
        ExtentTarget::Named("openAlarms".into())
    );
}

#[test]
fn a_clause_out_of_order_is_refused_with_its_place() {
    let error = parse("select name where a = 1 from baja:Component").expect_err("wrong order");
    assert_eq!(
        error.to_string(),
        "expected the end of the query at character 24, found `from`"
    );
    assert!(parse("name from baja:Component").is_err());
    assert!(parse("select name from").is_err());
    assert!(parse("select name from baja:Component where").is_err());
    assert!(parse("select name, from baja:Component").is_err());
}

#[test]
fn deep_nesting_is_refused_and_does_not_exhaust_the_stack() {
    let deep = format!(
        "select {}a{} from *",
        "(".repeat(10_000),
        ")".repeat(10_000)
    );
    assert_eq!(parse(&deep), Err(ParseError::TooDeep));
    let negations = format!("select {}a from *", "!".repeat(10_000));
    assert_eq!(parse(&negations), Err(ParseError::TooDeep));
    let chain = format!("select {}a from *", "a + ".repeat(100_000));
    assert_eq!(parse(&chain), Err(ParseError::TooDeep));
}

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-zA-Z0-9_]{0,6}(\\$20[a-z]{1,3})?".prop_filter("keywords and literals", |word| {
        !RESERVED
            .iter()
            .chain(&["not", "stop", "true", "false", "null"])
            .any(|known| known.eq_ignore_ascii_case(word))
            && !Aggregate::ALL
                .iter()
                .any(|function| function.name().eq_ignore_ascii_case(word))
    })
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        Just(Literal::Null),
        any::<bool>().prop_map(Literal::Boolean),
        (-1.0e9..1.0e9).prop_map(Literal::Number),
        "[^|]{0,12}".prop_map(Literal::Text),
        (word(), word(), word()).prop_map(|(module, name, tag)| Literal::Enum {
            type_spec: format!("{module}:{name}"),
            tag
        }),
        (word(), word(), "[ -{}~]{0,12}").prop_map(|(module, name, encoding)| Literal::Simple {
            type_spec: format!("{module}:{name}"),
            encoding
        }),
    ]
}

fn expression() -> impl Strategy<Value = Expression> {
    let path = prop::collection::vec(word(), 1..4).prop_map(|names| {
        Expression::Path(
            names
                .into_iter()
                .map(|name| Step {
                    name,
                    arguments: None,
                })
                .collect(),
        )
    });
    let leaf = prop_oneof![literal().prop_map(Expression::Literal), path];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let operator = prop::sample::select(vec![
            Operator::Or,
            Operator::And,
            Operator::Equal,
            Operator::NotEqual,
            Operator::Less,
            Operator::LessOrEqual,
            Operator::Greater,
            Operator::GreaterOrEqual,
            Operator::Like,
            Operator::In,
            Operator::Add,
            Operator::Subtract,
            Operator::Multiply,
            Operator::Divide,
            Operator::Remainder,
        ]);
        prop_oneof![
            inner.clone().prop_map(|e| Expression::Not(Box::new(e))),
            (operator, inner.clone(), inner.clone()).prop_map(|(op, a, b)| Expression::Binary(
                op,
                Box::new(a),
                Box::new(b)
            )),
            inner
                .prop_filter("nested", |e| !e.has_aggregate())
                .prop_map(|e| Expression::Aggregate(Aggregate::Sum, Some(Box::new(e)))),
        ]
    })
}

fn select() -> impl Strategy<Value = Select> {
    let items = prop::collection::vec(
        (expression(), proptest::option::of("[^|]{1,8}"))
            .prop_map(|(expression, alias)| Item { expression, alias }),
        1..4,
    );
    let order = prop::collection::vec(
        (expression(), any::<bool>()).prop_map(|(expression, descending)| OrderKey {
            expression,
            descending,
        }),
        0..3,
    );
    (
        proptest::option::of(0usize..10_000),
        any::<bool>(),
        items,
        proptest::option::of(expression()),
        proptest::option::of(expression()),
        order,
        any::<bool>(),
    )
        .prop_map(
            |(top, distinct, items, filter, having, order, stop)| Select {
                top,
                distinct,
                projection: Projection::Columns(items),
                extent: Some(Extent {
                    target: ExtentTarget::Type("control:ControlPoint".into()),
                    stop,
                }),
                filter,
                having,
                order,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_query_parses_to_itself(select in select()) {
        let text = select.to_string();
        prop_assert_eq!(parse(&text).map_err(|e| format!("{text}: {e}")), Ok(select));
    }

    #[test]
    fn any_text_is_parsed_or_refused_without_panic(text in "\\PC{0,60}") {
        let _ = parse(&text);
        let _ = parse(&format!("select {text} from baja:Component"));
    }
}
