//! Fills the disk of the ledger while the server runs, and limits the size of its files. Within two
//! seconds the server must not be ready, and say why. No place that was given may be lost, and
//! joins must work again when the disk has free space.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Server, TestAnswer, until_within};

/// The longest time until a fault, or its end, is reported.
const SHOWS_WITHIN: Duration = Duration::from_secs(2);

/// A disk of 24 MiB that is mounted over a folder.
struct SmallDisk {
    folder: PathBuf,
}

impl SmallDisk {
    /// Mounts the disk. Returns `None` if this machine does not let the test mount one.
    fn mount(folder: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=24m", "fairgate-test"])
            .arg(folder)
            .status();
        let folder = folder.to_owned();
        mounted
            .is_ok_and(|status| status.success())
            .then_some(Self { folder })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmount = Command::new("umount")
            .arg("--lazy")
            .arg(&self.folder)
            .status();
        // A test can do nothing more if the unmount fails.
        let _ = unmount;
    }
}

/// Joins. Returns the place if one was given.
async fn joined(server: &Server) -> Option<String> {
    let secret = hex::encode(rand::random::<[u8; 32]>());
    let join = server
        .http
        .post(server.at("/v1/rooms/everyday/places"))
        .json(&json!({"secret": secret}));
    let answer = TestAnswer::of(join).await.expect("an answer");
    if answer.status == 201 {
        return answer.json()["place"].as_str().map(str::to_owned);
    }
    assert!(
        [429, 503].contains(&answer.status),
        "{} {}",
        answer.status,
        answer.text()
    );
    None
}

/// Waits until the server is not ready because the disk is full, or until it is ready again.
/// Returns the body of `/readyz`.
async fn until_full(server: &Server, is_full: bool) -> String {
    until_within("the readiness changes", SHOWS_WITHIN, async || {
        let answer = server.ready_as_operator().await;
        let told = answer.json();
        let is_told = told["reasons"]
            .to_string()
            .contains("too little free space");
        let status = if is_full { 503 } else { 200 };
        (is_told == is_full && answer.status == status).then(|| told.to_string())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_a_full_disk_is_not_ready_within_two_seconds_and_loses_no_given_place() {
    let mut disk = None;
    let server = Server::prepared(&[], async |data| disk = SmallDisk::mount(data)).await;
    let Some(disk) = disk else {
        eprintln!(
            "SKIPPED: a full disk under a server (this machine does not let this test mount one)"
        );
        return;
    };
    let mut places = Vec::new();
    for _ in 0..20 {
        places.extend(joined(&server).await);
    }
    let filler = disk.folder.join("filler");
    // The last part of the write fails, which is intended.
    let _ = std::fs::write(&filler, vec![1; 24 << 20]);
    let told = until_full(&server, true).await;
    assert!(told.contains("Free some space"), "{told}");
    for _ in 0..200 {
        places.extend(joined(&server).await);
    }
    assert_eq!(server.get("/v1/rooms/everyday").await.status, 200);

    std::fs::remove_file(&filler).expect("it is there");
    until_full(&server, false).await;
    until_within("joins work again", SHOWS_WITHIN, async || {
        joined(&server).await
    })
    .await;
    server.kill();
    server.restart().await;
    for place in &places {
        let path = server.at("/v1/rooms/everyday/place");
        let shown = TestAnswer::of(server.http.get(path).bearer_auth(place)).await;
        shown.expect("an answer").is(200);
    }
    drop(server);
    drop(disk);
}

/// Limits the size of the files that the server writes, or lifts the limit.
fn limit_files(server: &Server, bytes: &str) {
    let limited = Command::new("prlimit")
        .args(["--pid", &server.pid().to_string()])
        .arg(format!("--fsize={bytes}:unlimited"))
        .status();
    assert!(limited.expect("prlimit is there").success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_whose_files_may_not_grow_is_not_ready_and_works_again_without_the_limit() {
    let server = Server::start().await;
    let place = joined(&server).await.expect("a place");
    limit_files(&server, "4096");
    let told = until_within("it is not ready", SHOWS_WITHIN, async || {
        let answer = server.ready_as_operator().await;
        (answer.status == 503).then(|| answer.text())
    })
    .await;
    assert!(told.contains("the ledger"), "{told}");
    assert_eq!(joined(&server).await, None);
    assert_eq!(server.get("/v1/rooms/everyday").await.status, 200);

    limit_files(&server, "unlimited");
    until_within("joins work again", 2 * SHOWS_WITHIN, async || {
        joined(&server).await
    })
    .await;
    let path = server.at("/v1/rooms/everyday/place");
    let shown = TestAnswer::of(server.http.get(path).bearer_auth(place)).await;
    shown.expect("an answer").is(200);
}
