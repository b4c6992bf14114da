//! Reads the crates and the files of the workspace, and finds which Rust files are product code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::manifests::CrateManifest;
use crate::source::{NamePath, SourceFacts};

/// The names of folders whose files are always test code.
const TEST_FOLDERS: [&str; 2] = ["tests", "contract"];
/// The names of folders that are not read. Hidden folders are not read, either.
const SKIPPED_FOLDERS: [&str; 2] = ["target", "node_modules"];

/// A Rust file of product code.
#[derive(Debug)]
pub struct ProductFile {
    /// The path of the file from the workspace's root.
    pub path: String,
    /// The folder of its crate.
    pub crate_folder: String,
    /// The path of its module. It is empty at the root of a crate, and `None` for a build script.
    pub module: Option<NamePath>,
    /// The number of lines.
    pub line_count: usize,
    /// The contents of the file.
    pub facts: SourceFacts,
}

/// The workspace as it was read from disk.
#[derive(Debug)]
pub struct WorkspaceFiles {
    /// The folder of the workspace.
    pub root: PathBuf,
    /// The manifests of the crates, by folder.
    pub crates: BTreeMap<String, CrateManifest>,
    /// Every file below the root, as a path from the root. Skipped folders are left out.
    pub files: Vec<String>,
    /// The Rust files that are product code.
    pub product: Vec<ProductFile>,
}

impl WorkspaceFiles {
    /// Reads everything below `root`, the folder with the workspace's `Cargo.toml`.
    pub fn read(root: &Path) -> Result<WorkspaceFiles> {
        let files = files_below(root)?;
        let crates = read_crates(root)?;
        let mut product = Vec::new();
        for path in files.iter().filter(|file| file.ends_with(".rs")) {
            if let Some(file) = read_product_file(root, path, &crates)? {
                product.push(file);
            }
        }
        drop_test_modules(&mut product);
        Ok(WorkspaceFiles {
            root: root.to_owned(),
            crates,
            files,
            product,
        })
    }

    /// Reads the text of a file. `path` begins at the root.
    pub fn text_of(&self, path: &str) -> Result<String> {
        read_text(&self.root, path)
    }
}

/// Reads the manifests of all crates below `root`, by their folders.
pub fn read_crates(root: &Path) -> Result<BTreeMap<String, CrateManifest>> {
    let mut crates = BTreeMap::new();
    for manifest in files_below(root)?
        .iter()
        .filter(|file| file.ends_with("Cargo.toml"))
    {
        let folder = manifest
            .trim_end_matches("Cargo.toml")
            .trim_end_matches('/');
        if let Some(parsed) = CrateManifest::from_text(&read_text(root, manifest)?)? {
            crates.insert(folder.to_owned(), parsed);
        }
    }
    Ok(crates)
}

fn files_below(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    list_files(root, root, &mut files)?;
    files.sort();
    Ok(files)
}

fn read_text(root: &Path, path: &str) -> Result<String> {
    fs::read_to_string(root.join(path)).with_context(|| format!("{path} cannot be read"))
}

fn list_files(root: &Path, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    for entry in
        fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?
    {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            if !name.starts_with('.') && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                list_files(root, &entry.path(), files)?;
            }
        } else {
            let path = entry.path();
            files.push(path.strip_prefix(root)?.to_string_lossy().into_owned());
        }
    }
    Ok(())
}

/// Reads a file if it is product code. Returns `None` for any other file. Product code is a build
/// script, or a file in a crate's `src` that is not `tests.rs` and not in a test folder.
fn read_product_file(
    root: &Path,
    path: &str,
    crates: &BTreeMap<String, CrateManifest>,
) -> Result<Option<ProductFile>> {
    let nearest = crates
        .keys()
        .filter(|folder| path.starts_with(&format!("{folder}/")));
    let Some(folder) = nearest.max_by_key(|folder| folder.len()) else {
        return Ok(None);
    };
    let inside = path[folder.len() + 1..].trim_end_matches(".rs");
    let names: Vec<&str> = inside.split('/').collect();
    let in_test_folder = path.split('/').any(|name| TEST_FOLDERS.contains(&name));
    if in_test_folder || names.last() == Some(&"tests") || !["src", "build"].contains(&names[0]) {
        return Ok(None);
    }
    let text = read_text(root, path)?;
    let facts = SourceFacts::from_text(&text).with_context(|| path.to_owned())?;
    Ok(Some(ProductFile {
        path: path.to_owned(),
        crate_folder: folder.clone(),
        module: (names[0] == "src").then(|| module_of(&names[1..])),
        line_count: text.lines().count(),
        facts,
    }))
}

fn module_of(names: &[&str]) -> NamePath {
    let names = match names {
        ["lib" | "main"] | ["bin", ..] => &[],
        [above @ .., "mod"] => above,
        all => all,
    };
    names.iter().map(ToString::to_string).collect()
}

/// Removes the files of modules that are declared under `#[cfg(test)]`, and of modules below them.
fn drop_test_modules(product: &mut Vec<ProductFile>) {
    let mut test_modules: BTreeSet<(String, NamePath)> = BTreeSet::new();
    for file in product.iter() {
        for name in &file.facts.test_modules {
            let mut module = file.module.clone().unwrap_or_default();
            module.push(name.clone());
            test_modules.insert((file.crate_folder.clone(), module));
        }
    }
    product.retain(|file| {
        let module = file.module.as_deref().unwrap_or_default();
        !(1..=module.len()).any(|length| {
            test_modules.contains(&(file.crate_folder.clone(), module[..length].to_vec()))
        })
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_named_by_its_file_or_by_its_folder() {
        let of = |path: &str| module_of(&path.split('/').collect::<Vec<_>>()).join("::");
        assert_eq!(of("lib"), "");
        assert_eq!(of("holds/mod"), "holds");
        assert_eq!(of("holds/take"), "holds::take");
        assert_eq!(of("bin/other"), "");
    }
}
