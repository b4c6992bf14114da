//! Tests the handle with real servers: scripts, refusals, a server that restarts, and an account
//! that has only the rights that the README lists.

use std::time::{Duration, Instant};

use fairgate_redis::{
    ConnectionOptions, Redis, RedisCallError, RedisCommand, RedisReply, ScriptCall, ServerFinding,
    redis_scripts, script_family, script_record,
};
use fairgate_servers as servers;

/// Returns a server, or `None` where this machine has no program to start one.
async fn server(what: &str) -> Option<servers::RedisServers> {
    if servers::must_skip(what) {
        return None;
    }
    Some(servers::RedisServers::single().await.expect("it starts"))
}

script_family! {
    /// Scripts without first arguments.
    struct TestFamily = "test_" (COUNTED) []
    where { UNUSED = 7 }
    {}
}

script_record! {
    /// Two numbers.
    struct PairRecord {
        left: u32,
        right: u32,
    }
}

script_record! {
    /// Arguments that several scripts could share.
    struct SharedRecord {
        word: &'static str,
    }
}

redis_scripts! {
    family TestFamily, all test_scripts;

    /// Adds to a count and returns the sum.
    struct CountScript = count [] {
        more: i64,
    }

    /// Refuses every call.
    struct RefuseScript = refuse [] {}

    /// Answers with its arguments, with what it reads of a hash, and with the sum of the products
    /// of all pairs.
    struct EchoScript = echo [] {
        text: Vec<u8>,
        number: u64,
        missing: Option<i64>,
        ..shared: SharedRecord,
        [pairs]: PairRecord,
    }

    /// Answers with the words of its list.
    struct WordsScript = words [] {
        [words]: &'static str,
    }

    /// Reads a field that it did not ask for.
    struct MisspeltFieldScript = misspelt_field [] {}

    /// Reads a value that the items do not have.
    struct MisspeltItemScript = misspelt_item [] {
        [pairs]: PairRecord,
    }
}

async fn run(
    redis: &Redis,
    script: impl ScriptCall<Family = TestFamily>,
) -> Result<RedisReply, RedisCallError> {
    redis
        .run_script("{room:a}:n", TestFamily {}, &script.prepare())
        .await
}

async fn number_at(redis: &Redis, key: &str) -> Result<i64, RedisCallError> {
    let count = CountScript { more: 1 }.prepare();
    redis
        .run_script(key, TestFamily {}, &count)
        .await?
        .as_integer()
}

async fn number(redis: &Redis) -> Result<i64, RedisCallError> {
    number_at(redis, "{room:a}:n").await
}

#[test]
fn the_name_of_a_script_begins_with_its_familys_prefix() {
    let names: Vec<_> = test_scripts().iter().map(|script| script.name()).collect();
    assert_eq!(names[..3], ["test_count", "test_refuse", "test_echo"]);
}

#[tokio::test]
async fn a_script_runs_on_a_server_that_has_never_seen_it() {
    let Some(server) = server("a script runs on a server that has never seen it").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    assert_eq!(number(&redis).await, Ok(1));
    redis
        .ask(&RedisCommand::new("SCRIPT").arg("FLUSH"))
        .await
        .expect("allowed");
    assert_eq!(number(&redis).await, Ok(2), "the script ran once");
}

#[tokio::test]
async fn a_scripts_refusal_is_returned_with_its_code() {
    let Some(server) = server("a script's refusal is returned with its code").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    let refuse = RefuseScript {}.prepare();
    let refused = redis.run_script("{room:a}:n", TestFamily {}, &refuse).await;
    assert_eq!(
        refused,
        Err(RedisCallError::Refused("GONE".into(), "it lapsed".into()))
    );
}

fn echo() -> EchoScript {
    let pair = |left, right| PairRecord { left, right };
    EchoScript {
        text: b"\x00\xff".to_vec(),
        number: u64::MAX,
        missing: None,
        shared: SharedRecord { word: "word" },
        pairs: vec![pair(2, 3), pair(4, 5)],
    }
}

