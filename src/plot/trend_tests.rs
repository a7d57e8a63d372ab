use plotters::style::RGBColor;
use proptest::prelude::*;

use super::super::series::Shape;
use super::super::testing::{Pixels, text_of};
use super::*;

const HOUR: i64 = 3_600_000;

fn size() -> ImageSize {
    ImageSize::new(800, 400).expect("a size")
}

fn series(label: &str, units: &str, value: impl Fn(i64) -> Option<f64>) -> Series {
    let samples = (0..=96).filter_map(|quarter| Some((quarter * HOUR / 4, value(quarter)?)));
    let (times, values) = samples.unzip();
    Series {
        label: label.to_owned(),
        units: Some(units.to_owned()),
        is_state: false,
        shape: Shape::ByInterval,
        times,
        values,
    }
}

fn chart(series: Vec<Series>, spans: Vec<Span>) -> TrendChart {
    TrendChart {
        title: String::new(),
        axis: TimeAxis::of_wall_clock(0, 24 * HOUR, Some("America/New_York")),
        series,
        spans,
    }
}

fn span(from: i64, to: i64, label: &str) -> Span {
    Span {
        from: from * HOUR,
        to: to * HOUR,
        label: label.to_owned(),
    }
}

/// A shade on white.
fn shaded(shade: usize) -> RGBColor {
    let RGBColor(red, green, blue) = shade_colour(shade);
    let mix = |value: u8| {
        let weight = super::super::frame::SHADE;
        (255.0 * (1.0 - weight) + f64::from(value) * weight).round() as u8
    };
    RGBColor(mix(red), mix(green), mix(blue))
}

fn near(RGBColor(a, b, c): RGBColor, RGBColor(d, e, f): RGBColor) -> bool {
    [(a, d), (b, e), (c, f)]
        .into_iter()
        .all(|(one, other)| one.abs_diff(other) <= 3)
}

/// Columns and rows of a colour below the legend.
fn drawn(pixels: &Pixels, colour: RGBColor) -> Vec<(u32, u32)> {
    pixels.places(colour).filter(|(_, row)| *row > 50).collect()
}

fn ends(values: impl Iterator<Item = u32> + Clone) -> (u32, u32) {
    (
        values.clone().min().expect("pixels"),
        values.max().expect("pixels"),
    )
}

#[test]
fn lines_lie_where_their_values_are_and_gaps_stay_open() {
    let full = series("full", "degF", |_| Some(60.0));
    let open = series("open", "degF", |quarter| {
        (!(40..60).contains(&quarter)).then_some(80.0)
    });
    let middle = series("middle", "degF", |_| Some(70.0));
    let (picture, report) = chart(vec![full, open, middle], Vec::new())
        .render(ImageFormat::Png, size())
        .expect("a picture");
    let pixels = Pixels::of(&picture);
    let lines: Vec<Vec<(u32, u32)>> = (0..3).map(|line| drawn(&pixels, colour(line))).collect();
    let row = |line: &[(u32, u32)]| ends(line.iter().map(|(_, row)| *row));
    for line in &lines {
        let (top, bottom) = row(line);
        assert!(bottom - top <= 1, "a level line: {top} to {bottom}");
    }
    // 70 lies halfway between 60 and 80.
    let (low, high, between) = (row(&lines[0]).0, row(&lines[1]).0, row(&lines[2]).0);
    assert!(low > high + 100, "{low} {high}");
    assert!(
        between.abs_diff((low + high) / 2) <= 2,
        "{low} {between} {high}"
    );
    let (left, right) = ends(lines[0].iter().map(|(x, _)| *x));
    assert!(right - left > 600, "{left} {right}");
    let place = |hour: f64| left + (f64::from(right - left) * hour / 24.0) as u32;
    let (from, to) = (place(9.75) + 2, place(15.0) - 2);
    let in_gap = lines[1].iter().filter(|(x, _)| (from..to).contains(x));
    assert_eq!(in_gap.count(), 0);
    let columns = lines[1].iter().map(|(x, _)| *x);
    let drawn_columns: std::collections::BTreeSet<u32> = columns.collect();
    let expected = (right - left) - (to - from);
    assert!(
        (drawn_columns.len() as u32).abs_diff(expected) < 12,
        "{} {expected}",
        drawn_columns.len()
    );
    let open = &report.series[1];
    let quarters = |quarters: i64| quarters * HOUR / 4;
    assert_eq!(
        open.gaps,
        [Gap {
            from: quarters(39),
            to: quarters(60)
        }]
    );
    assert_eq!((open.samples, open.drawn, open.excluded), (77, 77, 0));
    assert_eq!(open.extremes, Some((80.0, 80.0)));
}

