//! Reads the free seats of a show for the list on its page, for browsers without scripts.

use serde_json::Value;

use super::{PageRoutes, address};

/// Reads the list of free seats, with the rows of a section. If the address names no section, the
/// only one is meant; if there are several, or none has this number, no rows are read.
pub(super) async fn read(
    pages: &PageRoutes,
    show: &str,
    section: &str,
    page: Option<&String>,
) -> (Option<Value>, Option<u64>) {
    let path = address::path(&["v1", "shows", show, "free"]);
    let list = pages.fetch_document(&path).await.ok();
    let sections = list.as_ref().and_then(|list| list["sections"].as_array());
    let numbers = sections.into_iter().flatten();
    let numbers: Vec<u64> = numbers.filter_map(|one| one["section"].as_u64()).collect();
    let named = section.parse().ok().filter(|own| numbers.contains(own));
    let section = named.or(match numbers[..] {
        [only] => Some(only),
        _ => None,
    });
    let Some(number) = section else {
        return (list, None);
    };
    let number = number.to_string();
    let page = page.map_or("1", String::as_str);
    let query = [("section", number.as_str()), ("page", page)];
    match pages.fetch_with_query(&path, &query).await {
        Ok(with_rows) => (Some(with_rows), section),
        Err(_) => (list, None),
    }
}
