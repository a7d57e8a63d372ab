//! Child components to a depth, breadth first, up to a number of components
//! (Tool surface §13.5.2, listChildren).

use super::client::BoxClient;
use super::node::Node;
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// The most components of one listing.
pub const MAX_COMPONENTS: usize = 5000;

/// A component below the one that was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentEntry {
    /// Slot path, `slot:/A/B`.
    pub slot_path: String,
    /// Position of the parent in the listing; none for direct children.
    pub parent: Option<usize>,
    /// 1 for direct children.
    pub depth: u32,
    /// The component itself; its child components are entries of their own.
    pub node: Node,
    /// Why what lies below is not listed.
    pub problem: Option<StationError>,
}

/// A listing in breadth-first order.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentTree {
    /// The component that was asked for.
    pub root: Node,
    pub root_path: String,
    pub entries: Vec<ComponentEntry>,
    /// The limit was reached; more components exist.
    pub is_truncated: bool,
}

/// A component of the level above, whose children come next.
struct Open {
    index: Option<usize>,
    path: String,
    children: Vec<Node>,
    is_loaded: bool,
}

impl BoxClient {
    /// Lists the components below an ORD, `depth` levels (1 = children), at most `cap`.
    ///
    /// # Errors
    /// As [`BoxClient::resolve`] for the ORD itself; what fails below it stands in the entries.
    pub async fn components(
        &self,
        scope: &CallScope,
        ord: &Ord,
        depth: u32,
        cap: usize,
    ) -> Result<ComponentTree, StationError> {
        let mut root = self.resolve(scope, ord).await?;
        let root_path = match ord.slot_path() {
            Some(path) => path.to_string(),
            None => {
                self.handle_to_path(scope, root.handle.as_deref().unwrap_or_default())
                    .await?
            }
        };
        if depth > 1 && root.components().next().is_some() {
            // One request for the whole subtree where the station manages it; level by level otherwise.
            match self
                .load_slots(scope, ord, depth, root.handle.as_deref())
                .await
            {
                Ok(loaded) => adopt_children(&mut root, loaded),
                Err(error @ (StationError::Cancelled { .. } | StationError::Auth { .. })) => {
                    return Err(error);
                }
                Err(error) => tracing::debug!(%error, "the subtree is read level by level"),
            }
        }
        let children = std::mem::take(&mut root.children);
        let (components, own): (Vec<_>, Vec<_>) =
            children.into_iter().partition(Node::is_component);
        root.children = own;
        let mut tree = ComponentTree {
            root,
            root_path: root_path.clone(),
            entries: Vec::new(),
            is_truncated: false,
        };
        let mut level = vec![Open {
            index: None,
            path: root_path,
            children: components,
            is_loaded: true,
        }];
        for current in 1..=depth {
            let mut next = tree.add_level(level, current, cap.min(MAX_COMPONENTS));
            if tree.is_truncated || next.is_empty() || current == depth {
                break;
            }
            self.fill(scope, &mut tree, &mut next).await?;
            level = next;
        }
        Ok(tree)
    }

    /// Fetches the children of what arrived as stubs.
    async fn fill(
        &self,
        scope: &CallScope,
        tree: &mut ComponentTree,
        level: &mut [Open],
    ) -> Result<(), StationError> {
        let stubs: Vec<&mut Open> = level.iter_mut().filter(|open| !open.is_loaded).collect();
        let mut ords = Vec::with_capacity(stubs.len());
        let mut known = Vec::with_capacity(stubs.len());
        for stub in stubs {
            match Ord::component(&stub.path) {
                Ok(ord) => {
                    ords.push(ord);
                    known.push(stub);
                }
                Err(error) => tree.set_problem(stub.index, error.into()),
            }
        }
        let answers = self.resolve_many(scope, &ords).await?;
        for (stub, answer) in known.into_iter().zip(answers) {
            match answer {
                Ok(node) => tree.describe(stub, node),
                Err(error) => tree.set_problem(stub.index, error),
            }
        }
        Ok(())
    }
}

impl ComponentTree {
    fn add_level(&mut self, level: Vec<Open>, depth: u32, cap: usize) -> Vec<Open> {
        let mut next = Vec::new();
        for parent in level {
            for mut node in parent.children {
                if self.entries.len() >= cap {
                    self.is_truncated = true;
                    return next;
                }
                let path = join(&parent.path, node.slot_name());
                let children = std::mem::take(&mut node.children);
                let (components, own): (Vec<_>, Vec<_>) =
                    children.into_iter().partition(Node::is_component);
                node.children = own;
                next.push(Open {
                    index: Some(self.entries.len()),
                    path: path.clone(),
                    children: components,
                    is_loaded: node.is_loaded,
                });
                self.entries.push(ComponentEntry {
                    slot_path: path,
                    parent: parent.index,
                    depth,
                    node,
                    problem: None,
                });
            }
        }
        next
    }

    /// Takes over what a stub's own answer tells.
    fn describe(&mut self, stub: &mut Open, mut loaded: Node) {
        let children = std::mem::take(&mut loaded.children);
        let (components, own): (Vec<_>, Vec<_>) =
            children.into_iter().partition(Node::is_component);
        stub.children = components;
        stub.is_loaded = true;
        if let Some(entry) = stub.index.and_then(|index| self.entries.get_mut(index)) {
            loaded.children = own;
            loaded.name = entry.node.name.take();
            loaded.display_name = entry.node.display_name.take().or(loaded.display_name);
            loaded.type_spec = loaded.type_spec.or_else(|| entry.node.type_spec.take());
            loaded.handle = loaded.handle.or_else(|| entry.node.handle.take());
            loaded.flags = std::mem::take(&mut entry.node.flags);
            entry.node = loaded;
        }
    }

    fn set_problem(&mut self, index: Option<usize>, error: StationError) {
        if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
            entry.problem = Some(error);
        }
    }
}

/// A subtree load knows the deeper levels, the resolve before it the display texts.
fn adopt_children(root: &mut Node, loaded: Node) {
    let (components, _): (Vec<_>, Vec<_>) =
        loaded.children.into_iter().partition(Node::is_component);
    root.children.retain(|child| !child.is_component());
    root.children.extend(components);
}

fn join(path: &str, name: &str) -> String {
    if path.ends_with('/') {
        format!("{path}{name}")
    } else {
        format!("{path}/{name}")
    }
}