#[tokio::test]
async fn replies_are_read_by_names_and_types() {
    let Some(server) = server("replies are read by names and types").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    let reply = run(&redis, echo()).await.expect("it runs");
    let field = |name: &str| reply.field(name).expect("it answers with this name");
    assert_eq!(field("text").as_bytes(), Ok(&b"\x00\xff"[..]));
    assert_eq!(field("missing").as_bytes(), Ok(&b""[..]));
    assert_eq!(field("word").as_text(), Ok("word"));
    assert_eq!(field("sum").as_integer(), Ok(2 * 3 + 4 * 5));
    assert_eq!(field("least").as_text(), Ok("none"));
    assert!(matches!(
        field("text").as_integer(),
        Err(RedisCallError::Wrong(_))
    ));
    let fields = field("fields");
    let second = fields.field("second").expect("it was read");
    assert_eq!(second.present().map(RedisReply::as_count), Some(Ok(2)));
    let never_set = fields.field("never_set").expect("it was read");
    assert!(never_set.present().is_none(), "the hash does not have it");
    let of_hash = field("pairs_of_hash").pairs().expect("it is a hash");
    let mut of_hash: Vec<_> = of_hash
        .map(|(name, value)| (name.as_text(), value.as_count()))
        .collect();
    of_hash.sort_by_key(|(_, value)| value.clone().ok());
    assert_eq!(
        of_hash,
        [(Ok("first"), Ok(1)), (Ok("second"), Ok(2))],
        "all fields are there, in any order"
    );
}

#[tokio::test]
async fn a_name_that_the_answer_does_not_have_is_named_in_the_error() {
    let Some(server) = server("a missing name is named in the error").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    let reply = run(&redis, echo()).await.expect("it runs");
    let told = reply.field("nubmer").expect_err("it is misspelt");
    assert_eq!(
        told,
        RedisCallError::Wrong("Redis answered without \"nubmer\"".into())
    );
    // A value is not taken for a name, although it has the same text.
    assert!(reply.field("word").is_ok() && reply.field("none").is_err());
    let single = reply.field("sum").expect("it is there");
    assert!(matches!(single.field("sum"), Err(RedisCallError::Wrong(_))));
}

#[tokio::test]
async fn a_script_that_reads_a_misspelt_name_fails() {
    let Some(server) = server("a script that reads a misspelt name fails").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    number(&redis).await.expect("it counts");
    let pairs = vec![PairRecord { left: 1, right: 2 }];
    let field = run(&redis, MisspeltFieldScript {}).await;
    let item = run(&redis, MisspeltItemScript { pairs }).await;
    for (told, name) in [(field, "\"m\""), (item, "\"middle\"")] {
        let told = told.expect_err("the name does not exist").to_string();
        assert!(told.contains(&format!("a result has no {name}")), "{told}");
    }
}

#[tokio::test]
async fn lists_and_streams_are_read_item_by_item() {
    let Some(server) = server("lists and streams are read item by item").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    let words = WordsScript {
        words: vec!["one", "", "three"],
    };
    let words = run(&redis, words).await.expect("it runs");
    let words = words.read_list(|word| Ok(word.as_text()?.to_owned()));
    assert_eq!(words.expect("texts"), ["one", "", "three"]);
    for id in ["1-0", "1-1"] {
        let add = RedisCommand::new("XADD").arg("s").arg(id);
        let add = add.arg("n").arg(id).arg("h").arg("x");
        redis.ask(&add).await.expect("it adds");
    }
    let range = RedisCommand::new("XRANGE").arg("s").arg("-").arg("+");
    let entries = redis.ask(&range).await.expect("it reads");
    let read = entries
        .read_stream(|id, fields| Ok((id.to_owned(), fields.field("n")?.as_text()?.to_owned())));
    let entry = |id: &str| (id.to_owned(), id.to_owned());
    assert_eq!(read, Ok(vec![entry("1-0"), entry("1-1")]));
    let time = redis.ask(&RedisCommand::new("TIME")).await;
    let time = time.expect("it answers");
    assert!(time.as_server_ms().is_ok() && time.read_stream(|_, _| Ok(())).is_err());
}

