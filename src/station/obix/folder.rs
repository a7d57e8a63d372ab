//! The component tree over oBIX: one document per component (oBIX specification §4.4).

use std::collections::{HashSet, VecDeque};

use super::batch::Answers;
use super::client::{Document, ObixClient};
use super::href::{ObixPath, document_base};
use super::object::{Attribute, Element, Object};
use crate::station::error::StationError;
use crate::station::http::CallScope;

/// What a child component is, told by its contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComponentClass {
    Point,
    /// History extension of a point: settings, no value.
    HistoryExtension,
    AlarmExtension,
    ProxyExtension,
    /// Says that the point has no driver behind it; holds nothing.
    NullProxyExtension,
    Other,
}

/// A child component as its parent's document describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentRef {
    /// Escaped slot name.
    pub name: String,
    pub path: ObixPath,
    pub type_spec: Option<String>,
    pub class: ComponentClass,
    pub display_name: Option<String>,
    /// Formatted value of a point: a hint, not data.
    pub display: Option<String>,
    pub icon: Option<String>,
}

/// A component with its direct children.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    pub path: ObixPath,
    pub type_spec: Option<String>,
    pub class: ComponentClass,
    pub display_name: Option<String>,
    pub children: Vec<ComponentRef>,
    /// Properties in place: simple values and structs.
    pub properties: Vec<Object>,
    /// Names of the actions that this user may invoke.
    pub operations: Vec<String>,
}

impl Folder {
    /// Reads a component's document.
    pub fn read(path: &ObixPath, document: &Document) -> Self {
        read_folder(path, document)
    }
}

/// Bounds of a walk.
#[derive(Debug, Clone)]
pub struct WalkOptions {
    /// Levels below the start.
    pub max_depth: u32,
    /// Components visited, the start included.
    pub max_components: usize,
    /// Slot names that are not entered.
    pub skip: Vec<String>,
    /// Whether extensions of points are entered too.
    pub enters_extensions: bool,
}

impl Default for WalkOptions {
    /// Twelve levels, 5,000 components, no extensions (oBIX specification §4.4).
    fn default() -> Self {
        Self {
            max_depth: 12,
            max_components: 5000,
            skip: Vec::new(),
            enters_extensions: false,
        }
    }
}

/// What a walk found, parents before children.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Walk {
    pub components: Vec<WalkedComponent>,
    /// A bound was reached; more components exist.
    pub is_truncated: bool,
}

/// A component on the way.
#[derive(Debug, Clone, PartialEq)]
pub struct WalkedComponent {
    /// 1 for children of the start.
    pub depth: u32,
    pub component: ComponentRef,
    /// Why nothing below it is listed.
    pub problem: Option<StationError>,
}

impl ObixClient {
    /// Reads a component and lists its children.
    pub async fn folder(&self, scope: &CallScope, path: &ObixPath) -> Result<Folder, StationError> {
        Ok(read_folder(path, &self.get(scope, path).await?))
    }

    /// Reads many components; the answers are in the order of the paths.
    pub async fn documents(
        &self,
        scope: &CallScope,
        paths: &[ObixPath],
    ) -> Result<Answers<Document>, StationError> {
        let roots = self.read_many(scope, paths).await?;
        let documents = paths.iter().zip(roots).map(|(path, root)| {
            let root = root?;
            let base = document_base(path, &root);
            Ok(Document { base, root })
        });
        Ok(documents.collect())
    }

    /// Lists the components below a path, breadth first; one request per component that may hold others.
    ///
    /// Walking goes on below points: a point can hold points.
    ///
    /// # Errors
    /// For the start itself and for a lost connection; what fails below stands in the result.
    pub async fn walk(
        &self,
        scope: &CallScope,
        start: &ObixPath,
        options: &WalkOptions,
    ) -> Result<Walk, StationError> {
        let mut walk = Walk::default();
        let mut visited = HashSet::from([start.key()]);
        let mut queue = VecDeque::from([(start.clone(), 0_u32, None::<usize>)]);
        while let Some((path, depth, index)) = queue.pop_front() {
            let folder = match (self.folder(scope, &path).await, index) {
                (Ok(folder), _) => folder,
                (Err(error), Some(index)) if stays_local(&error) => {
                    if let Some(entry) = walk.components.get_mut(index) {
                        entry.problem = Some(error);
                    }
                    continue;
                }
                (Err(error), _) => return Err(error),
            };
            for child in folder.children {
                let is_extension =
                    !matches!(child.class, ComponentClass::Point | ComponentClass::Other);
                if (is_extension && !options.enters_extensions)
                    || options.skip.contains(&child.name)
                {
                    continue;
                }
                if !child.path.is_in_tree() || !visited.insert(child.path.key()) {
                    continue;
                }
                if walk.components.len() + 1 >= options.max_components {
                    walk.is_truncated = true;
                    return Ok(walk);
                }
                let holds_others = child.class != ComponentClass::NullProxyExtension;
                if holds_others && depth + 1 < options.max_depth {
                    queue.push_back((child.path.clone(), depth + 1, Some(walk.components.len())));
                }
                walk.components.push(WalkedComponent {
                    depth: depth + 1,
                    component: child,
                    problem: None,
                });
            }
        }
        Ok(walk)
    }

