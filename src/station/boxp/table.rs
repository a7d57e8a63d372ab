//! Query results as BOX tables: typed cells, page by page (Station web specification §4.9; `TAB` of the
//! Tool surface §13.5.1).

use serde_json::{Value as Json, json};

use super::client::{BoxClient, node_error, protocol, resolve_table_request};
use super::frame::Request;
use super::node::Node;
use crate::station::error::StationError;
use crate::station::http::CallScope;

/// Rows per page.
const PAGE: usize = 500;
/// The most rows that one query returns.
pub const MAX_ROWS: usize = 50_000;

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub display_name: Option<String>,
    pub type_spec: Option<String>,
    /// Encoded facets.
    pub facets: Option<String>,
}

/// A query's result; rows hold one cell per column.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BoxTable {
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Node>>,
    /// More rows exist than were asked for.
    pub is_truncated: bool,
}

impl BoxTable {
    /// Position of a column by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

impl BoxClient {
    /// Runs a BQL ORD (`station:|slot:/|bql:select …`, `alarm:|bql:…`, `history:…|bql:…`) and reads at
    /// most `limit` rows, 50,000 at the most.
    ///
    /// # Errors
    /// [`StationError::BadQuery`] when the station refuses the query.
    pub async fn table(
        &self,
        scope: &CallScope,
        ord: &str,
        limit: usize,
    ) -> Result<BoxTable, StationError> {
        let limit = limit.min(MAX_ROWS);
        // One row more than wanted tells whether there are more.
        let page = PAGE.min(limit + 1);
        let body = self
            .call(scope, resolve_table_request(ord, page))
            .await?
            .map_err(|refusal| self.query_refused(ord, refusal))?;
        let head =
            read_head(&body).ok_or_else(|| protocol(ord, "a BOX table", "something else"))?;
        let mut table = BoxTable {
            columns: head.columns,
            ..BoxTable::default()
        };
        let mut rows = read_rows(ord, &head.first_rows, table.columns.len())?;
        let mut offset = 0;
        loop {
            let received = rows.len();
            offset += received;
            table.rows.append(&mut rows);
            if table.rows.len() > limit {
                table.rows.truncate(limit);
                table.is_truncated = true;
                return Ok(table);
            }
            if received < page {
                return Ok(table);
            }
            let Some(request) = cursor_request(&head.request, offset, page) else {
                return Err(protocol(
                    ord,
                    "a table that names its next page",
                    "one without",
                ));
            };
            let body = self
                .call(scope, request)
                .await?
                .map_err(|refusal| self.query_refused(ord, refusal))?;
            let next = if body.is_array() {
                &body
            } else {
                body.get("c").unwrap_or(&Json::Null)
            };
            rows = read_rows(ord, next, table.columns.len())?;
        }
    }

    fn query_refused(&self, ord: &str, refusal: super::frame::Refusal) -> StationError {
        self.refused(ord, refusal, |query, detail| StationError::BadQuery {
            query,
            detail,
        })
    }
}

struct TableHead {
    columns: Vec<Column>,
    request: Json,
    first_rows: Json,
}

/// The head is JSON inside the text value of a node; the first rows stand beside it or in it.
fn read_head(body: &Json) -> Option<TableHead> {
    let node = body.get("o")?;
    let head: Json = match node.get("v")? {
        Json::String(text) => serde_json::from_str(text).ok()?,
        other => other.clone(),
    };
    let text = |column: &Json, key: &str| column.get(key).and_then(Json::as_str).map(str::to_owned);
    let columns = head.get("cols")?.as_array()?.iter().map(|column| Column {
        name: text(column, "n").unwrap_or_default(),
        display_name: text(column, "dn"),
        type_spec: text(column, "t"),
        facets: text(column, "x"),
    });
    let first_rows = [body, node, &head]
        .iter()
        .find_map(|place| place.get("c"))
        .cloned()
        .unwrap_or(Json::Null);
    Some(TableHead {
        columns: columns.collect(),
        request: head.get("req").cloned().unwrap_or(Json::Null),
        first_rows,
    })
}

fn cursor_request(request: &Json, offset: usize, limit: usize) -> Option<Request> {
    let mut body = request.as_object()?.clone();
    body.insert("of".into(), json!(offset));
    body.insert("lm".into(), json!(limit));
    Some(Request::new("ord", "cursor", Json::Object(body)))
}

fn read_rows(ord: &str, rows: &Json, columns: usize) -> Result<Vec<Vec<Node>>, StationError> {
    let Some(rows) = rows.as_array() else {
        return Ok(Vec::new());
    };
    rows.iter()
        .map(|row| {
            let cells = row
                .as_array()
                .ok_or_else(|| protocol(ord, "table rows that are lists of cells", "others"))?;
            if cells.len() != columns {
                return Err(protocol(
                    ord,
                    "one cell per column",
                    &format!("{} cells for {columns} columns", cells.len()),
                ));
            }
            cells.iter().map(|cell| read_cell(ord, cell)).collect()
        })
        .collect()
}

fn read_cell(ord: &str, cell: &Json) -> Result<Node, StationError> {
    match cell {
        Json::Null => Ok(Node::property("", None)),
        cell => Node::decode(cell).map_err(|error| node_error(ord, &error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_is_read_with_rows_beside_or_inside_it() {
        let head = r#"{"cols":[{"n":"name","dn":"Name","t":"baja:String"}],"req":{"q":7}}"#;
        let rows = json!([[{"t":"baja:String","v":"A"}]]);
        for body in [
            json!({"o":{"t":"box:BoxTable","v":head},"c":rows}),
            json!({"o":{"t":"box:BoxTable","v":head,"c":rows}}),
        ] {
            let head = read_head(&body).expect("a table");
            assert_eq!(
                (head.columns[0].name.as_str(), head.columns.len()),
                ("name", 1)
            );
            let rows = read_rows("q", &head.first_rows, 1).expect("rows");
            assert_eq!(rows[0][0].value.as_deref(), Some("A"));
            let next = cursor_request(&head.request, 500, 500).expect("a request");
            assert_eq!(next.body, json!({"q":7,"of":500,"lm":500}));
        }
        assert!(read_head(&json!({"o":{"t":"baja:Folder","s":[]}})).is_none());
        assert!(
            read_rows("q", &json!([[{}]]), 2).is_err(),
            "torn rows are refused"
        );
    }
}
