//! Table exporters: `file:ITableToCsv` and `file:ITableToHtml` (Station web specification §3.3).

use std::sync::Arc;

use http::StatusCode;

use super::csv::{self, CellText, CsvFormat};
use super::pages;
use super::table::{Cell, Column, Table};
use crate::model::display::{DisplayContext, display};
use crate::model::facets::Facets;
use crate::model::value::Value;
use crate::server::PlainResponse;
use crate::switches::{ExportLocale, ExportSwitches, MachineMode};

/// The exporters and views that apply to tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exporter {
    Csv,
    Html,
}

impl Exporter {
    pub(crate) fn of_view(spec: &str) -> Option<Self> {
        match spec {
            "file:ITableToCsv" => Some(Self::Csv),
            "file:ITableToHtml" => Some(Self::Html),
            _ => None,
        }
    }
}

/// What stands behind the `?` of an exporter's view query.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExportParameters {
    include_headers: Option<bool>,
    include_bom: Option<bool>,
    use_crlf: Option<bool>,
    encode_to_string: bool,
    delimiter: Option<String>,
    facets: Option<Facets>,
    file_name: Option<String>,
}

impl ExportParameters {
    /// Reads the parameters; unknown ones are ignored, as properties that an exporter does not have.
    pub(crate) fn parse(pairs: &[(&str, &str)], switches: &ExportSwitches) -> Result<Self, String> {
        if switches.machine_mode == MachineMode::Refused && !pairs.is_empty() {
            return Err("this exporter takes no parameters".to_owned());
        }
        let mut parameters = Self::default();
        for (name, value) in pairs {
            match *name {
                "includeHeaders" => parameters.include_headers = Some(flag(name, value)?),
                "includeBOM" => parameters.include_bom = Some(flag(name, value)?),
                "useCRLF" => parameters.use_crlf = Some(flag(name, value)?),
                "encodeToString" => parameters.encode_to_string = flag(name, value)?,
                // A semicolon separates the parameters, so this one arrives empty.
                "delimiter" if value.is_empty() => parameters.delimiter = Some(";".to_owned()),
                "delimiter" => parameters.delimiter = Some((*value).to_owned()),
                "facets" => {
                    let decoded = Facets::decode(value)
                        .ok_or_else(|| format!("`facets={value}` is not encoded facets"))?;
                    parameters.facets = Some(decoded);
                }
                "fileName" => parameters.file_name = Some((*value).to_owned()),
                _ => {}
            }
        }
        Ok(parameters)
    }
}

fn flag(name: &str, value: &str) -> Result<bool, String> {
    value
        .parse()
        .map_err(|_| format!("`{name}={value}` is neither true nor false"))
}

/// Writes a table as a response.
pub(crate) fn respond(
    exporter: Exporter,
    table: &Table,
    parameters: &ExportParameters,
    reader: DisplayContext,
    switches: &ExportSwitches,
    csrf_token: &str,
) -> PlainResponse {
    let reader = localised(reader, switches);
    match exporter {
        Exporter::Csv => {
            let text = csv_text(table, parameters, reader, switches);
            let response = PlainResponse::content(StatusCode::OK, "text/csv;charset=utf-8", text);
            match &parameters.file_name {
                Some(name) => {
                    let disposition = format!("attachment; filename=\"{}\"", safe_name(name));
                    response.with_header("content-disposition", &disposition)
                }
                None => response,
            }
        }
        Exporter::Html => {
            let html = html_table(table, &reader);
            pages::fragment("Table", csrf_token, &html)
        }
    }
}

fn safe_name(name: &str) -> String {
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._- ".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn localised(mut reader: DisplayContext, switches: &ExportSwitches) -> DisplayContext {
    if let Some(locale) = switches.locale {
        reader.language = match locale {
            ExportLocale::English => "en",
            ExportLocale::German => "de",
        }
        .to_owned();
    }
    if let Some(zone) = switches.time_zone {
        reader.time_zone = zone;
    }
    reader
}

fn header(column: &Column) -> String {
    match column.facets.unit() {
        Some(unit) if !unit.is_null() => format!("{} ({})", column.display, unit.symbol),
        _ => column.display.clone(),
    }
}

pub(crate) fn csv_text(
    table: &Table,
    parameters: &ExportParameters,
    mut reader: DisplayContext,
    switches: &ExportSwitches,
) -> String {
    reader.units = switches.units_in_cells;
    let format = CsvFormat {
        headers: parameters.include_headers.unwrap_or(true),
        byte_order_mark: parameters.include_bom.unwrap_or(switches.byte_order_mark),
        crlf: parameters.use_crlf.unwrap_or(switches.crlf),
        delimiter: parameters.delimiter.clone().unwrap_or_else(|| ",".into()),
        injection_guard: switches.injection_guard,
        dialect: switches.dialect,
    };
    let headers: Vec<String> = table.columns.iter().map(header).collect();
    let rows = table.rows.iter().map(|row| {
        row.iter()
            .map(|cell| cell_text(cell, parameters, &reader))
            .collect()
    });
    csv::write(&format, &headers, rows)
}

fn cell_text(cell: &Cell, parameters: &ExportParameters, reader: &DisplayContext) -> CellText {
    let (text, plain) = match cell {
        Cell::Missing => (String::new(), false),
        Cell::Null => ("null".to_owned(), false),
        Cell::Value { value, facets } => {
            let text = if parameters.encode_to_string && value.as_struct().is_none() {
                value.encode()
            } else {
                display(value, &with_extra(facets, parameters), reader)
            };
            (text, is_plain(value))
        }
    };
    CellText { text, plain }
}

fn with_extra(facets: &Arc<Facets>, parameters: &ExportParameters) -> Arc<Facets> {
    match &parameters.facets {
        None => facets.clone(),
        Some(extra) => {
            let mut merged = Facets::clone(facets);
            for (key, value) in extra.iter() {
                merged.set(key, value.clone());
            }
            Arc::new(merged)
        }
    }
}

/// Values that the old dialect leaves unquoted.
fn is_plain(value: &Value) -> bool {
    matches!(
        value,
        Value::Boolean(_)
            | Value::Integer(_)
            | Value::Long(_)
            | Value::Float(_)
            | Value::Double(_)
            | Value::RelTime(_)
            | Value::AbsTime(_)
    )
}

/// The HTML exporter's table: an extra empty last column, and `null` for a missing value.
fn html_table(table: &Table, reader: &DisplayContext) -> String {
    let mut html = String::from("<table class='fill'>\n<tr>");
    for column in &table.columns {
        html.push_str(&format!("<th>{}</th>", pages::escape(&header(column))));
    }
    html.push_str("<th class='fill'></th></tr>\n");
    for row in &table.rows {
        html.push_str("<tr>");
        for cell in row {
            let text = match cell {
                Cell::Missing | Cell::Null => "null".to_owned(),
                Cell::Value { value, facets } => display(value, facets, reader),
            };
            html.push_str(&format!("<td>{}</td>", pages::escape(&text)));
        }
        html.push_str("<td class='fill'></td></tr>\n");
    }
    html.push_str("</table>\n");
    html
}

#[cfg(test)]
mod tests;