    /// The history that a history extension writes, as it is written there: `/Station/Id`, `Station/Id`
    /// or a bare `Id`.
    pub async fn history_name(
        &self,
        scope: &CallScope,
        extension: &ObixPath,
    ) -> Result<Option<String>, StationError> {
        let document = self.get(scope, extension).await?;
        let name = document
            .root
            .child("historyName")
            .filter(|name| !name.is_null())
            .and_then(Object::val);
        Ok(name.filter(|name| !name.is_empty()).map(str::to_owned))
    }
}

/// Failures of one component; all others would meet the rest of the walk too.
fn stays_local(error: &StationError) -> bool {
    matches!(
        error,
        StationError::NotFound { .. }
            | StationError::PermissionDenied { .. }
            | StationError::Server { .. }
            | StationError::Protocol { .. }
            | StationError::TooLarge { .. }
            | StationError::BadQuery { .. }
    )
}

fn read_folder(path: &ObixPath, document: &Document) -> Folder {
    let root = &document.root;
    let children = root
        .children
        .iter()
        .filter(|child| child.element == Element::Ref);
    let operations = root
        .children
        .iter()
        .filter(|child| child.element == Element::Op);
    let properties = root.children.iter().filter(|child| {
        child.element.is_value() || matches!(child.element, Element::Obj | Element::List)
    });
    Folder {
        path: path.clone(),
        type_spec: root.type_spec().map(str::to_owned),
        class: classify(root),
        display_name: root.display_name().map(str::to_owned),
        children: children
            .filter_map(|child| read_ref(document, child))
            .collect(),
        properties: properties.cloned().collect(),
        operations: operations
            .filter_map(Object::name)
            .map(str::to_owned)
            .collect(),
    }
}

fn read_ref(document: &Document, child: &Object) -> Option<ComponentRef> {
    let path = document.path_of(child)?;
    Some(ComponentRef {
        name: child.name().unwrap_or(path.last_segment()).to_owned(),
        type_spec: child.type_spec().map(str::to_owned),
        class: classify(child),
        display_name: child.display_name().map(str::to_owned),
        display: child.display().map(str::to_owned),
        icon: child.attribute(Attribute::Icon).map(str::to_owned),
        path,
    })
}

fn classify(child: &Object) -> ComponentClass {
    if child.implements("obix:Point") || child.implements("control:ControlPoint") {
        return ComponentClass::Point;
    }
    let type_spec = child.type_spec().unwrap_or_default();
    let type_name = type_spec.rsplit(':').next().unwrap_or_default();
    if type_spec.starts_with("control:")
        && (type_name.ends_with("Point") || type_name.ends_with("Writable"))
    {
        ComponentClass::Point
    } else if type_name.ends_with("HistoryExt") {
        ComponentClass::HistoryExtension
    } else if child.is_null() && type_name == "NullProxyExt" {
        ComponentClass::NullProxyExtension
    } else if type_name.ends_with("ProxyExt") || child.name() == Some("proxyExt") {
        ComponentClass::ProxyExtension
    } else if child.implements("alarm:AlarmSourceExt") || type_name.ends_with("AlarmExt") {
        ComponentClass::AlarmExtension
    } else {
        ComponentClass::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;

    #[test]
    fn children_are_classed_by_their_contracts() {
        let body = r#"<obj href="/obix/config/Demo/" is="/obix/def/baja:Folder" displayName="Demo">
            <str name="note" val="x" writable="true"/>
            <ref name="Zone1" href="Zone1/" is="/obix/def/control:NumericWritable /obix/def/control:NumericPoint obix:Point" display="72.5 °F {ok} @ 10"/>
            <ref name="NumericInterval" href="NumericInterval/" is="/obix/def/history:NumericIntervalHistoryExt"/>
            <ref name="proxyExt" href="proxyExt/" is="/obix/def/bacnet:BacnetNumericProxyExt"/>
            <ref name="none" href="none/" is="/obix/def/control:NullProxyExt" null="true"/>
            <ref name="Empty" href="Empty/" is="/obix/def/control:NumericPoint obix:Point" null="true" display="- {null}"/>
            <ref name="Sub$20Folder" href="https://wrong/obix/config/Demo/Sub$20Folder/" is="/obix/def/baja:Folder"/>
            <op name="reset" href="reset/"/></obj>"#;
        let root = decode(body.as_bytes(), None).expect("valid");
        let path = ObixPath::parse("/obix/config/Demo/").expect("a path");
        let folder = read_folder(
            &path,
            &Document {
                base: path.clone(),
                root,
            },
        );
        let classes: Vec<_> = folder
            .children
            .iter()
            .map(|child| (child.name.as_str(), child.class))
            .collect();
        assert_eq!(
            classes,
            [
                ("Zone1", ComponentClass::Point),
                ("NumericInterval", ComponentClass::HistoryExtension),
                ("proxyExt", ComponentClass::ProxyExtension),
                ("none", ComponentClass::NullProxyExtension),
                ("Empty", ComponentClass::Point),
                ("Sub$20Folder", ComponentClass::Other)
            ]
        );
        assert_eq!(
            folder.children[5].path.path(),
            "/obix/config/Demo/Sub$20Folder/"
        );
        assert_eq!(
            (folder.properties.len(), folder.operations.as_slice()),
            (1, ["reset".to_owned()].as_slice())
        );
    }
}
