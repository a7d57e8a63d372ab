//! Watches: the station remembers which outputs changed since the last poll (oBIX specification §7).

use std::time::Duration;

use chrono::TimeDelta;

use super::client::{Document, ObixClient};
use super::encode::{watch_hrefs, watch_lease};
use super::href::{ObixPath, Reference, resolve};
use super::object::{Element, Object};
use super::point::ValueReading;
use super::scalar::Scalar;
use crate::station::error::StationError;
use crate::station::http::CallScope;

/// References per `add` (oBIX specification §7.3).
const CHUNK: usize = 200;

/// The shortest lease asked for (oBIX specification §7.2).
const SHORTEST_LEASE: Duration = Duration::from_secs(30);

/// A watch at the station; ends by [`ObixClient::delete_watch`], or by its lease when nobody polls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watch {
    pub path: ObixPath,
    add: ObixPath,
    remove: ObixPath,
    poll_changes: ObixPath,
    poll_refresh: ObixPath,
    delete: ObixPath,
    /// Idle time after which the station deletes the watch; none where it does not tell.
    pub lease: Option<TimeDelta>,
}

/// What a poll asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchPoll {
    /// What changed since the last poll.
    Changes,
    /// Everything.
    Refresh,
}

/// An output that a poll told of, or why it cannot be watched any longer.
#[derive(Debug, Clone, PartialEq)]
pub struct WatchedOutput {
    /// Path of the output, `…/out/`.
    pub path: ObixPath,
    pub reading: Result<ValueReading, StationError>,
}

impl ObixClient {
    /// Makes a watch whose lease outlives three polls.
    ///
    /// # Errors
    /// [`StationError::InterfaceMissing`] where the lobby shows no watch service.
    pub async fn make_watch(
        &self,
        scope: &CallScope,
        interval: Duration,
    ) -> Result<Watch, StationError> {
        let lobby = self.lobby(scope).await?;
        let service = lobby
            .watch_service
            .as_ref()
            .ok_or_else(|| self.not_exposed("oBIX watches"))?;
        let make = service.child("make");
        let document = self.invoke(scope, &make, service, None).await?;
        if document.root.href().is_none() {
            return Err(StationError::Protocol {
                target: make.to_string(),
                expected: "a watch with its address",
                found: format!("<{}> without one", document.root.element.local_name()),
            });
        }
        let mut watch = read_watch(&document);
        let lease_path = document
            .root
            .child("lease")
            .and_then(|lease| document.path_of(lease));
        if let Some(path) = lease_path {
            watch.lease = self.set_lease(scope, &path, interval).await.or(watch.lease);
        }
        Ok(watch)
    }

    /// The lease after an attempt to set it; stations may keep their own.
    async fn set_lease(
        &self,
        scope: &CallScope,
        path: &ObixPath,
        interval: Duration,
    ) -> Option<TimeDelta> {
        let wish = interval.saturating_mul(3).max(SHORTEST_LEASE);
        if let Err(error) = self.put(scope, path, &watch_lease(wish)).await {
            tracing::debug!(%error, "the station keeps its own lease of watches");
        }
        let lease = self.get(scope, path).await.ok()?;
        lease_of(&lease.root)
    }

    /// Adds the outputs of points; the answers, with the present values, are in the order of the points.
    ///
    /// # Errors
    /// A refused point does not fail the others; the call fails when the watch is gone or the station cannot be asked.
    pub async fn watch_outputs(
        &self,
        scope: &CallScope,
        watch: &Watch,
        points: &[ObixPath],
    ) -> Result<Vec<Result<ValueReading, StationError>>, StationError> {
        let mut answers = Vec::with_capacity(points.len());
        for chunk in points.chunks(CHUNK) {
            let outputs: Vec<ObixPath> = chunk.iter().map(|point| point.child("out")).collect();
            let document = self
                .invoke(scope, &watch.add, &watch.path, Some(&watch_hrefs(&outputs)))
                .await?;
            let members = members(&watch.add, &document)?;
            answers.extend(
                in_order(&watch.path, &outputs, members)
                    .into_iter()
                    .zip(outputs)
                    .map(|(member, output)| self.watched(output, member)),
            );
        }
        Ok(answers)
    }

