//! Components by type, in one query over the whole station (Tool surface §8.5, §13.5.2).

use std::ops::ControlFlow;

use super::StationFacade;
use super::error::{FacadeError, FacadeResult};
use super::rows::RowsEnd;
use super::view::{FoundComponent, FoundComponents};
use crate::station::error::StationError;
use crate::station::http::CallScope;
use crate::station::ord::Ord;

/// Modules whose types people name without their module, the likeliest first.
const COMMON_MODULES: [&str; 12] = [
    "control",
    "baja",
    "driver",
    "history",
    "alarm",
    "schedule",
    "kitControl",
    "bacnet",
    "modbusTcp",
    "modbusCore",
    "niagaraDriver",
    "web",
];

impl StationFacade {
    /// Components of a type or its subtypes, at most `limit`.
    ///
    /// The type is `module:Type`, or a bare name with or without the `B` of its class name, which the station's type
    /// registry completes.
    ///
    /// # Errors
    /// [`FacadeError::UnknownType`] when the registry or the query refuses the type.
    pub async fn find_by_type(
        &self,
        scope: &CallScope,
        type_name: &str,
        limit: usize,
    ) -> FacadeResult<FoundComponents> {
        let type_spec = self.complete_type(scope, type_name).await?;
        let query = format!(
            "station:|slot:/|bql:select top {} slotPath, name, displayName, type from {type_spec}",
            limit + 1
        );
        let mut found = FoundComponents {
            type_spec: type_spec.clone(),
            items: Vec::new(),
            truncated: false,
            truncated_by_timeout: false,
        };
        let ended = self
            .rows(scope, &query, &mut |row| {
                if found.items.len() == limit {
                    found.truncated = true;
                    return ControlFlow::Break(());
                }
                let path = row.cell(0).text();
                found.items.push(FoundComponent {
                    name: row.cell(1).text().to_owned(),
                    ord: Ord::component(path)
                        .map_or_else(|_| path.to_owned(), |ord| ord.absolute()),
                    display_name: row.cell(2).text().to_owned(),
                    type_spec: row.cell(3).text().to_owned(),
                });
                ControlFlow::Continue(())
            })
            .await;
        match ended {
            Ok(RowsEnd::Cut) => found.truncated_by_timeout = true,
            Ok(RowsEnd::Complete | RowsEnd::Stopped) => {}
            Err(FacadeError::Station(StationError::BadQuery { .. })) => {
                return Err(FacadeError::UnknownType {
                    type_name: type_spec,
                });
            }
            Err(error) => return Err(error),
        }
        Ok(found)
    }

    /// `module:Type` of a type name as people write it.
    pub(super) async fn complete_type(
        &self,
        scope: &CallScope,
        type_name: &str,
    ) -> FacadeResult<String> {
        let unknown = || FacadeError::UnknownType {
            type_name: type_name.to_owned(),
        };
        let is_name = |text: &str| {
            text.starts_with(|first: char| first.is_ascii_alphabetic())
                && text.chars().all(|character| {
                    character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | '.')
                })
        };
        if let Some((module, name)) = type_name.split_once(':') {
            return if is_name(module) && is_name(name) {
                Ok(type_name.to_owned())
            } else {
                Err(unknown())
            };
        }
        if !is_name(type_name) {
            return Err(unknown());
        }
        let bare = class_name_without_b(type_name);
        for module in COMMON_MODULES {
            let candidate = format!("{module}:{bare}");
            let known = self
                .over_box(async { Ok(self.boxp().type_record(scope, &candidate).await?.is_some()) })
                .await;
            match known {
                Ok(true) => return Ok(candidate),
                Ok(false) => {}
                // Without a registry the reference's rule decides.
                Err(error) if self.may_fall_back(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(format!("control:{bare}"))
    }
}

/// `BNumericPoint` is the class of the type `NumericPoint`; `BooleanPoint` is a type by itself.
fn class_name_without_b(name: &str) -> &str {
    match name.strip_prefix('B') {
        Some(rest) if rest.starts_with(|first: char| first.is_ascii_uppercase()) => rest,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_b_of_a_class_name_is_dropped() {
        for (given, bare) in [
            ("BControlPoint", "ControlPoint"),
            ("BBooleanWritable", "BooleanWritable"),
            ("BooleanWritable", "BooleanWritable"),
            ("NumericPoint", "NumericPoint"),
            ("B", "B"),
        ] {
            assert_eq!(class_name_without_b(given), bare);
        }
    }
}
