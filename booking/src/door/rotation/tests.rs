//! Tests a rotation at two nodes, on both databases.

use fairgate_databases::{PostgresDatabase, SqliteDatabase};
use fairgate_servers::{PostgresServer, TEST_SECRET, must_skip};

use super::*;
use crate::door::signing::{KeyFollower, keyring};

const NOW_MS: i64 = 1_800_000_000_000;
const NOW: i64 = NOW_MS / 1000;

/// Rotates at one node of two, and checks what both then have.
async fn check(one: Installation, other: Installation) {
    let secret = InstallationSecret::derive(TEST_SECRET);
    let early = rotate_keys(&one, &secret, NOW_MS, SIGNS_AFTER_S).await;
    assert!(matches!(early, Err(KeyRotationError::NoKeys)), "{early:?}");
    let first = keyring(&one, &secret, NOW_MS - 5_000).await;
    let second = keyring(&other, &secret, NOW_MS - 5_000).await;
    let (first, second) = (first.expect("a key"), second.expect("the same key"));
    let old = first.kid_at(NOW);

    // Of many rotations at once, at both nodes, one is done and the others are told of it.
    let rotations = [&one, &other, &one, &other]
        .map(|installation| rotate_keys(installation, &secret, NOW_MS, SIGNS_AFTER_S));
    let ended = futures_util::future::join_all(rotations).await;
    let (done, refused): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
    assert_eq!(done.len(), 1, "{refused:?}");
    for refusal in refused {
        assert!(matches!(refusal, Err(KeyRotationError::UnderWay(_))));
    }
    let done = done.into_iter().next().expect("one").expect("it is done");
    assert_eq!(done.signs_from, NOW + i64::from(SIGNS_AFTER_S));
    let retired = RetiredKey {
        kid: old.clone(),
        signs_until: Some(done.signs_from),
        passes_until: Some(done.signs_from + fairgate_pass::RETIRED_PASSES_S),
    };
    assert_eq!(done.retired, [retired]);

    for (installation, keyring) in [(&one, &first), (&other, &second)] {
        let mut follower = KeyFollower::new(installation, &secret, keyring);
        follower.read_keys().await.expect("readable");
        let published: Vec<String> = keyring.jwks().keys.into_iter().map(|key| key.kid).collect();
        assert_eq!(published, [done.kid.clone(), old.clone()]);
        assert_eq!(keyring.kid_at(done.signs_from - 1), old);
        assert_eq!(keyring.kid_at(done.signs_from), done.kid);
    }
    // A process that starts later has both, and a foreign secret opens neither.
    let third = keyring(&one, &secret, NOW_MS).await.expect("the keys");
    assert_eq!(third.jwks(), first.jwks());
    let foreign = InstallationSecret::derive("a foreign secret");
    let refused = rotate_keys(&one, &foreign, NOW_MS, SIGNS_AFTER_S).await;
    assert!(matches!(refused, Err(KeyRotationError::Ledger(_))));
}

#[tokio::test]
async fn one_of_many_rotations_is_done_and_each_node_of_a_file_learns_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.db");
    let serving = SqliteDatabase::open(&path).expect("the file opens");
    let beside = SqliteDatabase::open_beside(&path).expect("it opens beside the other");
    check(Installation::File(serving), Installation::File(beside)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_rotations_is_done_and_each_node_of_a_server_learns_of_it() {
    if must_skip("a rotation on PostgreSQL") {
        return;
    }
    let server = PostgresServer::options().without_fsync().start().await;
    let url = server.as_ref().expect("a server").url();
    let early = PostgresDatabase::open_beside(&url).await.map(drop);
    assert!(matches!(early, Err(LedgerError::Corrupt(_))), "{early:?}");
    let serving = PostgresDatabase::connect(&url).await.expect("it connects");
    let beside = PostgresDatabase::open_beside(&url).await.expect("it opens");
    check(Installation::Server(serving), Installation::Server(beside)).await;
}

#[test]
fn a_file_that_is_not_there_or_has_no_ledger_is_not_made() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("ledger.db");
    assert!(SqliteDatabase::open_beside(&path).is_err());
    assert!(!path.exists());
}
