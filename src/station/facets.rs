//! facets.
