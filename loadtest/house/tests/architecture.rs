//! Checks the structure of the workspace. Modules must not import each other in a circle. A crate
//! must depend only on crates below it. A package must be named only in its home. Results of Redis
//! must be read by names.
//!
//! `known-exceptions.toml` lists the files and modules that break a rule and are still allowed to.
//! If one of them no longer breaks its rule, the test fails until it is removed from the list.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fairgate_house::circles::find_circles;
use fairgate_house::imports::ModuleTree;
use fairgate_house::manifests::CrateManifest;
use fairgate_house::positions::{lua_lines_with_places, rust_lines_with_places};
use fairgate_house::workspace::{WorkspaceFiles, read_crates};
use toml::{Table, Value};

/// The known breaches of each rule, by the name of the rule's list.
const KNOWN_EXCEPTIONS: &str = include_str!("../known-exceptions.toml");

/// All crates from the bottom up, each with the crates of the workspace on which it may depend.
const FLOORS: &[(&str, &[&str])] = &[
    ("gateway/pass", &[]),
    ("booking/databases", &[]),
    ("booking/redis", &[]),
    ("booking/model", &["fairgate-pass"]),
    ("booking/base", &["fairgate-databases"]),
    (
        "booking",
        &[
            "fairgate-base",
            "fairgate-model",
            "fairgate-pass",
            "fairgate-redis",
            "fairgate-databases",
        ],
    ),
    ("gateway/rules", &["fairgate-pass"]),
    ("gateway/simulation", &["fairgate-rules"]),
    ("waitroom-ui", &["fairgate-model"]),
    (
        "gateway",
        &[
            "booking",
            "fairgate-base",
            "fairgate-model",
            "fairgate-pass",
            "fairgate-redis",
            "fairgate-rules",
            "fairgate-simulation",
            "fairgate-databases",
            "waitroom-ui",
        ],
    ),
    ("loadtest/house", &[]),
    ("loadtest/servers", &["fairgate-pass"]),
    (
        "loadtest",
        &[
            "fairgate-model",
            "fairgate-rules",
            "fairgate-servers",
            "fairgate-simulation",
        ],
    ),
];

/// The crates that contain only pure functions on plain values.
const PURE_CRATES: &[&str] = &["booking/model", "gateway/rules", "gateway/simulation"];

/// All packages on which a pure crate may depend. They are for values, numbers, text, digests, and
/// random numbers whose source is an argument. `utoipa` only describes the form of documents,
/// without HTTP.
const PURE_PACKAGES: &[&str] = &[
    "bytes",
    "fairgate-pass",
    "fairgate-rules",
    "hex",
    "hmac",
    "ipnet",
    "iso_currency",
    "jiff",
    "rand",
    "rand_chacha",
    "rand_distr",
    "serde",
    "serde_json",
    "sha2",
    "strsim",
    "thiserror",
    "toml",
    "unicode-normalization",
    "utoipa",
];

/// The names of the standard library that a pure crate must not use. They are for files, sockets,
/// environment variables, processes and clocks.
const IMPURE_WORDS: &[&str] = &["env", "fs", "Instant", "net", "process", "SystemTime"];

/// A package, and the homes in which it may be named.
///
/// A home that begins with a slash is a file or a folder of that name anywhere. Any other home is
/// the beginning of a path from the workspace's root.
struct PackageHome {
    package: &'static str,
    homes: &'static [&'static str],
}

