//! Provides the wording of every page and script, one JSON file for each language. A translation is
//! one more file. Pages do not ask for a visitor's language yet: each is rendered in English unless
//! its context has other texts.

use std::{collections::BTreeMap, sync::LazyLock};

use rust_embed::RustEmbed;
use serde_json::Value;

#[derive(RustEmbed)]
#[folder = "text"]
struct TextFiles;

/// The language in which pages are rendered. It is also used for every language without a file.
const FIRST: &str = "en";

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
        .unwrap_or(FIRST)
        .to_ascii_lowercase();
    LANGUAGES.get(&language).unwrap_or_else(|| {
        LANGUAGES
            .get(FIRST)
            .expect("text/en.json is embedded with this crate")
    })
}
