//! Values of points over oBIX (oBIX specification §5).

use chrono::{DateTime, FixedOffset, Utc};
use chrono_tz::Tz;

use super::client::{Document, ObixClient};
use super::display::{DisplayParts, FlagTranslations, Quality, object_status};
use super::href::ObixPath;
use super::object::{Attribute, Element, Object};
use super::scalar::Scalar;
use crate::station::error::StationError;
use crate::station::facets::Facets;
use crate::station::http::CallScope;
use crate::station::priority::{ActiveLevel, Priority};
use crate::station::status::StatusBits;
use crate::station::value::EnumRange;

/// A value with everything that tells whether to trust it.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueReading {
    /// The path that was asked for.
    pub path: ObixPath,
    pub element: Element,
    pub value: Scalar,
    /// Ordinal of an enumeration tag, where the range is known.
    pub ordinal: Option<i32>,
    /// Unit name of the station's unit database.
    pub unit: Option<String>,
    pub status: StatusBits,
    /// Flag words of a language that is not configured.
    pub unknown_flags: Vec<String>,
    pub quality: Quality,
    pub active_level: Option<ActiveLevel>,
    pub display: Option<String>,
    /// Bridge time of the answer.
    pub received_at: DateTime<Utc>,
}

impl ValueReading {
    /// Reads a value element.
    ///
    /// # Errors
    /// [`StationError::Protocol`] when the element carries no value or an unreadable one.
    pub fn read(
        path: ObixPath,
        object: &Object,
        translations: &FlagTranslations,
        zone: Option<Tz>,
        received_at: DateTime<Utc>,
    ) -> Result<Self, StationError> {
        let value = object
            .scalar(zone)
            .map_err(|error| StationError::Protocol {
                target: path.to_string(),
                expected: "a value element",
                found: error.to_string(),
            })?;
        let DisplayParts {
            flags,
            unknown_flags,
            active_level,
            ..
        } = object_status(object, translations);
        let quality = DisplayParts {
            flags,
            unknown_flags: unknown_flags.clone(),
            ..DisplayParts::default()
        }
        .quality();
        Ok(Self {
            path,
            element: object.element,
            value,
            ordinal: None,
            unit: object.unit_name().map(str::to_owned),
            status: flags,
            unknown_flags,
            quality,
            active_level,
            display: object.display().map(str::to_owned),
            received_at,
        })
    }

    fn with_facets(mut self, facets: &Facets) -> Self {
        if let (Scalar::Tag(tag), Some(range)) = (&self.value, facets.range()) {
            self.ordinal = range.ordinal(tag);
        }
        self.unit = self
            .unit
            .or_else(|| facets.unit().map(|unit| unit.name().to_owned()));
        self
    }
}

/// One member of an enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeEntry {
    pub tag: String,
    pub display_name: Option<String>,
    /// Unknown rather than counted by position (oBIX specification §5.6).
    pub ordinal: Option<i32>,
}

/// A point with its priority array.
#[derive(Debug, Clone, PartialEq)]
pub struct ObixPoint {
    pub path: ObixPath,
    /// Niagara type, such as `control:NumericWritable`.
    pub type_spec: Option<String>,
    /// Name in the language of the station's user, where the station sent it.
    pub display_name: Option<String>,
    pub out: ValueReading,
    pub facets: Facets,
    /// Inputs of a writable, level 1 first, where the station sent them.
    pub inputs: Vec<(Priority, ValueReading)>,
    pub fallback: Option<ValueReading>,
    pub override_expiration: Option<DateTime<FixedOffset>>,
    /// Names of the operations that this user may invoke.
    pub operations: Vec<String>,
    pub range: Option<ObixPath>,
    /// Slots that could not be read, and why.
    pub problems: Vec<String>,
}

impl ObixPoint {
    /// A writable type whose `set` or `override` this user may invoke; the `writable` attribute says
    /// nothing about points (oBIX specification §6.1).
    pub fn is_writable(&self) -> bool {
        self.type_spec
            .as_deref()
            .is_some_and(|name| name.ends_with("Writable"))
            && self
                .operations
                .iter()
                .any(|name| matches!(name.as_str(), "set" | "override" | "active"))
    }
}

impl ObixClient {
    /// Reads the output of a point: one small document.
    ///
    /// # Errors
    /// [`StationError::NotFound`] also when the component exists but has no output.
    pub async fn read_value(
        &self,
        scope: &CallScope,
        point: &ObixPath,
    ) -> Result<ValueReading, StationError> {
        let document = self
            .get(scope, &point.child("out"))
            .await
            .map_err(|error| no_output(point, error))?;
        self.reading(point.clone(), &document.root, None)
    }

    /// Reads a point with facets, inputs and operations.
    pub async fn read_point(
        &self,
        scope: &CallScope,
        point: &ObixPath,
    ) -> Result<ObixPoint, StationError> {
        let document = self.get(scope, point).await?;
        self.point_of(point, &document)
    }

    /// Reads a value element.
    ///
    /// # Errors
    /// [`StationError::Protocol`] when the element carries no value or an unreadable one.
    pub fn reading(
        &self,
        path: ObixPath,
        object: &Object,
        zone: Option<Tz>,
    ) -> Result<ValueReading, StationError> {
        ValueReading::read(path, object, &self.translations, zone, self.now())
    }

