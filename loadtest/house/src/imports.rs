//! Finds which files of a crate import which other files, and which modules import which others.
//!
//! File A imports file B if A names something that B declares. A can name it by a path from
//! `crate::`, `self::` or `super::`, or through a module that A imported. A name that is
//! re-exported (`pub use`) counts as imported from the file that declares it. A module does not
//! import the files below it, because these files are parts of the module.

use std::collections::{BTreeMap, BTreeSet};

use crate::circles::NameGraph;
use crate::source::NamePath;
use crate::workspace::ProductFile;

/// The module tree of the product code of one crate.
#[derive(Debug)]
pub struct ModuleTree<'a> {
    files: Vec<PlacedFile<'a>>,
    /// For each module, the index of its file in `files`.
    file_of: BTreeMap<NamePath, usize>,
    /// The names that the file of each module declares at its root.
    declared: BTreeMap<NamePath, &'a BTreeSet<String>>,
    /// The path of each name that a module imports, or `None` for a name from outside the crate.
    imported: BTreeMap<NamePath, BTreeMap<String, Option<NamePath>>>,
    /// The modules from which each module imports all names with `*`.
    globs: BTreeMap<NamePath, Vec<NamePath>>,
}

#[derive(Debug)]
struct PlacedFile<'a> {
    file: &'a ProductFile,
    module: NamePath,
}

/// One `use` or path, as a path from the root of the crate. `from` is the index of the file that
/// contains the `use` or path.
struct ResolvedName {
    from: usize,
    path: NamePath,
}

impl<'a> ModuleTree<'a> {
    /// Builds the tree of the crate in `crate_folder`.
    pub fn of_crate(crate_folder: &str, product: &'a [ProductFile]) -> ModuleTree<'a> {
        let mut tree = ModuleTree {
            files: Vec::new(),
            file_of: BTreeMap::new(),
            declared: BTreeMap::new(),
            imported: BTreeMap::new(),
            globs: BTreeMap::new(),
        };
        let mut files: Vec<&ProductFile> = product
            .iter()
            .filter(|file| file.crate_folder == crate_folder && file.module.is_some())
            .collect();
        // The library comes first, so the library's root becomes the root of the crate. The root of
        // a binary in the same crate becomes a module that nobody imports.
        files.sort_by_key(|file| !file.path.ends_with("src/lib.rs"));
        for file in files {
            tree.add_file(file);
        }
        for index in 0..tree.files.len() {
            tree.note_imported_names(index);
        }
        tree
    }

    fn add_file(&mut self, file: &'a ProductFile) {
        let mut module = file.module.clone().unwrap_or_default();
        if module.is_empty() && self.file_of.contains_key(&module) {
            module = vec![String::new(), file.path.clone()];
        }
        let index = self.files.len();
        self.file_of.entry(module.clone()).or_insert(index);
        for inline in &file.facts.inline_modules {
            self.file_of
                .entry([module.as_slice(), inline].concat())
                .or_insert(index);
        }
        self.declared
            .insert(module.clone(), &file.facts.declared_names);
        self.files.push(PlacedFile { file, module });
    }

    fn note_imported_names(&mut self, index: usize) {
        for import in &self.files[index].file.facts.imports {
            let importing = [self.files[index].module.as_slice(), &import.inline_module].concat();
            let target = self.absolute(&importing, &import.path);
            if import.alias == "*" {
                if let Some([module @ .., _]) = target.as_deref() {
                    self.globs
                        .entry(importing)
                        .or_default()
                        .push(module.to_vec());
                }
            } else if target.is_some() || import.path.len() > 1 {
                self.imported
                    .entry(importing)
                    .or_default()
                    .insert(import.alias.clone(), target);
            }
        }
    }

    /// Returns the path from the root of the crate, or `None` if the path leads out of the crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<NamePath> {
        let ups = path.iter().take_while(|name| *name == "super").count();
        if path[0] == "crate" {
            return Some(path[1..].to_vec());
        }
        if path[0] == "self" || ups > 0 {
            let above = &module[..module.len().checked_sub(ups)?];
            return Some([above, &path[ups.max(1)..]].concat());
        }
        let within = [module, &path[..1]].concat();
        if self.file_of.contains_key(&within) {
            return Some([module, path].concat());
        }
        let through = self.imported.get(module)?.get(&path[0])?.as_ref()?;
        (path.len() > 1 && !through.is_empty()).then(|| [through.as_slice(), &path[1..]].concat())
    }

