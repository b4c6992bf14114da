//! Joins small scripts and runs the result in Node.js.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{VERSION_MARK, joined_files};

fn joined(scripts: &[(&str, &str)]) -> Result<BTreeMap<String, String>, String> {
    let scripts = scripts
        .iter()
        .map(|(name, source)| ((*name).to_owned(), (*source).to_owned()))
        .collect();
    joined_files(&scripts, &BTreeMap::new())
}

/// Writes files as Node.js modules and runs one of them, by its address with the version, as pages
/// name it. Returns the output of this module. If there is no Node.js, prints a message and returns
/// `None`.
fn run(files: &BTreeMap<String, String>, start: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("package.json"), "{\"type\":\"module\"}").expect("written");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text.replace(VERSION_MARK, "1")).expect("written");
    }
    let run = format!("import \"./{start}?v=1\";");
    fs::write(folder.path().join("run.js"), run).expect("written");
    let output = node(folder.path(), &["run.js"])?;
    assert!(output.0, "{start}: {}", output.1);
    Some(output.1)
}

fn node(folder: &Path, arguments: &[&str]) -> Option<(bool, String)> {
    let output = ["node", "nodejs"].iter().find_map(|program| {
        Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .output()
            .ok()
    });
    let Some(output) = output else {
        eprintln!("SKIPPED: Node.js was not found, so no joined script is run");
        return None;
    };
    let said = [output.stdout, output.stderr].concat();
    Some((
        output.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    ))
}

const SHARED: &str = r#"// Shared by all.
globalThis.counted = (globalThis.counted ?? 0) + 1;
export const thing = { made: "shared" };
export class Box { constructor() { this.in = thing; } }
"#;

const PAGE: &str = r#"import { Box, thing } from "./shared.js";
import { same } from "./middle.js";
const all = () => Promise.all([import("./part.js"), import("./other.js"), import("./shared.js")]);
all().then(([part, other, shared]) => console.log(JSON.stringify([
  counted,
  countedDeep,
  same() === thing,
  new Box().in === part.reached,
  other.box === Box,
  other.reached === thing,
  shared.thing === thing,
  part.deeper === other.deeper,
])));
"#;

const PART: &str = r#"import { same } from "./middle.js";
import { deep } from "./deep.js";
export const reached = same();
export const deeper = deep;
"#;

const OTHER: &str = r#"import { Box, thing as renamed } from "./shared.js";
import { deep } from "./deep.js";
export const box = Box;
export const reached = renamed;
export const deeper = deep;
"#;

const DEEP: &str = r#"globalThis.countedDeep = (globalThis.countedDeep ?? 0) + 1;
export const deep = {};
"#;

#[test]
fn a_module_is_evaluated_once_however_it_is_reached() {
    let middle = "import { thing as own } from \"./shared.js\";\nexport const same = () => own;\n";
    let files = joined(&[
        ("shared", SHARED),
        ("middle", middle),
        ("page", PAGE),
        ("part", PART),
        ("other", OTHER),
        ("deep", DEEP),
    ])
    .expect("they can be joined");
    let names: Vec<_> = files.keys().filter(|path| path.ends_with(".js")).collect();
    assert_eq!(
        names,
        [
            "page/page.js",
            "page/page/deep.js",
            "page/page/other.js",
            "page/page/part.js"
        ]
    );
    if let Some(said) = run(&files, "page/page.js") {
        assert_eq!(said.trim(), "[1,1,true,true,true,true,true,true]");
    }
}

#[test]
fn strings_templates_and_regular_expressions_mean_the_same_when_joined() {
    const TRICKY: &str = r#"export const facts = [
  "a // b", 'c /* d */ "', `e // ${[1, 2].map((n) => `<${n}>`).join(" /* ")} \` }`,
  /[/"]\/\/ '/.test("/// '"), "a/b".replace(/\//g, " / "), 8 / 4 / 2, 1 + +1 - -1,
  // A comment with ` and " and /*
  ((a) => a /* ` */ .length)("four"),
];
export function early() { return late(); }
const late = () => { /* nothing */ return "late"; }
"#;
    let show = "import { early, facts } from \"./tricky.js\";\nconsole.log(JSON.stringify([...facts, early()]));\n";
    let scripts = [("tricky", TRICKY), ("show", show)];
    let mut plain: BTreeMap<_, _> = scripts
        .iter()
        .map(|(name, source)| (format!("{name}.js"), (*source).to_owned()))
        .collect();
    plain.extend(joined(&scripts).expect("they can be joined"));
    assert!(!plain["page/show.js"].contains("A comment"));
    let (Some(expected), Some(found)) = (run(&plain, "show.js"), run(&plain, "page/show.js"))
    else {
        return;
    };
    assert_eq!(found, expected);
}

const WITH_WORKER: &str = r#"import { thing } from "./shared.js";
const given = thing;
const work = () => new Worker(new URL("./work.js", import.meta.url), { type: "module" });
const part = () => import("./part.js");
"#;

#[test]
fn a_worker_is_joined_on_its_own() {
    let files = joined(&[
        ("shared", SHARED),
        ("page", WITH_WORKER),
        (
            "part",
            "export const a = () => new URL(\"./work.js\", import.meta.url);\n",
        ),
        (
            "work",
            "import { thing } from \"./shared.js\";\npostMessage(thing);\n",
        ),
    ])
    .expect("they can be joined");
    let names =
        |text: &str, address: &str| text.contains(&format!("\"{address}?v={VERSION_MARK}\""));
    assert!(names(&files["page/page.js"], "./work.js"));
    assert!(names(&files["page/page/part.js"], "../work.js"));
    assert!(files["page/work.js"].starts_with("const $_shared="));
    assert!(!files.contains_key("page/page/work.js"));
}

#[test]
fn scripts_that_cannot_be_joined_are_named() {
    for (scripts, fault) in [
        (
            vec![("a", "import { b } from \"./b.js\";")],
            "b.js does not exist",
        ),
        (vec![("a", "import(\"./b.js\");")], "b.js does not exist"),
        (
            vec![
                ("a", "import { b } from \"./b.js\";"),
                ("b", "export const c = 1;"),
            ],
            "b.js does not export b",
        ),
        (
            vec![
                ("a", "import { b } from \"./b.js\";"),
                ("b", "import { c } from \"./c.js\";\nexport const b = 1;"),
                ("c", "import { b } from \"./b.js\";\nexport const c = 1;"),
            ],
            "b.js imports itself through other scripts",
        ),
    ] {
        assert_eq!(joined(&scripts), Err(fault.to_owned()));
    }
}

/// Every joined script of the real pages is a module that Node.js can read.
#[test]
fn every_joined_script_of_the_pages_parses() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("script");
    let mut scripts = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the scripts") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        scripts.insert(name, fs::read_to_string(&path).expect("UTF-8"));
    }
    let files = joined_files(&scripts, &BTreeMap::new()).unwrap_or_else(|fault| panic!("{fault}"));
    let folder = tempfile::tempdir().expect("a folder");
    let mut checked = 0;
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".js")) {
        let name = format!("{}.mjs", path.replace('/', "-"));
        fs::write(folder.path().join(&name), text).expect("written");
        let Some((parses, said)) = node(folder.path(), &["--check", &name]) else {
            return;
        };
        assert!(parses, "{path}: {said}");
        checked += 1;
    }
    assert!(checked > 10, "only {checked} scripts were found");
}
