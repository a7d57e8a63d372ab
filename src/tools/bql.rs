//! `bqlQuery`: a table as the station prints it (Tool surface §8.3).

use futures::future::BoxFuture;
use serde_json::{Map, json};

use super::registry::{Annotations, Category, Tool, ToolDefinition, ToolOutput, ToolResult};
use super::schema::{self, object};
use super::station_access::{SharedStations, query_error, scope};
use super::{Arguments, CallContext};
use crate::station::facade::{TextTable, bound_query};

/// `bqlQuery`.
pub struct BqlQuery(pub SharedStations);

impl Tool for BqlQuery {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "bqlQuery",
            Category::Read,
            Annotations::READ,
            "Runs a BQL select query and returns tab-separated text: a header line, one line per row, then a footer \
             such as [rows=2, truncated at limit=2]. At most 1000 rows. 'select *' needs a base below the root. \
             Example: {\"query\":\"station:|slot:/Drivers|bql:select name, out from control:NumericPoint\",\"limit\":50}.",
        )
        .input(
            object()
                .required("query", schema::string("A full ord with its bql: part."))
                .optional("limit", schema::integer_between("Most rows to return.", 1, 1000, 100)),
        )
    }

    fn run<'a>(
        &'a self,
        context: &'a CallContext,
        arguments: Arguments,
    ) -> BoxFuture<'a, ToolResult> {
        Box::pin(async move {
            let query = arguments.string("query")?;
            let limit = arguments.count("limit", 100);
            // One row more than wanted proves that there is more.
            let bounded = bound_query(query, limit + 1)
                .map_err(|refusal| query_error(refusal, query, query))?;
            let sent = bounded.ord();
            let station = self.0.for_caller(&context.principal)?;
            let table = station
                .text_table(&scope(context), &bounded, limit)
                .await
                .map_err(|error| query_error(error, query, &sent))?;
            let mut structured = Map::new();
            structured.insert("columns".to_owned(), json!(table.header));
            structured.insert("rows".to_owned(), json!(table.rows));
            structured.insert("rowCount".to_owned(), json!(table.rows.len()));
            structured.insert(
                "truncated".to_owned(),
                json!(table.truncated || table.truncated_by_timeout || table.incomplete),
            );
            Ok(ToolOutput::text_with(
                tab_separated(&table, limit),
                structured,
            ))
        })
    }
}

fn tab_separated(table: &TextTable, limit: usize) -> String {
    let mut text = String::new();
    for row in std::iter::once(&table.header).chain(&table.rows) {
        let cells: Vec<String> = row
            .iter()
            .map(|cell| cell.replace(['\t', '\n', '\r'], " "))
            .collect();
        text.push_str(&cells.join("\t"));
        text.push('\n');
    }
    text.push_str(&format!("\n[rows={}", table.rows.len()));
    if table.truncated {
        text.push_str(&format!(", truncated at limit={limit}"));
    }
    if table.truncated_by_timeout {
        text.push_str(", truncated due to 10s timeout");
    }
    if table.incomplete {
        text.push_str(", truncated because the station's answer was incomplete or too large");
    }
    text.push(']');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(header: &[&str], rows: &[&[&str]]) -> TextTable {
        TextTable {
            header: header.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: rows
                .iter()
                .map(|row| row.iter().map(|cell| (*cell).to_owned()).collect())
                .collect(),
            truncated: false,
            truncated_by_timeout: false,
            incomplete: false,
        }
    }

    #[test]
    fn the_text_has_header_rows_and_footer() {
        let mut two = table(&["Name", "Out"], &[&["A", "1"], &["B", "2"]]);
        two.truncated = true;
        assert_eq!(
            tab_separated(&two, 2),
            "Name\tOut\nA\t1\nB\t2\n\n[rows=2, truncated at limit=2]"
        );
        assert_eq!(tab_separated(&table(&["Name"], &[]), 2), "Name\n\n[rows=0]");
    }

    #[test]
    fn line_breaks_and_tabs_in_cells_become_one_space_each() {
        assert_eq!(
            tab_separated(&table(&["A"], &[&["x\ty\r\nz"]]), 5),
            "A\nx y  z\n\n[rows=1]"
        );
    }

    #[test]
    fn a_timeout_is_told_beside_the_limit() {
        let mut torn = table(&["A"], &[&["1"]]);
        torn.incomplete = true;
        assert!(tab_separated(&torn, 1).ends_with(
            "[rows=1, truncated because the station's answer was incomplete or too large]"
        ));
        let mut late = table(&["A"], &[&["1"]]);
        late.truncated = true;
        late.truncated_by_timeout = true;
        assert!(
            tab_separated(&late, 1)
                .ends_with("[rows=1, truncated at limit=1, truncated due to 10s timeout]")
        );
    }
}
