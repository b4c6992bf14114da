//! Reads the free seats of a show for the list on its page, for browsers without scripts.

use serde_json::Value;

use super::asking::DocumentRefusal;
use super::{PageRoutes, address};

/// The free seats as the page lists them.
pub(super) struct FreeSeats {
    /// The document of `GET /v1/shows/{show}/free`.
    pub list: Value,
    /// The number of the section whose rows are in the list.
    pub section: Option<u64>,
}

/// Reads the list of free seats, with the rows of the section that the address names. If the
/// address names no section, reads the rows of the only section with free seats. If several
/// sections have free seats, reads no rows.
///
/// # Errors
/// Returns booking's refusal.
pub(super) async fn read(
    pages: &PageRoutes,
    show: &str,
    section: &str,
    page: Option<&String>,
) -> Result<FreeSeats, DocumentRefusal> {
    let path = address::path(&["v1", "shows", show, "free"]);
    let page = page.and_then(|page| page.parse::<u32>().ok()).unwrap_or(1);
    let (section_number, page) = (section.parse::<u32>().ok(), page.max(1).to_string());
    let section = match section_number {
        Some(section_number) => u64::from(section_number),
        None => {
            let list = pages.fetch_document(&path).await?;
            let Some(only) = only_section(&list) else {
                let section = None;
                return Ok(FreeSeats { list, section });
            };
            only
        }
    };
    let number = section.to_string();
    let query = [("section", number.as_str()), ("page", page.as_str())];
    let list = pages.fetch_with_query(&path, &query).await?;
    let section = Some(section);
    Ok(FreeSeats { list, section })
}

/// Returns the number of the section with free seats, if exactly one section has free seats.
fn only_section(list: &Value) -> Option<u64> {
    match &list["sections"].as_array()?[..] {
        [only] => only["section"].as_u64(),
        _ => None,
    }
}
