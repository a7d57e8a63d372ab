//! The cells of a record in one piece of memory: a history has hundreds of thousands of records.

use std::fmt;

/// Texts in a row.
///
/// ```
/// use niagara_bridge::station::web::cells::Cells;
/// let cells: Cells = ["A", "", "°F"].into_iter().collect();
/// assert_eq!((cells.len(), cells.get(2), cells.get(3)), (3, Some("°F"), None));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Cells {
    text: String,
    ends: Vec<usize>,
}

impl Cells {
    /// No cells yet, with room for about as much as `other` holds.
    pub fn like(other: &Self) -> Self {
        /// Numbers of the next record may be a few digits longer.
        const SPARE: usize = 8;
        Self {
            text: String::with_capacity(other.text.len() + SPARE),
            ends: Vec::with_capacity(other.ends.len()),
        }
    }

    /// Adds a cell.
    pub fn push(&mut self, cell: &str) {
        self.text.push_str(cell);
        self.ends.push(self.text.len());
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no cell.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One cell; none beyond the last.
    pub fn get(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let begin = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.text.get(begin..end)
    }

    /// All cells.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|at| self.get(at))
    }

    /// Whether no cell holds anything.
    pub fn are_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// Each cell as a text of its own.
    pub fn to_texts(&self) -> Vec<String> {
        self.iter().map(str::to_owned).collect()
    }
}

impl fmt::Debug for Cells {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: AsRef<str>> FromIterator<T> for Cells {
    fn from_iter<I: IntoIterator<Item = T>>(cells: I) -> Self {
        let mut all = Self::default();
        for cell in cells {
            all.push(cell.as_ref());
        }
        all
    }
}

impl<T: AsRef<str>, const N: usize> PartialEq<[T; N]> for Cells {
    fn eq(&self, other: &[T; N]) -> bool {
        self.iter().eq(other.iter().map(AsRef::as_ref))
    }
}