    /// Returns the file that declares the item at the end of the path, and the name of the item in
    /// that file. Returns `None` if the item is outside the crate.
    fn declaring(&self, path: &[String], visited: &mut Vec<NamePath>) -> Option<(usize, String)> {
        let mut module: NamePath = Vec::new();
        for (index, name) in path.iter().enumerate() {
            let below = [module.as_slice(), std::slice::from_ref(name)].concat();
            if self.file_of.contains_key(&below) {
                module = below;
                continue;
            }
            let is_declared = self
                .declared
                .get(&module)
                .is_some_and(|names| names.contains(name));
            if !is_declared && !visited.iter().any(|known| known == path) {
                visited.push(path.to_vec());
                if let Some(target) = self.imported.get(&module).and_then(|names| names.get(name)) {
                    let target = target.as_ref()?;
                    return self.declaring(&[target, &path[index + 1..]].concat(), visited);
                }
                for other in self.globs.get(&module).into_iter().flatten() {
                    let declares = self.declared.get(other).is_some_and(|n| n.contains(name));
                    let imports = self
                        .imported
                        .get(other)
                        .is_some_and(|n| n.contains_key(name));
                    if declares || imports {
                        return self.declaring(&[other, &path[index..]].concat(), visited);
                    }
                }
            }
            return self.file_of.get(&module).map(|file| (*file, name.clone()));
        }
        self.file_of
            .get(&module)
            .map(|file| (*file, "(module)".to_owned()))
    }

    /// Returns the files that each file imports, with the imported names.
    pub fn file_imports(&self) -> NameGraph {
        let mut graph = NameGraph::new();
        for named in self.resolved_names() {
            let takes_all = named.path.last().is_some_and(|last| last == "*");
            let path = &named.path[..named.path.len() - usize::from(takes_all)];
            let Some((other, name)) = self.declaring(path, &mut Vec::new()) else {
                continue;
            };
            let (from, to) = (&self.files[named.from], &self.files[other]);
            let is_beneath = to.module.starts_with(&from.module) && to.module != from.module;
            if named.from != other && !is_beneath {
                let name = if takes_all { "*".to_owned() } else { name };
                let imported = graph.entry(from.file.path.clone()).or_default();
                imported
                    .entry(to.file.path.clone())
                    .or_default()
                    .insert(name);
            }
        }
        graph
    }

    fn resolved_names(&self) -> Vec<ResolvedName> {
        let mut resolved = Vec::new();
        let mut named_through: BTreeSet<(NamePath, &str)> = BTreeSet::new();
        for (from, placed) in self.files.iter().enumerate() {
            for named in &placed.file.facts.paths {
                let module = [placed.module.as_slice(), &named.inline_module].concat();
                if let Some(path) = self.absolute(&module, &named.path) {
                    resolved.push(ResolvedName { from, path });
                }
                named_through.insert((module, &named.path[0]));
            }
        }
        for (from, placed) in self.files.iter().enumerate() {
            for import in &placed.file.facts.imports {
                let module = [placed.module.as_slice(), &import.inline_module].concat();
                let Some(path) = self.absolute(&module, &import.path) else {
                    continue;
                };
                // If a file imports a module only to name its items by paths, these items are the
                // imports, and the module is not.
                let is_only_prefix = self.file_of.contains_key(&path)
                    && named_through.contains(&(module, import.alias.as_str()));
                if !is_only_prefix {
                    resolved.push(ResolvedName { from, path });
                }
            }
        }
        resolved
    }

    /// Returns which modules at the root of the crate import which others, and the imports between
    /// files that cause each of these imports.
    pub fn module_imports(&self) -> NameGraph {
        let top: BTreeMap<&str, &str> = self
            .files
            .iter()
            .map(|placed| {
                let top = placed.module.first().map_or("(root)", String::as_str);
                (placed.file.path.as_str(), top)
            })
            .collect();
        let mut graph = NameGraph::new();
        for (from, imported) in &self.file_imports() {
            for (to, names) in imported {
                let (from_module, to_module) = (top[from.as_str()], top[to.as_str()]);
                if from_module != to_module {
                    let names = names.iter().cloned().collect::<Vec<_>>().join(", ");
                    let edges = graph.entry(from_module.to_owned()).or_default();
                    edges
                        .entry(to_module.to_owned())
                        .or_default()
                        .insert(format!("{from} -> {to}: {names}"));
                }
            }
        }
        graph
    }

