//! Monthly bills as rows of a baseline (M&V §8).

use std::collections::BTreeMap;

use super::daily::{BilledDays, DailyFrame};
use crate::numeric::{nanos, share_of};
use crate::wall_clock::{DAY, Window};

/// Slack of the comparison with the least coverage.
const COVERAGE_SLACK: f64 = 1e-9;

/// One bill; days are counted from 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bill {
    /// First day of service.
    pub first_day: i64,
    /// Day after the last day of service.
    pub end_day: i64,
    /// In the unit of the bills; NaN when it cannot be read.
    pub energy: f64,
    /// NaN when the bill states none.
    pub cost: f64,
    /// Whether nobody read the meter.
    pub estimated: bool,
}

/// Why bills cannot be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WrongBills {
    #[error("bill {0} ends before it starts; every bill must end on or after its first day")]
    Backwards(usize),
    #[error(
        "bills {0} and {1} overlap; give each day once (or say end_inclusive: false when a bill's last day is the next bill's first)"
    )]
    Overlap(usize, usize),
}

/// Bills in the order of time, with estimated reads settled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SettledBills {
    pub bills: Vec<Bill>,
    /// Estimated reads that went into the next actual one.
    pub merged: usize,
    /// Bills that took them in.
    pub merges: usize,
    /// Estimated reads that no actual one follows.
    pub dropped: usize,
    /// Estimated reads that count as they are.
    pub kept: usize,
}

impl SettledBills {
    /// Sorts bills and merges each estimated read into the actual one that follows without a gap.
    ///
    /// # Errors
    /// A bill ends before it starts, or two share a day; the numbers count the bills as given, from 1.
    pub fn of(bills: &[Bill], merge_estimated: bool) -> Result<Self, WrongBills> {
        let mut numbered: Vec<(usize, Bill)> = (1..).zip(bills.iter().copied()).collect();
        if let Some((number, _)) = numbered
            .iter()
            .find(|(_, bill)| bill.end_day <= bill.first_day)
        {
            return Err(WrongBills::Backwards(*number));
        }
        numbered.sort_by_key(|(_, bill)| bill.first_day);
        for pair in numbered.windows(2) {
            if let [(number, bill), (next_number, next)] = pair
                && next.first_day < bill.end_day
            {
                return Err(WrongBills::Overlap(*number, *next_number));
            }
        }
        let sorted = numbered.into_iter().map(|(_, bill)| bill);
        if merge_estimated {
            return Ok(Self::merged(sorted));
        }
        let bills: Vec<Bill> = sorted.collect();
        Ok(Self {
            kept: bills.iter().filter(|bill| bill.estimated).count(),
            bills,
            ..Self::default()
        })
    }

    fn merged(bills: impl Iterator<Item = Bill>) -> Self {
        let mut settled = Self::default();
        // Estimated reads that wait for an actual one, as one bill, and how many they are.
        let mut waiting: Option<(Bill, usize)> = None;
        for bill in bills {
            if let Some((before, count)) = waiting
                && before.end_day != bill.first_day
            {
                settled.dropped += count;
                waiting = None;
            }
            let (whole, count) = match waiting.take() {
                Some((before, count)) => (joined(before, bill), count),
                None => (bill, 0),
            };
            if bill.estimated {
                waiting = Some((whole, count + 1));
                continue;
            }
            settled.merged += count;
            settled.merges += usize::from(count > 0);
            settled.bills.push(Bill {
                estimated: false,
                ..whole
            });
        }
        settled.dropped += waiting.map_or(0, |(_, count)| count);
        settled
    }

    /// What was done with estimated reads, as caveats.
    pub fn caveats(&self) -> Vec<String> {
        let mut caveats = Vec::new();
        if self.kept > 0 {
            caveats.push(format!(
                "{} of the bills are estimated reads and count as billed (merge_estimated is off)",
                self.kept
            ));
        }
        if self.merged > 0 {
            caveats.push(format!(
                "{} estimated read(s) were merged into the actual read that follows ({} merged bill(s))",
                self.merged, self.merges
            ));
        }
        if self.dropped > 0 {
            caveats.push(format!(
                "{} estimated read(s) were left out, because no actual read follows them without a gap",
                self.dropped
            ));
        }
        caveats
    }
}

/// Two bills of adjoining days as one.
fn joined(before: Bill, after: Bill) -> Bill {
    Bill {
        first_day: before.first_day,
        end_day: after.end_day,
        energy: before.energy + after.energy,
        cost: before.cost + after.cost,
        estimated: before.estimated || after.estimated,
    }
}

/// Temperatures of each day since 1970, as they are: unlike trends, weather for bills is not screened.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Weather {
    days: BTreeMap<i64, Vec<f64>>,
}

impl Weather {
    /// Sorts samples, best hourly means, into their days.
    pub fn of(samples: impl IntoIterator<Item = (i64, f64)>) -> Self {
        let mut days: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (stamp, temperature) in samples {
            if temperature.is_finite() {
                days.entry(stamp.div_euclid(DAY))
                    .or_default()
                    .push(temperature);
            }
        }
        Self { days }
    }

