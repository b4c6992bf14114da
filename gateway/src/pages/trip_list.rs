//! Orders and filters the trains that a search found, and marks the fastest and the cheapest. Pure.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::address;

/// In which order trains are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TripOrder {
    #[default]
    Departure,
    Fastest,
    Cheapest,
}

/// What the visitor wants to see of the trains that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct TripListChoice {
    /// The class, or an empty text for all.
    pub class: String,
    /// The earliest departure, such as `08:30`, or an empty text.
    pub after: String,
    pub sort: TripOrder,
}

impl TripListChoice {
    /// Reads the fields of the form. A field that cannot be read counts as empty.
    pub fn from_query(query: &BTreeMap<String, String>) -> Self {
        let field = |name: &str| query.get(name).map_or("", |text| text.trim());
        let after = field("after");
        let is_time = after.len() == 5 && after.parse::<jiff::civil::Time>().is_ok();
        Self {
            class: field("class").to_owned(),
            after: if is_time { after } else { "" }.to_owned(),
            sort: match field("sort") {
                "fastest" => TripOrder::Fastest,
                "cheapest" => TripOrder::Cheapest,
                _ => TripOrder::Departure,
            },
        }
    }

    /// Adds these fields to the address of a search.
    pub fn add_to(&self, search: &str) -> String {
        let sort = match self.sort {
            TripOrder::Departure => "",
            TripOrder::Fastest => "fastest",
            TripOrder::Cheapest => "cheapest",
        };
        let fields = [
            ("class", &*self.class),
            ("after", &self.after),
            ("sort", sort),
        ];
        let fields = address::with_query("", &fields).replacen('?', "&", 1);
        format!("{search}{fields}")
    }

