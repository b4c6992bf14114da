//! Starts `booking serve` with settings that cannot work. Booking must end at once, and say in one
//! sentence which setting is wrong and what to do. The sentence must not contain a password.

use std::net::TcpListener;
use std::path::Path;

use fairgate_servers::{PostgresServer, RedisServers, must_skip};

use crate::alone::booking;

/// A password that is in many of the settings below.
const PASSWORD: &str = "geheim-4711-geheim";

/// Starts booking with these settings. Checks that it ends, and that its message has the words in
/// `told`, such as the setting, the address and the remedy.
fn check(case: &str, data: &Path, settings: &[(&str, &str)], told: &[&str]) {
    let output = booking(data, settings).output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{case}: {said}");
    for word in told {
        assert!(said.contains(word), "{case}: {word} is not in: {said}");
    }
    for bad in ["panicked", "RUST_BACKTRACE", "\u{1b}", PASSWORD] {
        assert!(!said.contains(bad), "{case}: {bad:?} is in: {said}");
    }
    let sentences = said.lines().filter(|line| !line.trim().is_empty());
    let faults = sentences.filter(|line| !line.contains("nothing was started:"));
    assert_eq!(faults.count(), 1, "{case} is told in one line: {said}");
    let cause = said.split(": ").last().unwrap_or_default();
    assert_eq!(
        said.matches(cause).count(),
        1,
        "{case} says it once: {said}"
    );
}

#[test]
#[rustfmt::skip]
fn a_setting_that_cannot_be_used_is_named_with_what_to_do() {
    let data = tempfile::tempdir().expect("a folder");
    for (case, name, value, remedy) in [
        ("an address without a port", "LISTEN", "here", "an address and port"),
        ("an address for everybody without a key", "LISTEN", "0.0.0.0:0", "set FAIRGATE_INTERNAL_KEY"),
        ("an operators' address without a port", "OPS_LISTEN", "9090", "an address and port"),
        ("an unknown provider", "PAYMENTS", "gold", "none, sandbox, stripe"),
        ("a key of Stripe without Stripe", "STRIPE_SECRET_KEY", "sk_live_SECRET", "set FAIRGATE_PAYMENTS=stripe"),
        ("a key with a space", "PROMOTER_KEY", "SECRET SECRET", "without spaces"),
        ("a door's key with a space", "DOOR_KEY", "SECRET SECRET", "without spaces"),
        ("a gateways' key with a space", "INTERNAL_KEY", "SECRET SECRET", "without spaces"),
        ("a database of another kind", "DATABASE_URL", "mysql://ana:SECRET@db/sale", "postgres://"),
        ("a Redis of another kind", "REDIS_URL", "http://ana:SECRET@cache/", "redis://"),
        ("a Redis without a database", "REDIS_URL", "redis://ana:SECRET@cache", "set FAIRGATE_DATABASE_URL"),
        ("a database without a Redis", "DATABASE_URL", "postgres://ana:SECRET@db/sale", "set FAIRGATE_REDIS_URL"),
        ("a drain that is too long", "DRAIN_S", "9000", "from 0 to 600"),
        ("a notice that is too long", "DRAIN_NOTICE_S", "9000", "from 0 to 600"),
        ("a typing error", "REDISURL", "redis://ana:SECRET@cache", "FAIRGATE_REDIS_URL"),
        ("levels that are none", "LOG", "a=b=c", "warn,gateway=debug"),
        ("an unknown format", "LOG_FORMAT", "xml", "text or json"),
    ] {
        let variable = format!("FAIRGATE_{name}");
        let value = value.replace("SECRET", PASSWORD);
        check(case, data.path(), &[(&variable, &value)], &[&variable, remedy]);
    }
}

#[test]
fn two_settings_that_contradict_each_other_are_both_named() {
    let data = tempfile::tempdir().expect("a folder");
    let same = [
        ("FAIRGATE_PROMOTER_KEY", PASSWORD),
        ("FAIRGATE_DOOR_KEY", PASSWORD),
    ];
    let told = [same[0].0, same[1].0, "give each role its own key"];
    check("one key for two roles", data.path(), &same, &told);
    let live = format!("sk_live_{PASSWORD}");
    let stripe = [
        ("FAIRGATE_PAYMENTS", "stripe"),
        ("FAIRGATE_STRIPE_SECRET_KEY", &*live),
        ("FAIRGATE_STRIPE_PUBLISHABLE_KEY", "pk_live_1"),
    ];
    let told = ["FAIRGATE_STRIPE_WEBHOOK_SECRET is not set", "whsec_"];
    check("Stripe without a secret", data.path(), &stripe, &told);
}

