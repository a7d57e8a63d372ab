//! Names compared with patterns in which `*` stands for anything.

/// Whether a name fits a pattern in which `*` stands for anything; case does not matter.
pub fn matches_pattern(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slot_patterns_know_one_wildcard() {
        for (pattern, name, fits) in [
            ("*SAT*", "AHU1_sat_2", true),
            ("*SA_Temp", "SA_Temp", true),
            ("SA*", "RSA", false),
            ("*", "x", true),
            ("SAT", "SAT", true),
            ("SAT", "SAT2", false),
            ("a*b*c", "aXbYc", true),
            ("a*b*c", "aXcYb", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), fits, "{pattern} {name}");
        }
    }
}