#[tokio::test]
async fn the_handle_connects_again_after_a_restart_of_the_server() {
    let Some(server) = server("the handle connects again after a restart of the server").await
    else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    assert_eq!(number(&redis).await, Ok(1));
    server.kill(0);
    assert!(matches!(
        number(&redis).await,
        Err(RedisCallError::Unreachable(_))
    ));
    server.start(0).await.expect("it starts again");
    let found = until(async || number(&redis).await.ok()).await;
    assert_eq!(found, 1, "the restarted server is empty");
}

#[tokio::test]
async fn the_handle_leaves_a_primary_that_the_sentinels_have_replaced() {
    if servers::must_skip("the handle leaves a primary that the Sentinels have replaced") {
        return;
    }
    let server = servers::RedisServers::sentinel().await.expect("it starts");
    let redis = Redis::connect(&server.url()).expect("a URL");
    assert_eq!(number(&redis).await, Ok(1));
    let old = server.primaries().await[0];
    let new = 1 - old;
    let said = |index: usize, words: &'static [&'static str]| {
        let server = &server;
        async move { server.command(index, words).await.expect("it answers") }
    };
    // Now both servers accept writes, and the connections to the old primary still work.
    said(new, &["REPLICAOF", "NO", "ONE"]).await;
    said(new, &["DEL", "{room:a}:n"]).await;
    let port = server.port(new).to_string();
    for sentinel in server.data_count()..server.count() {
        said(sentinel, &["SENTINEL", "REMOVE", "fairgate"]).await;
        let monitor = ["SENTINEL", "MONITOR", "fairgate", "127.0.0.1", &port, "2"];
        let told = server.command(sentinel, &monitor).await;
        told.expect("the Sentinel watches the new primary");
    }
    let found = until(async || {
        number(&redis).await.ok()?;
        let there = server.command(new, &["HGET", "{room:a}:n", "n"]).await;
        matches!(there, Ok(servers::RespReply::Text(_))).then_some(())
    });
    found.await;
}

#[tokio::test]
async fn a_call_to_a_silent_server_fails_in_time_and_is_not_sent_twice() {
    let Some(server) =
        server("a call to a silent server fails in time and is not sent twice").await
    else {
        return;
    };
    let response = Duration::from_millis(100);
    let options = ConnectionOptions {
        response,
        ..ConnectionOptions::default()
    };
    let redis = Redis::connect_with(&server.url(), options).expect("a URL");
    let other = Redis::connect(&server.url()).expect("a URL");
    number(&redis).await.expect("it answers");
    other
        .ask(&RedisCommand::new("CLIENT").arg("PAUSE").arg(400_i64))
        .await
        .expect("allowed");
    assert!(matches!(
        number(&redis).await,
        Err(RedisCallError::Unreachable(_))
    ));
    let n = until(async || number(&other).await.ok()).await;
    assert!(n == 2 || n == 3, "the script ran once or not at all: {n}");
}

#[tokio::test]
async fn a_thousand_calls_at_once_are_all_answered() {
    let Some(server) = server("a thousand calls at once are all answered").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..1_000 {
        let redis = redis.clone();
        calls.spawn(async move { number(&redis).await });
    }
    let mut seen: Vec<i64> = calls
        .join_all()
        .await
        .into_iter()
        .map(|n| n.expect("answered"))
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=1_000).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_wrong_eviction_policy_and_a_wrong_clock_are_found() {
    let Some(server) = server("a wrong eviction policy and a wrong clock are found").await else {
        return;
    };
    let redis = Redis::connect(&server.url()).expect("a URL");
    let time = redis
        .ask(&RedisCommand::new("TIME"))
        .await
        .expect("allowed");
    let now_ms = time.as_server_ms().expect("a time");
    assert_eq!(redis.check_servers(now_ms).await, Ok(vec![]));
    let policy = RedisCommand::new("CONFIG")
        .arg("SET")
        .arg("maxmemory-policy")
        .arg("allkeys-lru");
    redis.ask(&policy).await.expect("allowed");
    let found = redis
        .check_servers(now_ms - 1_200_000)
        .await
        .expect("it answers");
    assert_eq!(found[0], ServerFinding::Evicts("allkeys-lru".into()));
    assert!(matches!(found[1], ServerFinding::Clock(off_ms) if off_ms > 1_190_000));
}