const PACKAGE_HOMES: &[PackageHome] = &[
    // The verdict must not check booking with booking's own code. In the load test, only the
    // planner uses this crate. The planner reads shows and plans as booking does.
    PackageHome {
        package: "fairgate_model",
        homes: &[
            "booking/",
            "gateway/src/",
            "loadtest/src/plan/",
            "waitroom-ui/src/filters.rs",
        ],
    },
    PackageHome {
        package: "rusqlite",
        homes: &["booking/databases/", "gateway/src/ledger/sqlite/"],
    },
    PackageHome {
        package: "tokio_postgres",
        homes: &["booking/databases/", "gateway/src/ledger/postgres/"],
    },
    PackageHome {
        package: "deadpool_postgres",
        homes: &["booking/databases/"],
    },
    PackageHome {
        package: "redis",
        homes: &["booking/redis/"],
    },
    PackageHome {
        package: "jsonwebtoken",
        homes: &["gateway/pass/"],
    },
    PackageHome {
        package: "aws_lc_rs",
        homes: &["booking/base/src/secret/", "gateway/pass/"],
    },
    PackageHome {
        package: "altcha",
        homes: &["gateway/src/challenge/", "loadtest/src/bench/"],
    },
    PackageHome {
        package: "governor",
        homes: &["gateway/src/guard/"],
    },
    PackageHome {
        package: "ipnet",
        homes: &["gateway/rules/", "/web", "loadtest/src/http.rs"],
    },
    PackageHome {
        package: "minijinja",
        homes: &["waitroom-ui/"],
    },
    PackageHome {
        package: "rust_embed",
        homes: &["waitroom-ui/"],
    },
    PackageHome {
        package: "qrcode",
        homes: &["booking/src/tickets/"],
    },
    PackageHome {
        package: "csv",
        homes: &[
            "booking/src/rail/import/",
            "loadtest/src/plan/",
            "loadtest/src/html/",
        ],
    },
    PackageHome {
        package: "zip",
        homes: &["booking/src/rail/import/", "booking/tests/rail/"],
    },
    PackageHome {
        package: "flate2",
        homes: &["booking/base/"],
    },
    PackageHome {
        package: "hyper_util",
        homes: &["booking/base/", "loadtest/src/"],
    },
    PackageHome {
        package: "socket2",
        homes: &["loadtest/src/bench/"],
    },
    PackageHome {
        package: "tokio_tungstenite",
        homes: &["gateway/src/push/", "loadtest/src/swarm/"],
    },
    PackageHome {
        package: "mimalloc",
        homes: &["/main"],
    },
    PackageHome {
        package: "clap",
        homes: &["/main", "gateway/src/command_line", "loadtest/"],
    },
    PackageHome {
        package: "reqwest",
        homes: &[
            "booking/src/payments/stripe/",
            "gateway/src/challenge/provider/",
            "loadtest/servers/",
            "/onsale",
            "/upstream",
        ],
    },
    PackageHome {
        package: "axum",
        homes: &[
            "booking/base/",
            "loadtest/servers/",
            "/app",
            "/cookies",
            "/guard",
            "/http",
            "/onsale",
            "/pages",
            "/push",
            "/router",
            "/upstream",
            "/web",
        ],
    },
];

/// The files and folders of the gateway that may name the crate `booking`. They call booking, or
/// build a process of both.
const BOOKING_NAMED_IN: &[&str] = &["gateway/src/upstream/", "/app"];

/// The modules that build a process. Only these modules and the root of their crate may name them.
const TOP_MODULES: &[&str] = &[
    "app",
    "command_line",
    "commands",
    "open",
    "router",
    "service",
];

