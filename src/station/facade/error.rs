//! What can go wrong in an operation of the facade.

use crate::station::echo::shortened;
use crate::station::error::StationError;
use crate::station::web::cell::CellError;

/// An operation that could not be answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FacadeError {
    #[error(transparent)]
    Station(#[from] StationError),
    /// The object is there, but it is no control point.
    #[error(
        "{} is no control point but {type_spec}; choose a point, for example one that listChildren marks with isPoint",
        shortened(ord)
    )]
    NotAPoint { ord: String, type_spec: String },
    /// The object is there, but it is no schedule.
    #[error(
        "{} is no schedule but {type_spec}; choose one that listSchedules names",
        shortened(ord)
    )]
    NotASchedule { ord: String, type_spec: String },
    /// The object is there, but it is a property of a component.
    #[error(
        "{} is no component but a property of type {type_spec}; choose the component that has it",
        shortened(ord)
    )]
    NotAComponent { ord: String, type_spec: String },
    /// The object is there, but it has no slots to list.
    #[error(
        "{} is a simple value of type {type_spec} without slots; read its parent instead",
        shortened(ord)
    )]
    NoSlots { ord: String, type_spec: String },
    /// Neither the object nor a direct child of it records a history.
    #[error(
        "{} has no history extension; add one to the point, or choose a point that has one (probeOrd tells)",
        shortened(ord)
    )]
    NoHistory { ord: String },
    /// A type name that the station's registry does not hold.
    #[error(
        "the station has no type {}; write module:Type, for example control:NumericWritable",
        shortened(type_name)
    )]
    UnknownType { type_name: String },
}

impl From<CellError> for FacadeError {
    fn from(error: CellError) -> Self {
        Self::Station(match error {
            CellError::Time(error) => error.into(),
            other => StationError::Protocol {
                target: "a table of the station".to_owned(),
                expected: "a cell of the column's kind",
                found: other.to_string(),
            },
        })
    }
}

/// Result of a facade operation.
pub type FacadeResult<T> = Result<T, FacadeError>;