    fn of_bill(&self, bill: &Bill) -> BilledDays {
        let known = self.days.range(bill.first_day..bill.end_day);
        BilledDays {
            days: days(bill),
            weather: known
                .map(|(_, temperatures)| temperatures.clone())
                .collect(),
        }
    }
}

fn days(bill: &Bill) -> f64 {
    nanos(bill.end_day.saturating_sub(bill.first_day))
}

/// Bills with the weather of their days.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BillRows {
    /// Energies are those of a day.
    pub frame: DailyFrame,
    /// Of each row; NaN where the bill states none.
    pub costs: Vec<f64>,
    /// Bills without usable energy, or without the weather of most of their days.
    pub dropped: usize,
}

impl BillRows {
    /// The bills of which energy and weather are known.
    pub fn of(settled: &SettledBills, weather: &Weather, min_coverage: f64) -> Self {
        let mut rows = Self::default();
        for bill in &settled.bills {
            let billed = weather.of_bill(bill);
            let coverage = share_of(billed.weather.len()) / billed.days;
            let energy = bill.energy / billed.days;
            let usable = energy.is_finite()
                && energy >= 0.0
                && !billed.weather.is_empty()
                && coverage >= min_coverage - COVERAGE_SLACK;
            if !usable {
                rows.dropped += 1;
                continue;
            }
            rows.frame.days.push(bill.first_day.saturating_mul(DAY));
            rows.frame
                .temperature
                .push(billed.mean_of(|temperature| temperature));
            rows.frame.energy.push(energy);
            rows.frame.bills.push(billed);
            rows.costs.push(bill.cost);
        }
        rows
    }

    /// The bills of which all days lie within a window.
    #[must_use]
    pub fn within(&self, window: Window) -> Self {
        let inside = |row: usize| {
            let first = self.frame.days.get(row).copied().unwrap_or(i64::MIN);
            let end = self.frame.bills.get(row).map_or(0.0, |bill| bill.days);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a whole number of days, and a cast of a float saturates"
            )]
            let last = first.saturating_add((end as i64 - 1).saturating_mul(DAY));
            window.contains(first) && window.contains(last)
        };
        self.those(inside)
    }

    /// The bills of which the first midnight is one of some.
    #[must_use]
    pub fn kept(&self, keep: impl Fn(i64) -> bool) -> Self {
        self.those(|row| self.frame.days.get(row).is_some_and(|day| keep(*day)))
    }

    fn those(&self, keep: impl Fn(usize) -> bool) -> Self {
        let costs = self.costs.iter().enumerate();
        Self {
            costs: costs
                .filter(|(row, _)| keep(*row))
                .map(|(_, cost)| *cost)
                .collect(),
            frame: self.frame.kept(keep),
            dropped: self.dropped,
        }
    }

    /// Heating degree days of all bills.
    pub fn heating_degree_days(&self, base: f64) -> f64 {
        self.summed(|bill| bill.heating_degrees(base))
    }

    /// Cooling degree days of all bills.
    pub fn cooling_degree_days(&self, base: f64) -> f64 {
        self.summed(|bill| bill.cooling_degrees(base))
    }

    fn summed(&self, term: impl Fn(&BilledDays) -> f64) -> f64 {
        let bills = self.frame.bills.iter();
        bills.map(|bill| term(bill) * bill.days).sum()
    }

    /// What was billed for all rows that state it; none when no row does.
    pub fn billed_cost(&self) -> Option<f64> {
        let mut stated = self.costs.iter().filter(|cost| cost.is_finite()).peekable();
        stated.peek()?;
        Some(stated.sum())
    }
}

/// What was not paid because energy was not used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AvoidedCost {
    pub cost: f64,
    /// Per unit of the bills.
    pub rate: f64,
}

impl AvoidedCost {
    /// Each bill's avoided energy at what a unit of it cost on that bill; on bills that state no cost, at what it cost on
    /// all others. None when no bill states a cost for energy.
    pub fn at_billed_rates(reporting: &BillRows, projected_a_day: &[f64]) -> Option<Self> {
        let frame = &reporting.frame;
        let (mut billed, mut metered) = (0.0, 0.0);
        let rows: Vec<(f64, f64, Option<f64>)> = projected_a_day
            .iter()
            .zip(&frame.energy)
            .zip(&reporting.costs)
            .enumerate()
            .map(|(row, ((projected, energy), cost))| {
                let days = frame.service_days(row);
                let energy = energy * days;
                let rate = (cost.is_finite() && energy > 0.0).then(|| {
                    billed += cost;
                    metered += energy;
                    cost / energy
                });
                (projected * days, energy, rate)
            })
            .collect();
        if metered <= 0.0 {
            return None;
        }
        let rate = billed / metered;
        let cost = rows
            .into_iter()
            .map(|(projected, energy, own)| (projected - energy) * own.unwrap_or(rate))
            .sum();
        Some(Self { cost, rate })
    }
}

#[cfg(test)]
mod tests;
