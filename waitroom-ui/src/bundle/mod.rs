//! Joins what a page loads first into one script and one style. See
//! gateway/decisions/a-pages-first-load-is-joined-at-start.md.
//!
//! A script that no other script imports is the script of a page or of a worker. It is joined with
//! all that it imports into `page/NAME.js`. A module that a page loads later is a file of its own,
//! `page/NAME/MODULE.js`. If it imports a module that is joined into the page's script, it takes
//! that module from there. So each module is evaluated once in a page.

mod module;
mod style;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use module::{Import, Module};

/// What a script appends to the address of a part: the version in its own address. While a server
/// is updated, a script may come from another build than its address says. The server then refuses
/// the script's parts, because they would start the script of their own build a second time.
const OWN_VERSION: &str = "new URL(import.meta.url).search";

/// The placeholder for the version in the written files. The version is known only when all files
/// are written.
pub(crate) const VERSION_MARK: &str = "@assets-version@";

type Modules<'a> = BTreeMap<&'a str, Module<'a>>;

/// Writes the joined files, by path, from the sources of all scripts and styles, by name.
///
/// # Errors
/// Names the script that cannot be joined, and says why.
pub(crate) fn joined_files(
    scripts: &BTreeMap<String, String>,
    styles: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, String> {
    let mut modules = Modules::new();
    for (name, source) in scripts {
        let module = Module::read(source).map_err(|fault| format!("{name}.js {fault}"))?;
        modules.insert(name, module);
    }
    let imported = imported_names(&modules)?;
    let mut files = BTreeMap::new();
    for root in modules.keys().filter(|name| !imported.contains(*name)) {
        PageScripts::of(root, &modules)?.write_into(&mut files);
    }
    for (name, parts) in style::PAGE_STYLES {
        let style_text: String = parts
            .iter()
            .filter_map(|part| Some(styles.get(*part)?.as_str()))
            .collect();
        files.insert(
            format!("page/{name}.css"),
            style::shorten_style(&style_text),
        );
    }
    Ok(files)
}

/// Returns the modules that others import.
///
/// # Errors
/// Names an import that does not exist.
fn imported_names<'a>(modules: &'a Modules<'a>) -> Result<BTreeSet<&'a str>, String> {
    let mut imported = BTreeSet::new();
    for module in modules.values() {
        for import in &module.imports {
            let exports = modules
                .get(&*import.from)
                .map(|imported_module| &imported_module.exports);
            let exports = exports.ok_or_else(|| format!("{}.js does not exist", import.from))?;
            let unknown = import
                .names
                .iter()
                .find(|(name, _)| !exports.iter().any(|export| export == name));
            if let Some((name, _)) = unknown {
                return Err(format!("{}.js does not export {name}", import.from));
            }
            imported.insert(&*import.from);
        }
        imported.extend(module.later_names());
    }
    match imported.iter().find(|name| !modules.contains_key(*name)) {
        Some(unknown) => Err(format!("{unknown}.js does not exist")),
        None => Ok(imported),
    }
}

/// The modules of one page.
struct PageScripts<'a> {
    root: &'a str,
    modules: &'a Modules<'a>,
    /// The modules of the joined script, each after all that it imports.
    first: Vec<&'a str>,
    later: BTreeSet<&'a str>,
}

impl<'a> PageScripts<'a> {
    fn of(root: &'a str, modules: &'a Modules<'a>) -> Result<Self, String> {
        let mut first = Vec::new();
        in_order(root, modules, &mut Vec::new(), &mut first)?;
        let mut later = BTreeSet::new();
        let mut open: Vec<&str> = first
            .iter()
            .flat_map(|name| modules[name].later_names())
            .collect();
        while let Some(name) = open.pop() {
            if !first.contains(&name) && later.insert(name) {
                let module = &modules[name];
                open.extend(module.later_names());
                open.extend(module.imports.iter().map(|import| &*import.from));
            }
        }
        Ok(Self {
            root,
            modules,
            first,
            later,
        })
    }

    fn write_into(&self, files: &mut BTreeMap<String, String>) {
        let root = self.root;
        for name in &self.later {
            files.insert(format!("page/{root}/{name}.js"), self.later_file(name));
        }
        files.insert(format!("page/{root}.js"), self.joined_file());
    }

