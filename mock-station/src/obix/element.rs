//! An oBIX object as a tree of elements (oBIX specification §2).

use std::borrow::Cow;

/// One element with its attributes in order; text content carries nothing in oBIX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    pub tag: Cow<'static, str>,
    attributes: Vec<(Cow<'static, str>, String)>,
    pub children: Vec<Element>,
}

impl Element {
    pub fn new(tag: impl Into<Cow<'static, str>>) -> Self {
        Self {
            tag: tag.into(),
            attributes: Vec::new(),
            children: Vec::new(),
        }
    }

    /// An element with `name`.
    pub fn named(tag: &'static str, name: &str) -> Self {
        Self::new(tag).with("name", name)
    }

    /// A named value element.
    pub fn value(tag: &'static str, name: &str, value: impl Into<String>) -> Self {
        Self::named(tag, name).with("val", value)
    }

    /// This element with an attribute set.
    pub fn with(mut self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        self.set(key, value);
        self
    }

    /// This element with an attribute set if there is a value.
    pub fn with_some(self, key: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// This element with `child` appended.
    pub fn with_child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    /// This element with `name` as its first attribute and a relative `href`, as a member of its parent.
    pub fn into_member(self, name: &str) -> Self {
        self.with_name(name).with("href", format!("{name}/"))
    }

    /// This element with `name` as its first attribute.
    pub fn with_name(mut self, name: &str) -> Self {
        self.attributes.retain(|(key, _)| key != "name");
        self.attributes.insert(0, ("name".into(), name.to_owned()));
        self
    }

    /// Sets or replaces an attribute.
    pub fn set(&mut self, key: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        let key = key.into();
        match self.attributes.iter_mut().find(|(known, _)| *known == key) {
            Some(attribute) => attribute.1 = value.into(),
            None => self.attributes.push((key, value.into())),
        }
    }

    /// The value of an attribute.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.attributes
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.as_str())
    }

    /// All attributes in order.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes
            .iter()
            .map(|(key, value)| (&**key, value.as_str()))
    }

    /// The child of that name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children
            .iter()
            .find(|child| child.get("name") == Some(name))
    }

    /// `null="true"`: no value, whatever `val` says.
    pub fn is_null(&self) -> bool {
        matches!(self.get("null").or(self.get("isNull")), Some("true" | "1"))
    }
}
