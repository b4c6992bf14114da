//! Reads the manifest of a crate: its name, and the packages on which its product code depends.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use toml::{Table, Value};

/// The part of a `Cargo.toml` that the rules use.
#[derive(Debug, PartialEq, Eq)]
pub struct CrateManifest {
    /// The package's name.
    pub package: String,
    /// The packages under `[dependencies]` and `[build-dependencies]`. Tests may use more packages.
    pub packages_used: BTreeSet<String>,
}

impl CrateManifest {
    /// Reads the text of a manifest. Returns `None` if the manifest describes no package, such as
    /// the manifest of a workspace.
    pub fn from_text(text: &str) -> Result<Option<CrateManifest>> {
        let manifest: Table = text.parse().context("a manifest is not TOML")?;
        let Some(package) = manifest.get("package") else {
            return Ok(None);
        };
        let name = package
            .get("name")
            .and_then(Value::as_str)
            .context("a package has no name")?;
        let packages_used = ["dependencies", "build-dependencies"]
            .iter()
            .filter_map(|kind| manifest.get(*kind).and_then(Value::as_table))
            .flat_map(|packages| packages.keys().cloned())
            .collect();
        Ok(Some(CrateManifest {
            package: name.to_owned(),
            packages_used,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_that_only_tests_use_do_not_count() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n[build-dependencies]\nc = \"1\"\n\
                    [dev-dependencies]\nd = \"1\"\n";
        let read = CrateManifest::from_text(text)
            .expect("it is TOML")
            .expect("it is a package");
        assert_eq!(read.package, "a");
        assert_eq!(
            read.packages_used,
            BTreeSet::from(["b".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn the_manifest_of_a_workspace_has_no_package() {
        assert_eq!(
            CrateManifest::from_text("[workspace]\n").expect("it is TOML"),
            None
        );
    }
}
