//! Computes figures about the structure of the workspace, each with its bound.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::circles::{NameGraph, find_circles};
use crate::imports::ModuleTree;
use crate::lengths::{COMMENT_COLUMNS, count_long_comments};
use crate::workspace::{ProductFile, WorkspaceFiles};

/// The most lines of a function that fits on a screen.
const FUNCTION_LINES: usize = 60;
/// The names of the folders and files that may name `Problem`. They contain the code for HTTP, or
/// build a process.
const PROBLEM_HOMES: [&str; 6] = ["http", "router", "pages", "web", "problem", "app"];
/// The names of the folders and files that may declare routes.
const ROUTE_HOMES: [&str; 1] = ["router"];

/// The bound that a figure must keep.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FigureBound {
    /// The figure must be at most this.
    AtMost(f64),
    /// The figure must be at least this.
    AtLeast(f64),
}

/// One figure of the workspace.
#[derive(Debug)]
pub struct HouseFigure {
    /// The name of the figure on the command line.
    pub key: &'static str,
    /// What the figure measures, in words.
    pub measured: String,
    /// The value of the figure.
    pub value: f64,
    /// The bound that the figure must keep.
    pub bound: FigureBound,
    /// The items that make up the figure, one line each.
    pub details: Vec<String>,
}

impl HouseFigure {
    /// Returns whether the figure keeps its bound.
    pub fn is_held(&self) -> bool {
        match self.bound {
            FigureBound::AtMost(bound) => self.value <= bound,
            FigureBound::AtLeast(bound) => self.value >= bound,
        }
    }
}

/// Computes all figures.
///
/// # Errors
/// Where a file cannot be read.
pub fn all_figures(workspace: &WorkspaceFiles) -> Result<Vec<HouseFigure>> {
    let trees: BTreeMap<&str, ModuleTree> = workspace
        .crates
        .keys()
        .map(|folder| {
            (
                folder.as_str(),
                ModuleTree::of_crate(folder, &workspace.product),
            )
        })
        .collect();
    Ok(vec![
        largest_circle(
            "circles",
            "files in the largest import circle",
            2.0,
            &trees,
            |tree| tree.file_imports(),
        ),
        largest_circle(
            "knots",
            "modules in the largest knot",
            0.0,
            &trees,
            |tree| tree.module_imports(),
        ),
        repeated_types(workspace),
        type_name_length(workspace),
        files_outside(
            "problems",
            "files that name the problem envelope outside HTTP",
            workspace,
            &PROBLEM_HOMES,
            |file| file.facts.words.contains("Problem"),
        ),
        files_outside(
            "routes",
            "files that declare routes outside a router",
            workspace,
            &ROUTE_HOMES,
            |file| file.facts.has_routes,
        ),
        long_comments(workspace)?,
        long_functions(workspace),
    ])
}

fn largest_circle(
    key: &'static str,
    measured: &str,
    bound: f64,
    trees: &BTreeMap<&str, ModuleTree>,
    graph_of: fn(&ModuleTree) -> NameGraph,
) -> HouseFigure {
    let mut details = Vec::new();
    let mut largest = 0;
    for (folder, tree) in trees {
        let graph = graph_of(tree);
        for circle in find_circles(&graph) {
            largest = largest.max(circle.len());
            details.push(format!(
                "{folder}: {} in one circle: {}",
                circle.len(),
                circle.join(", ")
            ));
            for (from, to) in circle
                .iter()
                .flat_map(|from| circle.iter().map(move |to| (from, to)))
            {
                if let Some(names) = graph.get(from).and_then(|others| others.get(to)) {
                    let names = names
                        .iter()
                        .map(String::as_str)
                        .collect::<Vec<_>>()
                        .join(", ");
                    details.push(format!("  {from} -> {to}: {names}"));
                }
            }
        }
    }
    HouseFigure {
        key,
        measured: measured.to_owned(),
        value: largest as f64,
        bound: FigureBound::AtMost(bound),
        details,
    }
}

