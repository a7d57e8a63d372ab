//! `niagara://samples/standard-types`: the equipment types that a new site can start from (Tool surface §9.2, §10).

use futures::future::BoxFuture;

use super::{Address, Resource, ResourceDefinition, ResourceError};
use crate::knowledge::STANDARD_SAMPLE;
use crate::tools::CallContext;

/// The resource `niagara://samples/standard-types`.
pub struct SamplesResource;

impl Resource for SamplesResource {
    fn definition(&self) -> ResourceDefinition {
        ResourceDefinition {
            address: Address::Fixed("niagara://samples/standard-types".into()),
            other_prefixes: Vec::new(),
            name: "samples/standard-types".into(),
            description:
                "Five equipment types with their usual points, as a start for a new site; importKnowledge \
                          with source 'sample' adds them to the model."
                    .into(),
            mime_type: "application/x-yaml",
        }
    }

    fn read<'a>(
        &'a self,
        _context: &'a CallContext,
        _id: &'a str,
    ) -> BoxFuture<'a, Result<String, ResourceError>> {
        Box::pin(std::future::ready(Ok(STANDARD_SAMPLE.to_owned())))
    }
}
