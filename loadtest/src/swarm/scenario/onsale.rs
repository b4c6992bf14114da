//! Turns a scenario's on-sale into calls of the promoter API. Times such as `"+20s"` count from the
//! start of the run, so the calls are built only when the run starts.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::train::TrainPlan;

/// One call of the promoter API.
#[derive(Debug, Clone, PartialEq)]
pub struct PromoterCall {
    /// The thing that the call creates, such as `venue "arena"`.
    pub what: String,
    /// The path and query.
    pub path: String,
    /// The body, a JSON document.
    pub body: String,
}

/// What a scenario sells: its venues, its shows, its one room, and the trains that are added to the
/// sale. Times are relative to the start of the run.
#[derive(Debug, Clone, Default)]
pub struct ScenarioOnsale {
    /// The venues, each with its id, its format for the query, and its body.
    venues: Vec<(String, Option<String>, String)>,
    shows: Vec<(String, Map<String, Value>)>,
    room: (String, Map<String, Value>),
    /// The trains that are sold in addition to the shows. Their timetable is already imported.
    trains: Vec<ScenarioTrain>,
    /// The contents of the `[[train]]` tables.
    train_plans: Vec<TrainPlan>,
}

/// A train that the crowd buys in addition to the shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScenarioTrain {
    /// The slug of the departure that the crowd buys.
    pub show: String,
    /// A pattern that matches the train's departures. The room's document lists it among the shows.
    pub departures: &'static str,
    /// The codes of the stops.
    pub stops: &'static [&'static str],
    /// The key of the class.
    pub class: &'static str,
}

impl ScenarioOnsale {
    /// Reads `[[venue]]`, `[[show]]`, `[[train]]` and `[[room]]` of a scenario. The paths of charts
    /// start at `folder`, the folder of the scenario's file.
    ///
    /// # Errors
    /// All faults, one in each string.
    pub fn read(table: &toml::Table, folder: &Path) -> Result<Self, Vec<String>> {
        let (mut onsale, mut faults) = (Self::default(), Vec::new());
        onsale.train_plans = TrainPlan::read_all(table, &mut faults);
        // A scenario that sells trains needs no venue and no show.
        let needs_show = onsale.train_plans.is_empty();
        for (id, mut document) in entries(table, "venue", needs_show, &mut faults) {
            match plan(&mut document, folder) {
                Ok((format, body)) => onsale.venues.push((id, format, body)),
                Err(fault) => faults.push(format!("venue \"{id}\": {fault}")),
            }
        }
        onsale.shows = entries(table, "show", needs_show, &mut faults);
        let mut rooms = entries(table, "room", true, &mut faults);
        match (rooms.pop(), rooms.is_empty()) {
            (Some(room), true) => onsale.room = room,
            _ => faults.push("a scenario has exactly one [[room]]".to_owned()),
        }
        for key in ["opens_at", "draw_at"] {
            if !onsale.room.1.contains_key(key) {
                faults.push(format!("room.{key} is required, such as \"+5s\""));
            }
        }
        let documents = onsale
            .shows
            .iter()
            .map(|(id, document)| (id, document))
            .chain([(&onsale.room.0, &onsale.room.1)]);
        for (id, document) in documents {
            for (field, value) in document {
                if let Some(Err(fault)) = value.as_str().and_then(relative_s) {
                    faults.push(format!("\"{id}\".{field}: {fault}"));
                }
            }
        }
        if faults.is_empty() {
            Ok(onsale)
        } else {
            Err(faults)
        }
    }

    /// Returns the venues, each with its id, its format for the query, and its body.
    pub fn venues(&self) -> &[(String, Option<String>, String)] {
        &self.venues
    }

    /// Returns the room's id.
    pub fn room(&self) -> &str {
        &self.room.0
    }

    /// Returns the contents of the `[[train]]` tables.
    pub fn train_plans(&self) -> &[TrainPlan] {
        &self.train_plans
    }

