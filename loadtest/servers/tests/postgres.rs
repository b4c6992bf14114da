//! Checks that PostgreSQL starts, keeps its data after a kill, and is gone after its drop.

use std::time::Duration;

use fairgate_servers::{PostgresServer, must_skip};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn the_server_keeps_its_data_after_a_kill_and_a_restart_and_is_gone_after_its_drop() {
    if must_skip("PostgreSQL") {
        return;
    }
    let postgres = PostgresServer::start().await.expect("it starts");
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
    postgres.ensure_running().await.expect("it starts again");
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
async fn fresh_databases_are_separate_and_a_paused_server_does_not_answer() {
    if must_skip("PostgreSQL") {
        return;
    }
    let postgres = PostgresServer::options()
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

/// Sends these statements one after the other, over one connection through the proxy that cuts
/// commits. Returns the answer to the last statement, or `None` if the connection ended.
async fn last_answer(port: u16, statements: &[&str]) -> Option<Vec<u8>> {
    let mut wire = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("connected");
    let mut start = b"\0\x03\0\0user\0fairgate\0database\0fairgate\0\0".to_vec();
    let length = u32::try_from(start.len() + 4).expect("short").to_be_bytes();
    start.splice(0..0, length);
    wire.write_all(&start).await.expect("sent");
    let mut answer = ready(&mut wire).await.expect("a server that is ready");
    for statement in statements {
        let length = u32::try_from(statement.len() + 5)
            .expect("short")
            .to_be_bytes();
        let said = [b"Q", &length[..], statement.as_bytes(), b"\0"].concat();
        wire.write_all(&said).await.expect("sent");
        answer = ready(&mut wire).await?;
    }
    Some(answer)
}

/// Reads until the server waits for the next statement. Returns `None` if the connection ended.
async fn ready(wire: &mut TcpStream) -> Option<Vec<u8>> {
    let mut told = Vec::new();
    loop {
        let mut piece = [0; 1_024];
        match wire.read(&mut piece).await {
            Ok(read @ 1..) => told.extend_from_slice(&piece[..read]),
            _ => return None,
        }
        // The last message is ReadyForQuery. Its only byte names the state of the transaction.
        if told.len() >= 6 && told[told.len() - 6..told.len() - 1] == *b"Z\0\0\0\x05" {
            return Some(told);
        }
    }
}

#[tokio::test]
async fn a_cut_commit_happens_or_not_and_the_client_cannot_tell_which() {
    if must_skip("cut commits") {
        return;
    }
    let postgres = PostgresServer::options()
        .without_fsync()
        .start()
        .await
        .expect("it starts");
    postgres
        .query("CREATE TABLE a (b int)")
        .await
        .expect("made");
    let (cut, url) = postgres.cuttable().await.expect("an address");
    assert!(url.contains(&format!(":{}/", cut.port())), "{url}");
    let insert = |n: u32| format!("INSERT INTO a VALUES ({n})");
    let commit = async |n: u32| last_answer(cut.port(), &["BEGIN", &insert(n), "COMMIT"]).await;
    assert!(commit(1).await.is_some());
    cut.cut_commits(true);
    // The proxy cuts the first and the fifth of these commits.
    let mut answered = Vec::new();
    for n in 2..=9 {
        answered.push(commit(n).await.is_some());
    }
    cut.cut_commits(false);
    assert!(commit(10).await.is_some());
    assert_eq!(answered, [false, true, true, true, false, true, true, true]);
    assert_eq!(cut.cut_commit_count(), 2);
    let kept = postgres
        .query("SELECT string_agg(b::text, ',' ORDER BY b) FROM a")
        .await;
    // The server carried out the first of the two cut commits, and never read the second.
    assert_eq!(kept.expect("read"), "1,2,3,4,5,7,8,9,10");
}
