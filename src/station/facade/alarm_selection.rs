//! Which alarms of a query's rows an answer holds: filters, what to skip, and the limit (Tool surface §8.10).

use std::ops::ControlFlow;

use super::alarms::AlarmRequest;
use super::view::{AlarmPage, AlarmRecord};

/// Most rows looked at when they are filtered on this side.
pub(super) const SCAN_LIMIT: usize = 50_000;

/// Filters by source, skips, and stops behind the limit.
pub(super) struct Selection<'a> {
    request: AlarmRequest<'a>,
    prefix: Option<SourcePrefix>,
    skip: usize,
    scanned: usize,
    pub page: AlarmPage,
}

impl<'a> Selection<'a> {
    pub fn new(request: &AlarmRequest<'a>) -> Self {
        Self {
            request: *request,
            prefix: request.source_prefix.map(SourcePrefix::new),
            skip: request.offset,
            scanned: 0,
            page: AlarmPage::default(),
        }
    }

    /// Takes an alarm in the order of the station; breaks at the first match beyond the limit.
    pub fn take(&mut self, alarm: AlarmRecord) -> ControlFlow<()> {
        self.scanned += 1;
        if self.scanned > SCAN_LIMIT {
            self.page.truncated = true;
            return ControlFlow::Break(());
        }
        if !self.wants(&alarm) {
            return ControlFlow::Continue(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        if self.page.alarms.len() == self.request.limit {
            self.page.truncated = true;
            return ControlFlow::Break(());
        }
        self.page.alarms.push(alarm);
        ControlFlow::Continue(())
    }

    /// A field that the station did not tell matches no filter.
    fn wants(&self, alarm: &AlarmRecord) -> bool {
        let filter = &self.request.filter;
        self.prefix
            .as_ref()
            .is_none_or(|prefix| prefix.matches_any(&alarm.sources))
            && filter.uuid.is_none_or(|uuid| {
                let id = alarm.uuid.as_deref();
                id.is_some_and(|id| id.eq_ignore_ascii_case(uuid))
            })
            && filter
                .alarm_class
                .is_none_or(|class| alarm.alarm_class.as_deref() == Some(class))
            && filter
                .max_priority
                .is_none_or(|most| alarm.priority.is_some_and(|priority| priority <= most))
            && filter
                .ack_state
                .is_none_or(|state| alarm.ack_state.as_deref() == Some(state))
    }
}

/// A source prefix in canonical form (Tool surface §8.10): `/A` does not match `/AB`, `/A/` is a plain text prefix.
struct SourcePrefix(String);

impl SourcePrefix {
    fn new(text: &str) -> Self {
        Self(canonical(text).to_owned())
    }

    fn matches_any(&self, sources: &[String]) -> bool {
        sources.iter().any(|source| self.matches(canonical(source)))
    }

    fn matches(&self, source: &str) -> bool {
        match source.strip_prefix(self.0.as_str()) {
            Some(rest) => self.0.ends_with('/') || rest.is_empty() || rest.starts_with('/'),
            None => false,
        }
    }
}

fn canonical(ord: &str) -> &str {
    let ord = ord.trim();
    let ord = ord.strip_prefix("local:|").unwrap_or(ord);
    ord.strip_prefix("station:|").unwrap_or(ord)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::facade::alarms::{AlarmFilter, AlarmOrder};

    #[test]
    fn a_source_prefix_is_a_path_unless_it_ends_with_a_slash() {
        for (prefix, source, matches) in [
            ("station:|slot:/A", "station:|slot:/A/P", true),
            ("slot:/A", "local:|station:|slot:/A", true),
            ("local:|station:|slot:/A", "station:|slot:/AB", false),
            ("slot:/A/", "station:|slot:/A", false),
            ("slot:/", "station:|slot:/X", true),
        ] {
            let sources = ["station:|slot:/Other".to_owned(), source.to_owned()];
            assert_eq!(
                SourcePrefix::new(prefix).matches(canonical(source)),
                matches,
                "{prefix} {source}"
            );
            assert_eq!(
                SourcePrefix::new(prefix).matches_any(&sources[1..]),
                matches
            );
        }
    }

    #[test]
    fn pages_skip_stop_and_tell_that_there_is_more() {
        let request = AlarmRequest {
            between: None,
            source_prefix: Some("slot:/A"),
            filter: AlarmFilter::default(),
            order: AlarmOrder::Newest,
            offset: 1,
            limit: 2,
        };
        let mut selection = Selection::new(&request);
        let mut visited = 0;
        for number in 0..9 {
            let source = if number % 2 == 0 {
                "station:|slot:/A/P"
            } else {
                "station:|slot:/B"
            };
            let alarm = AlarmRecord {
                uuid: Some(number.to_string()),
                sources: vec![source.into()],
                ..AlarmRecord::default()
            };
            visited += 1;
            if selection.take(alarm).is_break() {
                break;
            }
        }
        let ids: Vec<_> = selection
            .page
            .alarms
            .iter()
            .filter_map(|alarm| alarm.uuid.as_deref())
            .collect();
        assert_eq!(ids, ["2", "4"]);
        assert!(selection.page.truncated);
        assert_eq!(
            visited, 7,
            "the first match beyond the limit ends the search"
        );
    }
}
