//! The station tools over the whole chain against the stand-in station: every value equals what its model holds.

mod alarms;
mod bql;
mod browse;
mod fallbacks;
mod faults;
mod health;
mod histories;
mod history;
mod overrides;
mod points;
mod render_trend;
mod schedules;
mod site;
mod support;
mod texts;
mod vocabularies;
mod ways;
