//! Recursive-descent parser of BQL (Station web specification §3.4).

mod height;

use thiserror::Error;

use super::ast::{
    Aggregate, Expression, Extent, ExtentTarget, Item, Literal, Operator, OrderKey, Projection,
    Select, Step,
};
use super::lexer::{LexError, Token, TokenKind, tokens};
use height::{Chain, is_low};

/// Deepest recursion of the parser; deeper nesting is refused before it can exhaust the stack.
const DEPTH_LIMIT: usize = 64;

/// The text is no BQL query.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ParseError {
    #[error(transparent)]
    Lex(#[from] LexError),
    #[error("expected {expected} at character {at}, found {found}")]
    Expected {
        expected: &'static str,
        found: String,
        at: usize,
    },
    #[error("the expression is nested too deeply; split it")]
    TooDeep,
}

/// Words that cannot start a path, because they continue a query.
const RESERVED: [&str; 16] = [
    "select", "top", "distinct", "all", "from", "where", "having", "order", "by", "asc", "desc",
    "and", "or", "like", "in", "as",
];

/// Parses a whole query.
pub fn parse(text: &str) -> Result<Select, ParseError> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        position: 0,
        end: text.len(),
        depth: 0,
    };
    let select = parser.select()?;
    match parser.peek() {
        None if !is_low(&select) => Err(ParseError::TooDeep),
        None => Ok(select),
        Some(_) => Err(parser.expected("the end of the query")),
    }
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    end: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&TokenKind> {
        self.tokens.get(self.position).map(|token| &token.kind)
    }

    fn expected(&self, expected: &'static str) -> ParseError {
        let token = self.tokens.get(self.position);
        let found = match token.map(|token| &token.kind) {
            None => "the end".to_owned(),
            Some(TokenKind::Word(text) | TokenKind::TypeSpec(text)) => format!("`{text}`"),
            Some(TokenKind::Number(number)) => format!("`{number}`"),
            Some(TokenKind::Text(text)) => format!("'{text}'"),
            Some(TokenKind::Symbol(symbol)) => format!("`{symbol}`"),
        };
        ParseError::Expected {
            expected,
            found,
            at: token.map_or(self.end, |token| token.at),
        }
    }

    fn at_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Word(word)) if word.eq_ignore_ascii_case(keyword))
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.at_keyword(keyword);
        self.position += usize::from(found);
        found
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = matches!(self.peek(), Some(TokenKind::Symbol(found)) if *found == symbol);
        self.position += usize::from(found);
        found
    }

    fn demand_symbol(&mut self, symbol: &str, name: &'static str) -> Result<(), ParseError> {
        if self.take_symbol(symbol) {
            Ok(())
        } else {
            Err(self.expected(name))
        }
    }

    fn take_word(&mut self) -> Option<String> {
        let Some(TokenKind::Word(word)) = self.peek() else {
            return None;
        };
        let word = word.clone();
        self.position += 1;
        Some(word)
    }

    fn select(&mut self) -> Result<Select, ParseError> {
        if !self.take_keyword("select") {
            return Err(self.expected("`select`"));
        }
        let top = self.top()?;
        let distinct = self.take_keyword("distinct");
        if !distinct {
            self.take_keyword("all");
        }
        let projection = self.projection()?;
        let extent = if self.take_keyword("from") {
            Some(self.extent()?)
        } else {
            None
        };
        let filter = self.clause("where")?;
        let having = self.clause("having")?;
        let order = self.order()?;
        Ok(Select {
            top,
            distinct,
            projection,
            extent,
            filter,
            having,
            order,
        })
    }

    fn top(&mut self) -> Result<Option<usize>, ParseError> {
        if !self.at_keyword("top") {
            return Ok(None);
        }
        // `top` may also be the name of a slot.
        let Some(TokenKind::Number(number)) =
            self.tokens.get(self.position + 1).map(|token| &token.kind)
        else {
            return Ok(None);
        };
        let number = *number;
        self.position += 1;
        if number.fract() != 0.0 || number < 0.0 {
            return Err(self.expected("a whole number of rows"));
        }
        self.position += 1;
        // Saturates: more rows than that never exist.
        Ok(Some(number as usize))
    }

    fn projection(&mut self) -> Result<Projection, ParseError> {
        if self.take_symbol("*") {
            return Ok(Projection::All);
        }
        let ends = ["from", "where", "having", "order"];
        if self.peek().is_none() || ends.iter().any(|word| self.at_keyword(word)) {
            return Ok(Projection::Whole);
        }
        let mut items = Vec::new();
        loop {
            let expression = self.expression()?;
            let alias = if self.take_keyword("as") {
                Some(self.alias()?)
            } else {
                None
            };
            items.push(Item { expression, alias });
            if !self.take_symbol(",") {
                return Ok(Projection::Columns(items));
            }
        }
    }

    fn alias(&mut self) -> Result<String, ParseError> {
        let alias = match self.peek() {
            Some(TokenKind::Text(text) | TokenKind::Word(text)) => text.clone(),
            _ => return Err(self.expected("an alias")),
        };
        self.position += 1;
        Ok(alias)
    }

    fn extent(&mut self) -> Result<Extent, ParseError> {
        let target = match self.peek() {
            Some(TokenKind::Symbol("*")) => {
                self.position += 1;
                ExtentTarget::Everything
            }
            Some(TokenKind::Symbol("/")) => ExtentTarget::History(self.history_id()?),
            Some(TokenKind::TypeSpec(spec)) => {
                let spec = spec.clone();
                self.position += 1;
                ExtentTarget::Type(spec)
            }
            Some(TokenKind::Word(word)) => {
                let word = word.clone();
                self.position += 1;
                ExtentTarget::Named(word)
            }
            _ => return Err(self.expected("a type, `*`, a history id or a named extent")),
        };
        let stop = self.take_keyword("stop");
        Ok(Extent { target, stop })
    }

    fn history_id(&mut self) -> Result<String, ParseError> {
        let mut id = String::new();
        while self.take_symbol("/") {
            let part = self
                .take_word()
                .ok_or_else(|| self.expected("a history name"))?;
            id.push('/');
            id.push_str(&part);
        }
        Ok(id)
    }

    fn clause(&mut self, keyword: &str) -> Result<Option<Expression>, ParseError> {
        if self.take_keyword(keyword) {
            self.expression().map(Some)
        } else {
            Ok(None)
        }
    }

    fn order(&mut self) -> Result<Vec<OrderKey>, ParseError> {
        let mut keys = Vec::new();
        if !self.take_keyword("order") {
            return Ok(keys);
        }
        if !self.take_keyword("by") {
            return Err(self.expected("`by`"));
        }
        loop {
            let expression = self.expression()?;
            let descending = self.take_keyword("desc");
            if !descending {
                self.take_keyword("asc");
            }
            keys.push(OrderKey {
                expression,
                descending,
            });
            if !self.take_symbol(",") {
                return Ok(keys);
            }
        }
    }

    fn expression(&mut self) -> Result<Expression, ParseError> {
        self.binary(1)
    }

    /// Precedence climbing; all binary operators group to the left, `and` and `or` in balanced trees.
    fn binary(&mut self, weakest: u8) -> Result<Expression, ParseError> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(ParseError::TooDeep);
        }
        let mut chain = Chain::of(self.unary()?);
        while let Some(operator) = self.operator().filter(|op| op.precedence() >= weakest) {
            self.position += 1;
            let right = self.binary(operator.precedence() + 1)?;
            chain.push(operator, right)?;
        }
        self.depth -= 1;
        Ok(chain.into_expression())
    }

    fn operator(&self) -> Option<Operator> {
        Some(match self.peek()? {
            TokenKind::Symbol(symbol) => match *symbol {
                "=" => Operator::Equal,
                "!=" | "<>" => Operator::NotEqual,
                "<" => Operator::Less,
                "<=" => Operator::LessOrEqual,
                ">" => Operator::Greater,
                ">=" => Operator::GreaterOrEqual,
                "+" => Operator::Add,
                "-" => Operator::Subtract,
                "*" => Operator::Multiply,
                "/" => Operator::Divide,
                "%" => Operator::Remainder,
                _ => return None,
            },
            TokenKind::Word(word) => match word.to_ascii_lowercase().as_str() {
                "or" => Operator::Or,
                "and" => Operator::And,
                "like" => Operator::Like,
                "in" => Operator::In,
                _ => return None,
            },
            _ => return None,
        })
    }

    fn unary(&mut self) -> Result<Expression, ParseError> {
        self.depth += 1;
        if self.depth > DEPTH_LIMIT {
            return Err(ParseError::TooDeep);
        }
        let parsed = if self.take_symbol("!") || self.take_keyword("not") {
            Expression::Not(Box::new(self.unary()?))
        } else if self.take_symbol("-") {
            match self.unary()? {
                Expression::Literal(Literal::Number(number)) => {
                    Expression::Literal(Literal::Number(-number))
                }
                inner => Expression::Negative(Box::new(inner)),
            }
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(parsed)
    }

    fn primary(&mut self) -> Result<Expression, ParseError> {
        if self.take_symbol("(") {
            let inner = self.expression()?;
            self.demand_symbol(")", "`)`")?;
            return Ok(inner);
        }
        let literal = match self.peek() {
            Some(TokenKind::Number(number)) => Literal::Number(*number),
            Some(TokenKind::Text(text)) => Literal::Text(text.clone()),
            Some(TokenKind::TypeSpec(spec)) => {
                let spec = spec.clone();
                self.position += 1;
                return self.typed_literal(spec).map(Expression::Literal);
            }
            Some(TokenKind::Word(word)) => match word.as_str() {
                "true" => Literal::Boolean(true),
                "false" => Literal::Boolean(false),
                "null" => Literal::Null,
                _ => return self.path_or_aggregate(),
            },
            _ => return Err(self.expected("a value or a slot")),
        };
        self.position += 1;
        Ok(Expression::Literal(literal))
    }

    /// What may follow `module:Type`: a quoted encoding, `.tag`, or nothing.
    fn typed_literal(&mut self, type_spec: String) -> Result<Literal, ParseError> {
        if let Some(TokenKind::Text(encoding)) = self.peek() {
            let encoding = encoding.clone();
            self.position += 1;
            return Ok(Literal::Simple {
                type_spec,
                encoding,
            });
        }
        if self.take_symbol(".") {
            let tag = self
                .take_word()
                .ok_or_else(|| self.expected("an enum tag"))?;
            return Ok(Literal::Enum { type_spec, tag });
        }
        Ok(Literal::Type(type_spec))
    }

    fn path_or_aggregate(&mut self) -> Result<Expression, ParseError> {
        let opens = matches!(
            self.tokens.get(self.position + 1).map(|token| &token.kind),
            Some(TokenKind::Symbol("("))
        );
        let aggregate = Aggregate::ALL
            .into_iter()
            .find(|function| opens && self.at_keyword(function.name()));
        if let Some(function) = aggregate {
            self.position += 2;
            if self.take_symbol("*") {
                self.demand_symbol(")", "`)`")?;
                return Ok(Expression::Aggregate(function, None));
            }
            let argument = self.expression()?;
            self.demand_symbol(")", "`)`")?;
            return Ok(Expression::Aggregate(function, Some(Box::new(argument))));
        }
        if !opens && RESERVED.iter().any(|word| self.at_keyword(word)) {
            return Err(self.expected("a value or a slot"));
        }
        self.path().map(Expression::Path)
    }

    fn path(&mut self) -> Result<Vec<Step>, ParseError> {
        let mut steps = Vec::new();
        loop {
            let name = self
                .take_word()
                .ok_or_else(|| self.expected("a slot name"))?;
            let arguments = if self.take_symbol("(") {
                Some(self.arguments()?)
            } else {
                None
            };
            steps.push(Step { name, arguments });
            if !self.take_symbol(".") {
                return Ok(steps);
            }
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expression>, ParseError> {
        let mut arguments = Vec::new();
        if self.take_symbol(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression()?);
            if self.take_symbol(")") {
                return Ok(arguments);
            }
            self.demand_symbol(",", "`,` or `)`")?;
        }
    }
}

#[cfg(test)]
mod tests;
