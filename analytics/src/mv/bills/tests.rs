//! Bills of two years; figures are those that the reference answers for the same files.

use super::*;
use crate::mv::testing::since_2023;
use crate::mv::{BaseSearch, Baseline, ExtrapolationPolicy};
use crate::numeric::round;

fn bill(first: i64, end: i64, energy: f64, estimated: bool) -> Bill {
    Bill {
        first_day: first,
        end_day: end,
        energy,
        cost: f64::NAN,
        estimated,
    }
}

#[test]
fn estimated_reads_wait_for_an_actual_one() {
    let bills = [
        bill(60, 90, 30.0, false),
        bill(0, 30, 10.0, true),
        bill(30, 60, 20.0, true),
        bill(90, 120, 5.0, true),
        bill(125, 150, 50.0, false),
        bill(150, 180, 6.0, true),
    ];
    let settled = SettledBills::of(&bills, true).unwrap();
    let told: Vec<(i64, i64, f64)> = settled
        .bills
        .iter()
        .map(|bill| (bill.first_day, bill.end_day, bill.energy))
        .collect();
    assert_eq!(told, [(0, 90, 60.0), (125, 150, 50.0)]);
    assert_eq!((settled.merged, settled.merges, settled.dropped), (2, 1, 2));
    assert_eq!(settled.caveats().len(), 2);
    let as_billed = SettledBills::of(&bills, false).unwrap();
    assert_eq!((as_billed.bills.len(), as_billed.kept), (6, 4));
    assert_eq!(as_billed.bills[0].energy, 10.0);
}

#[test]
fn bills_that_share_a_day_or_run_backwards_are_refused() {
    let overlapping = [bill(10, 20, 1.0, false), bill(0, 11, 1.0, false)];
    assert_eq!(
        SettledBills::of(&overlapping, true),
        Err(WrongBills::Overlap(2, 1))
    );
    let backwards = [bill(0, 5, 1.0, false), bill(9, 9, 1.0, false)];
    assert_eq!(
        SettledBills::of(&backwards, true),
        Err(WrongBills::Backwards(2))
    );
}

/// Hourly weather with a warm afternoon, from 2022-12-01 on.
fn weather() -> Weather {
    Weather::of((-31 * 24..800 * 24).map(|hour: i64| {
        let day = hour.div_euclid(24);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let (day, hour_of_day) = (day as f64, hour.rem_euclid(24) as f64);
        let season = (std::f64::consts::TAU * (day - 105.0) / 365.0).sin();
        let afternoon = (std::f64::consts::TAU * (hour_of_day - 9.0) / 24.0).sin();
        let stamp = since_2023(0) + hour * crate::wall_clock::HOUR;
        (stamp, 55.0 + 25.0 * season + 10.0 * afternoon)
    }))
}

/// Bills of 20 to 40 days whose energy follows degree days to base 60.
fn bills(weather: &Weather) -> Vec<Bill> {
    let origin = since_2023(0) / DAY;
    let mut first = origin;
    let mut bills = Vec::new();
    for number in 0..24_i64 {
        let end = first + 20 + (number * 13) % 21;
        let mut bill = bill(first, end, 0.0, false);
        let billed = weather.of_bill(&bill);
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let noise = 1.0 + 0.005 * (number as f64 * 1.7).sin();
        let later = if first - origin < 365 { 1.0 } else { 0.9 };
        bill.energy = round(
            billed.days * (20.0 + 3.0 * billed.heating_degrees(60.0)) * noise * later,
            2,
        );
        bill.cost = round(bill.energy * 0.1 + 3.0, 2);
        bills.push(bill);
        first = end;
    }
    bills
}

fn period(first: usize, end: usize) -> Window {
    Window {
        start: Some(since_2023(first)),
        end: Some(since_2023(end) - 1),
    }
}

#[test]
fn degree_days_find_the_base_that_the_building_has() {
    let weather = weather();
    let settled = SettledBills::of(&bills(&weather), true).unwrap();
    let rows = BillRows::of(&settled, &weather, 0.9);
    let year = rows.within(period(0, 365));
    let policy = ExtrapolationPolicy::default();
    let baseline = Baseline::of_degree_days(&year.frame, &BaseSearch::default(), &policy).unwrap();
    assert_eq!(baseline.model.code(), "DD-H");
    assert_eq!(baseline.model.bases(), Some((Some(60.0), None)));
    assert!(baseline.accepted());
    assert_eq!(baseline.model.parameters(), 3);
    let over_temperature = Baseline::of(&year.frame, &policy).unwrap();
    assert!(baseline.statistics.cv_rmse < over_temperature.statistics.cv_rmse);
}

#[test]
fn a_bill_counts_when_it_lies_within_the_period_and_its_weather_is_known() {
    let weather = weather();
    let mut all = bills(&weather);
    all[2].energy = -1.0;
    all[3].energy = f64::NAN;
    let settled = SettledBills::of(&all, true).unwrap();
    let rows = BillRows::of(&settled, &weather, 0.9);
    assert_eq!((rows.frame.len(), rows.dropped), (22, 2));
    let first_end = usize::try_from(all[0].end_day - all[0].first_day).unwrap();
    assert_eq!(rows.within(period(0, first_end)).frame.len(), 1);
    assert_eq!(rows.within(period(0, first_end - 1)).frame.len(), 0);
    assert_eq!(rows.within(period(1, first_end)).frame.len(), 0);
    let unknown = BillRows::of(&settled, &Weather::default(), 0.0);
    assert_eq!((unknown.frame.len(), unknown.dropped), (0, 24));
    assert_eq!(unknown.billed_cost(), None);
}

#[test]
fn avoided_energy_costs_what_its_own_bill_says() {
    let frame = DailyFrame {
        days: vec![0, 1, 2],
        temperature: vec![50.0; 3],
        energy: vec![10.0, 20.0, 5.0],
        bills: vec![
            BilledDays {
                days: 10.0,
                weather: Vec::new(),
            };
            3
        ],
        ..DailyFrame::default()
    };
    let rows = BillRows {
        frame,
        costs: vec![20.0, 20.0, f64::NAN],
        dropped: 0,
    };
    // 0.2 on the first bill, 0.1 on the second, 40 / 300 where nothing is stated.
    let avoided = AvoidedCost::at_billed_rates(&rows, &[11.0, 22.0, 6.0]).unwrap();
    assert_eq!(round(avoided.rate, 6), 0.133333);
    assert_eq!(
        round(avoided.cost, 6),
        round(2.0 + 2.0 + 10.0 * 0.4 / 3.0, 6)
    );
    assert_eq!(rows.billed_cost(), Some(40.0));
}
