//! Tells cargo which folders are embedded, so that the next build embeds new and changed files.

fn main() {
    for folder in ["icon", "pages", "script", "style", "text"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
