//! Where baselines are from: fitted for one run, or frozen before and only read (Drift §2.4).

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::baseline::LoadBaseline;
use super::frozen::FrozenBaselines;

/// A baseline and when it was laid down.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptBaseline {
    pub baseline: LoadBaseline,
    /// A time, or the name of the run that fitted it.
    pub frozen_at: String,
}

/// The baselines of one equipment, by kind.
pub enum Baselines<'a> {
    /// Fitted when first asked for and forgotten after the run. Detectors of a family share them.
    Scratch {
        run_id: &'a str,
        fitted: RefCell<BTreeMap<String, KeptBaseline>>,
    },
    /// Read only; a kind that is not there is never fitted.
    Frozen {
        store: &'a FrozenBaselines,
        /// Facility and site; the first of which there is a baseline counts.
        sites: &'a [String],
        equip: &'a str,
    },
}

impl<'a> Baselines<'a> {
    /// Nothing fitted yet.
    pub fn scratch(run_id: &'a str) -> Self {
        Self::Scratch {
            run_id,
            fitted: RefCell::default(),
        }
    }

    /// The baseline of a kind, fitted if that is allowed; none when there is none.
    pub fn get_or_fit(
        &self,
        kind: &str,
        fit: impl FnOnce() -> Option<LoadBaseline>,
    ) -> Option<KeptBaseline> {
        if let Some(known) = self.get(kind) {
            return Some(known);
        }
        match self {
            Self::Frozen { .. } => None,
            Self::Scratch { run_id, fitted } => {
                let kept = KeptBaseline {
                    baseline: fit()?,
                    frozen_at: (*run_id).to_owned(),
                };
                fitted.borrow_mut().insert(kind.to_owned(), kept.clone());
                Some(kept)
            }
        }
    }

    /// The baseline of a kind that is there already.
    pub fn get(&self, kind: &str) -> Option<KeptBaseline> {
        match self {
            Self::Scratch { fitted, .. } => fitted.borrow().get(kind).cloned(),
            Self::Frozen {
                store,
                sites,
                equip,
            } => sites
                .iter()
                .find_map(|site| store.get(site, equip, kind))
                .cloned(),
        }
    }

    /// Whether baselines are fitted in this run.
    pub fn may_fit(&self) -> bool {
        matches!(self, Self::Scratch { .. })
    }
}

/// How summaries and caveats call the baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Basis {
    Frozen,
    /// A known-good period of the equipment itself, as it is written.
    Period {
        start: String,
        end: String,
    },
    /// Another equipment, maybe in one of its periods.
    Reference {
        equip: String,
        period: Option<(String, String)>,
    },
}

impl Basis {
    /// "the frozen baseline".
    pub fn words(&self) -> String {
        match self {
            Self::Frozen => "the frozen baseline".to_owned(),
            Self::Period { .. } => "the known-good period".to_owned(),
            Self::Reference { equip, .. } => format!("the reference {equip}"),
        }
    }

    /// The metric `baseline_source`; none for frozen ones.
    pub fn source(&self) -> Option<String> {
        match self {
            Self::Frozen => None,
            Self::Period { start, end } => Some(format!("period:{start}..{end}")),
            Self::Reference {
                equip,
                period: None,
            } => Some(format!("reference:{equip}")),
            Self::Reference {
                equip,
                period: Some((start, end)),
            } => Some(format!("reference:{equip}@{start}..{end}")),
        }
    }

    /// What a finding says of it; none for frozen ones.
    pub fn caveat(&self) -> Option<String> {
        match self {
            Self::Frozen => None,
            Self::Period { start, end } => Some(format!(
                "The baseline was fitted for this run on the declared known-good period {start} to {end} of this equipment and \
                 is not kept."
            )),
            Self::Reference { equip, period } => {
                let within = match period {
                    Some((start, end)) => format!(" in the period {start} to {end}"),
                    None => String::new(),
                };
                Some(format!(
                    "The baseline was fitted for this run on the declared reference {equip}{within} and is not kept; what \
                     distinguishes the two machines reads as drift."
                ))
            }
        }
    }
}
