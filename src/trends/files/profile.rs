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
    /// for nothing in ["Comm Fail", "12%", "true", "{ok}", ""] {
    ///     assert_eq!(generic.number(nothing), None, "{nothing}");
    /// }
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        PROFILES.into_iter().find(|profile| profile.name == name)
    }

    /// The number in a cell; none where there is none.
    pub fn number(&self, cell: &str) -> Option<f64> {
        if is_nothing(cell) {
            return None;
        }
        let plain: String = cell
            .trim()
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

/// Whether a cell says that there is no value.
pub fn is_nothing(cell: &str) -> bool {
    NOTHING.contains(&cell.trim().to_lowercase().as_str())
}