    /// Returns the trains that fit, in the chosen order. Each gets `best` (its cheapest class with
    /// enough seats, or null), `most_free`, `fastest` and `cheapest`.
    pub fn arrange(&self, mut trips: Vec<Value>) -> Vec<Value> {
        trips.retain(|trip| departs_at(trip) >= self.after.as_str());
        for trip in &mut trips {
            if let Some(classes) = trip["classes"].as_array_mut() {
                classes.retain(|one| self.class.is_empty() || one["class"] == *self.class);
            }
            trip["best"] = best_class(trip);
            trip["most_free"] = most_free(trip).into();
        }
        trips.retain(|trip| {
            trip["classes"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        });
        mark_least(&mut trips, "fastest", duration_s);
        mark_least(&mut trips, "cheapest", best_price);
        match self.sort {
            TripOrder::Departure => {}
            TripOrder::Fastest => trips.sort_by_key(|trip| duration_s(trip).unwrap_or(i64::MAX)),
            TripOrder::Cheapest => trips.sort_by_key(|trip| best_price(trip).unwrap_or(i64::MAX)),
        }
        trips
    }
}

/// Returns the classes of these trains, each once, as `{class, label}`.
pub(super) fn classes_of(trips: &[Value]) -> Vec<Value> {
    let mut classes: Vec<Value> = Vec::new();
    for class in trips
        .iter()
        .flat_map(|trip| trip["classes"].as_array().into_iter().flatten())
    {
        if !classes.iter().any(|known| known["class"] == class["class"]) {
            classes.push(json!({"class": class["class"], "label": class["label"]}));
        }
    }
    classes
}

/// Returns the local time of a departure, such as `08:30`.
fn departs_at(trip: &Value) -> &str {
    let departs = trip["departs"].as_str();
    departs.and_then(|at| at.get(11..16)).unwrap_or_default()
}

fn duration_s(trip: &Value) -> Option<i64> {
    trip["duration_s"].as_i64()
}

fn best_price(trip: &Value) -> Option<i64> {
    trip["best"]["price"]["amount"].as_i64()
}

fn best_class(trip: &Value) -> Value {
    let classes = trip["classes"].as_array().into_iter().flatten();
    let enough = classes.filter(|one| one["enough"] == true);
    let best = enough.min_by_key(|one| one["price"]["amount"].as_i64().unwrap_or(i64::MAX));
    best.cloned().unwrap_or_default()
}

/// Returns the free seats of the class that has the most.
fn most_free(trip: &Value) -> u64 {
    let classes = trip["classes"].as_array().into_iter().flatten();
    let free = classes.filter_map(|one| one["free"].as_u64());
    free.max().unwrap_or_default()
}

/// Marks the trains with the least value, if the trains differ in it.
fn mark_least(trips: &mut [Value], mark: &str, value: impl Fn(&Value) -> Option<i64>) {
    let values: Vec<_> = trips.iter().map(value).collect();
    let least = values.iter().flatten().min().copied();
    let differ = values.iter().flatten().any(|one| Some(*one) != least);
    for (trip, value) in trips.iter_mut().zip(values) {
        trip[mark] = (differ && value == least).into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(show: &str, departs: &str, duration_s: i64, price: i64, enough: bool) -> Value {
        json!({"show": show, "departs": format!("2027-01-10T{departs}:00+08:00"), "duration_s": duration_s,
            "classes": [{"class": "second", "label": "Second", "price": {"amount": price, "currency": "CNY"}, "enough": enough},
                {"class": "first", "label": "First", "price": {"amount": 2 * price, "currency": "CNY"}, "enough": true}]})
    }

    fn trips() -> Vec<Value> {
        vec![
            trip("a", "08:00", 5_000, 300, true),
            trip("b", "09:00", 4_000, 100, false),
            trip("c", "10:00", 6_000, 150, true),
        ]
    }

    fn choice(query: &[(&str, &str)]) -> TripListChoice {
        let query = query
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        TripListChoice::from_query(&query.collect())
    }

    fn shows(choice: &TripListChoice) -> Vec<String> {
        let arranged = choice.arrange(trips());
        let show = |trip: &Value| trip["show"].as_str().expect("a show").to_owned();
        arranged.iter().map(show).collect()
    }

    #[test]
    fn trains_are_ordered_and_filtered_as_chosen() {
        assert_eq!(shows(&choice(&[])), ["a", "b", "c"]);
        assert_eq!(shows(&choice(&[("sort", "fastest")])), ["b", "a", "c"]);
        // The second class of b has too few seats, so its first class counts.
        assert_eq!(shows(&choice(&[("sort", "cheapest")])), ["c", "b", "a"]);
        assert_eq!(shows(&choice(&[("after", "09:00")])), ["b", "c"]);
        assert_eq!(
            shows(&choice(&[("after", "soon"), ("sort", "best")])),
            ["a", "b", "c"]
        );
        assert_eq!(shows(&choice(&[("class", "third")])), Vec::<String>::new());
        let first = choice(&[("class", "first")]).arrange(trips());
        assert!(
            first
                .iter()
                .all(|trip| trip["classes"].as_array().map(Vec::len) == Some(1))
        );
    }

    #[test]
    fn the_fastest_and_the_cheapest_train_are_marked_unless_all_are_alike() {
        let marked = choice(&[]).arrange(trips());
        let marks = |name: &str| {
            marked
                .iter()
                .map(|trip| trip[name] == true)
                .collect::<Vec<_>>()
        };
        assert_eq!(marks("fastest"), [false, true, false]);
        assert_eq!(marks("cheapest"), [false, false, true]);
        let alike = choice(&[]).arrange(vec![trip("a", "08:00", 5_000, 300, true)]);
        assert_eq!(
            (&alike[0]["fastest"], &alike[0]["cheapest"]),
            (&json!(false), &json!(false))
        );
    }

    #[test]
    fn an_address_keeps_the_choice() {
        let chosen = choice(&[("class", "a&b"), ("after", "08:30"), ("sort", "cheapest")]);
        assert_eq!(
            chosen.add_to("/rail?from=x"),
            "/rail?from=x&class=a%26b&after=08%3A30&sort=cheapest"
        );
        assert_eq!(choice(&[]).add_to("/rail?from=x"), "/rail?from=x");
    }
}
