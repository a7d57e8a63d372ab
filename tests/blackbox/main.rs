//! What the in-station module's own client checks, in its order and with its means: bare HTTP, no `Accept` header,
//! response headers looked up in a case-sensitive map, 10 seconds per call (Tool surface §14).
//!
//! Each file holds the checks of one part; numbers are those of the document. `writePoint` of number 2 and the numbers
//! from 25 on belong to the tools that write to the station.

mod client;
mod diagnostics;
mod knowledge;
mod transport;
