//! Runs every command of every README in a bare clone, without the settings of this machine.
//! `table` says how each command is run, and what it must show. A command without a row fails the
//! tests.

mod clone;
mod containers;
mod markdown;
mod table;
mod terminal;

use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use fairgate_servers::actors::{TestClient, TestShop, get, post, text};
use fairgate_servers::{PostgresServer, RedisServers, free_port, must_skip};
use serde_json::json;

use clone::BareClone;
use table::{ALONE, CommandRow, How, LONGEST, SETTINGS, SHORTER, SUBSTITUTES, commands};
use terminal::{Ended, Terminal};

/// How many commands run at the same time. Most of them wait most of the time.
const SIDE_BY_SIDE: usize = 6;
/// The exit codes of a bench that missed a threshold, and of a swarm that was late itself. In a
/// build without optimisation, both may happen without a fault of the product. The output must
/// still have the figures or a verdict.
const MISSED: [i32; 2] = [99, 3];

/// Returns whether a command of a block prints nothing and only prepares or ends other commands.
fn is_silent(command: &str) -> bool {
    let is_setting = command.starts_with("export ") || SETTINGS.contains(&command);
    is_setting || command.ends_with(" &") || command == "kill %1; wait"
}

/// Returns whether the text only names a program and its subcommand, such as `booking serve`.
fn is_mention(command: &str) -> bool {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let [first, rest @ ..] = &command.split(' ').collect::<Vec<_>>()[..] else {
        return false;
    };
    ["booking", "gateway", "loadtest"].contains(first) && rest.iter().all(|word| is_word(word))
}

fn row_of(command: &str) -> &'static CommandRow {
    let row = commands().find(|row| row.command == command);
    row.unwrap_or_else(|| panic!("add a row to loadtest/tests/readmes/table for: {command}"))
}

fn check(row: &CommandRow, ended: &Ended) {
    let Ended { status, said } = ended;
    let may_miss = row.how == How::Apart && !row.shows.is_empty() && MISSED.contains(status);
    assert!(
        *status == 0 || may_miss,
        "{} ended with {status}:\n{said}",
        row.command
    );
    for shown in row.shows {
        assert!(
            said.contains(shown),
            "{} does not show {shown:?}:\n{said}",
            row.command
        );
    }
}

fn text_to_run(row: &CommandRow) -> &'static str {
    if row.run.is_empty() {
        row.command
    } else {
        row.run
    }
}

#[test]
fn every_command_has_one_row_and_every_row_a_command() {
    let clone = BareClone::make();
    let mut found = BTreeSet::new();
    for (_, text) in clone.readmes() {
        let commands = markdown::block_commands(&text).into_iter();
        let commands = commands.filter(|command| !is_silent(command));
        let named = markdown::named_commands(&text).into_iter();
        found.extend(commands.chain(named.filter(|command| !is_mention(command))));
    }
    let listed: BTreeSet<String> = commands().map(|row| row.command.to_owned()).collect();
    assert_eq!(listed.len(), commands().count(), "a row stands twice");
    let missing: Vec<_> = found.difference(&listed).collect();
    assert!(missing.is_empty(), "without a row: {missing:#?}");
    let stale: Vec<_> = listed.difference(&found).collect();
    assert!(stale.is_empty(), "in no README: {stale:#?}");
    for row in commands() {
        let is_run = |how| !matches!(how, How::Excused | How::By(_));
        match row.how {
            How::By(other) => assert!(is_run(row_of(other).how), "{}", row.command),
            How::Excused => assert!(!row.why.is_empty(), "{}", row.command),
            How::Tests(package, name) => {
                let tests = clone.tests_of(package);
                assert!(tests.contains(name), "{}: no such test", row.command);
            }
            _ => assert!(row.run.is_empty() || !row.why.is_empty(), "{}", row.command),
        }
    }
    let excused = commands().filter(|row| row.how == How::Excused);
    let (commands, excused) = (found.len(), excused.count());
    eprintln!("FIGURE {commands} commands in the READMEs, {excused} of them excused");
}

