//! What a party may ask for, read and checked whole: seats of a hall, or of a class of a train between two stops.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Party, Stretch};
use crate::catalogue::show::Show;
use crate::holds::ask::{class_of, limit_exceeded};
use crate::holds::stretch::legs_of;
use crate::inventory::choose::BadWish;
use fairgate_base::http::Problem;

/// What a refused ask leaves undone.
const NOT_WAITING: &str = "You are not on the waitlist.";

/// `POST /v1/shows/{show}/waitlist`.
#[derive(Debug, Clone, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitAsk {
    /// How many seats.
    quantity: u32,
    /// Category keys or labels, any of them; all when absent.
    categories: Option<Vec<String>>,
    /// How many of the seats are for wheelchairs.
    accessible: Option<u32>,
    /// Rail: the class, by its key or label.
    class: Option<String>,
    /// Rail: where the journey begins, by the code of a station.
    from: Option<String>,
    /// Rail: where it ends, likewise.
    to: Option<String>,
}

impl WaitAsk {
    /// The party that waits; every name must be the show's.
    ///
    /// # Errors
    /// 422 with the field that is wrong; 422 `limit_exceeded`; 409 `departed`, `sales_ended`.
    pub fn party(self, show: &Show, now_ms: i64) -> Result<Party, Problem> {
        let limit = show.document.seats_per_visitor;
        if self.quantity > limit {
            return Err(limit_exceeded(0, u64::from(self.quantity), limit));
        }
        match show.run {
            Some(_) => self.travellers(show, now_ms),
            None => self.audience(show, now_ms),
        }
    }

    fn audience(self, show: &Show, now_ms: i64) -> Result<Party, Problem> {
        let (from, to) = (self.from.as_deref(), self.to.as_deref());
        legs_of(show, from, to, now_ms, NOT_WAITING)?;
        if self.class.is_some() {
            let detail =
                format!("class: classes are for trains; this show has categories. {NOT_WAITING}");
            return Err(Problem::field("class", detail));
        }
        let party = Party {
            quantity: self.quantity,
            categories: self.categories.clone().unwrap_or_default(),
            accessible: self.accessible.unwrap_or(0),
            stretch: None,
        };
        let ask = party.ask(self.categories);
        match ask.resolve(&show.plan.map, &BTreeMap::new()) {
            Ok(_) => Ok(party),
            Err(bad) => Err(Problem::field(bad.field(), words(&bad))),
        }
    }

    fn travellers(self, show: &Show, now_ms: i64) -> Result<Party, Problem> {
        for (field, set) in [
            ("categories", self.categories.is_some()),
            ("accessible", self.accessible.is_some()),
        ] {
            if set {
                let detail = format!(
                    "{field}: on a train one waits for seats of a class; leave it out. {NOT_WAITING}"
                );
                return Err(Problem::field(field, detail));
            }
        }
        if self.quantity == 0 {
            let detail = format!("quantity: must be 1 or more. {NOT_WAITING}");
            return Err(Problem::field("quantity", detail));
        }
        let (from, to) = (self.from.as_deref(), self.to.as_deref());
        let legs = legs_of(show, from, to, now_ms, NOT_WAITING)?;
        let class = class_of(show, &legs, self.class.as_deref(), "class", NOT_WAITING)?;
        let class = show.plan.map.categories.get(usize::from(class));
        let stretch = class.zip(self.from).zip(self.to);
        Ok(Party {
            quantity: self.quantity,
            categories: Vec::new(),
            accessible: 0,
            stretch: stretch.map(|((class, from), to)| Stretch {
                class: class.key.clone(),
                from,
                to,
            }),
        })
    }
}

fn words(bad: &BadWish) -> String {
    let field = bad.field();
    match bad {
        BadWish::Unknown { name, .. } => {
            format!(
                "{field} names {name:?}, which this show does not have. {NOT_WAITING} Choose one that it has."
            )
        }
        BadWish::Invalid { problem, .. } => {
            let problem = problem.replace("best.", "");
            format!("{field} {problem}. {NOT_WAITING}")
        }
    }
}
