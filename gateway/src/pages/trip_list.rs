//! Orders and filters the trains, and the journeys with a change, that a search found. Marks the
//! fastest and the cheapest train, and the fastest and the cheapest journey. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::address;

/// The order in which trains are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TripOrder {
    #[default]
    Departure,
    Fastest,
    Cheapest,
}

/// When journeys with a change are searched for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(super) enum ChangesChoice {
    /// Only if there is no direct train.
    #[default]
    #[serde(rename = "")]
    IfNeeded,
    /// Never.
    #[serde(rename = "0")]
    Direct,
    /// Always.
    #[serde(rename = "1")]
    One,
}

/// How the visitor filters and sorts the trains that were found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct TripListChoice {
    /// The class, or an empty text for all.
    pub class: String,
    /// The earliest departure, such as `08:30`, or an empty text.
    pub after: String,
    pub sort: TripOrder,
    pub changes: ChangesChoice,
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
            changes: match field("changes") {
                "0" => ChangesChoice::Direct,
                "1" => ChangesChoice::One,
                _ => ChangesChoice::IfNeeded,
            },
        }
    }

    /// Returns this choice, changed to always search for journeys with a change.
    pub fn with_changes(&self) -> Self {
        Self {
            changes: ChangesChoice::One,
            ..self.clone()
        }
    }

    /// Adds the fields of this choice to the address of a search.
    pub fn add_to(&self, search: &str) -> String {
        let sort = match self.sort {
            TripOrder::Departure => "",
            TripOrder::Fastest => "fastest",
            TripOrder::Cheapest => "cheapest",
        };
        let changes = match self.changes {
            ChangesChoice::IfNeeded => "",
            ChangesChoice::Direct => "0",
            ChangesChoice::One => "1",
        };
        let fields = [
            ("class", &*self.class),
            ("after", &self.after),
            ("sort", sort),
            ("changes", changes),
        ];
        let fields = address::with_query("", &fields).replacen('?', "&", 1);
        format!("{search}{fields}")
    }

    /// Returns the trains that fit, in the chosen order. Adds `best`, `most_free`, `fastest` and
    /// `cheapest` to each train. `best` is the train's cheapest class with enough seats, or null.
    pub fn arrange(&self, mut trips: Vec<Value>) -> Vec<Value> {
        trips.retain_mut(|trip| self.leaves_in_time(trip) && self.keep_class(trip));
        for trip in &mut trips {
            trip["best"] = best_class(trip);
            trip["most_free"] = most_free(trip).into();
        }
        self.mark_and_sort(&mut trips, best_price);
        trips
    }

    /// Returns the journeys that fit, in the chosen order. Each of their trains has the chosen
    /// class. Adds `total`, `fastest` and `cheapest` to each journey. `total` is the sum of the
    /// prices of each train's cheapest class with enough seats. It is null if a train has no such
    /// class, or is sold in another currency.
    pub fn arrange_journeys(&self, mut journeys: Vec<Value>) -> Vec<Value> {
        journeys.retain_mut(|journey| {
            self.leaves_in_time(journey) && trips_of(journey).all(|trip| self.keep_class(trip))
        });
        for journey in &mut journeys {
            journey["total"] = total_price(trips_of(journey).map(|trip| best_class(trip)));
        }
        self.mark_and_sort(&mut journeys, |journey| journey["total"]["amount"].as_i64());
        journeys
    }

    fn leaves_in_time(&self, trip: &Value) -> bool {
        departs_at(trip) >= self.after.as_str()
    }

    /// Keeps only the chosen class of a train. Returns whether the train has any classes left.
    fn keep_class(&self, trip: &mut Value) -> bool {
        let Some(classes) = trip["classes"].as_array_mut() else {
            return false;
        };
        classes.retain(|one| self.class.is_empty() || one["class"] == *self.class);
        !classes.is_empty()
    }

    /// Marks the fastest and the cheapest, and sorts as chosen.
    fn mark_and_sort(&self, trips: &mut [Value], price: impl Fn(&Value) -> Option<i64>) {
        mark_least(trips, "fastest", duration_s);
        mark_least(trips, "cheapest", &price);
        // Booking sorts journeys with a change by duration. This sorts everything by departure
        // first. The second sort is stable. Entries that are equal in the chosen order therefore
        // stay in the order of departure.
        trips.sort_by_key(departure);
        match self.sort {
            TripOrder::Departure => {}
            TripOrder::Fastest => trips.sort_by_key(|one| duration_s(one).unwrap_or(i64::MAX)),
            TripOrder::Cheapest => trips.sort_by_key(|one| price(one).unwrap_or(i64::MAX)),
        }
    }
}