    fn joined_file(&self) -> String {
        let mut out = String::new();
        for name in &self.first {
            let module = &self.modules[name];
            let import_code: String = module.imports.iter().map(import_from_joined).collect();
            let unused = self.unused(name);
            let code = self.code(name, &unused, "./", &format!("./{}/", self.root));
            let exports = module.exports.iter().map(|export| &**export);
            let exports: Vec<_> = exports.filter(|export| !unused.contains(export)).collect();
            let exports = exports.join(",");
            let _ = writeln!(
                out,
                "const {}=(()=>{{{import_code}{code}\nreturn{{{exports}}}}})();",
                namespace_of(name)
            );
        }
        let shared: Vec<_> = self
            .first
            .iter()
            .filter(|name| self.is_needed_later(name))
            .map(|name| namespace_of(name))
            .collect();
        if !shared.is_empty() {
            let _ = writeln!(out, "export{{{}}};", shared.join(","));
        }
        out
    }

    fn later_file(&self, name: &str) -> String {
        let mut out = String::new();
        let module = &self.modules[name];
        for import in &module.imports {
            let from = &*import.from;
            let _ = if self.first.contains(&from) {
                write!(
                    out,
                    "import{{{}}}from\"../{}.js?v={VERSION_MARK}\";{}",
                    namespace_of(from),
                    self.root,
                    import_from_joined(import)
                )
            } else {
                let names = names(import, " as ");
                write!(
                    out,
                    "import{{{names}}}from\"./{from}.js?v={VERSION_MARK}\";"
                )
            };
        }
        out.push_str(&self.code(name, &BTreeSet::new(), "../", "./"));
        let _ = writeln!(out, "\nexport{{{}}};", module.exports.join(","));
        out
    }

    /// Returns those exports of a module that nothing in this page uses.
    fn unused(&self, name: &str) -> BTreeSet<&'a str> {
        let page_modules = || {
            self.first
                .iter()
                .chain(&self.later)
                .map(|other| &self.modules[other])
        };
        if page_modules().any(|module| module.later_names().any(|later| later == name)) {
            return BTreeSet::new();
        }
        let imports = page_modules().flat_map(|module| &module.imports);
        let imports = imports.filter(|import| import.from == name);
        let used: BTreeSet<&str> = imports
            .flat_map(|import| import.names.iter().map(|(name, _)| &**name))
            .collect();
        let removable = self.modules[name].removable();
        removable.filter(|export| !used.contains(export)).collect()
    }

    /// Writes a module's code without the exports in `unused`. `up` leads to the joined scripts,
    /// and `beside` to the page's later modules.
    fn code(&self, name: &str, unused: &BTreeSet<&str>, up: &str, beside: &str) -> String {
        let later = |name: &str| {
            if self.first.contains(&name) {
                let root = self.root;
                let space = namespace_of(name);
                format!("import(\"{up}{root}.js\"+{OWN_VERSION}).then((all)=>all.{space})")
            } else {
                format!("import(\"{beside}{name}.js\"+{OWN_VERSION})")
            }
        };
        let worker = |name: &str| format!("{up}{name}.js?v={VERSION_MARK}");
        self.modules[name].write(unused, later, worker)
    }

    /// Returns whether a later module imports this module of the joined script, or a script loads
    /// it with `import()`.
    fn is_needed_later(&self, name: &str) -> bool {
        let page_modules = || {
            self.first
                .iter()
                .chain(&self.later)
                .map(|other| (other, &self.modules[other]))
        };
        page_modules().any(|(other, module)| {
            let imports = module.imports.iter().any(|import| import.from == name);
            imports && self.later.contains(other) || module.later_names().any(|later| later == name)
        })
    }
}

/// Adds a module to `ordered` after all modules that it imports.
fn in_order<'a>(
    name: &'a str,
    modules: &'a Modules<'a>,
    open: &mut Vec<&'a str>,
    ordered: &mut Vec<&'a str>,
) -> Result<(), String> {
    if ordered.contains(&name) {
        return Ok(());
    }
    if open.contains(&name) {
        return Err(format!("{name}.js imports itself through other scripts"));
    }
    open.push(name);
    for import in &modules[name].imports {
        in_order(&import.from, modules, open, ordered)?;
    }
    open.pop();
    ordered.push(name);
    Ok(())
}

/// Returns the name by which a joined script knows the exports of a module.
fn namespace_of(name: &str) -> String {
    format!("$_{}", name.replace('-', "_"))
}

/// Writes the code with which a module takes its imports from the joined script.
fn import_from_joined(import: &Import<'_>) -> String {
    let names = names(import, ":");
    format!("const{{{names}}}={};", namespace_of(&import.from))
}

/// Writes the imported names. If a name differs in the importing module, writes both names with
/// `between` between them.
fn names(import: &Import<'_>, between: &str) -> String {
    let names = import.names.iter().map(|(name, local_name)| {
        if name == local_name {
            name.to_string()
        } else {
            format!("{name}{between}{local_name}")
        }
    });
    names.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
