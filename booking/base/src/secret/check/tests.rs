//! Tests the choice of the secret on both databases.

use fairgate_databases::{PostgresDatabase, SqliteDatabase};
use fairgate_servers::{PostgresServer, must_skip};
use tempfile::TempDir;

use super::*;
use crate::config::SecretSetting;

fn file(folder: &TempDir) -> Installation {
    let path = folder.path().join("ledger.db");
    Installation::File(SqliteDatabase::open(&path).expect("the file opens"))
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn set(text: &str) -> SecretSettings {
    SecretSettings {
        secret: Some(SecretSetting(text.to_owned())),
    }
}

const NONE: SecretSettings = SecretSettings { secret: None };
const ONE: &str = "one-secret-of-thirty-two-letters-or-more";
const OTHER: &str = "another-secret-of-thirty-two-letters";

#[tokio::test]
async fn the_file_that_the_first_start_makes_opens_the_ledger_from_then_on() {
    let data = folder();
    let first = open_secret(&file(&data), &NONE, data.path()).await;
    let first = first.expect("the file is made");
    let text = std::fs::read_to_string(data.path().join(SECRET_FILE)).expect("it is there");
    let second = open_secret(&file(&data), &NONE, data.path()).await;
    // The same text as a setting is the same secret, so a file can become a setting.
    let elsewhere = folder();
    let set = open_secret(&file(&data), &set(text.trim()), elsewhere.path()).await;
    for again in [second, set] {
        let again = again.expect("it is the same secret");
        assert_eq!(again.sub_key("seal"), first.sub_key("seal"));
    }
    let made = elsewhere.path().join(SECRET_FILE).exists();
    assert!(!made, "no file is made beside a setting");
}

#[tokio::test]
async fn a_wrong_or_lost_secret_is_named_and_nothing_is_made() {
    let data = folder();
    let ledger = file(&data);
    open_secret(&ledger, &set(ONE), data.path())
        .await
        .expect("it becomes the ledger's");
    let check = ledger.secret_check().await.expect("readable");
    let told = open_secret(&ledger, &set(OTHER), data.path()).await;
    let told = told.expect_err("another secret").to_string();
    assert!(told.starts_with("FAIRGATE_SECRET is not"), "{told}");
    let path = data.path().join(SECRET_FILE);
    for lost in [
        open_secret(&ledger, &NONE, data.path()).await,
        require_secret(&ledger, &NONE, data.path()).await,
    ] {
        let told = lost.expect_err("no secret").to_string();
        assert!(told.contains(&path.display().to_string()), "{told}");
        assert!(told.contains("missing"), "{told}");
    }
    assert!(!path.exists(), "a new file would hide the loss");
    make_secret(data.path()).expect("a file of another secret");
    let told = open_secret(&ledger, &NONE, data.path()).await;
    let told = told.expect_err("another secret").to_string();
    assert!(told.contains(&path.display().to_string()), "{told}");
    assert!(path.exists(), "somebody else's file stays");
    assert_eq!(ledger.secret_check().await.expect("readable"), check);
    let opened = require_secret(&ledger, &set(ONE), data.path()).await;
    assert!(opened.is_ok());
}

#[tokio::test]
async fn a_command_is_refused_before_the_first_start() {
    let data = folder();
    let early = require_secret(&file(&data), &set(ONE), data.path()).await;
    assert!(matches!(early, Err(SecretError::NotSealed)), "{early:?}");
    assert_eq!(file(&data).secret_check().await.expect("readable"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_first_nodes_without_a_setting_one_decides_and_the_others_are_told() {
    if must_skip("PostgreSQL") {
        return;
    }
    let server = PostgresServer::options().without_fsync().start().await;
    let server = server.expect("PostgreSQL starts");
    let folders: Vec<TempDir> = (0..4).map(|_| folder()).collect();
    let mut starting = tokio::task::JoinSet::new();
    // Two nodes share each folder, as two processes on one machine do.
    for data in folders.iter().chain(&folders) {
        let (url, data) = (server.url(), data.path().to_owned());
        starting.spawn(async move {
            let database = PostgresDatabase::connect(&url).await.expect("it answers");
            let installation = Installation::Server(database);
            let opened = open_secret(&installation, &NONE, &data).await;
            (data, opened)
        });
    }
    let mut winners = Vec::new();
    while let Some(started) = starting.join_next().await {
        let (data, opened) = started.expect("no panic");
        match opened {
            Ok(_) => winners.push(data),
            Err(error) => {
                let told = error.to_string();
                assert!(told.contains("Nothing was changed"), "{told}");
            }
        }
    }
    assert!(!winners.is_empty() && winners.len() <= 2, "{winners:?}");
    assert!(winners.iter().all(|data| *data == winners[0]));
    // From now on each node of the winner's folder starts, and no other one.
    let database = PostgresDatabase::connect(&server.url()).await;
    let installation = Installation::Server(database.expect("it answers"));
    for data in &folders {
        let opened = open_secret(&installation, &NONE, data.path()).await;
        assert_eq!(opened.is_ok(), data.path() == winners[0], "{opened:?}");
    }
}
