//! The parsed form of a BQL query; `Display` writes it back as text that parses to the same query.

use std::fmt;

/// A whole `select …`.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    pub top: Option<usize>,
    pub distinct: bool,
    pub projection: Projection,
    pub extent: Option<Extent>,
    pub filter: Option<Expression>,
    pub having: Option<Expression>,
    pub order: Vec<OrderKey>,
}

/// What stands between `select` and `from`.
#[derive(Clone, Debug, PartialEq)]
pub enum Projection {
    /// `*`: the columns the base offers.
    All,
    /// Nothing: the object itself.
    Whole,
    Columns(Vec<Item>),
}

/// One projected column.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    pub expression: Expression,
    pub alias: Option<String>,
}

/// What stands behind `from`.
#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    pub target: ExtentTarget,
    /// `stop`: do not look below a match.
    pub stop: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExtentTarget {
    /// `*`
    Everything,
    /// `control:ControlPoint`
    Type(String),
    /// `/Stn/Hist`, on the base `history:`
    History(String),
    /// `openAlarms`, on the base `alarm:`
    Named(String),
}

/// One key of `order by`.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderKey {
    pub expression: Expression,
    pub descending: bool,
}

/// A value-giving expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Literal(Literal),
    Path(Vec<Step>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Aggregate(Aggregate, Option<Box<Expression>>),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    Null,
    Boolean(bool),
    Number(f64),
    Text(String),
    /// `alarm:SourceState.normal`
    Enum {
        type_spec: String,
        tag: String,
    },
    /// `baja:AbsTime '…'`
    Simple {
        type_spec: String,
        encoding: String,
    },
    /// `control:NumericWritable`
    Type(String),
}

/// A slot or a method of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub name: String,
    /// None for a slot or a method without parentheses.
    pub arguments: Option<Vec<Expression>>,
}

/// A function over all rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregate {
    Count,
    Sum,
    Avg,
    Min,
    Max,
}

impl Aggregate {
    pub const ALL: [Self; 5] = [Self::Count, Self::Sum, Self::Avg, Self::Min, Self::Max];

    pub fn name(self) -> &'static str {
        match self {
            Self::Count => "COUNT",
            Self::Sum => "SUM",
            Self::Avg => "AVG",
            Self::Min => "MIN",
            Self::Max => "MAX",
        }
    }
}

/// A binary operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// Binding strength: the higher, the tighter (Station web specification §3.4).
    pub fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessOrEqual
            | Self::Greater
            | Self::GreaterOrEqual
            | Self::Like
            | Self::In => 3,
            Self::Add | Self::Subtract => 4,
            Self::Multiply | Self::Divide | Self::Remainder => 5,
        }
    }

    pub fn symbol(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Like => "like",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

impl Expression {
    /// Whether an aggregate occurs anywhere inside.
    pub fn has_aggregate(&self) -> bool {
        match self {
            Self::Aggregate(..) => true,
            Self::Literal(_) | Self::Path(_) => false,
            Self::Not(inner) | Self::Negative(inner) => inner.has_aggregate(),
            Self::Binary(_, left, right) => left.has_aggregate() || right.has_aggregate(),
        }
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn joined<T: fmt::Display>(items: &[T]) -> String {
    let texts: Vec<String> = items.iter().map(T::to_string).collect();
    texts.join(", ")
}

impl fmt::Display for Literal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Boolean(value) => write!(out, "{value}"),
            Self::Number(value) => write!(out, "{value}"),
            Self::Text(text) => out.write_str(&quoted(text)),
            Self::Enum { type_spec, tag } => write!(out, "{type_spec}.{tag}"),
            Self::Simple {
                type_spec,
                encoding,
            } => write!(out, "{type_spec} {}", quoted(encoding)),
            Self::Type(spec) => out.write_str(spec),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        match &self.arguments {
            Some(arguments) => write!(out, "({})", joined(arguments)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(literal) => literal.fmt(out),
            Self::Path(steps) => {
                let names: Vec<String> = steps.iter().map(Step::to_string).collect();
                out.write_str(&names.join("."))
            }
            Self::Not(inner) => write!(out, "not ({inner})"),
            Self::Negative(inner) => write!(out, "-({inner})"),
            Self::Binary(operator, left, right) => {
                write!(out, "({left}) {} ({right})", operator.symbol())
            }
            Self::Aggregate(function, Some(argument)) => {
                write!(out, "{}({argument})", function.name())
            }
            Self::Aggregate(function, None) => write!(out, "{}(*)", function.name()),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(out)?;
        match &self.alias {
            Some(alias) => write!(out, " as {}", quoted(alias)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Select {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("select")?;
        if let Some(top) = self.top {
            write!(out, " top {top}")?;
        }
        if self.distinct {
            out.write_str(" distinct")?;
        }
        match &self.projection {
            Projection::All => out.write_str(" *")?,
            Projection::Whole => {}
            Projection::Columns(items) => write!(out, " {}", joined(items))?,
        }
        if let Some(extent) = &self.extent {
            match &extent.target {
                ExtentTarget::Everything => out.write_str(" from *")?,
                ExtentTarget::Type(name)
                | ExtentTarget::History(name)
                | ExtentTarget::Named(name) => write!(out, " from {name}")?,
            }
            if extent.stop {
                out.write_str(" stop")?;
            }
        }
        if let Some(filter) = &self.filter {
            write!(out, " where {filter}")?;
        }
        if let Some(having) = &self.having {
            write!(out, " having {having}")?;
        }
        if !self.order.is_empty() {
            let keys: Vec<String> = self
                .order
                .iter()
                .map(|key| {
                    let direction = if key.descending { " desc" } else { "" };
                    format!("{}{direction}", key.expression)
                })
                .collect();
            write!(out, " order by {}", keys.join(", "))?;
        }
        Ok(())
    }
}