#[test]
fn a_flagged_sample_that_begins_and_ends_at_one_time_can_be_seen() {
    for (from, to) in [(6, 6), (0, 0), (24, 24)] {
        let line = series("line", "degF", |_| Some(60.0));
        let (picture, _) = chart(vec![line], vec![span(from, to, "")])
            .render(ImageFormat::Png, size())
            .expect("a picture");
        let pixels = Pixels::of(&picture);
        let is_shaded = |x: &u32| (80..330).any(|y| near(pixels.at(*x, y), shaded(0)));
        let columns = (0..pixels.width).filter(is_shaded).count();
        assert!((1..20).contains(&columns), "{from}: {columns}");
    }
}

#[test]
fn spans_are_shaded_between_their_times_only() {
    let line = series("line", "degF", |_| Some(60.0));
    let spans = vec![
        span(6, 12, "high"),
        span(18, 99, "low"),
        span(-9, -3, "before"),
        span(18, 19, "low"),
    ];
    let (picture, report) = chart(vec![line], spans)
        .render(ImageFormat::Png, size())
        .expect("a picture");
    let pixels = Pixels::of(&picture);
    let (left, right) = ends(drawn(&pixels, colour(0)).iter().map(|(x, _)| *x));
    let place = |hour: f64| left + (f64::from(right - left) * hour / 24.0) as u32;
    let share = |from: f64, to: f64, wanted: RGBColor| {
        let columns = place(from) + 3..place(to) - 3;
        let rows = 80..330;
        let all = columns.clone().count() * rows.clone().count();
        let found = columns
            .flat_map(|x| rows.clone().map(move |y| (x, y)))
            .filter(|(x, y)| near(pixels.at(*x, *y), wanted));
        found.count() as f64 / all as f64
    };
    assert!(share(6.0, 12.0, shaded(0)) > 0.9);
    assert!(share(19.5, 24.0, shaded(1)) > 0.9);
    for (from, to) in [(0.0, 6.0), (12.0, 18.0)] {
        assert!(share(from, to, RGBColor(255, 255, 255)) > 0.9, "{from}");
    }
    let visible: Vec<bool> = report.spans.iter().map(|span| span.is_visible).collect();
    assert_eq!(visible, [true, true, false, true]);
    assert_eq!(report.spans[1].colour, report.spans[3].colour);
    assert_ne!(report.spans[0].colour, report.spans[1].colour);
}

#[test]
fn units_share_axes_and_two_units_a_panel() {
    let list = vec![
        series("a", "degF", |_| Some(50.0)),
        series("b", "percent", |_| Some(20.0)),
        series("c", "degF", |_| Some(70.0)),
        series("d", "cfm", |_| Some(900.0)),
    ];
    let chart = chart(list, Vec::new());
    assert_eq!(chart.usual_height(), 660);
    let (picture, report) = chart.render(ImageFormat::Svg, size()).expect("a picture");
    let placed: Vec<(usize, Side)> = report
        .series
        .iter()
        .map(|one| (one.panel, one.side))
        .collect();
    let (left, right) = (Side::Left, Side::Right);
    assert_eq!(placed, [(0, left), (0, right), (0, left), (1, left)]);
    assert_eq!((report.panels, report.axes.len()), (2, 3));
    let degrees = &report.axes[0];
    assert_eq!((degrees.low, degrees.high), (49.0, 71.0));
    let text = text_of(&picture);
    for wanted in [
        "a (degF, left)",
        "b (percent, right)",
        "cfm",
        "percent",
        "70",
        "12:00",
    ] {
        assert!(
            text.iter().any(|found| found == wanted),
            "{wanted}: {text:?}"
        );
    }
    assert!(
        text.iter()
            .any(|found| found.ends_with("wall clock of America/New_York")),
        "{text:?}"
    );
}

#[test]
fn states_have_steps_between_0_and_1() {
    let mut fan = series("fan", "", |quarter| Some(f64::from(u8::from(quarter > 48))));
    (fan.units, fan.is_state, fan.shape) = (None, true, Shape::Held);
    let (picture, report) = chart(vec![fan], Vec::new())
        .render(ImageFormat::Png, size())
        .expect("a picture");
    assert!(report.series[0].is_held);
    assert_eq!((report.axes[0].low, report.axes[0].high), (-0.15, 1.15));
    let pixels = Pixels::of(&picture);
    let line = drawn(&pixels, colour(0));
    let rows: std::collections::BTreeSet<u32> = line.iter().map(|(_, row)| *row).collect();
    let (top, bottom) = ends(rows.iter().copied());
    let column_of_step = line.iter().filter(|(_, row)| *row == (top + bottom) / 2);
    // Upright between the two values: one column wide.
    assert!((1..=2).contains(&column_of_step.count()));
}

