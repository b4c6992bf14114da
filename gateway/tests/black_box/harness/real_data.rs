//! Finds the real seat maps and timetables, and the draw's oracle. A test that needs them is
//! skipped, with a message, if they are absent.

use std::path::{Path, PathBuf};

/// Returns the folder of real seat maps and timetables, or `None`, with a message, if there is
/// none.
pub fn real_data() -> Option<PathBuf> {
    folder("FAIRGATE_REAL_DATA", "../../shared/data")
}

/// Returns the folder with the draw's test vectors and its independent oracle, or `None`, with a
/// message, if there is none.
pub fn draw_folder() -> Option<PathBuf> {
    folder("FAIRGATE_DRAW", "../../shared/draw")
}

fn folder(variable: &str, beside_the_crate: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    // A relative path in the variable starts at the repository's root, from which ./test runs.
    let folder = match std::env::var_os(variable) {
        Some(given) => root.join("..").join(given),
        None => root.join(beside_the_crate),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: there is no folder {} ({variable} names another)",
        folder.display()
    );
    None
}
