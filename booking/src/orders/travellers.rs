//! The names of the travellers on a train: one name for each seat, in the order of the hold's
//! seats.

use fairgate_model::orders::Traveller;
use fairgate_model::shows::Show;

use super::refusal::NamesFault;

/// How many characters a name may have.
pub const NAME_CHARS_MAX: usize = 200;

/// Returns the names as the tickets will show them. The list is empty for a show that is not a
/// train.
///
/// # Errors
/// [`NamesFault`] if a train's names are missing or wrong, or if names were sent for a show that is
/// not a train.
pub fn ticket_names(
    show: &Show,
    travellers: Option<Vec<Traveller>>,
    seats: usize,
) -> Result<Vec<String>, NamesFault> {
    if show.run.is_none() {
        return match travellers {
            None => Ok(Vec::new()),
            Some(_) => Err(NamesFault::NotWanted),
        };
    }
    let travellers = travellers.unwrap_or_default();
    if travellers.len() != seats {
        return Err(NamesFault::NotOneEach {
            seats,
            name_count: travellers.len(),
        });
    }
    let mut names = Vec::with_capacity(seats);
    for (index, traveller) in travellers.iter().enumerate() {
        let name = traveller.name.trim();
        let chars = name.chars().count();
        if !(1..=NAME_CHARS_MAX).contains(&chars) || name.chars().any(char::is_control) {
            return Err(NamesFault::TravellerName(index));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}
