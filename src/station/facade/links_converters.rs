//! Which converters can stand between two slots, told by their names: `StatusNumericToStatusString` (Tool surface §12
//! row 30).

/// Most candidates that are named.
const MOST: usize = 10;

/// Converters from a type of one lineage to a type of another, the closest types first.
///
/// Lineages begin with the type itself.
pub(super) fn fitting(converters: &[String], source: &[String], sink: &[String]) -> Vec<String> {
    let mut fitting: Vec<(usize, &String)> = converters
        .iter()
        .filter_map(|converter| Some((distance(converter, source, sink)?, converter)))
        .collect();
    fitting.sort();
    let names = fitting.into_iter().map(|(_, converter)| converter.clone());
    names.take(MOST).collect()
}

/// How many steps the types in a converter's name are above those of the slots.
fn distance(converter: &str, source: &[String], sink: &[String]) -> Option<usize> {
    let name = simple_name(converter);
    let splits = name.match_indices("To");
    let distances = splits.filter_map(|(at, to)| {
        let from = steps(name.get(..at)?, source)?;
        let into = steps(name.get(at + to.len()..)?, sink)?;
        Some(from + into)
    });
    distances.min()
}

/// Interfaces are named with an `I` in front: a converter of `INumeric` is called after the word.
fn steps(name: &str, lineage: &[String]) -> Option<usize> {
    lineage.iter().position(|type_spec| {
        let known = simple_name(type_spec);
        known == name || known.strip_prefix('I') == Some(name)
    })
}

fn simple_name(type_spec: &str) -> &str {
    type_spec
        .split_once(':')
        .map_or(type_spec, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn the_closest_types_come_first_and_others_not_at_all() {
        let converters = names(&[
            "converters:ObjectToStatusString",
            "converters:StatusNumericToStatusString",
            "converters:StatusValueToStatusString",
            "converters:StatusNumericToStatusBoolean",
            "converters:StatusBooleanToStatusString",
            "acme:Gadget",
        ]);
        let source = names(&["baja:StatusNumeric", "baja:StatusValue", "baja:Object"]);
        let sink = names(&["baja:StatusString", "baja:StatusValue", "baja:Object"]);
        assert_eq!(
            fitting(&converters, &source, &sink),
            [
                "converters:StatusNumericToStatusString",
                "converters:StatusValueToStatusString",
                "converters:ObjectToStatusString",
            ]
        );
    }

    #[test]
    fn interfaces_and_names_with_the_word_inside_are_understood() {
        let source = names(&["acme:Total", "baja:INumeric"]);
        let sink = names(&["baja:Boolean"]);
        let converters = names(&[
            "acme:TotalToBoolean",
            "acme:NumericToBoolean",
            "acme:ToBoolean",
        ]);
        assert_eq!(
            fitting(&converters, &source, &sink),
            ["acme:TotalToBoolean", "acme:NumericToBoolean"]
        );
    }
}
