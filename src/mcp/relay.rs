//! A stdio server that passes every message on to a running bridge over Streamable HTTP.
