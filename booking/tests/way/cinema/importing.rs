//! Tests `booking import cinema`. One test calls the function behind the command, and imports into
//! the ledger of a running node. The other tests run the command and read its output.

use std::path::Path;
use std::process::{Command, Output};

use booking::choices::ImportDecisions;
use fairgate_model::payments::kind::ProviderKind;

use super::*;

fn import(folder: &Path, file: &Path, settings: &[(&str, &str)]) -> Output {
    import_with(&[], folder, file, settings)
}

fn import_with(flags: &[&str], folder: &Path, file: &Path, settings: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_booking"))
        .args(["import", "cinema"])
        .args(flags)
        .arg(file)
        .arg("--data")
        .arg(folder)
        .arg("--json")
        .env_remove("FAIRGATE_DATABASE_URL")
        .env_remove("FAIRGATE_PAYMENTS")
        .envs(settings.iter().copied())
        .output()
        .expect("the command runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_imports_a_file_or_names_every_fault_with_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("programme.json");
    let write = |programme: &Value| {
        std::fs::write(&file, format!("{programme:#}")).expect("written");
    };
    let mut bad = programme();
    bad["films"][1]["duration_s"] = json!(0);
    bad["cities"][0]["cinemas"][0]["halls"][0]["plan"] = json!("seatsio:nowhere.json");
    write(&bad);
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    let refused = import(&data, &file, &[]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && told.contains("2 faults"),
        "{told}"
    );
    let line = |of: &str| {
        let text = std::fs::read_to_string(&file).expect("readable");
        text.lines()
            .position(|line| line.contains(of))
            .expect("a line with this text")
            + 1
    };
    for (of, path) in [
        ("\"duration_s\": 0", "films[1].duration_s"),
        ("nowhere.json", "cities[0].cinemas[0].halls[0].plan"),
    ] {
        let expected = format!("programme.json:{}: {path}: ", line(of));
        assert!(told.contains(&expected), "{expected} in {told}");
    }
    write(&programme());
    for new in [5, 0] {
        let done = import(&data, &file, &[]);
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        let changed: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(changed["new_showings"], new, "{changed:#}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_node_sells_a_programme_that_is_imported_into_its_postgresql() {
    if fairgate_servers::must_skip("a programme imported into PostgreSQL") {
        return;
    }
    let (app, ..) = opened_on_server().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("programme.json");
    std::fs::write(&file, programme().to_string()).expect("written");
    let stores = fairgate_base::config::StoreSettings {
        database_url: Some(fairgate_base::config::SecretSetting(app.url())),
        redis_url: None,
        counter_file: None,
    };
    let imported = booking::commands::import_programme::import_programme(
        &file,
        &stores,
        folder.path(),
        ProviderKind::None,
        &ImportDecisions::default(),
    )
    .await;
    assert_eq!(imported.expect("imported").new_showings, 5);
    let found = until("the programme", async || {
        let found = search(&app, "?city=york").await;
        (found["total"] == 1).then_some(found)
    })
    .await;
    let ana = app.visitor_of("everyday", 1);
    let show = text(&found["showings"][0], "show");
    hold(&app, &ana, &show, json!({"quantity": 2}))
        .await
        .is(201);
}

#[test]
fn the_command_previews_and_refuses_decisions_about_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("programme.json");
    std::fs::write(&file, programme().to_string()).expect("written");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    for flags in [&["--preview"][..], &[]] {
        let done = import_with(flags, &data, &file, &[]);
        let changed: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(changed["new_showings"], 5, "a preview stores nothing");
        assert_eq!(changed["preview"], !flags.is_empty());
    }
    for (flags, told) in [
        (&["--keep", "nowhere"][..], "nowhere: no showing"),
        (&["--keep", "a", "--cancel", "a"], "a is named twice"),
        (&["--match", "a"], "OLD=NEW"),
    ] {
        let refused = import_with(flags, &data, &file, &[]);
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(
            !refused.status.success() && stderr.contains(told),
            "{stderr}"
        );
    }
}

#[test]
fn the_command_refuses_prices_that_the_payment_provider_never_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("programme.json");
    let mut dear = programme();
    dear["showings"][0]["prices"]["cat1"] = json!(100_000_000);
    std::fs::write(&file, format!("{dear:#}")).expect("written");
    let data = folder.path().join("data");
    std::fs::create_dir(&data).expect("a folder");
    let refused = import(&data, &file, &[("FAIRGATE_PAYMENTS", "stripe")]);
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success()
            && told.contains("nothing was imported: 1 fault\n")
            && told.contains("showings[0].prices.cat1")
            && told.contains("payment provider takes at once"),
        "{told}"
    );
    for settings in [&[("FAIRGATE_PAYMENTS", "sandbox")][..], &[]] {
        let done = import(&data, &file, settings);
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{told}");
        let warned_no_provider = told.contains("no payment provider was named");
        assert_eq!(warned_no_provider, settings.is_empty(), "{told}");
    }
}