    /// Returns for each file all words of the paths that lead out of this crate, such as the names
    /// of packages.
    pub fn outside_names(&self) -> BTreeMap<&'a str, BTreeSet<&'a str>> {
        let mut outside: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for placed in &self.files {
            let facts = &placed.file.facts;
            let named = facts
                .paths
                .iter()
                .map(|named| (&named.inline_module, &named.path));
            let imported = facts
                .imports
                .iter()
                .map(|import| (&import.inline_module, &import.path));
            for (inline, path) in named.chain(imported) {
                let module = [placed.module.as_slice(), inline].concat();
                if self.absolute(&module, path).is_none() {
                    let words = path.iter().map(String::as_str);
                    outside
                        .entry(placed.file.path.as_str())
                        .or_default()
                        .extend(words);
                }
            }
        }
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::circles::find_circles;
    use crate::source::SourceFacts;

    fn product(files: &[(&str, &str)]) -> Vec<ProductFile> {
        let of = |(module, text): &(&str, &str)| ProductFile {
            path: format!("a/src/{module}.rs"),
            crate_folder: "a".to_owned(),
            module: Some(match *module {
                "lib" => Vec::new(),
                module => module
                    .split('/')
                    .filter(|name| *name != "mod")
                    .map(str::to_owned)
                    .collect(),
            }),
            line_count: text.lines().count(),
            facts: SourceFacts::from_text(text).expect("it is Rust"),
        };
        files.iter().map(of).collect()
    }

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let product = product(files);
        let graph = ModuleTree::of_crate("a", &product).file_imports();
        let name = |path: &str| path["a/src/".len()..path.len() - ".rs".len()].to_owned();
        let to_text = |(from, others): (&String, &BTreeMap<String, BTreeSet<String>>)| {
            let (from, others) = (name(from), others.clone());
            others
                .into_iter()
                .map(move |(to, names)| format!("{from} > {}: {names:?}", name(&to)))
        };
        graph.iter().flat_map(to_text).collect()
    }

    #[test]
    fn a_re_exported_name_is_imported_from_the_file_that_declares_it() {
        let files = [
            ("lib", "mod seats; mod orders;"),
            ("seats/mod", "mod grid; pub use grid::Grid;"),
            ("seats/grid", "pub struct Grid;"),
            ("orders", "use crate::seats::Grid; struct Order(Grid);"),
        ];
        assert_eq!(edges(&files), [r#"orders > seats/grid: {"Grid"}"#]);
    }

    #[test]
    fn an_import_of_a_module_does_not_count_if_it_only_serves_to_name_items_of_the_module() {
        let files = [
            ("lib", "mod seats; mod orders;"),
            ("seats", "pub fn free() {}"),
            ("orders", "use crate::seats; fn order() { seats::free() }"),
        ];
        assert_eq!(edges(&files), [r#"orders > seats: {"free"}"#]);
    }

    #[test]
    fn an_import_from_a_child_module_does_not_count_and_an_import_from_a_parent_does() {
        let files = [
            ("lib", "mod seats;"),
            (
                "seats/mod",
                "mod grid; use grid::Grid; pub struct Plan(Grid);",
            ),
            ("seats/grid", "use super::Plan; pub struct Grid(Plan);"),
        ];
        assert_eq!(edges(&files), [r#"seats/grid > seats/mod: {"Plan"}"#]);
    }

    #[test]
    fn a_glob_import_is_an_import_of_that_module() {
        let files = [
            ("lib", "mod a; mod b;"),
            ("a", "use crate::b::*;"),
            ("b", "pub fn b() {}"),
        ];
        assert_eq!(edges(&files), [r#"a > b: {"*"}"#]);
    }

    #[test]
    fn two_modules_that_import_each_other_are_a_knot() {
        let files = [
            ("lib", "mod a; mod b; mod c;"),
            ("a", "use crate::b::B; pub struct A(B);"),
            ("b", "pub struct B(Option<Box<crate::a::A>>);"),
            ("c", "use crate::a::A;"),
        ];
        let product = product(&files);
        let graph = ModuleTree::of_crate("a", &product).module_imports();
        assert_eq!(find_circles(&graph), [["a", "b"]]);
    }

    #[test]
    fn a_module_of_the_crate_with_a_packages_name_is_not_that_package() {
        let files = [
            ("lib", "mod redis; mod a; mod b;"),
            ("redis", "pub struct Client;"),
            ("a", "use crate::redis; fn a(_: redis::Client) {}"),
            ("b", "use fairgate_redis::redis::Client;"),
        ];
        let product = product(&files);
        let tree = ModuleTree::of_crate("a", &product);
        let names_it: Vec<&str> = tree
            .outside_names()
            .into_iter()
            .filter_map(|(file, words)| words.contains("redis").then_some(file))
            .collect();
        assert_eq!(names_it, ["a/src/b.rs"]);
    }
}
