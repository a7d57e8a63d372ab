//! The capabilities, one per file.

pub mod check_citations;
mod conditional;
pub mod coverage;
mod coverage_figures;
pub mod dataset_entry;
pub mod dataset_search;
pub mod drift;
pub mod facilities;
pub mod finding_detail;
mod finding_id;
mod finding_rows;
pub mod mv_summary;
pub mod points;
pub mod rcx_report;
pub mod rule_params;
pub mod rule_run;
mod run_arguments;
pub(super) mod selection;
pub mod sensor_trust;
mod sensor_trust_rows;

use super::capability::Capability;

/// Every capability of this build.
pub fn all() -> Vec<Box<dyn Capability>> {
    vec![
        Box::new(check_citations::CheckCitations),
        Box::new(coverage::Coverage),
        Box::new(dataset_entry::DatasetEntryCapability),
        Box::new(dataset_search::DatasetSearch),
        Box::new(drift::DriftCapability),
        Box::new(facilities::Facilities),
        Box::new(finding_detail::FindingDetail),
        Box::new(mv_summary::MvSummary),
        Box::new(points::Points),
        Box::new(rcx_report::RcxReport),
        Box::new(rule_params::RuleParams),
        Box::new(rule_run::RuleRunCapability),
        Box::new(sensor_trust::SensorTrust),
    ]
}

/// Their names, in the order of [`all`]; no schema is compiled for them.
pub fn names() -> Vec<&'static str> {
    let all = all();
    all.iter().map(|own| own.definition().name).collect()
}
