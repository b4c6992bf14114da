//! Runs `loadtest verdict` as a process. Checks its answers, its exit codes, and its messages about
//! files that it cannot read.

use std::path::Path;
use std::process::{Command, Output};

const RUN: &str = r#"{"kind":"run","version":1,"started_ms":1,"planned":1,"room":"hall","room_doc":{"method":"fifo"}}"#;
const DUMP: &str = r#"{"kind":"dump","version":1,"at_ms":9}
{"kind":"show","show":"night","seats":1,"legs":1,"grace_s":5,"seats_per_visitor":4,"labels":["A-1"]}
{"kind":"pending","seat_rows":null,"effects":0,"events":0}
"#;

struct Files(tempfile::TempDir);

impl Files {
    fn new(history: &str, dump: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("history"), history).expect("the file can be written");
        std::fs::write(folder.path().join("dump"), dump).expect("the file can be written");
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn verdict(&self, more: &[&str]) -> Output {
        verdict(&self.path("history"), &self.path("dump"), more)
    }
}

fn verdict(history: &Path, dump: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_loadtest"))
        .arg("verdict")
        .arg(history)
        .arg("--ledger")
        .arg(dump)
        .args(more)
        .output()
        .expect("the program runs")
}

#[track_caller]
fn check_unreadable(history: &str, dump: &str, told: &[&str]) {
    let output = Files::new(history, dump).verdict(&[]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for word in told {
        assert!(said.contains(word), "{word:?} is not in {said:?}");
    }
}

fn history_with(record: &str) -> String {
    format!("{RUN}\n\n{record}\n")
}

#[test]
fn a_complete_run_holds_and_the_output_names_the_invariants() {
    let ends = r#"{"kind":"end","visitor":0,"at_ms":5,"outcome":"gave_up"}
{"kind":"finished","at_ms":6}"#;
    let files = Files::new(&history_with(ends), DUMP);
    let output = files.verdict(&[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("the verdict holds") && said.contains("one_owner"),
        "{said}"
    );
    let json = files.verdict(&["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(
        (&json["held"], &json["judged"]["records"]),
        (&true.into(), &3.into())
    );
}

#[test]
fn an_empty_history_fails_instead_of_holding() {
    let output = Files::new("", DUMP).verdict(&[]);
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(99), "{said}");
    assert!(said.contains("the history is empty"), "{said}");
}

#[test]
fn a_bad_line_is_named_and_nothing_is_judged() {
    check_unreadable(
        &history_with("{\"kind\":"),
        DUMP,
        &["history: line 3", "no record"],
    );
    check_unreadable(
        &history_with(r#"{"kind":"surprise"}"#),
        DUMP,
        &["line 3", "surprise"],
    );
    check_unreadable(
        r#"{"kind":"settled","at_ms":1}"#,
        DUMP,
        &["line 1", "\"run\""],
    );
    let op = r#"{"kind":"call","visitor":0,"op":"fly","sent_ms":1,"status":200}"#;
    check_unreadable(&history_with(op), DUMP, &["line 3", "fly"]);
    let hold = r#"{"kind":"call","visitor":0,"op":"hold","sent_ms":1,"status":201,"show":"night","hold":"h","seats":[]}"#;
    check_unreadable(&history_with(hold), DUMP, &["line 3", "expires_ms"]);
    let cells = r#"{"kind":"snapshot","observer":"o","at_ms":1,"show":"night","version":"1","cells":9,"packed":"00"}"#;
    check_unreadable(&history_with(cells), DUMP, &["line 3", "9 cells"]);
}

#[test]
fn a_dump_that_is_cut_off_or_has_another_version_is_not_judged() {
    let cut: Vec<_> = DUMP.lines().take(2).collect();
    check_unreadable(&history_with(""), &cut.join("\n"), &["dump", "cut off"]);
    check_unreadable(&history_with(""), "", &["dump", "cut off"]);
    check_unreadable(
        &history_with(""),
        r#"{"kind":"dump","version":2,"at_ms":1}"#,
        &["line 1", "version 2"],
    );
}

#[test]
fn a_bad_line_of_the_providers_books_is_named_and_money_that_the_ledger_does_not_know_fails() {
    let files = Files::new(RUN, DUMP);
    let with_books = |books: &str| {
        let path = files.path("books");
        std::fs::write(&path, books).expect("the file can be written");
        files.verdict(&["--provider", &path.display().to_string()])
    };
    let output = with_books(r#"{"kind":"invoice"}"#);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("books: line 1") && said.contains("invoice"),
        "{said}"
    );
    let taken = r#"{"kind":"intent","intent":"pi_1","payment":"payment_1","order":"order_1","status":"succeeded","amount":70,"currency":"EUR","captured":70,"refunded":0}"#;
    let output = with_books(taken);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(99), "{said}");
    assert!(
        said.contains("pi_1 took 70 for payment_1, which the ledger does not know"),
        "{said}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_exit_code_is_2() {
    let files = Files::new(RUN, DUMP);
    for (history, dump) in [("nowhere", "dump"), ("history", "nowhere")] {
        let output = verdict(&files.path(history), &files.path(dump), &[]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere cannot be read"));
    }
    let output = files.verdict(&["--draw", "nowhere.json"]);
    assert_eq!(output.status.code(), Some(2));
    let none = Command::new(env!("CARGO_BIN_EXE_loadtest"))
        .arg("verdict")
        .output();
    assert_eq!(none.expect("the program runs").status.code(), Some(2));
}

#[test]
fn the_self_test_finds_every_fault_that_it_plants() {
    let output = Command::new(env!("CARGO_BIN_EXE_loadtest"))
        .args(["verdict", "--self-test"])
        .output();
    let output = output.expect("the program runs");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}
