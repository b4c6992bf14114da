//! Runs luacheck on Lua scripts. Each script is passed in full, as Redis gets it, so that luacheck
//! sees all names that the script uses.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::needs::{on_path, skip};

/// Checks scripts with the settings of `.luacheckrc`. Each script has a name and a text. If
/// luacheck is missing, skips the check or panics, like [`crate::must_skip`].
///
/// # Panics
/// Where luacheck finds a fault or cannot be run, or where it is missing and nothing may be
/// skipped.
pub fn check_lua<'a>(what: &str, scripts: impl IntoIterator<Item = (&'a str, &'a str)>) {
    let program = on_path("luacheck");
    let absent = || "luacheck (Debian package lua-check)".to_owned();
    if skip(what, program.is_none().then(absent)) {
        return;
    }
    let settings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.luacheckrc");
    let mut problems = String::new();
    for (name, text) in scripts {
        let mut luacheck = Command::new("luacheck")
            .args(["--no-color", "--config"])
            .arg(&settings)
            .args(["--filename", name, "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("luacheck starts");
        let mut input = luacheck.stdin.take().expect("it is piped");
        input.write_all(text.as_bytes()).expect("it reads");
        drop(input);
        let output = luacheck.wait_with_output().expect("it ends");
        if !output.status.success() {
            problems.push_str(&String::from_utf8_lossy(&output.stdout));
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// Checks that the restricted account in `booking/redis/README.md` may call every command that the
/// scripts call.
///
/// # Panics
/// Where the account may not call a command, or where this finds no call in the scripts.
pub fn check_script_rights<'a>(scripts: impl IntoIterator<Item = &'a str>) {
    let account = include_str!("../../../booking/redis/README.md")
        .lines()
        .find(|line| line.starts_with("ACL SETUSER "))
        .expect("the README shows the account");
    let allowed: BTreeSet<&str> = account
        .split(' ')
        .filter_map(|word| word.strip_prefix('+'))
        .collect();
    let called: BTreeSet<String> = scripts
        .into_iter()
        .flat_map(|text| text.split("call('").skip(1))
        .filter_map(|rest| Some(rest.split_once('\'')?.0.to_ascii_lowercase()))
        .collect();
    assert!(!called.is_empty(), "no call of a command was found");
    let refused: Vec<&String> = called
        .iter()
        .filter(|command| !allowed.contains(command.as_str()))
        .collect();
    assert!(
        refused.is_empty(),
        "the account of booking/redis/README.md may not call {refused:?}"
    );
}
