//! The names of those who travel, for shows that want them: one a seat, in the order of the hold's seats.

use super::Traveller;
use crate::catalogue::show::Show;
use fairgate_base::http::Problem;

/// Longest name, in characters.
const NAME_MAX: usize = 200;

/// The names as they will stand on the tickets; none for a show that asks for none.
///
/// # Errors
/// 422 with the field that is wrong: names a train needs, or names nobody asked for.
pub fn named(
    show: &Show,
    travellers: Option<Vec<Traveller>>,
    seats: usize,
) -> Result<Vec<String>, Problem> {
    if show.run.is_none() {
        return match travellers {
            None => Ok(Vec::new()),
            Some(_) => Err(Problem::field(
                "travellers",
                "travellers: this show wants no names; leave them out. Your seats are still held.",
            )),
        };
    }
    let travellers = travellers.unwrap_or_default();
    if travellers.len() != seats {
        let detail = format!(
            "travellers: give one name a seat, in the order of the hold's seats; it has {seats}, and {} came. Your seats are still held.",
            travellers.len()
        );
        return Err(Problem::field("travellers", detail));
    }
    let mut names = Vec::with_capacity(seats);
    for (at, traveller) in travellers.iter().enumerate() {
        let name = traveller.name.trim();
        let chars = name.chars().count();
        if !(1..=NAME_MAX).contains(&chars) || name.chars().any(char::is_control) {
            let field = format!("travellers[{at}].name");
            let detail = format!(
                "{field}: a name has 1 to {NAME_MAX} printable characters. Your seats are still held."
            );
            return Err(Problem::field(&field, detail));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}