#[test]
fn a_folder_or_a_port_that_cannot_be_used_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let named = ["FAIRGATE_DATA", "name a"];
    let nowhere = Path::new("/proc/fairgate");
    check("a folder that cannot be made", nowhere, &[], &named);
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").expect("it is written");
    check("a file in place of a folder", &file, &[], &named);
    let torn = folder.path().join("torn");
    std::fs::create_dir(&torn).expect("it is made");
    std::fs::write(torn.join("ledger.db"), [7; 5_000]).expect("it is written");
    let told = ["FAIRGATE_DATA", "ledger.db", "backup"];
    check("a ledger that is none", &torn, &[], &told);
    let own = folder.path().join("own");
    let device = [("FAIRGATE_COUNTER_FILE", "/dev/full")];
    let told = [device[0].0, device[0].1, "not a regular file"];
    check("a counter that is a device", &own, &device, &told);

    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let used = held.local_addr().expect("bound").to_string();
    for variable in ["FAIRGATE_LISTEN", "FAIRGATE_OPS_LISTEN"] {
        let told = [variable, &*used, "choose another"];
        check("a port that is used", &own, &[(variable, &used)], &told);
    }
}

/// Checks what booking says if it is started with this database and this Redis.
fn check_servers(case: &str, database: &str, redis: &str, told: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = [
        ("FAIRGATE_DATABASE_URL", database),
        ("FAIRGATE_REDIS_URL", redis),
    ];
    check(case, folder.path(), &settings, told);
}

/// Returns the host and port in an address.
fn server_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").expect("a scheme");
    let (_, host) = rest.rsplit_once('@').unwrap_or(("", rest));
    host.split(['/', ',']).next().expect("a host")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_used_is_named_with_its_address_and_what_to_do() {
    if must_skip("servers that cannot be used at a start of booking") {
        return;
    }
    let redis = RedisServers::single().await.expect("it starts");
    let cluster = RedisServers::cluster().await.expect("it starts");
    let postgres = PostgresServer::start().await.expect("it starts");
    let (good, cache, nodes) = (postgres.url(), redis.url(), cluster.url());
    let (database, own, node) = (server_of(&good), server_of(&cache), server_of(&nodes));
    for (case, user, at, remedy) in [
        (
            "no database",
            "fairgate",
            "127.0.0.1:1/fairgate".to_owned(),
            "start it",
        ),
        (
            "an unknown user",
            "nobody",
            format!("{database}/fairgate"),
            "correct user",
        ),
        (
            "an unknown database",
            "fairgate",
            format!("{database}/nowhere"),
            "create the database",
        ),
        (
            "no TLS",
            "fairgate",
            format!("{database}/fairgate?sslmode=require"),
            "sslmode",
        ),
    ] {
        let url = format!("postgres://{user}:{PASSWORD}@{at}");
        let shown = at.split('?').next().expect("an address");
        check_servers(
            case,
            &url,
            &cache,
            &["FAIRGATE_DATABASE_URL", shown, remedy],
        );
    }
    for (case, url, at, remedy) in [
        (
            "no Redis",
            format!("redis://ana:{PASSWORD}@127.0.0.1:1"),
            "127.0.0.1:1",
            "start it",
        ),
        (
            "a wrong password",
            format!("redis://ana:{PASSWORD}@{own}"),
            own,
            "user and password",
        ),
        (
            "no cluster",
            format!("redis+cluster://{own}"),
            own,
            "redis://host:port",
        ),
        (
            "one node of a cluster",
            format!("redis://{node}"),
            node,
            "redis+cluster://",
        ),
        (
            "another server",
            format!("redis://{database}"),
            database,
            "correct host and port",
        ),
    ] {
        check_servers(case, &good, &url, &["FAIRGATE_REDIS_URL", at, remedy]);
    }
}
