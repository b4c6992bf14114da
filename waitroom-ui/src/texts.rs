//! Provides the wording of every page and script, one JSON file for each language. A translation is
//! one more file. Pages do not ask for a visitor's language yet: each is rendered in English unless
//! its context has other texts.

use std::{collections::BTreeMap, sync::LazyLock};

use rust_embed::RustEmbed;
use serde_json::{Value, json};

#[derive(RustEmbed)]
#[folder = "text"]
struct TextFiles;

/// The language in which pages are rendered. It is also used for every language without a file.
const DEFAULT_LANGUAGE: &str = "en";

/// The common texts that a page has from the beginning: the parts of a problem and of a time.
const FIRST_COMMON: [&str; 6] = [
    "again",
    "own_zone",
    "request_id",
    "try_again",
    "zone",
    "zoned",
];

/// The problems whose words a page has from the beginning: the problems that keep the page from
/// fetching further words, the problems that are shown in place of all others, and the problems
/// that many people see at once.
const FIRST_PROBLEMS: [&str; 6] = [
    "invalid",
    "offline",
    "overload",
    "server",
    "too_many_joins",
    "unknown",
];

/// The texts of the lobby that no script uses before the visitor has a place. Where the page shows
/// such a text, its HTML already contains the text.
const LATER_IN_LOBBY: [&str; 58] = [
    "ahead",
    "calendar",
    "check",
    "claim_before",
    "claim_left",
    "closes_at",
    "closes_left",
    "code",
    "code_hint",
    "draw",
    "draw_at",
    "draw_held",
    "ended",
    "ended_in_line",
    "facts",
    "go_seats",
    "go_seats_for",
    "go_shop",
    "join",
    "joined",
    "leave",
    "leave_confirm",
    "leave_explain",
    "left",
    "look_again",
    "message",
    "move",
    "none_left",
    "number",
    "odds",
    "odds_words",
    "opens_at",
    "own",
    "pace",
    "paused",
    "prices",
    "rank",
    "sale_at",
    "say_ahead",
    "say_back",
    "say_moving",
    "say_odds",
    "say_rank",
    "say_turn",
    "seats_left",
    "shows",
    "sound",
    "title_ahead",
    "title_turn",
    "to_home",
    "turn",
    "turn_working",
    "wait",
    "wait_between",
    "wait_pause",
    "wait_unknown",
    "waiting",
    "wish",
];

/// The states of the lobby whose words a page has from the beginning. Many people see these states
/// at once, or right after they join. Where the page begins with another state, its HTML already
/// contains the words.
const FIRST_STATES: [&str; 5] = [
    "join_scheduled",
    "join_prequeue",
    "join_selling",
    "waiting_prequeue",
    "waiting_selling",
];

/// Returns whether a page has the words of this state of the lobby from the beginning.
pub(crate) fn is_first_state(state: &str) -> bool {
    FIRST_STATES.contains(&state)
}

/// A page may load some of its texts later. Returns whether it has this text of a group from the
/// beginning.
pub(crate) fn is_first(group: &str, key: &str) -> bool {
    match group {
        "common" => FIRST_COMMON.contains(&key),
        "problems" => FIRST_PROBLEMS.contains(&key),
        "lobby" => !LATER_IN_LOBBY.contains(&key),
        _ => true,
    }
}

/// Returns for each language the file with the texts that a page loads later, by its path among the
/// assets.
pub(crate) fn later_files() -> impl Iterator<Item = (String, String)> {
    LANGUAGES.iter().map(|(language, texts)| {
        let mut later = json!({});
        for group in ["common", "lobby", "problems"] {
            let group_texts = texts[group].as_object().into_iter().flatten();
            for (key, text) in group_texts.filter(|(key, _)| !is_first(group, key)) {
                later[group][key] = text.clone();
            }
        }
        // The page replaces the states that it has by all of them.
        later["lobby"]["state"] = texts["lobby"]["state"].clone();
        (format!("text/{language}/later.json"), later.to_string())
    })
}

static LANGUAGES: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    TextFiles::iter()
        .filter_map(|path| {
            let file = TextFiles::get(&path)?;
            let texts = serde_json::from_slice(&file.data)
                .expect("texts are JSON, which the tests of this crate check");
            Some((path.strip_suffix(".json")?.to_owned(), texts))
        })
        .collect()
});

/// Returns the strings of a language as one JSON object, in groups named after the pages. The
/// region is ignored: `en-GB` gives the strings of `en`. A language without a file gives English,
/// so that a page is never without words.
///
/// `{name}` in a string is replaced by a value. A text that depends on a count has two forms:
/// `{"one": …, "other": …}`.
#[must_use]
pub fn language_texts(lang: &str) -> &'static Value {
    let language = lang
        .split(['-', '_'])
        .next()
        .unwrap_or(DEFAULT_LANGUAGE)
        .to_ascii_lowercase();
    LANGUAGES.get(&language).unwrap_or_else(|| {
        LANGUAGES
            .get(DEFAULT_LANGUAGE)
            .expect("text/en.json is embedded with this crate")
    })
}