#[test]
fn every_picture_of_a_readme_is_there() {
    let clone = BareClone::make();
    let mut shown = 0;
    for (readme, text) in clone.readmes() {
        let folder = clone.root.join(&readme);
        let folder = folder.parent().expect("a README is in a folder");
        for picture in markdown::pictures(&text) {
            assert!(folder.join(picture).is_file(), "{readme}: {picture}");
            shown += 1;
        }
    }
    assert!(shown > 1, "the README shows pictures");
}

#[test]
fn every_form_of_a_command_has_options_that_its_program_knows() {
    let clone = BareClone::make();
    let mut terminal = Terminal::open(&clone, std::slice::from_ref(&clone.built), Vec::new());
    let mut checked = BTreeSet::new();
    for (readme, text) in clone.readmes() {
        for command in markdown::named_commands(&text) {
            let words: Vec<&str> = command.split(' ').collect();
            if !["booking", "gateway", "loadtest"].contains(&words[0]) {
                continue;
            }
            let is_word = |word: &&&str| {
                let mut bytes = word.bytes();
                bytes.all(|byte| byte.is_ascii_lowercase() || byte == b'-')
                    && !word.starts_with('-')
            };
            let path: Vec<&str> = words.iter().take_while(is_word).copied().collect();
            let help = terminal.run(&format!("{} --help", path.join(" ")));
            assert_eq!(help.status, 0, "{readme}: {command}\n{}", help.said);
            let option = |word: &&str| {
                let word = word.trim_start_matches('[').trim_end_matches(']');
                word.starts_with("--").then(|| word.to_owned())
            };
            for option in words.iter().filter_map(option) {
                assert!(
                    help.said.contains(&option),
                    "{readme}: {command}: {option} is no option"
                );
            }
            checked.insert(command);
        }
    }
    assert!(checked.len() > 20, "{checked:?}");
}

/// Writes the short form of the arena's scenario into the folder of the scenario.
fn write_short_scenario(clone: &BareClone) {
    let folder = clone.root.join("loadtest/scenarios");
    let arena = fs::read_to_string(folder.join("arena.toml")).expect("the arena");
    let lasting = arena.lines().filter(|line| !line.contains("undisturbed"));
    let mut short = lasting.collect::<Vec<_>>().join("\n");
    for (long, shorter) in SHORTER {
        assert!(short.contains(long), "the arena has no {long:?}");
        short = short.replace(long, shorter);
    }
    fs::write(folder.join("short.toml"), short).expect("written");
}

#[test]
fn commands_that_need_no_others_work_in_a_bare_clone() {
    if must_skip("the longer commands of the READMEs") {
        return;
    }
    let clone = BareClone::make();
    write_short_scenario(&clone);
    let has =
        |row: &CommandRow, words: &[&str]| words.iter().any(|word| row.command.contains(word));
    let apart = commands().filter(|row| row.how == How::Apart);
    let (alone, mut together): (Vec<_>, Vec<_>) = apart.partition(|row| has(row, ALONE));
    together.sort_by_key(|row| has(row, LONGEST));
    let waiting = Mutex::new(together);
    let next = || waiting.lock().pop();
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                while let Some(row) = next() {
                    run_apart(&clone, row);
                }
            });
        }
    });
    for row in alone {
        run_apart(&clone, row);
    }
}

/// Runs a command in its own terminal. In the command, port 0 stands for a free port.
fn run_apart(clone: &BareClone, row: &CommandRow) {
    let free = free_port().expect("a free port");
    let address = ("127.0.0.1:0".to_owned(), format!("127.0.0.1:{free}"));
    let built = std::slice::from_ref(&clone.built);
    let mut terminal = Terminal::open(clone, built, vec![address]);
    check(row, &terminal.run(text_to_run(row)));
}

