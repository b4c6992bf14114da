//! Chooses the id of a new showing's show. The id that is made from a hall and a beginning may
//! belong to another showing, which was there before or has moved.

use fairgate_model::ids::ShowId;
use sha2::{Digest, Sha256};

/// How many characters an id keeps of the name of its showing, if it cannot be the name itself.
const NAME_KEPT_MAX: usize = 55;

/// Returns the name of a showing or, if it is taken, an id made from it and the film. The same
/// showing gets the same id each time, as long as the same ids are taken.
pub fn free_id(name: &ShowId, film: &str, is_taken: impl Fn(&ShowId) -> bool) -> ShowId {
    let others = (0_u32..).map_while(|nth| {
        let digest = Sha256::digest(format!("{name} {film} {nth}"));
        let digest = hex::encode(digest);
        let text = name.as_str();
        let kept = &text[..text.len().min(NAME_KEPT_MAX)];
        format!("{kept}-{}", &digest[..8]).parse().ok()
    });
    let mut ids = std::iter::once(name.clone()).chain(others);
    ids.find(|id| !is_taken(id)).unwrap_or_else(|| name.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn an_id_that_is_taken_is_given_to_nobody_else_and_the_next_one_is_always_the_same() {
        for name in ["mitte-1-20270111t1900", &"m".repeat(64)] {
            let name: ShowId = name.parse().expect("a slug");
            let mut taken = HashSet::new();
            for _ in 0..3 {
                let id = free_id(&name, "orchard", |id| taken.contains(id));
                assert_eq!(free_id(&name, "orchard", |id| taken.contains(id)), id);
                assert!(id.as_str().starts_with(&name.as_str()[..20]), "{id}");
                assert!(taken.insert(id), "it was taken");
            }
            let first = |film: &str| free_id(&name, film, |id| *id == name);
            assert_ne!(first("orchard"), first("tram"));
        }
    }
}
