//! Reads one Rust file: what it declares, what it names, and how long its functions are.
//!
//! Items under `#[cfg(test)]` are left out, because they are not part of the product.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, Item, UseTree};

/// A path as it is written, with one name for each segment. The last name is `*` if the path
/// imports everything.
pub type NamePath = Vec<String>;

/// One path of a `use`.
#[derive(Debug)]
pub struct ImportedPath {
    /// The inline modules of the file that contain the `use`, from the outermost on.
    pub inline_module: NamePath,
    /// Whether the import is re-exported, as by `pub use`.
    pub passed_on: bool,
    /// The names of the path.
    pub path: NamePath,
    /// The name that the import has in the file.
    pub alias: String,
}

/// A path in code. It has two names or more, and the first begins with a lower-case letter or `_`.
#[derive(Debug)]
pub struct NamedPath {
    /// The inline modules of the file that contain the path, from the outermost on.
    pub inline_module: NamePath,
    /// The names of the path.
    pub path: NamePath,
}

/// A function with a body.
#[derive(Debug)]
pub struct FunctionSpan {
    /// The function's name.
    pub name: String,
    /// The line of the function's `fn`, counted from 1.
    pub first_line: usize,
    /// The line of the function's closing brace.
    pub last_line: usize,
}

impl FunctionSpan {
    /// Returns how many lines the function has.
    pub fn line_count(&self) -> usize {
        self.last_line + 1 - self.first_line
    }
}

/// The contents of one file, without its tests.
#[derive(Debug, Default)]
pub struct SourceFacts {
    /// The names that are declared at the root of the file.
    pub declared_names: BTreeSet<String>,
    /// The modules that are written within the file.
    pub inline_modules: Vec<NamePath>,
    /// The modules in other files that this file declares only for tests.
    pub test_modules: Vec<String>,
    /// The paths of every `use`.
    pub imports: Vec<ImportedPath>,
    /// The paths in code.
    pub paths: Vec<NamedPath>,
    /// The functions with a body.
    pub functions: Vec<FunctionSpan>,
    /// The names of structs, enums, traits and type aliases, each with its line.
    pub type_names: Vec<(String, usize)>,
    /// The identifiers in the file.
    pub words: BTreeSet<String>,
    /// Whether the file declares routes.
    pub has_routes: bool,
}

impl SourceFacts {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Where the text is not Rust.
    pub fn from_text(text: &str) -> Result<SourceFacts> {
        let file = syn::parse_file(text).context("this is not Rust")?;
        let mut reader = FactReader::default();
        for item in &file.items {
            if !is_for_tests(attributes_of(item)) {
                reader.facts.declared_names.extend(declared_name(item));
            }
        }
        reader.visit_file(&file);
        Ok(reader.facts)
    }
}

#[derive(Default)]
struct FactReader {
    facts: SourceFacts,
    inline_module: NamePath,
}

impl FactReader {
    fn read_use(&mut self, tree: &UseTree, passed_on: bool, prefix: &[String]) {
        let mut path = prefix.to_vec();
        let alias = match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                return self.read_use(&inner.tree, passed_on, &path);
            }
            UseTree::Group(group) => {
                for inner in &group.items {
                    self.read_use(inner, passed_on, prefix);
                }
                return;
            }
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                None
            }
            UseTree::Rename(renamed) => {
                path.push(renamed.ident.to_string());
                Some(renamed.rename.to_string())
            }
            _ => {
                path.push("*".to_owned());
                None
            }
        };
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        self.facts.words.extend(path.iter().cloned());
        let alias = alias.or_else(|| path.last().cloned()).unwrap_or_default();
        let inline_module = self.inline_module.clone();
        self.facts.imports.push(ImportedPath {
            inline_module,
            passed_on,
            path,
            alias,
        });
    }

    fn note_path(&mut self, path: NamePath) {
        let begins_low =
            path[0].starts_with(|first: char| first.is_ascii_lowercase() || first == '_');
        if path.len() > 1 && begins_low {
            self.facts.paths.push(NamedPath {
                inline_module: self.inline_module.clone(),
                path,
            });
        }
    }

    fn note_function(&mut self, name: &syn::Ident, head: &syn::Token![fn], body: &syn::Block) {
        self.facts.functions.push(FunctionSpan {
            name: name.to_string(),
            first_line: head.span.start().line,
            last_line: body.brace_token.span.close().end().line,
        });
    }

    /// Reads the words, paths and declarations in the input of a macro. The grammar of the input is
    /// unknown, so this reads one token after the other.
    fn read_tokens(&mut self, tokens: &TokenStream) {
        let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
        for (index, pair) in tokens.windows(2).enumerate() {
            if let [TokenTree::Ident(kind), TokenTree::Ident(name)] = pair {
                self.note_declaration(kind, name, &tokens[index..]);
            }
        }
        let mut path: NamePath = Vec::new();
        let mut colons = 0;
        for token in &tokens {
            match token {
                TokenTree::Ident(word) => {
                    self.facts.words.insert(word.to_string());
                    if colons != 2 {
                        self.end_path(&mut path);
                    }
                    path.push(word.to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' && !path.is_empty() => colons += 1,
                other => {
                    self.end_path(&mut path);
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.read_tokens(&group.stream());
                    }
                }
            }
        }
        self.end_path(&mut path);
    }

    fn note_declaration(&mut self, kind: &syn::Ident, name: &syn::Ident, tokens: &[TokenTree]) {
        let (kind, first_line) = (kind.to_string(), kind.span().start().line);
        let name = name.to_string();
        if ["struct", "enum", "trait"].contains(&kind.as_str()) {
            self.facts.type_names.push((name, first_line));
        } else if kind == "fn" {
            let body = tokens.iter().find_map(|token| match token {
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
                _ => None,
            });
            let last_line = body.map(|body| body.span_close().end().line);
            let spans = last_line.map(|last_line| FunctionSpan {
                name,
                first_line,
                last_line,
            });
            self.facts.functions.extend(spans);
        }
    }

    fn end_path(&mut self, path: &mut NamePath) {
        if !path.is_empty() {
            self.note_path(std::mem::take(path));
        }
    }
}