/// Returns the trains of a journey.
fn trips_of(journey: &mut Value) -> impl Iterator<Item = &mut Value> {
    journey["trips"].as_array_mut().into_iter().flatten()
}

/// Returns the sum of the prices of these classes, or null if one has no price, or their currencies
/// differ.
fn total_price(classes: impl Iterator<Item = Value>) -> Value {
    let mut total: Option<(i64, Value)> = None;
    for class in classes {
        let (Some(amount), currency) = (
            class["price"]["amount"].as_i64(),
            &class["price"]["currency"],
        ) else {
            return Value::Null;
        };
        total = match total {
            None => Some((amount, currency.clone())),
            Some((sum, known)) if known == *currency => Some((sum.saturating_add(amount), known)),
            Some(_) => return Value::Null,
        };
    }
    total.map_or(
        Value::Null,
        |(amount, currency)| json!({"amount": amount, "currency": currency}),
    )
}

/// Returns the classes of these trains, each once, as `{class, label}`.
pub(super) fn classes_of<'a>(trips: impl IntoIterator<Item = &'a Value>) -> Vec<Value> {
    let mut classes: Vec<Value> = Vec::new();
    for class in trips
        .into_iter()
        .flat_map(|trip| trip["classes"].as_array().into_iter().flatten())
    {
        if !classes.iter().any(|known| known["class"] == class["class"]) {
            classes.push(json!({"class": class["class"], "label": class["label"]}));
        }
    }
    classes
}

/// Returns the moment of a departure, to sort by. The order of local times is wrong on a day when
/// the clocks change.
fn departure(trip: &Value) -> Option<Timestamp> {
    trip["departs"].as_str()?.parse().ok()
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
    let with_seats = classes.filter(|one| one["enough"] == true);
    let best = with_seats.min_by_key(|one| one["price"]["amount"].as_i64().unwrap_or(i64::MAX));
    best.cloned().unwrap_or_default()
}

/// Returns the number of free seats in the class that has the most.
fn most_free(trip: &Value) -> u64 {
    let classes = trip["classes"].as_array().into_iter().flatten();
    let free = classes.filter_map(|one| one["free"].as_u64());
    free.max().unwrap_or_default()
}