    /// Adds a train whose departures the room's document already lists as `ID-*`. The room then
    /// sells only the departure that the crowd buys. If the room also sold other days, their free
    /// seats would hide from the line that the seats of this departure run out.
    pub fn sell_listed_train(&mut self, id: &str, train: ScenarioTrain) {
        let departures = json!(format!("{id}-*"));
        let shows = self.room.1.get_mut("shows").and_then(Value::as_array_mut);
        let listed = shows.into_iter().flatten();
        for show in listed.filter(|show| **show == departures) {
            *show = json!(train.show);
        }
        self.trains.push(train);
    }

    /// Adds a train to the sale.
    pub fn sell_train(&mut self, train: ScenarioTrain) {
        if let Some(Value::Array(shows)) = self.room.1.get_mut("shows") {
            shows.push(json!(train.departures));
        }
        self.trains.push(train);
    }

    /// Returns the trains.
    pub fn trains(&self) -> &[ScenarioTrain] {
        &self.trains
    }

    /// Limits the seats of each show that one card may buy.
    pub fn limit_cards(&mut self, seats: u64) {
        for (_, show) in &mut self.shows {
            show.insert("seats_per_card".to_owned(), json!(seats));
        }
    }

    /// Returns whether the method of the room is `fifo`. There is then no draw, and ranks are the
    /// join numbers.
    pub fn is_fifo(&self) -> bool {
        self.room.1.get("method").and_then(Value::as_str) == Some("fifo")
    }

    /// Returns whether the room has no line, so that whoever claims is called.
    pub fn is_open(&self) -> bool {
        self.room.1.get("method").and_then(Value::as_str) == Some("open")
    }

    /// Returns the shows' ids.
    pub fn shows(&self) -> Vec<String> {
        self.shows.iter().map(|(id, _)| id.clone()).collect()
    }

    /// Returns a time of the room in seconds after the start, or `None` if the field has no
    /// relative time.
    pub fn at_s(&self, field: &str) -> Option<f64> {
        let text = self.room.1.get(field)?.as_str()?;
        relative_s(text)?.ok()
    }

    /// Returns a text field of the room's document.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.room.1.get(field)?.as_str()
    }

    /// Returns a number field of the room's document.
    pub fn number(&self, field: &str) -> Option<f64> {
        self.room.1.get(field)?.as_f64()
    }

    /// Returns the largest value of a field over all shows, in seconds. For a show without the
    /// field, uses `default`. Returns 0 if there are no shows.
    pub fn longest_s(&self, field: &str, default: f64) -> f64 {
        let value = |(_, show): &(String, Map<String, Value>)| {
            show.get(field).and_then(Value::as_f64).unwrap_or(default)
        };
        self.shows.iter().map(value).fold(0.0, f64::max)
    }

    /// Returns the documents of the room and of each show as JSON, with the times of a run that
    /// starts at `start`.
    pub fn documents(&self, start: Timestamp) -> (Value, Map<String, Value>) {
        let shows = self
            .shows
            .iter()
            .map(|(id, show)| (id.clone(), resolved(show, start)));
        (resolved(&self.room.1, start), shows.collect())
    }

    /// Returns the calls in the order in which they must be made: first the venues, then the shows,
    /// then the room. Each kind needs the kinds before it.
    pub fn steps(&self, start: Timestamp) -> Vec<PromoterCall> {
        let venues = self.venues.iter().map(|(id, format, body)| PromoterCall {
            what: format!("venue \"{id}\""),
            path: match format {
                Some(format) => format!("/v1/promoter/venues/{id}?format={format}"),
                None => format!("/v1/promoter/venues/{id}"),
            },
            body: body.clone(),
        });
        let (room, shows) = self.documents(start);
        let shows = shows.into_iter().map(|(id, show)| PromoterCall {
            what: format!("show \"{id}\""),
            path: format!("/v1/promoter/shows/{id}"),
            body: show.to_string(),
        });
        let room = PromoterCall {
            what: format!("room \"{}\"", self.room.0),
            path: format!("/v1/promoter/rooms/{}", self.room.0),
            body: room.to_string(),
        };
        venues.chain(shows).chain([room]).collect()
    }
}

