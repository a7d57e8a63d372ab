//! What tests do to a running station from outside: faults, restarts, TLS, Fox, the control port.

mod client;
mod control;
mod faults;
mod fox;
mod https;
mod interfaces;
