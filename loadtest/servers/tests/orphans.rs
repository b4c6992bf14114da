//! Checks that servers end when the process that started them is killed. The test runs this program
//! a second time. An environment variable makes the second process start servers and wait. Then the
//! test kills that process.

use std::io::BufRead;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fairgate_servers::{PostgresServer, RedisServers, must_skip};

const CHILD_VARIABLE: &str = "FAIRGATE_SERVERS_ORPHANS";

#[tokio::test]
async fn the_servers_of_a_killed_process_end_too() {
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        return start_and_wait().await;
    }
    if must_skip("servers of a killed process") {
        return;
    }
    let own = std::env::current_exe().expect("this program");
    // A killed process cannot remove its folders, so this process makes and removes them.
    let folders = tempfile::tempdir().expect("a folder");
    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folders.path(), open_to_all).expect("set");
    let mut child = Command::new(own)
        .args([
            "--exact",
            "the_servers_of_a_killed_process_end_too",
            "--nocapture",
        ])
        .env(CHILD_VARIABLE, "1")
        .env("TMPDIR", folders.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("it starts");
    let lines = std::io::BufReader::new(child.stderr.take().expect("piped")).lines();
    let ports: Vec<u16> = lines
        .map_while(Result::ok)
        .find_map(|line| {
            let ports = line.strip_prefix("PORTS ")?;
            Some(
                ports
                    .split(' ')
                    .filter_map(|port| port.parse().ok())
                    .collect(),
            )
        })
        .expect("it prints its ports");
    let open = || {
        ports
            .iter()
            .any(|port| std::net::TcpStream::connect(("127.0.0.1", *port)).is_ok())
    };
    assert_eq!(ports.len(), 2);
    assert!(open());
    child.kill().expect("killed");
    child.wait().expect("gone");
    let killed = Instant::now();
    while open() {
        assert!(
            killed.elapsed() < Duration::from_secs(20),
            "a server outlives the process that started it"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn start_and_wait() {
    let redis = RedisServers::single().await.expect("redis");
    let postgres = PostgresServer::options()
        .without_fsync()
        .start()
        .await
        .expect("postgres");
    let url = postgres.url();
    let port = url.rsplit([':', '/']).nth(1).unwrap_or_default();
    eprintln!("\nPORTS {} {port}", redis.port(0));
    // The process that started this one kills it while it reads here. If that process ends first,
    // the read ends, too.
    let _ = std::io::stdin().lines().next();
}