/// Returns the tables of one kind. Each is split into its id and its other fields.
fn entries(
    table: &toml::Table,
    kind: &str,
    required: bool,
    faults: &mut Vec<String>,
) -> Vec<(String, Map<String, Value>)> {
    let mut found = Vec::new();
    let list = table.get(kind).and_then(toml::Value::as_array);
    for (at, entry) in list.into_iter().flatten().enumerate() {
        if let Some(field) = not_finite(entry) {
            let number = at + 1;
            faults.push(format!("[[{kind}]] number {number}: {field} is nan or inf"));
            continue;
        }
        let Value::Object(mut document) = to_json(entry) else {
            faults.push(format!("[[{kind}]] number {} is not a table", at + 1));
            continue;
        };
        match document.remove("id") {
            Some(Value::String(id)) if !id.is_empty() => found.push((id, document)),
            _ => faults.push(format!("[[{kind}]] number {}: id is required", at + 1)),
        }
    }
    if found.is_empty() && required {
        faults.push(format!("a scenario needs a [[{kind}]]"));
    }
    found
}

/// The fields that say where a venue is. Booking checks their values.
const LOCATION_FIELDS: [&str; 4] = ["name", "city", "address", "time_zone"];

/// Returns a venue's format for the query, if it needs one, and its body. The body of a grid
/// contains [`LOCATION_FIELDS`]. The body of a chart does not, because no visitor of a crowd reads
/// them.
fn plan(
    document: &mut Map<String, Value>,
    folder: &Path,
) -> Result<(Option<String>, String), String> {
    let Some(Value::String(plan)) = document.remove("plan") else {
        return Err("plan is required: grid:ROWSxSEATS or seatsio:FILE".to_owned());
    };
    for (field, value) in document.iter() {
        if !LOCATION_FIELDS.contains(&field.as_str()) {
            return Err(format!("{field} is not a field of a venue"));
        }
        if !value.is_string() {
            return Err(format!("{field} must be a text"));
        }
    }
    match plan.split_once(':') {
        Some(("grid", _)) => {
            document.insert("plan".to_owned(), json!(plan));
            Ok((None, Value::Object(document.clone()).to_string()))
        }
        Some((format, file)) => {
            let path = folder.join(file);
            let chart = std::fs::read_to_string(&path)
                .map_err(|error| format!("the plan {} cannot be read ({error})", path.display()))?;
            Ok((Some(format.to_owned()), chart))
        }
        None => Err(format!(
            "plan \"{plan}\" is neither grid:ROWSxSEATS nor seatsio:FILE"
        )),
    }
}

/// Returns the seconds of a text such as `"+20s"`, or `None` if the text does not begin with `+`.
fn relative_s(text: &str) -> Option<Result<f64, String>> {
    let seconds = text.strip_prefix('+')?;
    let number = seconds
        .strip_suffix('s')
        .and_then(|number| number.parse().ok())
        .filter(|number: &f64| number.is_finite() && *number >= 0.0);
    Some(number.ok_or_else(|| format!("\"{text}\" is not a relative time such as \"+20s\"")))
}

fn resolved(document: &Map<String, Value>, start: Timestamp) -> Value {
    let resolved_field = |(field, value): (&String, &Value)| {
        let at = value.as_str().and_then(relative_s).and_then(Result::ok);
        let time = at.map(|seconds| start + SignedDuration::from_secs_f64(seconds));
        (
            field.clone(),
            time.map_or_else(|| value.clone(), |at| json!(at.to_string())),
        )
    };
    Value::Object(document.iter().map(resolved_field).collect())
}

/// Returns the name of the field in which a number is not finite. JSON has no such numbers and
/// would have null, which means the default.
fn not_finite(entry: &toml::Value) -> Option<&str> {
    fn is_finite(value: &toml::Value) -> bool {
        match value {
            toml::Value::Float(number) => number.is_finite(),
            toml::Value::Array(parts) => parts.iter().all(is_finite),
            toml::Value::Table(table) => table.iter().all(|(_, value)| is_finite(value)),
            _ => true,
        }
    }
    let fields = entry.as_table()?.iter();
    let mut not_finite = fields.filter(|(_, value)| !is_finite(value));
    not_finite.next().map(|(field, _)| field.as_str())
}