/// Sets `mark` of each train. It is true for the trains with the lowest value. If all values are
/// the same, it is false for all trains.
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

    /// Returns a journey of two trains. `prices` has the price of each train's second class.
    fn journey(departs: &str, duration_s: i64, prices: [i64; 2]) -> Value {
        let trips = prices.map(|price| trip("x", departs, 1, price, true));
        json!({"departs": format!("2027-01-10T{departs}:00+08:00"), "duration_s": duration_s, "trips": trips})
    }

    /// Returns three journeys, fastest first, as booking returns them.
    fn journeys() -> Vec<Value> {
        vec![
            journey("09:00", 8_000, [200, 300]),
            journey("08:00", 9_000, [300, 100]),
            journey("10:00", 9_500, [150, 100]),
        ]
    }

    fn departures(choice: &TripListChoice) -> Vec<String> {
        let arranged = choice.arrange_journeys(journeys());
        let departs = arranged.iter().map(|one| departs_at(one).to_owned());
        departs.collect()
    }

    #[test]
    fn journeys_with_a_change_are_ordered_and_filtered_as_chosen() {
        assert_eq!(departures(&choice(&[])), ["08:00", "09:00", "10:00"]);
        let fastest = departures(&choice(&[("sort", "fastest")]));
        assert_eq!(fastest, ["09:00", "08:00", "10:00"]);
        let cheapest = departures(&choice(&[("sort", "cheapest")]));
        assert_eq!(cheapest, ["10:00", "08:00", "09:00"]);
        assert_eq!(departures(&choice(&[("after", "08:30")])).len(), 2);
        assert_eq!(departures(&choice(&[("class", "third")])).len(), 0);
    }

    #[test]
    fn the_clocks_changing_does_not_change_the_order_of_departures() {
        let at = |departs: &str| json!({"departs": departs, "duration_s": 1, "trips": []});
        let (summer, winter) = ("2027-10-31T02:45:00+02:00", "2027-10-31T02:15:00+01:00");
        let arranged = choice(&[]).arrange_journeys(vec![at(winter), at(summer)]);
        assert_eq!(
            (&arranged[0]["departs"], &arranged[1]["departs"]),
            (&json!(summer), &json!(winter))
        );
    }

    #[test]
    fn a_journey_is_left_out_unless_all_its_trains_have_the_chosen_class() {
        let mut one = journey("08:00", 9_000, [300, 100]);
        one["trips"][1]["classes"]
            .as_array_mut()
            .expect("a list")
            .retain(|class| class["class"] == "second");
        let arranged =
            |class: &str| choice(&[("class", class)]).arrange_journeys(vec![one.clone()]);
        assert_eq!(arranged("first"), Vec::<Value>::new());
        let second = arranged("second");
        let trips = second[0]["trips"].as_array().expect("a list");
        for trip in trips {
            let classes = trip["classes"].as_array().expect("a list").iter();
            let classes: Vec<_> = classes.map(|class| &class["class"]).collect();
            assert_eq!(classes, ["second"]);
        }
        assert_eq!((second.len(), trips.len(), arranged("").len()), (1, 2, 1));
    }

    #[test]
    fn the_fastest_and_the_cheapest_journey_are_marked_among_the_journeys() {
        let marked = choice(&[]).arrange_journeys(journeys());
        let marks = |name: &str| {
            marked
                .iter()
                .map(|one| one[name] == true)
                .collect::<Vec<_>>()
        };
        assert_eq!(marks("fastest"), [false, true, false]);
        assert_eq!(marks("cheapest"), [false, false, true]);
    }

    #[test]
    fn the_total_of_a_journey_is_that_of_the_chosen_class_if_every_train_can_be_bought() {
        let total = |class: &str, change: fn(&mut Value)| {
            let mut one = journey("08:00", 9_000, [300, 100]);
            change(&mut one["trips"][1]);
            let chosen = choice(&[("class", class)]).arrange_journeys(vec![one]);
            chosen[0]["total"].clone()
        };
        let whole = |_: &mut Value| {};
        assert_eq!(total("", whole), json!({"amount": 400, "currency": "CNY"}));
        assert_eq!(
            total("first", whole),
            json!({"amount": 800, "currency": "CNY"})
        );
        let full = |trip: &mut Value| trip["classes"][0]["enough"] = false.into();
        assert_eq!(total("second", full), Value::Null);
        let abroad = |trip: &mut Value| trip["classes"][0]["price"]["currency"] = "EUR".into();
        assert_eq!(total("second", abroad), Value::Null);
    }

    #[test]
    fn an_address_keeps_the_choice() {
        let chosen = choice(&[("class", "a&b"), ("after", "08:30"), ("sort", "cheapest")]);
        assert_eq!(
            chosen.add_to("/rail?from=x"),
            "/rail?from=x&class=a%26b&after=08%3A30&sort=cheapest"
        );
        assert_eq!(choice(&[]).add_to("/rail?from=x"), "/rail?from=x");
        let direct = choice(&[("changes", "0")]);
        assert_eq!(direct.add_to("/rail?from=x"), "/rail?from=x&changes=0");
        let with_changes = direct.with_changes().add_to("/rail?from=x");
        assert_eq!(with_changes, "/rail?from=x&changes=1");
    }
}
