//! Starts the program with settings that cannot work. It must end at once, and say in one sentence
//! which setting is wrong and what to do. The sentence must not contain a password.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use fairgate_servers::{PostgresServer, RedisServers, must_skip};

use crate::harness::gateway;

/// A password that is in many of the settings below.
const PASSWORD: &str = "geheim-4711-geheim";

/// A start that must fail.
struct BadStart<'a> {
    /// What is wrong.
    case: &'a str,
    settings: &'a [(&'a str, &'a str)],
    /// Words that the program's message must contain: the setting, the address and the remedy.
    told: &'a [&'a str],
}

impl BadStart<'_> {
    fn check(&self, data: &Path) {
        let mut command = gateway();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data).envs(self.settings.iter().copied());
        self.judge(&run(&mut command));
    }

    fn judge(&self, output: &Output) {
        let said = String::from_utf8_lossy(&output.stderr);
        let case = self.case;
        assert_eq!(output.status.code(), Some(1), "{case}: {said}");
        for word in self.told {
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
}

fn run(command: &mut Command) -> Output {
    let command = command.stdin(Stdio::null());
    command.output().expect("the program starts")
}

/// Returns settings that cannot be used: the case, the variable, its value, and a part of the
/// remedy.
#[rustfmt::skip]
fn bad_settings() -> Vec<(&'static str, String, String, &'static str)> {
    let cases = [
        ("an address without a port", "LISTEN", "here", "an address and port"),
        ("hops that are no number", "TRUSTED_HOPS", "all", "a count of proxies"),
        ("an unknown provider", "PAYMENTS", "gold", "none, sandbox, stripe"),
        ("a public address without a scheme", "PUBLIC_URL", "sale.example", "https://sale.example"),
        ("an origin without a scheme", "ORIGINS", "app.example", "https://app.example"),
        ("a key with a space", "PROMOTER_KEY", "SECRET SECRET", "without spaces"),
        ("a partner's key without a quota", "API_KEYS", "agency:SECRET", "name:key:per_s:burst"),
        ("a database of another kind", "DATABASE_URL", "mysql://ana:SECRET@db/sale", "postgres://"),
        ("a database with a bad port", "DATABASE_URL", "postgres://ana:SECRET@db:port/sale", "host:port/database"),
        ("a Redis of another kind", "REDIS_URL", "http://ana:SECRET@cache/", "redis://"),
        ("a Redis without a database", "REDIS_URL", "redis://ana:SECRET@cache", "set FAIRGATE_DATABASE_URL"),
        ("a booking without a scheme", "BOOKING_URL", "b1:8090", "http://"),
        ("no rate", "JOINS_PER_S", "0", "above 0"),
        ("a drain that is too long", "DRAIN_S", "9000", "from 0 to 600"),
        ("a notice that is too long", "DRAIN_NOTICE_S", "9000", "from 0 to 600"),
        ("a typing error", "TRUSTED_HOP", "1", "TRUSTED_HOPS"),
        ("levels that are none", "LOG", "a=b=c", "warn,gateway=debug"),
        ("an unknown format", "LOG_FORMAT", "xml", "text or json"),
        ("an operators' address without a port", "OPS_LISTEN", "9090", "an address and port"),
    ];
    cases
        .map(|(case, name, value, told)| {
            (case, format!("FAIRGATE_{name}"), value.replace("SECRET", PASSWORD), told)
        })
        .into()
}

#[test]
fn a_setting_that_cannot_be_used_is_named_with_what_to_do() {
    let data = tempfile::tempdir().expect("a folder");
    for (case, variable, value, told) in bad_settings() {
        let mut command = gateway();
        command.args(["serve", "--data"]).arg(data.path());
        command.env(&variable, value);
        let start = BadStart {
            case,
            settings: &[],
            told: &[&variable, told],
        };
        start.judge(&run(&mut command));
    }
}

#[test]
fn a_file_of_settings_that_cannot_be_used_is_named_with_its_line_and_shows_no_key() {
    let data = tempfile::tempdir().expect("a folder");
    let file = data.path().join("settings.toml");
    for (case, text, told) in [
        ("no file", None, "cannot be read"),
        (
            "an unknown setting",
            Some("colour = 1".to_owned()),
            "colour is not a setting",
        ),
        (
            "no TOML",
            Some(format!("payments = \"none\"\npromoter_key = \"{PASSWORD}")),
            "line 2",
        ),
        (
            "a table",
            Some("[listen]\nport = 1".to_owned()),
            "listen has a value of the wrong kind",
        ),
        (
            "a list with a number",
            Some("api_keys = [\"one\", 5]".to_owned()),
            "api_keys has a value of the wrong kind",
        ),
    ] {
        match text {
            Some(text) => std::fs::write(&file, text).expect("it is written"),
            None => assert!(!file.exists()),
        }
        let mut command = gateway();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data.path()).arg("--config").arg(&file);
        let told = [file.to_str().expect("text"), told];
        let start = BadStart {
            case,
            settings: &[],
            told: &told,
        };
        start.judge(&run(&mut command));
    }
}