#[test]
fn hostile_names_are_text_and_nothing_else() {
    let hostile = "</text><script>alert('1')</script>&\"\u{202e}\u{0}";
    let mut line = series(hostile, hostile, |_| Some(60.0));
    line.label = hostile.to_owned();
    let mut chart = chart(vec![line], vec![span(1, 2, hostile)]);
    chart.title = hostile.to_owned();
    let (picture, _) = chart.render(ImageFormat::Svg, size()).expect("a picture");
    let svg = String::from_utf8(picture.bytes.clone()).expect("UTF-8");
    assert!(
        !svg.contains("<script") && svg.contains("&lt;script&gt;"),
        "{svg}"
    );
    let shown = "</text><script>alert('1')</script>&\"";
    let text = text_of(&picture);
    assert!(
        text.iter().filter(|found| *found == shown).count() >= 3,
        "{text:?}"
    );
}

#[test]
fn a_spike_among_a_million_samples_is_seen() {
    let mut line = series("spike", "degF", |_| Some(60.0));
    line.times = (0..1_000_000).map(|n| n * 86_400 / 1000).collect();
    line.values = (0..1_000_000)
        .map(|n| if n == 500_000 { 90.0 } else { 60.0 })
        .collect();
    let (picture, report) = chart(vec![line], Vec::new())
        .render(ImageFormat::Png, size())
        .expect("a picture");
    let series = &report.series[0];
    assert_eq!(series.samples, 1_000_000);
    assert!(series.drawn <= 4 * 801, "{}", series.drawn);
    assert_eq!(series.extremes, Some((60.0, 90.0)));
    let pixels = Pixels::of(&picture);
    let line = drawn(&pixels, colour(0));
    let (top, bottom) = ends(line.iter().map(|(_, row)| *row));
    assert!(bottom - top > 200, "{top} {bottom}");
}

#[test]
fn too_much_for_one_picture_is_refused_with_the_bound() {
    let line = || series("line", "degF", |_| Some(60.0));
    let refused = |chart: &TrendChart, size: ImageSize| {
        chart
            .render(ImageFormat::Png, size)
            .expect_err("refused")
            .to_string()
    };
    let nine = chart(vec![line(); 9], Vec::new());
    assert_eq!(
        refused(&nine, size()),
        "9 points do not fit into one picture; give at most 8"
    );
    let spans = chart(vec![line()], vec![span(1, 2, ""); 201]);
    assert!(refused(&spans, size()).starts_with("201 spans"));
    let units: Vec<Series> = (0..8)
        .map(|n| series("x", &format!("unit {n}"), |_| Some(1.0)))
        .collect();
    let low = ImageSize::new(800, 200).expect("a size");
    assert!(refused(&chart(units, Vec::new()), low).contains("4 panels"));
    let mut uneven = chart(vec![line()], Vec::new());
    uneven.series[0].values.pop();
    assert!(refused(&uneven, size()).contains("97 times and 96 values"));
    let mut empty = chart(vec![line()], Vec::new());
    empty.axis.to = 0;
    assert!(refused(&empty, size()).contains("ends at or before its start"));
    assert!(ImageSize::new(10_000, 400).is_err() && ImageSize::new(800, 10).is_err());
}

#[test]
fn a_picture_without_samples_still_has_axes() {
    let (picture, report) = chart(vec![series("none", "degF", |_| None)], Vec::new())
        .render(ImageFormat::Png, size())
        .expect("a picture");
    assert_eq!(
        report.series[0].gaps,
        [Gap {
            from: 0,
            to: 24 * HOUR
        }]
    );
    assert!(drawn(&Pixels::of(&picture), colour(0)).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_samples_make_a_drawing_panic(
        samples in prop::collection::vec((any::<i64>(), any::<f64>()), 0..40),
        near in prop::collection::vec((-2000_i64..2000, -1e13_f64..1e13), 0..40),
        from in any::<i64>(),
        to in any::<i64>(),
        wide in any::<bool>(),
        label in ".{0,40}",
        states in any::<bool>(),
    ) {
        let (from, to) = if wide { (from, to) } else { (-1000, 1000) };
        let samples: Vec<(i64, f64)> = samples.into_iter().chain(near).collect();
        let line = Series {
            label: label.clone(),
            units: Some(label.clone()),
            is_state: states,
            shape: Shape::ByInterval,
            times: samples.iter().map(|(time, _)| *time).collect(),
            values: samples.iter().map(|(_, value)| *value).collect(),
        };
        let chart = TrendChart {
            title: label.clone(),
            axis: TimeAxis::of_instants(from, to, chrono_tz::Europe::Berlin),
            series: vec![line],
            spans: vec![Span { from, to, label }],
        };
        let size = ImageSize::new(320, 260).expect("a size");
        if let Ok((picture, _)) = chart.render(ImageFormat::Svg, size) {
            text_of(&picture);
        }
        if let Err(error) = chart.render(ImageFormat::Png, size) {
            prop_assert!(to <= from, "{error}");
        }
    }
}