/// Returns each type name with the file and line of every declaration.
fn type_places(workspace: &WorkspaceFiles) -> BTreeMap<&str, Vec<String>> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in &workspace.product {
        for (name, line) in &file.facts.type_names {
            places
                .entry(name)
                .or_default()
                .push(format!("{}:{line}", file.path));
        }
    }
    places
}

fn repeated_types(workspace: &WorkspaceFiles) -> HouseFigure {
    let places = type_places(workspace);
    let mut repeated: Vec<_> = places
        .iter()
        .filter(|(_, places)| places.len() > 1)
        .collect();
    repeated.sort_by_key(|(_, places)| std::cmp::Reverse(places.len()));
    HouseFigure {
        key: "types",
        measured: "type names that are declared more than once, in percent".to_owned(),
        value: 100.0 * repeated.len() as f64 / places.len().max(1) as f64,
        bound: FigureBound::AtMost(8.0),
        details: repeated
            .into_iter()
            .map(|(name, places)| format!("{} {name}: {}", places.len(), places.join(", ")))
            .collect(),
    }
}

fn type_name_length(workspace: &WorkspaceFiles) -> HouseFigure {
    let places = type_places(workspace);
    let letters: usize = places.keys().map(|name| name.len()).sum();
    HouseFigure {
        key: "letters",
        measured: "mean length of a type name, in letters".to_owned(),
        value: letters as f64 / places.len().max(1) as f64,
        bound: FigureBound::AtLeast(10.5),
        details: Vec::new(),
    }
}

fn files_outside(
    key: &'static str,
    measured: &str,
    workspace: &WorkspaceFiles,
    homes: &[&str],
    is_meant: fn(&ProductFile) -> bool,
) -> HouseFigure {
    let is_home = |file: &ProductFile| {
        file.path
            .trim_end_matches(".rs")
            .split('/')
            .any(|name| homes.contains(&name))
    };
    let meant = workspace
        .product
        .iter()
        .filter(|file| is_meant(file) && !is_home(file));
    let details: Vec<String> = meant.map(|file| file.path.clone()).collect();
    HouseFigure {
        key,
        measured: measured.to_owned(),
        value: details.len() as f64,
        bound: FigureBound::AtMost(0.0),
        details,
    }
}

/// Leaves out migrations, because a released migration must stay the same byte for byte.
fn long_comments(workspace: &WorkspaceFiles) -> Result<HouseFigure> {
    let mut long = Vec::new();
    for path in &workspace.files {
        if [".rs", ".js", ".mjs", ".lua", ".sql"]
            .iter()
            .any(|kind| path.ends_with(kind))
            && !path.contains("/migrations/")
        {
            let count = count_long_comments(path, &workspace.text_of(path)?);
            if count > 0 {
                long.push((count, path));
            }
        }
    }
    long.sort_by(|a, b| b.cmp(a));
    Ok(HouseFigure {
        key: "comments",
        measured: format!("comment lines over {COMMENT_COLUMNS} columns outside migrations"),
        value: long.iter().map(|(count, _)| *count).sum::<usize>() as f64,
        bound: FigureBound::AtMost(0.0),
        details: long
            .iter()
            .map(|(count, path)| format!("{count} {path}"))
            .collect(),
    })
}

fn long_functions(workspace: &WorkspaceFiles) -> HouseFigure {
    let spans = workspace.product.iter().flat_map(|file| {
        file.facts
            .functions
            .iter()
            .map(move |span| (span.line_count(), &file.path, span))
    });
    let (mut long, count) = spans.fold((Vec::new(), 0_usize), |(mut long, count), span| {
        if span.0 > FUNCTION_LINES {
            long.push(span);
        }
        (long, count + 1)
    });
    long.sort_by_key(|(lines, ..)| std::cmp::Reverse(*lines));
    HouseFigure {
        key: "functions",
        measured: format!("functions over {FUNCTION_LINES} lines, in percent"),
        value: 100.0 * long.len() as f64 / count.max(1) as f64,
        bound: FigureBound::AtMost(0.5),
        details: long
            .iter()
            .map(|(lines, path, span)| format!("{lines} {path}:{} {}", span.first_line, span.name))
            .collect(),
    }
}
