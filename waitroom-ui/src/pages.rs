//! Renders the pages. Every template is embedded and parsed once, and every value is escaped.

use std::{fmt, sync::LazyLock};

use minijinja::{
    Environment, UndefinedBehavior, Value,
    value::{Kwargs, Serde},
};
use rust_embed::RustEmbed;
use serde::Serialize;

use crate::{assets, filters, texts};

#[derive(RustEmbed)]
#[folder = "pages"]
struct PageFiles;

/// Why a page could not be rendered: there is no page of that name, or the context does not have
/// the shape that the page expects.
#[derive(Debug)]
pub struct PageError(minijinja::Error);

impl fmt::Display for PageError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the page could not be rendered: {}", self.0)
    }
}

impl std::error::Error for PageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

static PAGES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut pages = Environment::new();
    // A field that a context leaves out is rendered as empty text, so that the page does not fail.
    pages.set_undefined_behavior(UndefinedBehavior::Chainable);
    pages.add_function("asset", |path: &str| {
        Value::from_safe_string(assets::asset_address(path))
    });
    pages.add_function("inline", |path: &str| {
        Value::from_safe_string(assets::inline_address(path))
    });
    pages.add_filter("fill", |text: &Value, values: Kwargs| {
        filters::fill(text, &values)
    });
    pages.add_filter("count", |number: &Value| filters::count(number));
    pages.add_filter("when", |time: &Value, zone: Option<&str>| {
        filters::when(time, zone)
    });
    pages.add_filter("zone", |zone: &str| filters::zone(zone));
    pages.add_filter("day", |time: &Value| filters::day(time));
    pages.add_filter("clock", |time: &Value| filters::clock(time));
    pages.add_filter("money", |value: &Value| filters::money(value));
    pages.add_filter("span", |seconds: &Value| filters::span(seconds));
    pages.add_filter("first_texts", |texts: &Value, group: &str| {
        filters::first_texts(texts, group)
    });
    // A context may have its own texts as `t`. Otherwise the English texts are used.
    pages.add_global("t", Value::from(Serde(texts::language_texts("en"))));
    for path in PageFiles::iter() {
        let file = PageFiles::get(&path).expect("the path comes from the list of embedded pages");
        let source = String::from_utf8(file.data.into_owned())
            .expect("pages are UTF-8, which the tests of this crate check");
        pages
            .add_template_owned(path.into_owned(), source)
            .expect("pages parse, which the tests of this crate check");
    }
    pages
});

/// Renders `pages/NAME.html` with `context` into a whole HTML document. The README lists the
/// contexts.
///
/// # Errors
/// [`PageError`] if there is no such page, or if the context has another shape than the page
/// expects.
pub fn render_page(name: &str, context: &impl Serialize) -> Result<String, PageError> {
    PAGES
        .get_template(&format!("{name}.html"))
        .and_then(|page| page.render(Value::from(Serde(context))))
        .map_err(PageError)
}
