//! The names of the travellers on a train: one name for each seat, in the order of the hold's
//! seats.

use fairgate_model::orders::Traveller;
use fairgate_model::orders::people::cleaned_name;
use fairgate_model::shows::Show;

use super::refusal::NamesFault;

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
        let name = cleaned_name(&traveller.name);
        names.push(name.ok_or(NamesFault::TravellerName(index))?);
    }
    Ok(names)
}