impl<'ast> Visit<'ast> for FactReader {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes_of(item)) {
            if let Item::Mod(module) = item
                && module.content.is_none()
            {
                self.facts.test_modules.push(module.ident.to_string());
            }
            return;
        }
        let type_name = match item {
            Item::Struct(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        if let Some(name) = type_name {
            self.facts
                .type_names
                .push((name.to_string(), name.span().start().line));
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_none() {
            return;
        }
        self.inline_module.push(module.ident.to_string());
        self.facts.inline_modules.push(self.inline_module.clone());
        visit::visit_item_mod(self, module);
        self.inline_module.pop();
    }

    fn visit_item_use(&mut self, import: &'ast syn::ItemUse) {
        let passed_on = !matches!(import.vis, syn::Visibility::Inherited);
        self.read_use(&import.tree, passed_on, &[]);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.note_function(&function.sig.ident, &function.sig.fn_token, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if let syn::ImplItem::Fn(method) = item {
            if is_for_tests(&method.attrs) {
                return;
            }
            self.note_function(&method.sig.ident, &method.sig.fn_token, &method.block);
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_trait_item_fn(&mut self, method: &'ast syn::TraitItemFn) {
        if let Some(body) = &method.default {
            self.note_function(&method.sig.ident, &method.sig.fn_token, body);
        }
        visit::visit_trait_item_fn(self, method);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.note_path(
            path.segments
                .iter()
                .map(|segment| segment.ident.to_string())
                .collect(),
        );
        visit::visit_path(self, path);
    }

    fn visit_ident(&mut self, word: &'ast syn::Ident) {
        self.facts.words.insert(word.to_string());
    }

    fn visit_expr(&mut self, expression: &'ast Expr) {
        if let Expr::MethodCall(call) = expression {
            self.facts.has_routes |= call.method == "route";
        }
        visit::visit_expr(self, expression);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        self.facts.has_routes |= called.path.is_ident("routes");
        self.read_tokens(&called.tokens);
        visit::visit_macro(self, called);
    }
}

fn declared_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Const(item) => &item.ident,
        Item::Static(item) => &item.ident,
        Item::Mod(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(name.to_string())
}

fn attributes_of(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether these attributes contain `#[cfg(test)]` or `#[cfg(any(test, …))]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else {
            return false;
        };
        let condition = list.tokens.to_string().replace(' ', "");
        list.path.is_ident("cfg") && (condition == "test" || condition.starts_with("any(test"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str) -> SourceFacts {
        SourceFacts::from_text(text).expect("it is Rust")
    }

    #[test]
    fn each_leaf_of_a_use_tree_is_an_import() {
        let read = facts("pub use crate::a::{self, b as c, d::*};");
        let leaves: Vec<(String, &str)> = read
            .imports
            .iter()
            .map(|use_| (use_.path.join("::"), use_.alias.as_str()))
            .collect();
        let expected = [
            ("crate::a", "a"),
            ("crate::a::b", "c"),
            ("crate::a::d::*", "*"),
        ];
        assert_eq!(
            leaves,
            expected.map(|(path, alias)| (path.to_owned(), alias))
        );
        assert!(read.imports.iter().all(|use_| use_.passed_on));
    }

    #[test]
    fn items_for_tests_are_left_out() {
        let text = "fn kept() {}\n#[cfg(test)]\nfn gone() { a::b(); }\n#[cfg(test)]\nmod far;\n";
        let read = facts(text);
        assert_eq!(read.functions.len(), 1);
        assert!(read.paths.is_empty());
        assert_eq!(read.test_modules, ["far"]);
    }

    #[test]
    fn paths_in_the_input_of_a_macro_are_read() {
        let read = facts("fn f() { assert!(one::two(three::FOUR) == x, \"{}\", Upper::case()); }");
        let paths: Vec<String> = read
            .paths
            .iter()
            .map(|named| named.path.join("::"))
            .collect();
        assert_eq!(paths, ["one::two", "three::FOUR"]);
    }

    #[test]
    fn declarations_in_the_input_of_a_macro_are_read() {
        let read = facts("ids! { pub struct HoldId; impl X { fn show(&self) -> u8 {\n 1\n } } }");
        assert_eq!(read.type_names, [("HoldId".to_owned(), 1)]);
        assert_eq!(
            read.functions
                .iter()
                .map(FunctionSpan::line_count)
                .collect::<Vec<_>>(),
            [3]
        );
    }

    #[test]
    fn a_function_is_counted_from_its_fn_to_its_closing_brace() {
        let read = facts("#[inline]\npub fn one(\n) {\n  fn two() {}\n}\n");
        let lengths: Vec<(&str, usize)> = read
            .functions
            .iter()
            .map(|span| (span.name.as_str(), span.line_count()))
            .collect();
        assert_eq!(lengths, [("one", 4), ("two", 1)]);
    }

    #[test]
    fn a_route_call_or_a_routes_macro_declares_routes() {
        assert!(facts("fn f() { app().route(\"/\", get(x)); }").has_routes);
        assert!(facts("fn f() { routes!(x); }").has_routes);
        assert!(!facts("fn f() { route(1); }").has_routes);
    }
}
