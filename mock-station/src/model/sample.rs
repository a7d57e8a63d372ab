//! A small station with one of everything, for tests of the servlets.

use super::accounts;
use super::error::ModelError;
use super::station::Station;
use chrono::{DateTime, Utc};
use chrono_tz::Tz;

/// The sample station `Sample` in Europe/Paris at `now`, with the accounts of [`accounts`] (few SCRAM iterations).
pub fn station(now: DateTime<Utc>) -> Result<Station, ModelError> {
    let mut station = Station::new("Sample", Tz::Europe__Paris, now);
    station.add_accounts(accounts::TEST_ITERATIONS)?;
    Ok(station)
}
