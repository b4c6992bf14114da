//! Tells cargo which folders are embedded, so that a page added or changed is never served in its
//! old form.

fn main() {
    for folder in ["icon", "pages", "script", "style", "text"] {
        println!("cargo::rerun-if-changed={folder}");
    }
}
