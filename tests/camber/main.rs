//! Capabilities over stored trends: what they answer, and what no caller gets to see.

mod cancelled_runs;
mod command;
mod drift;
#[path = "../support/fault_table.rs"]
mod fault_table;
mod figures;
mod harborview_drift;
mod harborview_faults;
mod harborview_mv;
mod html_report;
#[path = "../support/judged_site.rs"]
mod judged_site;
mod lakeside_faults;
mod mv;
mod pictures;
mod policy;
mod prompts;
mod quoted_facts;
mod rcx_report;
mod readme_keys;
mod rule_run;
mod sensor_trust;
mod stdio;
mod store_yard;
mod surface;
mod told_mistakes;
mod unsound_store;
