//! PostgreSQL starts, keeps what it was told over a kill, and is gone after its drop.

use std::time::Duration;

use fairgate_servers::{Postgres, or_skip};

#[tokio::test]
async fn it_keeps_what_it_was_told_over_a_kill_and_a_restart_and_is_gone_after_its_drop() {
    if or_skip("PostgreSQL") {
        return;
    }
    let postgres = Postgres::start().await.expect("it starts");
    for (setting, value) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("max_connections", "200"),
    ] {
        let shown = postgres.query(&format!("SHOW {setting}")).await;
        assert_eq!(shown.expect("shown"), value, "{setting}");
    }
    postgres
        .query("CREATE TABLE a (b int)")
        .await
        .expect("made");
    postgres
        .query("INSERT INTO a VALUES (7)")
        .await
        .expect("inserted");
    postgres.kill();
    assert!(postgres.query("SELECT 1").await.is_err());
    postgres.begin().await.expect("it starts again");
    assert_eq!(postgres.query("SELECT b FROM a").await.expect("read"), "7");
    postgres.restart().await.expect("it restarts");
    assert_eq!(postgres.query("SELECT b FROM a").await.expect("read"), "7");
    let port = postgres
        .url()
        .rsplit([':', '/'])
        .nth(1)
        .and_then(|port| port.parse::<u16>().ok());
    let port = port.expect("a port");
    drop(postgres);
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[tokio::test]
async fn fresh_databases_know_nothing_of_one_another_and_a_paused_server_does_not_answer() {
    if or_skip("PostgreSQL") {
        return;
    }
    let postgres = Postgres::options()
        .without_fsync()
        .start()
        .await
        .expect("it starts");
    let (one, other) = tokio::join!(postgres.database(), postgres.database());
    let (one, other) = (one.expect("made"), other.expect("made"));
    assert_ne!(one, other);
    assert_ne!(one, postgres.url());
    postgres.pause();
    let asked = tokio::time::timeout(Duration::from_millis(300), postgres.query("SELECT 1")).await;
    assert!(asked.is_err(), "a paused server answered");
    postgres.resume();
    assert_eq!(postgres.query("SELECT 1").await.expect("an answer"), "1");
}
