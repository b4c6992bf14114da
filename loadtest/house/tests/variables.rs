//! Checks that the programs accept every `FAIRGATE_…` variable that a source or a document of the
//! workspace names. A program refuses to start with an unknown `FAIRGATE_…` variable.

use std::collections::BTreeSet;
use std::path::Path;

use fairgate_house::workspace::WorkspaceFiles;

/// The file that lists the variables. The test skips this file, because the tests in it name wrong
/// variables.
const LIST: &str = "booking/base/src/config/variables.rs";
/// The test reads the files whose names end like this. `test` is the script at the root.
const ENDS: &[&str] = &[
    ".rs",
    ".md",
    ".toml",
    ".mjs",
    ".js",
    ".yaml",
    ".cfg",
    "Dockerfile",
    "test",
];

/// Returns the variables that a text names, without the prefix.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    text.split("FAIRGATE_").skip(1).filter_map(|rest| {
        let is_part = |one: char| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_';
        let name = rest.split(|one| !is_part(one)).next()?;
        // A name that ends in "_" stands for several variables.
        (!name.is_empty() && !name.ends_with('_')).then_some(name)
    })
}

#[test]
fn every_variable_that_is_named_anywhere_is_one_that_programs_accept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let workspace = WorkspaceFiles::read(&root).expect("the workspace's own files can be read");
    let list = workspace.text_of(LIST).expect("the list can be read");
    let listed: BTreeSet<&str> = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","))
        .collect();
    assert!(listed.contains("LISTEN"), "the list is not as expected");
    let read = |file: &&String| file.as_str() != LIST && ENDS.iter().any(|end| file.ends_with(end));
    let mut unlisted = BTreeSet::new();
    for file in workspace.files.iter().filter(read) {
        let text = workspace.text_of(file).expect("the file can be read");
        let others = variables(&text).filter(|name| !listed.contains(name));
        unlisted.extend(others.map(|name| format!("{name} in {file}")));
    }
    assert!(unlisted.is_empty(), "add to {LIST}: {unlisted:#?}");
}