    /// Reads a point's document.
    ///
    /// # Errors
    /// [`StationError::NotFound`] when the component has no output.
    pub fn point_of(
        &self,
        path: &ObixPath,
        document: &Document,
    ) -> Result<ObixPoint, StationError> {
        let root = &document.root;
        let mut problems = Vec::new();
        let out = match root.child("out") {
            Some(out) => self.reading(path.clone(), out, None)?,
            None if root.element.is_value() => self.reading(path.clone(), root, None)?,
            None => {
                let detail = "the component has no output, so it is no control point".to_owned();
                return Err(StationError::NotFound {
                    target: path.to_string(),
                    detail,
                });
            }
        };
        let facets = match root
            .child("facets")
            .filter(|child| !child.is_null())
            .and_then(Object::val)
        {
            Some(text) => text.parse().unwrap_or_else(|error| {
                problems.push(format!("facets: {error}"));
                Facets::default()
            }),
            None => Facets::default(),
        };
        let mut slot = |name: &str| {
            let child = root.child(name)?;
            match self.reading(path.child(name), child, None) {
                Ok(reading) => Some(reading.with_facets(&facets)),
                Err(error) => {
                    problems.push(error.to_string());
                    None
                }
            }
        };
        let inputs = Priority::all()
            .filter_map(|priority| Some((priority, slot(&priority.slot())?)))
            .collect();
        let fallback = slot("fallback");
        let override_expiration = match slot("overrideExpiration").map(|reading| reading.value) {
            // Instant 0 is how stations write "none" (oBIX specification §2.5).
            Some(Scalar::Instant(instant)) if instant.timestamp_millis() != 0 => Some(instant),
            _ => None,
        };
        let operations = root
            .children
            .iter()
            .filter(|child| child.element == Element::Op);
        Ok(ObixPoint {
            path: path.clone(),
            type_spec: root.type_spec().map(str::to_owned),
            display_name: root.display_name().map(str::to_owned),
            out: out.with_facets(&facets),
            inputs,
            fallback,
            override_expiration,
            operations: operations
                .filter_map(Object::name)
                .map(str::to_owned)
                .collect(),
            range: range_path(document),
            facets,
            problems,
        })
    }

    /// Reads an enumeration; ordinals come from the document, else from the point's facets.
    pub async fn read_range(
        &self,
        scope: &CallScope,
        range: &ObixPath,
        facets: Option<&EnumRange>,
    ) -> Result<Vec<RangeEntry>, StationError> {
        Ok(range_entries(&self.get(scope, range).await?.root, facets))
    }
}

fn no_output(point: &ObixPath, error: StationError) -> StationError {
    match error {
        StationError::NotFound { detail, .. } => StationError::NotFound {
            target: point.to_string(),
            detail: format!(
                "{detail} (it does not exist, is not visible to this user, or has no output)"
            ),
        },
        other => other,
    }
}

fn range_path(document: &Document) -> Option<ObixPath> {
    let object = document.root.child("out").unwrap_or(&document.root);
    let href = object
        .attribute(Attribute::Range)
        .or_else(|| document.root.attribute(Attribute::Range))?;
    match super::href::resolve(&document.base, href) {
        Ok(super::href::Reference::Object(path)) => Some(path),
        _ => None,
    }
}

/// Any child with a name is a member; its ordinal is its value where that is a number.
fn range_entries(root: &Object, facets: Option<&EnumRange>) -> Vec<RangeEntry> {
    root.children
        .iter()
        .filter_map(|child| {
            let tag = child.name()?;
            let own = child.val().and_then(|text| text.trim().parse().ok());
            Some(RangeEntry {
                tag: tag.to_owned(),
                display_name: child.display_name().or(child.display()).map(str::to_owned),
                ordinal: own.or_else(|| facets.and_then(|range| range.ordinal(tag))),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::obix::decode::decode;

    fn reading(body: &str) -> ValueReading {
        let object = decode(body.as_bytes(), None).expect("valid");
        ValueReading::read(
            ObixPath::lobby(),
            &object,
            &FlagTranslations::english(),
            None,
            DateTime::UNIX_EPOCH,
        )
        .expect("readable")
    }

    #[test]
    fn a_value_comes_with_unit_level_and_quality() {
        let out = reading(
            r#"<real val="21.5" href="out/" display="21.5 °C {ok} @ 16" displayName="Out" unit="obix:units/celsius"> </real>"#,
        );
        assert_eq!(
            (&out.value, out.unit.as_deref(), out.quality),
            (&Scalar::Real(21.5), Some("celsius"), Quality::Good)
        );
        assert_eq!(out.active_level.expect("level").to_string(), "16");
        let stale = reading(r#"<real val="0.0" display="0.0 °C {stale}"/>"#);
        assert_eq!(
            (stale.quality, stale.status),
            (Quality::Bad, StatusBits::STALE)
        );
        let null = reading(r#"<bool val="false" null="true" display="- {null}"/>"#);
        assert_eq!((null.value, null.quality), (Scalar::Null, Quality::Bad));
        assert_eq!(
            reading(r#"<real val="1" display="1 {éventé}"/>"#).quality,
            Quality::Uncertain
        );
        assert_eq!(
            reading(r#"<real val="NaN" display="nan {ok}"/>"#)
                .value
                .number(),
            None
        );
    }

    #[test]
    fn ordinals_come_from_numbers_or_facets_never_from_the_position() {
        let range: EnumRange = "{Off=0,On=1,Auto=7}".parse().expect("a range");
        let body = r#"<list is="obix:Range"><obj name="Off" displayName="off"/><obj name="Auto"/><int name="Fast" val="3"/><obj name="Other"/></list>"#;
        let entries = range_entries(&decode(body.as_bytes(), None).expect("valid"), Some(&range));
        let ordinals: Vec<_> = entries
            .iter()
            .map(|entry| (entry.tag.as_str(), entry.ordinal))
            .collect();
        assert_eq!(
            ordinals,
            [
                ("Off", Some(0)),
                ("Auto", Some(7)),
                ("Fast", Some(3)),
                ("Other", None)
            ]
        );
    }
}
