use super::*;
use crate::model::Flags;

fn table(value: Value, facets: Facets) -> Table {
    Table {
        columns: vec![Column {
            name: "value".into(),
            display: "Value".into(),
            type_spec: value.type_spec().to_owned(),
            facets: Arc::new(facets.clone()),
            flags: Flags::default(),
        }],
        rows: vec![
            vec![Cell::Value {
                value,
                facets: Arc::new(facets),
            }],
            vec![Cell::Null],
            vec![Cell::Missing],
        ],
    }
}

fn text(table: &Table, parameters: &[(&str, &str)], switches: &ExportSwitches) -> String {
    let parameters = ExportParameters::parse(parameters, switches).expect("valid parameters");
    csv_text(table, &parameters, DisplayContext::default(), switches)
}

#[test]
fn a_unit_stands_in_the_header_and_absent_values_are_told_apart() {
    let table = table(Value::Double(1.5), Facets::numeric("percent", 1));
    let switches = ExportSwitches {
        byte_order_mark: false,
        ..ExportSwitches::default()
    };
    assert_eq!(text(&table, &[], &switches), "Value (%)\n1.5\nnull\n\n");
}

#[test]
fn unknown_parameters_are_ignored_and_wrong_values_named() {
    let switches = ExportSwitches::default();
    assert!(ExportParameters::parse(&[("colour", "red")], &switches).is_ok());
    let error =
        ExportParameters::parse(&[("useCRLF", "maybe")], &switches).expect_err("no boolean");
    assert_eq!(error, "`useCRLF=maybe` is neither true nor false");
}
