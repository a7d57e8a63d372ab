//! What the in-station module's own client checks, in its order and with its means: bare HTTP, no `Accept` header,
//! response headers looked up in a case-sensitive map, 10 seconds per call (Tool surface §14).
//!
//! Each file holds the checks of one part; numbers are those of the document. Those that write run against the program
//! itself as `demo --test-setup`.

mod client;
mod demo;
mod diagnostics;
mod knowledge;
mod transport;
mod writing;