#[test]
fn a_folder_or_a_port_that_cannot_be_used_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = |case, data: &Path, settings: &[(&str, &str)], told: &[&str]| {
        BadStart {
            case,
            settings,
            told,
        }
        .check(data);
    };
    let named = ["FAIRGATE_DATA", "name a"];
    check(
        "a folder that cannot be made",
        Path::new("/proc/fairgate"),
        &[],
        &named,
    );
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").expect("it is written");
    check("a file in place of a folder", &file, &[], &named);
    let torn = folder.path().join("torn");
    std::fs::create_dir(&torn).expect("it is made");
    std::fs::write(torn.join("ledger.db"), [7; 5_000]).expect("it is written");
    check(
        "a ledger that is none",
        &torn,
        &[],
        &["FAIRGATE_DATA", "ledger.db", "backup"],
    );

    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("the command mkfifo runs").success());
    for place in [Path::new("/dev/full"), &pipe, folder.path()] {
        let place = place.to_str().expect("text");
        check(
            "a counter that is no regular file",
            &folder.path().join("counted"),
            &[("FAIRGATE_COUNTER_FILE", place)],
            &["FAIRGATE_COUNTER_FILE", place, "not a regular file"],
        );
    }

    let held = TcpListener::bind("127.0.0.1:0").expect("a port");
    let used = held.local_addr().expect("bound").to_string();
    let own = folder.path().join("own");
    let told = ["FAIRGATE_OPS_LISTEN", &*used, "choose another"];
    check(
        "a port that is used",
        &own,
        &[("FAIRGATE_OPS_LISTEN", &used)],
        &told,
    );
    let mut command = gateway();
    command
        .args(["serve", "--listen", &used, "--data"])
        .arg(&own);
    let told = ["FAIRGATE_LISTEN", &*used, "choose another"];
    let start = BadStart {
        case: "a used port",
        settings: &[],
        told: &told,
    };
    start.judge(&run(&mut command));
    drop(held);
}

/// Checks a start with this database and, if it is given, this Redis.
fn check_servers(case: &str, database: &str, redis: Option<&str>, told: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    // Several cases share a database, and each has a folder of its own.
    let mut settings = vec![
        ("FAIRGATE_DATABASE_URL", database),
        ("FAIRGATE_SECRET", fairgate_servers::TEST_SECRET),
    ];
    settings.extend(redis.map(|redis| ("FAIRGATE_REDIS_URL", redis)));
    let start = BadStart {
        case,
        settings: &settings,
        told,
    };
    start.check(folder.path());
}

/// Returns the host and port in an address.
fn server_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").expect("a scheme");
    let (_, host) = rest.rsplit_once('@').unwrap_or(("", rest));
    host.split(['/', ',']).next().expect("a host")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_used_is_named_with_its_address_and_what_to_do() {
    if must_skip("databases that cannot be used at a start") {
        return;
    }
    let database = PostgresServer::start().await.expect("it starts");
    let good = database.url();
    let server = server_of(&good);
    for (case, user, at, remedy) in [
        (
            "no server",
            "fairgate",
            "127.0.0.1:1/fairgate".to_owned(),
            "start it",
        ),
        (
            "an unknown user",
            "nobody",
            format!("{server}/fairgate"),
            "correct user",
        ),
        (
            "an unknown database",
            "fairgate",
            format!("{server}/nowhere"),
            "create the database",
        ),
    ] {
        let url = format!("postgres://{user}:{PASSWORD}@{at}");
        check_servers(case, &url, None, &["FAIRGATE_DATABASE_URL", &at, remedy]);
    }
    let no_tls = format!("postgres://fairgate:{PASSWORD}@{server}/fairgate?sslmode=require");
    check_servers(
        "no TLS",
        &no_tls,
        None,
        &["FAIRGATE_DATABASE_URL", server, "sslmode"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_cannot_be_used_is_named_with_its_address_and_what_to_do() {
    if must_skip("a Redis that cannot be used at a start") {
        return;
    }
    let redis = RedisServers::single().await.expect("it starts");
    let cluster = RedisServers::cluster().await.expect("it starts");
    let database = PostgresServer::start().await.expect("it starts");
    let (good, cache, nodes) = (database.url(), redis.url(), cluster.url());
    let (own, node, other) = (server_of(&cache), server_of(&nodes), server_of(&good));
    for (case, url, at, remedy) in [
        (
            "no server",
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
            format!("redis://{other}"),
            other,
            "correct host and port",
        ),
    ] {
        let told = ["FAIRGATE_REDIS_URL", at, remedy];
        check_servers(case, &good, Some(&url), &told);
    }
    // This Redis gets the id of another ledger.
    let set = redis.command(0, &["SET", "fairgate:ledger", "another"]);
    set.await.expect("it is stored");
    let told = ["FAIRGATE_REDIS_URL", "another ledger", "another Redis"];
    check_servers("the Redis of another ledger", &good, Some(&cache), &told);
}

#[test]
fn a_program_that_waits_for_its_database_still_ends_in_order_when_it_is_asked_to() {
    for signal in ["-TERM", "-INT"] {
        let mute = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = mute.local_addr().expect("an address");
        let data = tempfile::tempdir().expect("a folder");
        let mut command = gateway();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data.path()).stderr(Stdio::null());
        command.env(
            "FAIRGATE_DATABASE_URL",
            format!("postgres://ana@{address}/sale"),
        );
        let mut started = command.spawn().expect("the program starts");
        let asked = mute.accept().expect("it asks its database");
        let pid = started.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.expect("kill is there").success());
        let status = started.wait().expect("it ends");
        assert!(status.success(), "{signal}: {status}");
        drop(asked);
    }
}