/// The files that read results of Redis by their place in a list. `replies.lua` does it for all
/// scripts: it knows what Redis itself answers to `HMGET`, `HGETALL` and `TIME`.
const PLACES_READ_IN: &[&str] = &["booking/redis/src/replies.lua"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn crates() -> BTreeMap<String, CrateManifest> {
    read_crates(&root()).expect("the workspace's own manifests can be read")
}

#[test]
fn every_crate_depends_only_on_crates_below_it() {
    let crates = crates();
    let packages: BTreeSet<&str> = crates
        .values()
        .map(|manifest| manifest.package.as_str())
        .collect();
    let floors: BTreeSet<&str> = FLOORS.iter().map(|(folder, _)| *folder).collect();
    let folders: BTreeSet<&str> = crates.keys().map(String::as_str).collect();
    assert_eq!(folders, floors, "FLOORS must list every crate");
    let mut below = BTreeSet::new();
    for (folder, allowed) in FLOORS {
        let manifest = &crates[*folder];
        let used: BTreeSet<&str> = manifest.packages_used.iter().map(String::as_str).collect();
        let upward: Vec<_> = used
            .intersection(&packages)
            .filter(|package| !allowed.contains(package))
            .collect();
        assert!(upward.is_empty(), "{folder} may not depend on {upward:?}");
        let not_below: Vec<_> = allowed
            .iter()
            .filter(|package| !below.contains(**package))
            .collect();
        assert!(
            not_below.is_empty(),
            "FLOORS must list {not_below:?} before {folder}"
        );
        below.insert(manifest.package.as_str());
    }
}

#[test]
fn a_pure_crate_depends_only_on_pure_packages() {
    let crates = crates();
    for folder in PURE_CRATES {
        let used = crates[*folder].packages_used.iter();
        let impure: Vec<_> = used
            .filter(|package| !PURE_PACKAGES.contains(&package.as_str()))
            .collect();
        assert!(
            impure.is_empty(),
            "{folder} is pure and may not depend on {impure:?}"
        );
    }
}

/// Checks all rules about sources in one test, because reading all sources takes seconds. Reports
/// everything that breaks a rule.
#[test]
fn the_sources_keep_all_rules() {
    let workspace = WorkspaceFiles::read(&root()).expect("the workspace's own files can be read");
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
    let mut breaches = HouseBreaches::with_known_exceptions();
    check_circles(&trees, &mut breaches);
    check_top_modules(&trees, &mut breaches);
    check_pure_crates(&trees, &mut breaches);
    check_package_homes(&trees, &mut breaches);
    check_bookings_port(&trees, &mut breaches);
    check_places(&workspace, &mut breaches);
    breaches.assert_none();
}

type ModuleTrees<'a> = BTreeMap<&'a str, ModuleTree<'a>>;

/// Compares the breaches of each rule with the list of known ones.
struct HouseBreaches {
    known: BTreeMap<String, BTreeSet<String>>,
    sentences: Vec<String>,
}

impl HouseBreaches {
    fn with_known_exceptions() -> HouseBreaches {
        let lists: Table = KNOWN_EXCEPTIONS
            .parse()
            .expect("the list of exceptions is TOML");
        let list_of = |list: Value| list.try_into().expect("each rule has a list of names");
        let known = lists
            .into_iter()
            .map(|(rule, list)| (rule, list_of(list)))
            .collect();
        HouseBreaches {
            known,
            sentences: Vec::new(),
        }
    }

    /// Records every breach that is not known, and every known exception that no longer breaks its
    /// rule.
    fn compare(&mut self, list: &str, rule: &str, found: &BTreeSet<String>) {
        let known = self.known.remove(list).unwrap_or_default();
        let new = found
            .difference(&known)
            .map(|name| format!("{list}: \"{name}\" breaks a rule: {rule}"));
        let gone = known.difference(found).map(|name| {
            format!("{list}: \"{name}\" no longer breaks the rule: remove it from the list")
        });
        self.sentences.extend(new.chain(gone));
    }

    fn assert_none(mut self) {
        let unused = self
            .known
            .keys()
            .map(|list| format!("{list}: no rule has this list"));
        self.sentences.extend(unused);
        assert!(self.sentences.is_empty(), "\n{}", self.sentences.join("\n"));
    }
}

fn check_circles(trees: &ModuleTrees, breaches: &mut HouseBreaches) {
    for (folder, tree) in trees {
        let tied = find_circles(&tree.module_imports())
            .into_iter()
            .flatten()
            .collect();
        let rule = format!("the modules of {folder} do not import each other in a circle");
        breaches.compare(&format!("knots of {folder}"), &rule, &tied);
    }
}

fn check_top_modules(trees: &ModuleTrees, breaches: &mut HouseBreaches) {
    let mut named = BTreeSet::new();
    for folder in ["booking", "gateway"] {
        let is_top = |path: &str| {
            let inside = path.trim_start_matches(folder).trim_start_matches("/src/");
            let top = inside
                .split('/')
                .next()
                .unwrap_or_default()
                .trim_end_matches(".rs");
            TOP_MODULES.contains(&top)
        };
        let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
        for (from, others) in trees[folder].file_imports() {
            if !is_top(&from) && !is_root(&from) && others.keys().any(|to| is_top(to)) {
                named.insert(from);
            }
        }
    }
    let rule = "only the root of a crate and its other top modules name its app and its router";
    breaches.compare("app and router", rule, &named);
}

fn check_pure_crates(trees: &ModuleTrees, breaches: &mut HouseBreaches) {
    for folder in PURE_CRATES {
        for (file, words) in trees[folder].outside_names() {
            let impure = IMPURE_WORDS.iter().filter(|word| words.contains(*word));
            breaches
                .sentences
                .extend(impure.map(|word| format!("{file} is pure and names {word}")));
        }
    }
}

fn check_package_homes(trees: &ModuleTrees, breaches: &mut HouseBreaches) {
    let mut named_in: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (file, words) in trees.values().flat_map(ModuleTree::outside_names) {
        for word in words {
            named_in.entry(word).or_default().insert(file);
        }
    }
    for PackageHome { package, homes } in PACKAGE_HOMES {
        let files = named_in.get(package).cloned().unwrap_or_default();
        if files.is_empty() {
            breaches
                .sentences
                .push(format!("no file names {package}: remove it from the list"));
        }
        let strangers = files
            .into_iter()
            .filter(|file| !is_in_home(file, homes))
            .map(str::to_owned)
            .collect();
        let rule = format!("{package} is named only in {}", homes.join(", "));
        breaches.compare(&format!("home of {package}"), &rule, &strangers);
    }
}

fn check_bookings_port(trees: &ModuleTrees, breaches: &mut HouseBreaches) {
    let named = trees["gateway"]
        .outside_names()
        .into_iter()
        .filter(|(file, words)| words.contains("booking") && !is_in_home(file, BOOKING_NAMED_IN))
        .map(|(file, _)| file.to_owned())
        .collect();
    let rule = "the gateway names booking's outer crate only at its port";
    breaches.compare("booking's port", rule, &named);
}

fn check_places(workspace: &WorkspaceFiles, breaches: &mut HouseBreaches) {
    let text_of = |path: &str| workspace.text_of(path).expect("the file can be read");
    let scripts = workspace.files.iter().filter(|path| path.ends_with(".lua"));
    let scripts = scripts.map(|path| (path.as_str(), lua_lines_with_places(&text_of(path))));
    let stores = workspace.product.iter().map(|file| file.path.as_str());
    let stores = stores.filter(|path| path.contains("/store/redis/"));
    let stores = stores.map(|path| {
        let lines = rust_lines_with_places(&text_of(path)).expect("it is Rust");
        (path, lines)
    });
    let (found, homes): (Vec<_>, Vec<_>) = scripts
        .chain(stores)
        .filter(|(_, lines)| !lines.is_empty())
        .partition(|(path, _)| !PLACES_READ_IN.contains(path));
    assert_eq!(homes.len(), PLACES_READ_IN.len(), "a home reads no place");
    let mut places = BTreeSet::new();
    for (path, lines) in found {
        places.extend(lines.into_iter().map(|line| format!("{path}:{line}")));
    }
    let rule = "results of Redis are read by names, and scripts answer with names";
    breaches.compare("places", rule, &places);
}

fn is_in_home(path: &str, homes: &[&str]) -> bool {
    homes.iter().any(|home| match home.strip_prefix('/') {
        Some(name) => path
            .trim_end_matches(".rs")
            .split('/')
            .any(|part| part == name),
        None => path.starts_with(home),
    })
}
