//! One model-sized page of every list (CAMBER core §4.3).

use serde_json::{Map, Value};

/// Largest page.
pub const LARGEST: usize = 1000;

/// The rows that a caller asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    limit: Option<usize>,
    offset: usize,
    largest: usize,
    /// The argument that tells the size.
    argument: &'static str,
    /// The list has a first page only.
    is_single: bool,
}

fn number(arguments: &Map<String, Value>, name: &str) -> Option<usize> {
    // By the schema it is a whole number from 0: one that does not fit lies behind every list.
    let given = arguments.get(name).filter(|value| value.is_number())?;
    let count = given.as_u64().and_then(|count| usize::try_from(count).ok());
    Some(count.unwrap_or(usize::MAX))
}

impl Page {
    /// The page of these arguments, which are valid by their schema, for a caller who gets at most `max_rows` rows of a list:
    /// what the page tells of itself then holds, since nothing is cut behind it.
    pub fn of(arguments: &Map<String, Value>, max_rows: usize) -> Self {
        Self::sized_by("limit", LARGEST, arguments).within(max_rows)
    }

    /// The page whose size is told by an argument of its own, which reaches up to `largest`.
    pub fn sized_by(
        argument: &'static str,
        largest: usize,
        arguments: &Map<String, Value>,
    ) -> Self {
        Self {
            limit: number(arguments, argument),
            offset: number(arguments, "offset").unwrap_or(0),
            largest,
            argument,
            is_single: false,
        }
    }

    /// The same with at most so many rows.
    #[must_use]
    pub fn within(self, max_rows: usize) -> Self {
        Self {
            largest: self.largest.min(max_rows).max(1),
            ..self
        }
    }

    /// The first rows, of a list that `offset` does not turn.
    #[must_use]
    pub fn from_the_start(self) -> Self {
        Self {
            offset: 0,
            is_single: true,
            ..self
        }
    }

    /// The rows of the page, and a notice when they are not the whole list.
    ///
    /// `order` tells in which order the list is, where that means something: "worst first".
    pub fn cut<T>(
        self,
        name: &str,
        rows: Vec<T>,
        default: usize,
        order: Option<&str>,
    ) -> (Vec<T>, Option<String>) {
        let total = rows.len();
        let size = self.limit.unwrap_or(default).clamp(1, self.largest);
        if self.offset == 0 && total <= size {
            return (rows, None);
        }
        if total == 0 {
            return (rows, None);
        }
        let order = order.map(|order| format!(" ({order})")).unwrap_or_default();
        let page: Vec<T> = rows.into_iter().skip(self.offset).take(size).collect();
        if page.is_empty() {
            let place = if total <= size {
                "the first page"
            } else {
                "earlier pages"
            };
            let notice =
                format!("'{name}' is empty on this page: all its {total} row(s) are on {place}");
            return (page, Some(notice));
        }
        let (first, last) = (self.offset + 1, self.offset + page.len());
        let shown = format!("'{name}' shows rows {first}-{last} of {total}{order}");
        let notice = match last < total {
            true if self.is_single => format!(
                "{shown}: call again with a larger {} (up to {})",
                self.argument, self.largest
            ),
            true if size < self.largest => format!(
                "{shown}: call again with offset={last} for the next page, or a larger {} (up to {})",
                self.argument, self.largest
            ),
            true => format!("{shown}: call again with offset={last} for the next page"),
            false => format!("{shown}: this is the last page"),
        };
        (page, Some(notice))
    }
}

/// The properties of the page in an input schema.
pub fn properties() -> [(&'static str, Value); 2] {
    [
        (
            "limit",
            serde_json::json!({"type": "integer", "minimum": 1, "maximum": LARGEST,
                "description": "Rows per list on the page."}),
        ),
        (
            "offset",
            serde_json::json!({"type": "integer", "minimum": 0,
                "description": "Rows to skip in each list; 0 by default."}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn page(arguments: Value) -> Page {
        Page::of(arguments.as_object().unwrap(), 5000)
    }

    #[test]
    fn a_list_that_fits_is_whole() {
        let (rows, notice) = page(json!({})).cut("rows", vec![1, 2], 2, None);
        assert_eq!((rows, notice), (vec![1, 2], None));
    }

    #[test]
    fn an_offset_beyond_all_numbers_lies_behind_the_list() {
        for offset in [json!(u64::MAX), json!(1e19), json!(1e300)] {
            let (rows, notice) =
                page(json!({ "offset": offset })).cut("rows", vec![1, 2, 3], 2, None);
            assert_eq!(rows, [0; 0], "{offset}");
            assert!(notice.is_some(), "{offset}");
        }
    }

    #[test]
    fn a_page_says_where_it_is_and_how_to_go_on() {
        let rows: Vec<usize> = (0..159).collect();
        let (first, notice) =
            page(json!({})).cut("findings", rows.clone(), 25, Some("worst first"));
        assert_eq!(first.len(), 25);
        assert_eq!(
            notice.unwrap(),
            "'findings' shows rows 1-25 of 159 (worst first): call again with offset=25 for the next page, or a \
             larger limit (up to 1000)"
        );
        let (last, notice) =
            page(json!({"offset": 150, "limit": 25})).cut("findings", rows, 25, None);
        assert_eq!(last, (150..159).collect::<Vec<_>>());
        assert_eq!(
            notice.unwrap(),
            "'findings' shows rows 151-159 of 159: this is the last page"
        );
    }

    #[test]
    fn a_page_never_holds_more_than_the_caller_may_get_and_does_not_offer_it() {
        let whole = json!({"limit": 10});
        let cut = |offset: usize| {
            let arguments = json!({"limit": 10, "offset": offset});
            Page::of(arguments.as_object().unwrap(), 3).cut("rows", vec![1, 2, 3, 4], 10, None)
        };
        let (first, notice) = cut(0);
        assert_eq!(first, [1, 2, 3]);
        assert_eq!(
            notice.unwrap(),
            "'rows' shows rows 1-3 of 4: call again with offset=3 for the next page"
        );
        assert_eq!(cut(3).0, [4]);
        assert_eq!(page(whole).cut("rows", vec![1, 2, 3, 4], 10, None).1, None);
    }

    #[test]
    fn a_list_may_have_an_argument_of_its_own_and_a_first_page_only() {
        let arguments = json!({"top_n": 2, "offset": 1});
        let page = Page::sized_by("top_n", 50, arguments.as_object().unwrap());
        let (rows, notice) = page.cut("issues", vec![1, 2, 3, 4], 8, Some("by rank"));
        assert_eq!(rows, [2, 3]);
        assert_eq!(
            notice.unwrap(),
            "'issues' shows rows 2-3 of 4 (by rank): call again with offset=3 for the next page, or a larger top_n \
             (up to 50)"
        );
        let (rows, notice) = page
            .from_the_start()
            .within(3)
            .cut("gaps", vec![1, 2, 3, 4], 8, None);
        assert_eq!(rows, [1, 2]);
        assert_eq!(
            notice.unwrap(),
            "'gaps' shows rows 1-2 of 4: call again with a larger top_n (up to 3)"
        );
    }

    #[test]
    fn a_short_list_is_empty_on_a_later_page() {
        let (rows, notice) = page(json!({"offset": 50})).cut("cited", vec![1], 50, None);
        assert!(rows.is_empty());
        assert_eq!(
            notice.unwrap(),
            "'cited' is empty on this page: all its 1 row(s) are on the first page"
        );
        let (rows, notice) = page(json!({"offset": 50})).cut("gaps", Vec::<u8>::new(), 50, None);
        assert!(rows.is_empty() && notice.is_none());
    }
}
