//! Keeps expression trees low, because they are evaluated by recursion.

use super::ParseError;
use crate::web::bql::ast::{Expression, Literal, Operator, Projection, Select};

/// Most operators of one strength in a row, apart from `and` and `or`, which are balanced.
const CHAIN_LIMIT: usize = 64;

/// Highest tree of an expression, so that evaluating it cannot exhaust a thread's stack.
const HEIGHT_LIMIT: usize = 256;

/// Operands of one run of `and` or `or`, or a single operand.
pub(super) struct Chain {
    operator: Operator,
    operands: Vec<Expression>,
    links: usize,
}

impl Chain {
    pub(super) fn of(first: Expression) -> Self {
        Self {
            operator: Operator::And,
            operands: vec![first],
            links: 0,
        }
    }

    pub(super) fn push(&mut self, operator: Operator, right: Expression) -> Result<(), ParseError> {
        let logical = matches!(operator, Operator::And | Operator::Or);
        if logical && (self.operands.len() == 1 || self.operator == operator) {
            self.operator = operator;
            self.operands.push(right);
            return Ok(());
        }
        self.links += 1;
        if self.links > CHAIN_LIMIT {
            return Err(ParseError::TooDeep);
        }
        let left = Box::new(self.collapse());
        self.operands = if logical {
            self.operator = operator;
            vec![*left, right]
        } else {
            vec![Expression::Binary(operator, left, Box::new(right))]
        };
        Ok(())
    }

    /// The operands as a tree whose height grows with the logarithm of their number.
    fn collapse(&mut self) -> Expression {
        let mut level = std::mem::take(&mut self.operands);
        while level.len() > 1 {
            let mut next = Vec::with_capacity(level.len().div_ceil(2));
            let mut operands = level.into_iter();
            while let Some(left) = operands.next() {
                next.push(match operands.next() {
                    Some(right) => {
                        Expression::Binary(self.operator, Box::new(left), Box::new(right))
                    }
                    None => left,
                });
            }
            level = next;
        }
        level.pop().unwrap_or(Expression::Literal(Literal::Null))
    }

    pub(super) fn into_expression(mut self) -> Expression {
        self.collapse()
    }
}

/// Whether every expression of a query is low enough to be evaluated by recursion.
pub(super) fn is_low(select: &Select) -> bool {
    let mut pending: Vec<(&Expression, usize)> = Vec::new();
    if let Projection::Columns(items) = &select.projection {
        pending.extend(items.iter().map(|item| (&item.expression, 1)));
    }
    pending.extend(select.filter.iter().chain(&select.having).map(|e| (e, 1)));
    pending.extend(select.order.iter().map(|key| (&key.expression, 1)));
    while let Some((expression, height)) = pending.pop() {
        if height > HEIGHT_LIMIT {
            return false;
        }
        let below = height + 1;
        match expression {
            Expression::Literal(_) => {}
            Expression::Path(steps) => {
                let arguments = steps
                    .iter()
                    .flat_map(|step| step.arguments.iter().flatten());
                pending.extend(arguments.map(|argument| (argument, below)));
            }
            Expression::Not(inner) | Expression::Negative(inner) => pending.push((inner, below)),
            Expression::Binary(_, left, right) => {
                pending.extend([(left.as_ref(), below), (right.as_ref(), below)]);
            }
            Expression::Aggregate(_, argument) => {
                pending.extend(argument.as_deref().map(|argument| (argument, below)));
            }
        }
    }
    true
}
