//! Which names of equipment, classes and roles may enter a store (Store §10.4).

use super::StoreError;
use crate::visible_text::is_invisible;

/// A longer id could not be passed back as an argument of a capability.
const LONGEST: usize = 200;

/// What findings of all equipment together name in place of one (Engine §4.3).
const FLEET: &str = "<fleet>";

/// Refuses an equipment id that could not be shown or asked for.
///
/// # Errors
/// It is empty, too long, has blanks at its ends or characters that nobody sees, or means all equipment together.
pub fn check_equipment(id: &str) -> Result<(), StoreError> {
    if id.is_empty() {
        return Err(StoreError::Refused(
            "an equipment id is empty; give the equipment a name".to_owned(),
        ));
    }
    if id == FLEET {
        return Err(StoreError::Refused(format!(
            "the equipment id {FLEET:?} stands for all equipment together in the findings of rules; give the equipment \
             another id in the knowledge file, or in the mapping file of an import"
        )));
    }
    check("equipment id", id)
}

/// Refuses an equipment class as [`check_equipment`] does; an empty class means unknown.
///
/// # Errors
/// As [`check_equipment`].
pub fn check_class(class: &str) -> Result<(), StoreError> {
    check("equipment class", class)
}

/// Refuses a role as [`check_equipment`] does.
///
/// # Errors
/// As [`check_equipment`].
pub fn check_role(role: &str) -> Result<(), StoreError> {
    if role.is_empty() {
        return Err(StoreError::Refused(
            "a role is empty; name one of the roles of the store specification".to_owned(),
        ));
    }
    check("role", role)
}

fn check(what: &str, name: &str) -> Result<(), StoreError> {
    let problem = if name.chars().count() > LONGEST {
        format!("is longer than {LONGEST} characters")
    } else if name.trim() != name {
        "has blanks at its ends".to_owned()
    } else if let Some(hidden) = name.chars().find(|character| is_invisible(*character)) {
        format!("holds the invisible character U+{:04X}", u32::from(hidden))
    } else {
        return Ok(());
    };
    let shown: String = name.chars().take(LONGEST).collect();
    Err(StoreError::Refused(format!(
        "the {what} {shown:?} {problem}; give it another name in the knowledge file, or in the mapping file of an import"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_field_pass_and_hidden_characters_do_not() {
        for good in [
            "AHU-1",
            "Lüftung 3. OG",
            "冷凍機-2",
            "a/b",
            "station:|slot:/Drivers",
            "fleet-1",
        ] {
            check_equipment(good).unwrap();
        }
        for (bad, problem) in [
            ("", "empty"),
            (" AHU", "blanks"),
            ("AHU\u{202e}1", "U+202E"),
            ("AHU\n1", "U+000A"),
            ("A\u{200b}", "U+200B"),
            ("<fleet>", "all equipment together"),
        ] {
            let error = check_equipment(bad).unwrap_err().to_string();
            assert!(error.contains(problem), "{bad:?}: {error}");
        }
        let error = check_equipment(&"x".repeat(201)).unwrap_err().to_string();
        assert!(error.contains("longer than 200"), "{error}");
        check_class("").unwrap();
        check_role("").unwrap_err();
    }
}
