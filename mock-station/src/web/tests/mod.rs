//! Stories of clients of the web tier, told through the tier's own entry.

mod alarms;
mod browser;
mod components;
mod exports;
mod faults;
mod fixture;
mod form_login;
mod header_login;
mod histories;
mod protection;
