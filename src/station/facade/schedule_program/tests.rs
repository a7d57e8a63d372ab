use super::*;
use crate::station::facets::Facets;
use crate::station::status::StatusBits;

fn slot(name: &str, type_spec: &str, text: &str) -> PartSlot {
    PartSlot {
        name: name.into(),
        type_spec: type_spec.into(),
        text: Some(text.into()),
        encoded: Some(text.into()),
        ..PartSlot::default()
    }
}

fn part(name: &str, type_spec: &str, slots: Vec<PartSlot>, children: Vec<Part>) -> Part {
    Part {
        name: name.into(),
        display_name: name.into(),
        type_spec: type_spec.into(),
        slots,
        children,
    }
}

fn span(start: &str, finish: &str) -> Part {
    let mut value = slot("effectiveValue", "baja:StatusBoolean", "true {ok}");
    value.reading = Some(StatusReading {
        text: Some("true".into()),
        typed: None,
        status: StatusBits::OK,
    });
    let slots = vec![
        slot("start", "baja:Time", start),
        slot("finish", "baja:Time", finish),
        value,
    ];
    part("time", "schedule:TimeSchedule", slots, Vec::new())
}

fn read(root: Part) -> ScheduleProgram {
    let whole = WholeSchedule {
        root,
        facets: Facets::default(),
        is_truncated: false,
        may_hide_parts: false,
    };
    program(whole, chrono_tz::Europe::Berlin)
}

fn weekly(week: Vec<Part>, events: Vec<Part>) -> Part {
    let week = part("week", "schedule:WeekSchedule", Vec::new(), week);
    let events = part(
        "specialEvents",
        "schedule:CompositeSchedule",
        Vec::new(),
        events,
    );
    let schedule = part(
        "schedule",
        "schedule:CompositeSchedule",
        Vec::new(),
        vec![events, week],
    );
    part("", "schedule:BooleanSchedule", Vec::new(), vec![schedule])
}

fn day(name: &str, children: Vec<Part>) -> Part {
    let day = part("day", "schedule:DaySchedule", Vec::new(), children);
    part(name, "schedule:DailySchedule", Vec::new(), vec![day])
}

#[test]
fn periods_are_in_order_and_odd_times_stay_as_they_are() {
    let spans = vec![
        span("17:00:00.000", "00:00:00.000"),
        span("06:30:00.500", "12:00:00.000"),
        span("noon", "later"),
    ];
    let program = read(weekly(vec![day("friday", spans)], Vec::new()));
    let week = program.week.expect("a week");
    assert_eq!(week.len(), 7);
    let friday: Vec<(&str, &str)> = week[4]
        .periods
        .iter()
        .map(|period| (period.start.as_str(), period.finish.as_str()))
        .collect();
    assert_eq!(
        friday,
        [
            ("06:30:00.500", "12:00:00"),
            ("17:00:00", "24:00:00"),
            ("noon", "later")
        ]
    );
    assert!(week[0].periods.is_empty());
}

#[test]
fn the_days_of_an_event_are_told_as_text_whatever_they_are() {
    let months = part(
        "monthSchedule",
        "schedule:MonthSchedule",
        vec![slot("set", "baja:EnumSet", "11")],
        Vec::new(),
    );
    let days = part(
        "days",
        "schedule:DateSchedule",
        vec![slot("alwaysEffective", "baja:Boolean", "false")],
        vec![months],
    );
    let mut event = day("Holiday", vec![span("08:00:00.000", "12:00:00.000")]);
    event.children.push(days);
    event.children.push(part(
        "tag",
        "vendor:Thing",
        vec![slot("a", "baja:String", "b")],
        Vec::new(),
    ));
    let program = read(weekly(Vec::new(), vec![event]));
    let event = &program.special_events[0];
    let days = event.days.as_ref().expect("days");
    assert_eq!(days.type_spec, "schedule:DateSchedule");
    assert_eq!(days.text, "alwaysEffective=false, monthSchedule(set=11)");
    assert_eq!(event.periods.len(), 1);
    assert_eq!(event.other_parts[0].text, "a=b");
}

#[test]
fn a_calendar_has_no_week_and_keeps_its_events_as_parts() {
    let event = part(
        "Easter",
        "schedule:DateSchedule",
        vec![slot("day", "x:Y", "4")],
        Vec::new(),
    );
    let program = read(part(
        "",
        "schedule:CalendarSchedule",
        vec![slot("scanLimit", "baja:RelTime", "7776000000")],
        vec![event],
    ));
    assert_eq!(program.week, None);
    assert!(program.special_events.is_empty());
    assert_eq!(program.other_parts[0].name, "Easter");
    assert_eq!(program.other_properties[0].text, "7776000000");
}

#[test]
fn the_effective_period_is_told_when_something_limits_it() {
    let with = |slot: PartSlot| {
        effective_of(&part(
            "",
            "schedule:BooleanSchedule",
            vec![slot],
            Vec::new(),
        ))
    };
    assert_eq!(
        with(slot("effective", "schedule:DateRange", "DateRange")),
        None
    );
    let spoken = with(slot("effective", "schedule:DateRange", "any - 24 Dec")).expect("a period");
    assert_eq!(spoken.text.as_deref(), Some("any - 24 Dec"));
    let mut range = slot("effective", "schedule:DateRange", "DateRange");
    range.members = vec![
        ("start".into(), "2026-10-01".into()),
        ("end".into(), String::new()),
    ];
    let range = with(range).expect("a period");
    assert_eq!(
        (range.start.as_deref(), range.end, range.text),
        (Some("2026-10-01"), None, None)
    );
    let mut range = slot("effective", "schedule:DateRange", "DateRange");
    range.members = vec![
        ("start".into(), "null".into()),
        ("end".into(), "2026-12-24".into()),
    ];
    let range = with(range).expect("a period");
    assert_eq!(
        (range.start, range.end.as_deref(), range.text),
        (None, Some("2026-12-24"), None)
    );
}

#[test]
fn the_next_change_is_told_in_the_zone_of_the_station() {
    let at = |text: &str| {
        let part = part(
            "",
            "x:Y",
            vec![slot("nextTime", "baja:AbsTime", text)],
            Vec::new(),
        );
        instant_of(&part, "nextTime", chrono_tz::Europe::Berlin).map(|time| time.to_rfc3339())
    };
    assert_eq!(
        at("2026-11-02T05:30:00.000Z").as_deref(),
        Some("2026-11-02T06:30:00+01:00")
    );
    for none in ["null", "1970-01-01T00:00:00.000Z", "soon"] {
        assert_eq!(at(none), None, "{none}");
    }
}