    /// Takes outputs of points out of a watch.
    pub async fn unwatch_outputs(
        &self,
        scope: &CallScope,
        watch: &Watch,
        points: &[ObixPath],
    ) -> Result<(), StationError> {
        for chunk in points.chunks(CHUNK) {
            let outputs: Vec<ObixPath> = chunk.iter().map(|point| point.child("out")).collect();
            self.invoke(
                scope,
                &watch.remove,
                &watch.path,
                Some(&watch_hrefs(&outputs)),
            )
            .await?;
        }
        Ok(())
    }

    /// Polls a watch. A poll whose answer is lost is not repeated, since the station counts its changes as told:
    /// the next one must be a [`WatchPoll::Refresh`].
    pub async fn poll_watch(
        &self,
        scope: &CallScope,
        watch: &Watch,
        poll: WatchPoll,
    ) -> Result<Vec<WatchedOutput>, StationError> {
        let operation = match poll {
            WatchPoll::Changes => &watch.poll_changes,
            WatchPoll::Refresh => &watch.poll_refresh,
        };
        let document = self.invoke(scope, operation, &watch.path, None).await?;
        let members = members(operation, &document)?;
        Ok(members
            .iter()
            .filter_map(|member| match path_of(&watch.path, member) {
                Some(path) => Some(WatchedOutput {
                    reading: self.watched(path.clone(), Some(member)),
                    path,
                }),
                None => {
                    tracing::debug!("a member of a watch has no address and is left out");
                    None
                }
            })
            .collect())
    }

    /// Deletes a watch at the station.
    pub async fn delete_watch(&self, scope: &CallScope, watch: &Watch) -> Result<(), StationError> {
        self.invoke(scope, &watch.delete, &watch.path, None)
            .await
            .map(drop)
    }

    fn watched(
        &self,
        path: ObixPath,
        member: Option<&Object>,
    ) -> Result<ValueReading, StationError> {
        match member {
            None => Err(StationError::NotFound {
                target: path.to_string(),
                detail: "the watch answered nothing for it".into(),
            }),
            Some(member) if member.element == Element::Err => {
                Err(self.asked(&path, |asked| asked.error_object(member)))
            }
            Some(member) => self.reading(path, member, None),
        }
    }
}

fn read_watch(document: &Document) -> Watch {
    let path = &document.base;
    let operation = |name: &str| {
        document
            .root
            .child(name)
            .filter(|child| child.element == Element::Op)
            .and_then(|child| document.path_of(child))
            .filter(ObixPath::is_in_tree)
            .unwrap_or_else(|| path.child(name))
    };
    Watch {
        add: operation("add"),
        remove: operation("remove"),
        poll_changes: operation("pollChanges"),
        poll_refresh: operation("pollRefresh"),
        delete: operation("delete"),
        lease: document.root.child("lease").and_then(lease_of),
        path: path.clone(),
    }
}

fn lease_of(object: &Object) -> Option<TimeDelta> {
    match object.scalar(None) {
        Ok(Scalar::Duration(lease)) if !object.is_null() => Some(lease),
        _ => None,
    }
}

/// The members of a `WatchOut`; nothing changed when there is no list.
fn members<'d>(operation: &ObixPath, document: &'d Document) -> Result<&'d [Object], StationError> {
    let root = &document.root;
    if root.element == Element::List {
        return Ok(&root.children);
    }
    if root.element != Element::Obj {
        return Err(StationError::Protocol {
            target: operation.to_string(),
            expected: "the values of a watch",
            found: format!("<{}>", root.element.local_name()),
        });
    }
    let list = root.child("values").or_else(|| {
        root.children
            .iter()
            .find(|child| child.element == Element::List)
    });
    Ok(list
        .map(|list| list.children.as_slice())
        .unwrap_or_default())
}