#[tokio::test]
async fn the_account_of_the_readme_runs_scripts_and_no_administrative_commands() {
    let Some(server) =
        server("the account of the readme runs scripts and no administrative commands").await
    else {
        return;
    };
    let admin = Redis::connect(&server.url()).expect("a URL");
    let readme = include_str!("../README.md");
    let line = readme
        .lines()
        .find_map(|line| line.strip_prefix("ACL SETUSER fairgate "));
    let mut command = RedisCommand::new("ACL").arg("SETUSER").arg("fairgate");
    for rule in line.expect("the README has the line").split(' ') {
        command = command.arg(rule);
    }
    admin.ask(&command).await.expect("Redis accepts the line");
    let url = server
        .url()
        .replace("redis://", "redis://fairgate:PASSWORD@");
    let redis = Redis::connect(&url).expect("a URL");
    assert_eq!(number(&redis).await, Ok(1));
    redis
        .check_servers(0)
        .await
        .expect("INFO and TIME are allowed");
    for (command, arg) in [
        ("FLUSHALL", "SYNC"),
        ("CONFIG", "RESETSTAT"),
        ("KEYS", "*"),
        ("SCRIPT", "FLUSH"),
    ] {
        let refused = redis.ask(&RedisCommand::new(command).arg(arg)).await;
        assert_eq!(
            refused.expect_err(command).refusal_code(),
            Some("NOPERM"),
            "{command}"
        );
    }
    let elsewhere = redis
        .ask(&RedisCommand::new("SET").arg("other").arg("x"))
        .await;
    assert_eq!(
        elsewhere
            .expect_err("the account may not use this key")
            .refusal_code(),
        Some("NOPERM")
    );
    let wrong = server.url().replace("redis://", "redis://fairgate:wrong@");
    let redis = Redis::connect(&wrong).expect("a URL");
    assert!(matches!(
        number(&redis).await,
        Err(RedisCallError::Refused(..))
    ));
}

/// Asks until there is an answer, for at most twenty seconds.
async fn until<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "no answer in time");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_handle_finds_the_new_primary_after_a_failover_by_sentinels() {
    if servers::must_skip("a switch-over by Sentinel") {
        return;
    }
    let servers = servers::RedisServers::sentinel().await.expect("it starts");
    let redis = Redis::connect(&servers.url()).expect("a URL");
    assert_eq!(number(&redis).await, Ok(1));
    servers.kill(0);
    let n = until(async || number(&redis).await.ok()).await;
    assert!(
        n == 1 || n == 2,
        "the new primary may lack the first count: {n}"
    );
}

#[tokio::test]
async fn scripts_run_on_all_nodes_of_a_cluster_and_again_after_a_node_restarts() {
    if servers::must_skip("scripts on a cluster") {
        return;
    }
    let servers = servers::RedisServers::cluster().await.expect("it starts");
    let redis = Redis::connect(&servers.url()).expect("a URL");
    let count = async |n: u32| number_at(&redis, &format!("{{room:{n}}}:n")).await;
    for n in 0..30 {
        assert_eq!(count(n).await, Ok(1), "room {n}");
    }
    let times = redis
        .ask_all(&RedisCommand::new("TIME"))
        .await
        .expect("all primaries");
    assert_eq!(times.len(), 3);
    assert!(
        !redis
            .check_servers(0)
            .await
            .expect("all primaries")
            .is_empty(),
        "every clock is far ahead of 1970"
    );
    servers.kill(1);
    servers.start(1).await.expect("it starts again");
    for n in 0..30 {
        until(async || count(n).await.ok()).await;
    }
}
