//! Searches the on-sales by words, city and days, and lists them in time order.

mod index;
mod on_sales;

use fairgate_base::day::parse_day;
use fairgate_model::search_text::SearchText;
use jiff::civil::Date;

pub use index::{FoundOnSales, IndexedRoom, IndexedShow, OnSaleEdition, OnSaleIndex};
pub use on_sales::OnSales;

/// How many characters the words of a search may have, at most.
const QUERY_CHARS_MAX: usize = 100;

/// How many characters of a wrong day are repeated in the refusal.
const SHOWN_CHARS_MAX: usize = 40;

/// How many rooms or shows one page of a list has, at most.
pub const PER_PAGE: usize = 40;

/// What a search asks for. An empty text, and a day that is not given, match everything.
#[derive(Debug, Clone, Default)]
pub struct OnSaleSearch {
    words: SearchText,
    city: SearchText,
    from: Option<Date>,
    to: Option<Date>,
}

/// Why a search cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableSearch {
    /// A day that is not written as `2027-06-01`.
    #[error("\"{day}\" in {field} is not a day; write it like 2027-06-01")]
    Day {
        /// The parameter.
        field: &'static str,
        /// The beginning of its text.
        day: String,
    },
    /// A text that is too long.
    #[error("{field} has more than {QUERY_CHARS_MAX} characters; search for fewer words")]
    TooLong {
        /// The parameter.
        field: &'static str,
    },
}

impl UnreadableSearch {
    /// Returns the parameter that cannot be read.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Day { field, .. } | Self::TooLong { field } => field,
        }
    }
}

impl OnSaleSearch {
    /// Reads a search. Days are in the venues' time zones, and `to` is included.
    ///
    /// # Errors
    /// Fails if a day cannot be read, or a text is too long.
    pub fn parse(q: &str, city: &str, from: &str, to: &str) -> Result<Self, UnreadableSearch> {
        let day = |field, text: &str| match text.trim() {
            "" => Ok(None),
            day => parse_day(day)
                .map(Some)
                .ok_or_else(|| UnreadableSearch::Day {
                    field,
                    day: day.chars().take(SHOWN_CHARS_MAX).collect(),
                }),
        };
        let words = |field, text: &str| {
            let is_short = text.chars().count() <= QUERY_CHARS_MAX;
            let words = is_short.then(|| SearchText::new(text));
            words.ok_or(UnreadableSearch::TooLong { field })
        };
        Ok(Self {
            words: words("q", q)?,
            city: words("city", city)?,
            from: day("from", from)?,
            to: day("to", to)?,
        })
    }

    /// Returns whether the search has no filter.
    #[must_use]
    pub fn is_everything(&self) -> bool {
        self.words.is_empty() && self.has_only_words()
    }

    fn has_only_words(&self) -> bool {
        self.city.is_empty() && self.from.is_none() && self.to.is_none()
    }

    fn is_in_period(&self, day: Date) -> bool {
        self.from.is_none_or(|from| from <= day) && self.to.is_none_or(|to| day <= to)
    }
}

/// One page of a list, and the size of the whole list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<T> {
    /// What is on the page.
    pub items: Vec<T>,
    /// How many items all pages have together.
    pub total: usize,
    /// How many pages there are, at least one.
    pub pages: usize,
}

impl<T> ListPage<T> {
    /// Returns page `page` of a list, counted from 1. A page after the last one is empty.
    #[must_use]
    pub fn of(list: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>, page: usize) -> Self {
        let list = list.into_iter();
        let total = list.len();
        let skipped = page.saturating_sub(1).saturating_mul(PER_PAGE);
        Self {
            items: list.skip(skipped).take(PER_PAGE).collect(),
            total,
            pages: total.div_ceil(PER_PAGE).max(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_that_is_none_and_a_text_without_end_are_refused_by_their_names() {
        let long = "x".repeat(101);
        for (search, field) in [
            (["", "", "2027-02-30", ""], "from"),
            (["", "", "", "soon"], "to"),
            ([&long, "", "", ""], "q"),
            (["", &long, "", ""], "city"),
        ] {
            let [q, city, from, to] = search;
            let refused = OnSaleSearch::parse(q, city, from, to).expect_err("it is refused");
            assert_eq!(refused.field(), field);
        }
        let search = OnSaleSearch::parse(&"x".repeat(100), "", "", "").expect("a search");
        assert!(!search.is_everything());
        let empty = OnSaleSearch::parse(" ", "…", "", "").expect("a search");
        assert!(empty.is_everything());
    }

    #[test]
    fn a_list_is_cut_into_pages_and_the_page_behind_the_last_is_empty() {
        let page = |of, page| ListPage::of((0..of).collect::<Vec<usize>>(), page);
        assert_eq!(
            (page(0, 1).pages, page(40, 1).pages, page(41, 1).pages),
            (1, 1, 2)
        );
        assert_eq!(page(81, 3).items, [80]);
        assert!(page(81, 4).items.is_empty());
    }
}
