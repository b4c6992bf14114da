//! Looks for the programs that tests need. If a program is missing, a test that needs the program
//! prints that it is skipped, and passes. But if an environment variable demands that every test
//! runs, the test fails.

use std::path::{Path, PathBuf};

/// Returns the programs for Redis and PostgreSQL that are missing, with their Debian packages.
/// Returns `None` if no program is missing.
#[must_use]
pub fn missing_programs() -> Option<String> {
    let is_postgres_there =
        postgres_program("postgres").is_some() && postgres_program("initdb").is_some();
    let postgres = (!is_postgres_there).then_some("PostgreSQL (Debian package postgresql)");
    named(missing_for_redis().into_iter().chain(postgres))
}

/// Does the same as [`missing_programs`], but looks only for the programs for Redis.
#[must_use]
pub fn missing_redis_programs() -> Option<String> {
    named(missing_for_redis())
}

fn missing_for_redis() -> Vec<&'static str> {
    let programs = [
        ("redis-server", "redis-server (Debian package redis-server)"),
        ("setpriv", "setpriv (Debian package util-linux)"),
    ];
    let absent = programs
        .into_iter()
        .filter(|(program, _)| on_path(program).is_none());
    absent.map(|(_, words)| words).collect()
}

fn named<'a>(absent: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let absent: Vec<&str> = absent.into_iter().collect();
    (!absent.is_empty()).then(|| absent.join(", "))
}

/// Does the same as [`missing_programs`], but also looks for the library that moves a clock.
#[must_use]
pub fn clock_missing() -> Option<String> {
    match (missing_programs(), clock_library()) {
        (None, None) => Some("libfaketime (Debian package faketime)".to_owned()),
        (missing, _) => missing,
    }
}

/// Returns whether a test that needs the servers must be skipped. If so, prints a message with the
/// missing programs. A test begins with `if must_skip("…") { return; }`.
///
/// # Panics
/// Where a program is missing and `CI=true` or `FAIRGATE_NOTHING_SKIPPED=1` is set.
#[must_use]
pub fn must_skip(what: &str) -> bool {
    skip(what, missing_programs())
}

/// Does the same as [`must_skip`], for a test that moves a clock.
///
/// # Panics
/// As [`must_skip`].
#[must_use]
pub fn must_skip_clock(what: &str) -> bool {
    skip(what, clock_missing())
}

pub(crate) fn skip(what: &str, missing: Option<String>) -> bool {
    let Some(missing) = missing else { return false };
    let is_set = |name: &str, value: &str| std::env::var(name).is_ok_and(|actual| actual == value);
    assert!(
        !is_set("CI", "true") && !is_set("FAIRGATE_NOTHING_SKIPPED", "1"),
        "{what} was not tested, and nothing may be skipped here: there is no {missing}"
    );
    eprintln!("SKIPPED: {what}: there is no {missing}");
    true
}

/// Returns the path of a program on `PATH`, in `/usr/bin` or in `/usr/sbin`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/bin"), PathBuf::from("/usr/sbin")])
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// Returns the path of a program of PostgreSQL. Looks first for the newest version that Debian's
/// packages installed, because these packages do not put the server's programs on `PATH`. Without
/// such a package, looks on `PATH`.
pub fn postgres_program(name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            let program = entry.path().join("bin").join(name);
            program.is_file().then_some((version, program))
        })
        .collect();
    found.sort();
    found
        .pop()
        .map(|(_, program)| program)
        .or_else(|| on_path(name))
}

/// Returns the path of the Chromium that opens pages for a test: the one that `FAIRGATE_CHROMIUM`
/// names, or else one that is installed. Debian's headless shell comes first. It is the same
/// browser without windows, and takes half of the processor time. Without any, prints that `what`
/// is skipped, and returns `None`.
///
/// # Panics
/// As [`must_skip`].
#[must_use]
pub fn chromium_for(what: &str) -> Option<PathBuf> {
    let named = std::env::var_os("FAIRGATE_CHROMIUM").map(PathBuf::from);
    let found = named.or_else(|| {
        [
            "chromium-headless-shell",
            "chromium",
            "chromium-browser",
            "google-chrome",
        ]
        .into_iter()
        .find_map(on_path)
    });
    let missing = found.is_none().then(|| {
        "Chromium (Debian package chromium-headless-shell, or name one in FAIRGATE_CHROMIUM)"
            .to_owned()
    });
    if skip(what, missing) { None } else { found }
}

/// Returns the path of the library that moves a process's clock.
pub fn clock_library() -> Option<PathBuf> {
    let inside = |folder: &Path| {
        let library = folder.join("faketime/libfaketimeMT.so.1");
        library.is_file().then_some(library)
    };
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten();
    folders.flatten().find_map(|entry| inside(&entry.path()))
}