fn to_json(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => json!(text),
        toml::Value::Integer(number) => json!(number),
        toml::Value::Float(number) => json!(number),
        toml::Value::Boolean(yes) => json!(yes),
        toml::Value::Datetime(at) => json!(at.to_string()),
        toml::Value::Array(parts) => parts.iter().map(to_json).collect(),
        toml::Value::Table(table) => Value::Object(
            table
                .iter()
                .map(|(key, value)| (key.clone(), to_json(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        [[venue]]
        id = "hall"
        plan = "grid:2x3"
        [[show]]
        id = "night"
        venue = "hall"
        [[room]]
        id = "sale"
        opens_at = "+0s"
        draw_at = "+20s"
    "#;

    #[test]
    fn relative_times_count_from_the_start() {
        let onsale = ScenarioOnsale::read(&TEXT.parse().expect("TOML"), Path::new("."))
            .expect("a valid on-sale");
        let start: Timestamp = "2027-01-10T09:00:00Z".parse().expect("a time");
        let (room, _) = onsale.documents(start);
        assert_eq!(room["draw_at"], "2027-01-10T09:00:20Z");
        let paths: Vec<_> = onsale
            .steps(start)
            .into_iter()
            .map(|step| step.path)
            .collect();
        assert_eq!(
            paths,
            [
                "/v1/promoter/venues/hall",
                "/v1/promoter/shows/night",
                "/v1/promoter/rooms/sale"
            ]
        );
    }

    #[test]
    fn a_venue_may_tell_where_it_is() {
        let read = |more: &str| {
            let text = TEXT.replacen("[[venue]]", &format!("[[venue]]\n{more}"), 1);
            ScenarioOnsale::read(&text.parse().expect("TOML"), Path::new("."))
        };
        let onsale = read("city = \"Berlin\"\ntime_zone = \"Europe/Berlin\"").expect("valid");
        let (_, _, body) = &onsale.venues()[0];
        assert!(body.contains("\"city\":\"Berlin\""), "{body}");
        for (field, more) in [("city", "city = 5"), ("size", "size = 1")] {
            let faults = read(more).expect_err("bad").join("\n");
            assert!(faults.contains(field), "{faults}");
        }
    }

    #[test]
    fn a_room_sells_the_departure_of_its_train_that_the_crowd_buys() {
        let text = TEXT.replace(
            "id = \"sale\"",
            "id = \"sale\"\nshows = [\"t2-*\", \"night\"]",
        );
        let onsale = ScenarioOnsale::read(&text.parse().expect("TOML"), Path::new("."));
        let mut onsale = onsale.expect("a valid on-sale");
        let train = ScenarioTrain {
            show: "t2-2031-01-10".to_owned(),
            departures: "t1-*",
            stops: &["A", "B"],
            class: "second",
        };
        onsale.sell_listed_train("t2", train);
        let (room, _) = onsale.documents(Timestamp::UNIX_EPOCH);
        assert_eq!(room["shows"], json!(["t2-2031-01-10", "night"]));
        assert_eq!(onsale.trains().len(), 1);
    }

    #[test]
    fn a_chart_is_looked_for_in_the_folder_of_the_scenario() {
        let text = TEXT.replace("grid:2x3", "seatsio:none.json");
        let faults = ScenarioOnsale::read(&text.parse().expect("TOML"), Path::new("/nowhere"))
            .expect_err("a missing plan");
        assert!(faults[0].contains("/nowhere/none.json"), "{faults:?}");
    }

    #[test]
    fn a_number_that_is_not_finite_is_a_fault_and_never_the_default() {
        for more in ["per_s = nan", "per_network = { soft = inf }"] {
            let text = TEXT.replace("id = \"sale\"", &format!("id = \"sale\"\n{more}"));
            let faults = ScenarioOnsale::read(&text.parse().expect("TOML"), Path::new("."));
            let faults = faults.expect_err("no number").join("\n");
            let field = more.split(' ').next().unwrap_or_default();
            assert!(
                faults.contains(&format!("number 1: {field} is")),
                "{faults}"
            );
        }
    }

    #[test]
    fn an_invalid_relative_time_is_a_fault() {
        let text = TEXT.replace("+20s", "+20x");
        assert!(ScenarioOnsale::read(&text.parse().expect("TOML"), Path::new(".")).is_err());
    }
}
