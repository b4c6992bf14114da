//! Describes the seats that a waiting visitor would like. Wishes affect the odds that visitors see,
//! but never a number or a rank.

use serde::{Deserialize, Serialize};

mod forecast;

pub use forecast::{WishForecast, WishingLine};

/// The most wishes of one visitor.
pub const WISHES_MAX: usize = 3;
/// The most seats of one wish. A show's own limit may be lower.
pub const SEATS_MAX: u32 = 50;
/// The most categories of one wish.
pub const CATEGORIES_MAX: usize = 50;

/// Seats that a visitor would like.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SeatWish {
    /// The show's slug; any show of the room if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<String>,
    /// The number of seats, at least 1.
    pub quantity: u32,
    /// The keys of the categories that suit the visitor; any category if left out or empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// How many of the seats must be accessible.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub accessible: u32,
}

/// The seats of one category of one show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CategorySupply {
    /// The show's slug.
    pub show: String,
    /// The category's key.
    pub key: String,
    /// Free seats that are not accessible.
    pub free: u64,
    /// Free accessible seats. They are kept for visitors who ask for them.
    pub accessible: u64,
    /// Seats in baskets and unpaid orders, accessible or not.
    pub held: u64,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Checks wishes against the categories and limits of the room's shows, and returns each fault with
/// its field. `seats_max` returns how many seats of a show one visitor may have, or `None` if the
/// room does not sell the show.
#[must_use]
pub fn faults(
    wishes: &[SeatWish],
    supply: &[CategorySupply],
    seats_max: impl Fn(&str) -> Option<u32>,
) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    if wishes.len() > WISHES_MAX {
        let count = wishes.len();
        faults.push((
            "wishes".to_owned(),
            format!("{count} were sent, and at most {WISHES_MAX} are allowed"),
        ));
    }
    for (at, wish) in wishes.iter().enumerate().take(WISHES_MAX) {
        let faults_of_wish = wish_faults(wish, supply, &seats_max).into_iter();
        faults.extend(faults_of_wish.map(|(field, detail)| (format!("[{at}].{field}"), detail)));
    }
    faults
}

fn wish_faults(
    wish: &SeatWish,
    supply: &[CategorySupply],
    seats_max: impl Fn(&str) -> Option<u32>,
) -> Vec<(&'static str, String)> {
    if let Some(show) = &wish.show
        && seats_max(show).is_none()
    {
        let detail = format!("\"{show}\" is not a show that this room sells");
        return vec![("show", detail)];
    }
    let of_show =
        |category: &&CategorySupply| wish.show.as_ref().is_none_or(|show| *show == category.show);
    let quantity_max = supply
        .iter()
        .filter(of_show)
        .filter_map(|category| seats_max(&category.show))
        .max()
        .unwrap_or(SEATS_MAX)
        .min(SEATS_MAX);
    let (quantity, accessible) = (wish.quantity, wish.accessible);
    let mut faults = Vec::new();
    if !(1..=quantity_max).contains(&quantity) {
        faults.push((
            "quantity",
            format!("{quantity} is not between 1 and {quantity_max}"),
        ));
    }
    if accessible > quantity {
        faults.push(("accessible", format!("{accessible} is more than quantity")));
    }
    if wish.categories.len() > CATEGORIES_MAX {
        faults.push((
            "categories",
            format!("more than {CATEGORIES_MAX} were sent"),
        ));
        return faults;
    }
    for (nth, key) in wish.categories.iter().enumerate() {
        if wish.categories[..nth].contains(key) {
            faults.push(("categories", format!("\"{key}\" is listed twice")));
        } else if !supply
            .iter()
            .filter(of_show)
            .any(|category| category.key == *key)
        {
            faults.push(("categories", format!("there is no category \"{key}\"")));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply() -> Vec<CategorySupply> {
        let of = |show: &str, key: &str| CategorySupply {
            show: show.to_owned(),
            key: key.to_owned(),
            free: 5,
            accessible: 1,
            held: 0,
        };
        vec![of("a", "stalls"), of("a", "balcony"), of("b", "floor")]
    }

    fn seats_max(show: &str) -> Option<u32> {
        match show {
            "a" => Some(4),
            "b" => Some(8),
            _ => None,
        }
    }

    fn wish(text: &str) -> SeatWish {
        serde_json::from_str(text).expect("a wish")
    }

    #[test]
    fn a_wish_is_written_as_short_as_it_can_be_read() {
        for text in [
            r#"{"quantity":2}"#,
            r#"{"show":"a","quantity":2,"categories":["stalls"],"accessible":1}"#,
        ] {
            let read = wish(text);
            assert_eq!(serde_json::to_string(&read).expect("JSON"), text);
        }
        for bad in [r#"{"quantity":-1}"#, r#"{}"#, r#"{"quantity":1,"row":"A"}"#] {
            assert!(serde_json::from_str::<SeatWish>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_can_be_wished_for_has_no_faults() {
        let good = [
            wish(r#"{"quantity":4,"show":"a","categories":["stalls","balcony"]}"#),
            wish(r#"{"quantity":8}"#),
            wish(r#"{"quantity":2,"categories":["floor"],"accessible":2}"#),
        ];
        assert_eq!(faults(&good, &supply(), seats_max), []);
        assert_eq!(faults(&[], &supply(), seats_max), []);
    }

    #[test]
    fn every_fault_names_the_wish_and_its_field() {
        let bad = [
            wish(r#"{"quantity":5,"show":"a","categories":["floor","stalls","stalls"]}"#),
            wish(r#"{"quantity":1,"show":"c"}"#),
            wish(r#"{"quantity":0,"accessible":1}"#),
        ];
        let told = faults(&bad, &supply(), seats_max);
        let begins = [
            "[0].quantity: 5",
            "[0].categories: there is no category \"floor\"",
            "[0].categories: \"stalls\" is listed",
            "[1].show: \"c\"",
            "[2].quantity: 0",
            "[2].accessible: 1",
        ];
        assert_eq!(told.len(), begins.len(), "{told:?}");
        for ((field, detail), begin) in told.iter().zip(begins) {
            let fault = format!("{field}: {detail}");
            assert!(fault.starts_with(begin), "{fault}");
        }
        let four = vec![wish(r#"{"quantity":1}"#); 4];
        assert_eq!(faults(&four, &supply(), seats_max)[0].0, "wishes");
    }
}
