//! The servlet as clients meet it: over HTTP, against the sample station.