/// Buys two seats of `night-1` as a fan who comes after the draw. Returns a command that sets the
/// order and its key as variables of a terminal.
async fn buy(gateway: u16) -> String {
    struct Shop(TestClient);
    impl TestShop for Shop {
        fn client(&self) -> &TestClient {
            &self.0
        }
    }
    let shop = Shop(TestClient::of_address(&format!(
        "http://127.0.0.1:{gateway}"
    )));
    let line = "/v1/rooms/night-one";
    let joined = shop.ask(post(&format!("{line}/places"), &json!({}))).await;
    let place = text(&joined.is(201), "place");
    let own = get(&format!("{line}/place")).by(&place);
    let called = |answer: &fairgate_servers::actors::TestAnswer| {
        answer.status == 200 && answer.json()["state"] == "called"
    };
    shop.client().ask_until(&own, called).await;
    let pass = post(&format!("{line}/pass"), &json!({})).by(&place);
    let pass = text(&shop.ask(pass).await.is(201), "pass");
    let wish = json!({"best": {"quantity": 2}});
    let held = shop.try_hold(&pass, "night-1", &wish).await.is(201);
    let order = shop.checkout(&pass, &held).await;
    shop.pay(&order, "approve").await.is(200);
    shop.order_in(&order, "ticketed").await;
    let [id, key] = ["order", "order_key"].map(|member| text(&order, member));
    format!("ORDER={id} ORDER_KEY={key}")
}

/// Returns the texts of [`SUBSTITUTES`]. Beside each is the address of this test that replaces it.
fn substitutes(gateway: u16, postgres: &str, redis: &str) -> Vec<(String, String)> {
    let port = || free_port().expect("a free port").to_string();
    let known = [
        ("@POSTGRES@", postgres.to_owned()),
        ("@REDIS@", redis.to_owned()),
        ("@GATEWAY@", gateway.to_string()),
        ("@GUARD@", port()),
        ("@BOOKING@", port()),
    ];
    let fill = |new: &str| {
        let fill = |text: String, (name, value): &(&str, String)| text.replace(name, value);
        known.iter().fold(new.to_owned(), fill)
    };
    let filled = SUBSTITUTES.iter();
    filled
        .map(|(old, new)| ((*old).to_owned(), fill(new)))
        .collect()
}

/// Runs a command of a block in the terminal of its README.
fn run_in_turn(terminal: &mut Terminal, command: &str) {
    if is_silent(command) {
        let ended = terminal.run(command);
        assert_eq!(ended.status, 0, "{command}: {}", ended.said);
        return;
    }
    let row = row_of(command);
    match row.how {
        How::InTurn => check(row, &terminal.run(text_to_run(row))),
        How::Server(address) | How::LastingServer(address) => {
            let (job, output) = terminal.start(text_to_run(row));
            let answered = terminal.run(&format!("answers {address}"));
            let said = fs::read_to_string(output).expect("its output");
            let status = answered.status;
            check(row, &Ended { status, said });
            if matches!(row.how, How::Server(_)) {
                let ended = terminal.interrupt(job);
                assert_eq!(ended.status, 0, "{command} after Ctrl-C: {}", ended.said);
            }
        }
        // These commands are not run here. Another test of this file runs the commands of `Apart`,
        // another row runs those of `By`, and `./test` runs those of `Tests`.
        How::Apart | How::By(_) | How::Tests(..) | How::Excused => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_blocks_of_each_readme_work_from_top_to_bottom_in_one_terminal() {
    if must_skip("the blocks of the READMEs") {
        return;
    }
    let clone = BareClone::make();
    let postgres = PostgresServer::start().await.expect("PostgreSQL");
    let redis = RedisServers::single().await.expect("Redis");
    let mut commands_run = 0;
    for (_, readme) in clone.readmes() {
        let gateway = free_port().expect("a free port");
        let substitutes = substitutes(gateway, &postgres.url(), &redis.url());
        let mut terminal = Terminal::open(&clone, &[] as &[PathBuf], substitutes);
        // By default, servers listen on port 8080. The substitutes put a free port in this setting.
        let listen = "export FAIRGATE_LISTEN=127.0.0.1:8080";
        assert_eq!(terminal.run(listen).status, 0);
        for command in markdown::block_commands(&readme) {
            if command.contains("$ORDER_KEY") {
                let order = buy(gateway).await;
                assert_eq!(terminal.run(&order).status, 0);
            }
            run_in_turn(&mut terminal, &command);
            commands_run += 1;
        }
    }
    assert!(commands_run > 50, "{commands_run} commands");
}
