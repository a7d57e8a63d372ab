//! Paging through a history by time, without losing records that share a timestamp
//! (oBIX specification §10.4).

use chrono::{DateTime, FixedOffset, TimeDelta};

use super::record::HistoryRecord;

/// Largest page asked for when a whole page shares one instant.
const LARGEST_PAGE: u32 = 20_000;

/// The next query to send: the oldest `limit` records from `start` to `end`, both inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRequest {
    pub start: DateTime<FixedOffset>,
    pub end: DateTime<FixedOffset>,
    pub limit: u32,
}

/// The state between pages.
#[derive(Debug, Clone)]
pub struct HistoryPager {
    window: (DateTime<FixedOffset>, DateTime<FixedOffset>),
    page_limit: u32,
    cursor: DateTime<FixedOffset>,
    /// Records at the cursor that were handed out already.
    seen: usize,
    limit: u32,
    finished: bool,
    records_possibly_lost: bool,
}

impl HistoryPager {
    /// Starts at the window's beginning; pages have `page_limit` records, at least 1.
    pub fn new(start: DateTime<FixedOffset>, end: DateTime<FixedOffset>, page_limit: u32) -> Self {
        let page_limit = page_limit.clamp(1, LARGEST_PAGE);
        Self {
            window: (start, end),
            page_limit,
            cursor: start,
            seen: 0,
            limit: page_limit,
            finished: end < start,
            records_possibly_lost: false,
        }
    }

    /// What to ask next; none when the window is read.
    pub fn next_request(&self) -> Option<PageRequest> {
        (!self.finished).then_some(PageRequest {
            start: self.cursor,
            end: self.window.1,
            limit: self.limit,
        })
    }

    /// More records shared one instant than the largest page holds, so some may be missing.
    pub fn records_possibly_lost(&self) -> bool {
        self.records_possibly_lost
    }

    /// Takes the answer to the last request and returns the records not handed out before.
    ///
    /// `received` counts what the station sent, readable or not: it decides whether the page was full.
    pub fn accept(&mut self, page: Vec<HistoryRecord>, received: usize) -> Vec<HistoryRecord> {
        let (start, end) = self.window;
        let cursor = self.cursor.to_utc();
        let last = page.iter().map(|record| record.timestamp).max();
        let mut to_drop = self.seen;
        let fresh: Vec<HistoryRecord> = page
            .into_iter()
            .filter(|record| {
                let repeated = to_drop > 0 && record.timestamp.to_utc() == cursor;
                if repeated {
                    to_drop -= 1;
                }
                !repeated && record.timestamp >= start && record.timestamp <= end
            })
            .collect();
        let is_full = u32::try_from(received).is_ok_and(|received| received >= self.limit);
        match last {
            Some(last) if is_full && last.to_utc() > cursor => {
                self.cursor = last;
                self.seen = fresh
                    .iter()
                    .filter(|record| record.timestamp.to_utc() == last.to_utc())
                    .count();
                self.limit = self.page_limit;
                self.finished = last > end;
            }
            Some(_) if is_full && self.limit < LARGEST_PAGE => {
                self.seen += fresh
                    .iter()
                    .filter(|record| record.timestamp.to_utc() == cursor)
                    .count();
                self.limit = self.limit.saturating_mul(2).min(LARGEST_PAGE);
            }
            Some(_) if is_full => {
                self.records_possibly_lost = true;
                self.seen = 0;
                self.limit = self.page_limit;
                match self.cursor.checked_add_signed(TimeDelta::milliseconds(1)) {
                    Some(next) if next <= end => self.cursor = next,
                    _ => self.finished = true,
                }
            }
            _ => self.finished = true,
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(minute: i64) -> DateTime<FixedOffset> {
        DateTime::parse_from_rfc3339("2026-03-01T10:00:00Z").expect("a time")
            + TimeDelta::minutes(minute)
    }

    /// A history as a station answers it: the oldest `limit` records of the window.
    fn answer(history: &[i64], request: PageRequest) -> Vec<(usize, HistoryRecord)> {
        history
            .iter()
            .enumerate()
            .map(|(index, minute)| {
                (
                    index,
                    HistoryRecord {
                        timestamp: at(*minute),
                        cells: Vec::new(),
                    },
                )
            })
            .filter(|(_, record)| {
                record.timestamp >= request.start && record.timestamp <= request.end
            })
            .take(request.limit as usize)
            .collect()
    }

    fn read_all(
        history: &[i64],
        end: i64,
        page_limit: u32,
    ) -> (Vec<DateTime<FixedOffset>>, Vec<PageRequest>) {
        let mut pager = HistoryPager::new(at(0), at(end), page_limit);
        let (mut records, mut requests) = (Vec::new(), Vec::new());
        while let Some(request) = pager.next_request() {
            requests.push(request);
            assert!(requests.len() < 10_000, "the pager must end");
            let page: Vec<_> = answer(history, request)
                .into_iter()
                .map(|(_, record)| record)
                .collect();
            let received = page.len();
            records.extend(
                pager
                    .accept(page, received)
                    .into_iter()
                    .map(|record| record.timestamp),
            );
        }
        (records, requests)
    }

    #[test]
    fn the_worked_example_takes_four_requests_and_keeps_five_records() {
        let (records, requests) = read_all(&[0, 5, 5, 10, 15], 60, 2);
        assert_eq!(records, [at(0), at(5), at(5), at(10), at(15)]);
        let sent: Vec<_> = requests
            .iter()
            .map(|request| (request.start, request.limit))
            .collect();
        assert_eq!(sent, [(at(0), 2), (at(5), 2), (at(5), 4), (at(15), 2)]);
    }

    #[test]
    fn records_beyond_the_largest_page_at_one_instant_are_reported_as_possibly_lost() {
        let history = vec![0; LARGEST_PAGE as usize + 5];
        let mut pager = HistoryPager::new(at(0), at(1), 10_000);
        let mut count = 0;
        while let Some(request) = pager.next_request() {
            let page: Vec<_> = answer(&history, request)
                .into_iter()
                .map(|(_, record)| record)
                .collect();
            let received = page.len();
            count += pager.accept(page, received).len();
        }
        assert!(pager.records_possibly_lost());
        assert_eq!(count, LARGEST_PAGE as usize);
    }

    #[test]
    fn a_page_of_unreadable_records_ends_the_reading() {
        let mut pager = HistoryPager::new(at(0), at(60), 2);
        assert!(pager.accept(Vec::new(), 2).is_empty());
        assert_eq!(pager.next_request(), None);
        assert_eq!(HistoryPager::new(at(1), at(0), 2).next_request(), None);
    }

    proptest! {
        #[test]
        fn every_record_of_the_window_comes_exactly_once(mut history in proptest::collection::vec(0_i64..12, 0..40), end in 0_i64..14, limit in 1_u32..6) {
            history.sort_unstable();
            let expected: Vec<_> = history.iter().filter(|minute| **minute <= end).map(|minute| at(*minute)).collect();
            prop_assert_eq!(read_all(&history, end, limit).0, expected);
        }
    }
}
