//! How a vendor writes numbers and times (Store §11).

/// Texts that stand for no value, in lower case (Store §11).
const NOTHING: [&str; 23] = [
    "",
    "nan",
    "null",
    "none",
    "n/a",
    "na",
    "#n/a",
    "---",
    "--",
    "[-]",
    "-",
    "?",
    "bad",
    "no data",
    "nodata",
    "comm fail",
    "commfail",
    "err",
    "error",
    "#value!",
    "{null}",
    "{fault}",
    "{down}",
];

/// The conventions of one vendor's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    pub name: &'static str,
    pub delimiter: u8,
    /// None finds the form out from the first stamps.
    pub time_format: Option<&'static str>,
    pub day_first: bool,
    pub decimal: char,
    pub thousands: char,
}

const fn profile(name: &'static str, time_format: Option<&'static str>) -> Profile {
    Profile {
        name,
        delimiter: b',',
        time_format,
        day_first: false,
        decimal: '.',
        thousands: ',',
    }
}

/// The vendors that CAMBER knows (Store §11).
pub const PROFILES: [Profile; 6] = [
    profile("generic", None),
    profile("niagara_n4", Some("%d-%b-%y %I:%M:%S %p")),
    profile("metasys", Some("%m/%d/%Y %I:%M:%S %p")),
    profile("webctrl", Some("%m/%d/%Y %H:%M:%S")),
    profile("tracer", Some("%Y-%m-%d %H:%M:%S")),
    Profile {
        name: "desigo",
        delimiter: b';',
        time_format: Some("%d.%m.%Y %H:%M:%S"),
        day_first: true,
        decimal: ',',
        thousands: '.',
    },
];

impl Profile {
    /// The profile of that name.
    ///
    /// ```
    /// use niagara_bridge::trends::files::Profile;
    /// let desigo = Profile::named("desigo").unwrap();
    /// assert_eq!(desigo.number("1.234,5"), Some(1234.5));
    /// let generic = Profile::named("generic").unwrap();
    /// assert_eq!(generic.number(" 1,234.5 "), Some(1234.5));
    /// assert_eq!(generic.number("5,8"), None);
    /// for nothing in ["Comm Fail", "12%", "true", "{ok}", ""] {
    ///     assert_eq!(generic.number(nothing), None, "{nothing}");
    /// }
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.into_iter().find(|profile| profile.name == name)
    }

    /// The number in a cell; none where there is none, or where its separators are those of another profile: `5,8` of a file
    /// with decimal commas is not 58.
    pub fn number(&self, cell: &str) -> Option<f64> {
        if is_nothing(cell) {
            return None;
        }
        let cell = cell.trim();
        if !self.groups_thousands(cell) {
            return None;
        }
        let plain: String = cell
            .chars()
            .filter(|character| *character != self.thousands)
            .map(|character| {
                if character == self.decimal {
                    '.'
                } else {
                    character
                }
            })
            .collect();
        plain.parse().ok().filter(|number: &f64| !number.is_nan())
    }
}

impl Profile {
    /// Whether the separators of thousands, if any, stand before three digits each.
    fn groups_thousands(&self, cell: &str) -> bool {
        let (whole, fraction) = cell.split_once(self.decimal).unwrap_or((cell, ""));
        let mut groups = whole.trim_start_matches(['+', '-']).split(self.thousands);
        let first = groups.next().unwrap_or_default().len();
        let rest: Vec<&str> = groups.collect();
        let is_group =
            |group: &&str| group.len() == 3 && group.bytes().all(|byte| byte.is_ascii_digit());
        !fraction.contains(self.thousands)
            && (rest.is_empty() || ((1..=3).contains(&first) && rest.iter().all(is_group)))
    }
}

/// Whether a cell says that there is no value.
pub fn is_nothing(cell: &str) -> bool {
    NOTHING.contains(&cell.trim().to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_of_thousands_stand_before_three_digits() {
        for (profile, cell, number) in [
            ("generic", "1,234,567.25", Some(1_234_567.25)),
            ("generic", "-12,345", Some(-12_345.0)),
            ("generic", "1e-3", Some(0.001)),
            ("generic", "-inf", Some(f64::NEG_INFINITY)),
            ("generic", "5,8", None),
            ("generic", "21,50", None),
            ("generic", "1,2345", None),
            ("generic", "1.5,000", None),
            ("generic", ",500", None),
            ("desigo", "1.234,5", Some(1234.5)),
            ("desigo", "55.5", None),
        ] {
            let profile = Profile::named(profile).expect("a profile");
            assert_eq!(profile.number(cell), number, "{} {cell}", profile.name);
        }
    }
}
