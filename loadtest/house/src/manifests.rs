//! Reads what a crate's manifest says: its name and the packages that its product code is built on.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use toml::{Table, Value};

/// The part of a `Cargo.toml` that the rules are about.
#[derive(Debug, PartialEq, Eq)]
pub struct CrateManifest {
    /// The package's name.
    pub package: String,
    /// The packages under `[dependencies]` and `[build-dependencies]`. Tests may name more.
    pub packages_used: BTreeSet<String>,
}

impl CrateManifest {
    /// Reads a manifest's text. Returns `None` if it is only a workspace's manifest.
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
    fn what_only_tests_use_does_not_count() {
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
    fn a_workspace_is_no_package() {
        assert_eq!(
            CrateManifest::from_text("[workspace]\n").expect("it is TOML"),
            None
        );
    }
}