fn path_of(base: &ObixPath, member: &Object) -> Option<ObixPath> {
    match resolve(base, member.href()?) {
        Ok(Reference::Object(path)) => Some(path),
        _ => None,
    }
}

/// Answers by position where their number and addresses allow it, else by address.
fn in_order<'d>(
    base: &ObixPath,
    outputs: &[ObixPath],
    members: &'d [Object],
) -> Vec<Option<&'d Object>> {
    let fits = |member: &Object, output: &ObixPath| match path_of(base, member) {
        Some(path) => path.is_same_object(output) || member.element == Element::Err,
        None => true,
    };
    let is_in_order = members.len() == outputs.len()
        && members
            .iter()
            .zip(outputs)
            .all(|(member, output)| fits(member, output));
    if is_in_order {
        return members.iter().map(Some).collect();
    }
    outputs
        .iter()
        .map(|output| {
            members.iter().find(|member| {
                path_of(base, member).is_some_and(|path| path.is_same_object(output))
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;
    use crate::station::obix::href::document_base;

    fn document(body: &str) -> Document {
        let root = decode(body.as_bytes(), None).expect("valid");
        let service = ObixPath::lobby().child("watchService");
        Document {
            base: document_base(&service, &root),
            root,
        }
    }

    #[test]
    fn a_watch_is_read_with_the_operations_where_it_says_they_are() {
        let watch = read_watch(&document(
            r#"<obj href="https://st1/obix/watchService/watch7/" is="obix:Watch">
              <reltime name="lease" val="PT30S" href="https://st1/obix/watchService/watch7/lease/" writable="true"/>
              <op name="add" href="https://st1/obix/watchService/watch7/add/"/>
              <op name="pollChanges" href="poll/"/>
              <op name="delete" href="https://elsewhere/admin/delete"/></obj>"#,
        ));
        assert_eq!(watch.path.path(), "/obix/watchService/watch7/");
        assert_eq!(watch.lease, Some(TimeDelta::seconds(30)));
        assert_eq!(watch.add.path(), "/obix/watchService/watch7/add/");
        assert_eq!(watch.poll_changes.path(), "/obix/watchService/watch7/poll/");
        assert_eq!(
            watch.delete.path(),
            "/obix/watchService/watch7/delete/",
            "an operation outside of oBIX is not believed"
        );
    }

    #[test]
    fn answers_in_another_order_are_matched_by_address() {
        let outputs = [
            "/obix/config/A%242d/out/",
            "/obix/config/B/out/",
            "/obix/config/C/out/",
        ]
        .map(|path| ObixPath::parse(path).expect("a path"));
        let matched = |body: &str| {
            let document = document(body);
            let members = members(&ObixPath::lobby(), &document)
                .expect("a list")
                .to_vec();
            in_order(&ObixPath::lobby(), &outputs, &members)
                .into_iter()
                .map(|member| member.and_then(Object::val).map(str::to_owned))
                .collect::<Vec<_>>()
        };
        let in_place = matched(
            r#"<obj is="obix:WatchOut"><list name="values"><real href="https://h/obix/config/A$2d/out" val="1"/><real val="2"/><err href="B" is="obix:BadUriErr"/></list></obj>"#,
        );
        assert_eq!(in_place, [Some("1".into()), Some("2".into()), None]);
        let shuffled = matched(
            r#"<obj is="obix:WatchOut"><list name="values"><real href="/obix/config/C/out/" val="3"/><real href="/obix/config/A$2d/out/" val="1"/></list></obj>"#,
        );
        assert_eq!(shuffled, [Some("1".into()), None, Some("3".into())]);
        assert_eq!(matched("<obj/>"), [None, None, None]);
    }
}
