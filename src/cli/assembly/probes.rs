//! What `/health` asks of the parts of a bridge.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::knowledge::KnowledgeStore;
use crate::mcp::http::health::{KnowledgeHealth, KnowledgeProbe, StationHealth, StationProbe};
use crate::station::error::StationError;
use crate::station::facade::{ServiceState, StationFacade};
use crate::station::http::CallScope;

/// The service account as health sees it.
pub(super) struct ServiceProbe(pub Arc<StationFacade>);

impl StationProbe for ServiceProbe {
    fn refuses_login(&self) -> bool {
        self.0.web().refuses_login()
    }

    fn distrusts_certificate(&self) -> bool {
        self.0.web().certificate_problem().is_some()
    }

    fn answered(&self) -> u64 {
        self.0.web().traffic().answered()
    }

    fn check(&self) -> BoxFuture<'_, StationHealth> {
        Box::pin(async move {
            let scope = CallScope::unlimited();
            if self.distrusts_certificate()
                && let Err(error) = self.0.web().look_at_certificate(&scope).await
            {
                tracing::debug!(%error, "the certificate of the station is still not trusted");
            }
            match self.0.services(&scope).await {
                Ok((alarm, history)) => StationHealth {
                    reachable: true,
                    usable: !self.distrusts_certificate(),
                    alarm: alarm == ServiceState::Available,
                    history: history == ServiceState::Available,
                },
                Err(error) => {
                    match &error {
                        // Said when the login was refused.
                        StationError::Latched { .. } => {
                            tracing::debug!(%error, "the station cannot be used");
                        }
                        _ => tracing::warn!(%error, "the station cannot be used"),
                    }
                    StationHealth {
                        reachable: error.shows_station(),
                        ..StationHealth::default()
                    }
                }
            }
        })
    }
}

/// The knowledge file as health sees it.
pub(super) struct KnowledgeFile(pub Arc<KnowledgeStore>);

impl KnowledgeProbe for KnowledgeFile {
    fn check(&self) -> KnowledgeHealth {
        KnowledgeHealth {
            size: u64::try_from(self.0.file_facts().size).ok(),
            readable: self.0.file_problem().is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_knowledge_file_that_vanished_or_gave_way_to_a_folder_is_unhealthy_and_one_that_never_was_is_not()
     {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("knowledge.yaml");
        let probe = |path: &std::path::Path| KnowledgeFile(Arc::new(KnowledgeStore::open(path)));
        assert_eq!(
            probe(&path).check(),
            KnowledgeHealth {
                size: None,
                readable: true
            }
        );
        std::fs::write(&path, "spaces: []\n").expect("a file");
        let health = probe(&path);
        assert_eq!(
            health.check(),
            KnowledgeHealth {
                size: Some(11),
                readable: true
            }
        );
        std::fs::remove_file(&path).expect("removed");
        assert_eq!(
            health.check(),
            KnowledgeHealth {
                size: None,
                readable: false
            }
        );
        std::fs::create_dir(&path).expect("a folder in its place");
        assert!(!health.check().readable);
        std::fs::remove_dir(&path).expect("removed");
        std::fs::write(&path, "spaces: []\n").expect("the file again");
        assert!(health.check().readable);
    }
}
