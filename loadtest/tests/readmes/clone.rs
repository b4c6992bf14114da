//! Makes a bare clone of the checkout. The clone contains only the files that belong to the
//! repository. In the clone, a stand-in for cargo runs the programs that were built with this test.
//! Another build would take many minutes and give the same programs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

/// The stand-in for cargo. It refuses options and packages that it does not know.
const CARGO: &str = include_str!("cargo.sh");

/// A bare clone in a temporary folder.
pub struct BareClone {
    /// The clone's root.
    pub root: PathBuf,
    /// The folder of the programs that were built with this test.
    pub built: PathBuf,
    /// The folder with the stand-in for cargo.
    pub tools: PathBuf,
    _folder: TempDir,
}

impl BareClone {
    /// Copies every file that git tracks or would add.
    ///
    /// # Panics
    /// Where git is missing, or the programs are not built.
    pub fn make() -> Self {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (root, tools) = (folder.path().join("fairgate"), folder.path().join("tools"));
        for file in files_of(&checkout) {
            let (from, to) = (checkout.join(&file), root.join(&file));
            fs::create_dir_all(to.parent().expect("a folder")).expect("a made folder");
            fs::copy(from, to).expect("a copied file");
        }
        let built = Path::new(env!("CARGO_BIN_EXE_loadtest")).with_file_name("");
        for program in ["gateway", "booking", "examples/legs"] {
            let is_built = built.join(program).is_file();
            assert!(is_built, "{program} is not built: run with --workspace");
        }
        fs::create_dir(&tools).expect("a made folder");
        write_stand_in(&root, &built, &tools);
        // With these settings, curl fails if the status is 400 or higher, and still prints the
        // answer.
        fs::write(
            tools.join(".curlrc"),
            "fail-with-body\nsilent\nshow-error\n",
        )
        .expect("written");
        Self {
            root,
            built,
            tools,
            _folder: folder,
        }
    }

    /// Returns the path and the text of each README.
    pub fn readmes(&self) -> Vec<(String, String)> {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let files = files_of(&checkout).into_iter();
        let readmes = files.filter(|file| file.ends_with("README.md"));
        let read = |file: String| {
            let text = fs::read_to_string(self.root.join(&file)).expect("a README");
            (file, text)
        };
        readmes.map(read).collect()
    }

    /// Returns a line for each function in the test files of a package. The line contains the names
    /// of the file and of the function.
    pub fn tests_of(&self, package: &str) -> String {
        let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut names = String::new();
        let of_package =
            |file: &String| file.starts_with(&format!("{package}/tests/")) && file.ends_with(".rs");
        for file in files_of(&checkout).into_iter().filter(of_package) {
            let text = fs::read_to_string(self.root.join(&file)).expect("a test's text");
            let module = Path::new(&file).file_stem().expect("a name");
            for line in text.lines().filter(|line| line.contains("fn ")) {
                names += &format!("{}::{line}\n", module.to_string_lossy());
            }
        }
        names
    }
}

/// Returns the files of the repository, as paths from its root.
fn files_of(checkout: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .current_dir(checkout)
        .output()
        .expect("git starts");
    assert!(listed.status.success(), "git lists no files");
    let listed = String::from_utf8(listed.stdout).expect("paths in UTF-8");
    let files = listed
        .split('\0')
        .filter(|file| checkout.join(file).is_file());
    files.map(str::to_owned).collect()
}

/// Writes the stand-in for cargo. Asks the real cargo which programs each package has.
fn write_stand_in(root: &Path, built: &Path, tools: &Path) {
    let told = Command::new("cargo")
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()
        .expect("cargo starts");
    assert!(told.status.success(), "cargo does not know the clone");
    let told: Value = serde_json::from_slice(&told.stdout).expect("JSON");
    let packages = told["packages"].as_array().expect("packages");
    let mut kinds: BTreeMap<&str, String> = BTreeMap::new();
    for package in packages {
        for target in package["targets"].as_array().expect("targets") {
            let kind = target["kind"][0].as_str().expect("a kind");
            let line = kinds.entry(kind).or_default();
            let (package, name) = (&package["name"], &target["name"]);
            let [package, name] = [package, name].map(|name| name.as_str().expect("a name"));
            line.push_str(&format!("{package}:{name} "));
        }
    }
    let is_default = |package: &&Value| {
        let defaults = told["workspace_default_members"].as_array();
        defaults.is_some_and(|defaults| defaults.contains(&package["id"]))
    };
    let defaults: Vec<&str> = packages
        .iter()
        .filter(is_default)
        .filter_map(|package| package["name"].as_str())
        .collect();
    let script = CARGO
        .replace("@BUILT@", &built.display().to_string())
        .replace("@DEFAULTS@", &defaults.join(" "))
        .replace("@BINS@", &kinds["bin"])
        .replace("@EXAMPLES@", &kinds["example"]);
    let path = tools.join("cargo");
    fs::write(&path, script).expect("written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("may be run");
}
