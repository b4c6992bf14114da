//! Tests the commands: `apply` with an on-sale file, `serve` with a data directory that is in use
//! or with bad settings, the help texts, and a server that stops.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::harness::{Live, PROMOTER_KEY, Promoter, Server, Visitor, gateway, real_data};

fn said(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn run(command: &mut Command) -> Output {
    command.output().expect("the command starts")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sample_on_sale_file_is_applied_twice_with_the_same_result() {
    let server = Server::start().await;
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../onsale.sample.toml");
    for _ in 0..2 {
        let output = run(gateway()
            .arg("apply")
            .arg(&file)
            .args(["--target", &server.url])
            .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY));
        assert!(output.status.success(), "{}", said(&output));
    }
    // The address may also be in the environment. A flag overrides it.
    let by_variable = run(gateway()
        .arg("apply")
        .arg(&file)
        .env("FAIRGATE_TARGET", &server.url)
        .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY));
    assert!(by_variable.status.success(), "{}", said(&by_variable));
    let by_both = run(gateway()
        .arg("apply")
        .arg(&file)
        .args(["--target", &server.url])
        .env("FAIRGATE_TARGET", "http://127.0.0.1:1")
        .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY));
    assert!(by_both.status.success(), "{}", said(&by_both));
    let nowhere = run(gateway()
        .arg("apply")
        .arg(&file)
        .env("FAIRGATE_TARGET", "sale.example")
        .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY));
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(
        said(&nowhere).contains("FAIRGATE_TARGET (--target): sale.example is not an address"),
        "{}",
        said(&nowhere)
    );

    let room = Promoter::of(&server).room("night-one").await;
    assert_eq!(room["shows"], json!(["night-1", "night-2"]));
    assert_eq!(
        server.get("/v1/shows/night-1").await.is(200)["room"],
        "night-one"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chart_in_the_on_sale_files_folder_is_read_and_all_its_faults_are_printed() {
    let Some(data) = real_data() else { return };
    let server = Server::start().await;
    let apply = |name: &str, chart: &str, more: &str| {
        let chart = data
            .join("seatmaps")
            .join(chart)
            .canonicalize()
            .expect("a chart");
        let folder = server.folder().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::copy(chart, folder.join("chart.json")).expect("a copy beside the file");
        let text = format!(
            "[[venue]]\nid = \"track\"\nplan = \"seatsio:chart.json\"\n[[show]]\nid = \"race\"\nvenue = \"track\"\ntitle = \"The race\"\n\
             starts_at = \"2031-06-01T20:00:00+02:00\"\nprices = {{ {more} }}\n"
        );
        std::fs::write(folder.join("onsale.toml"), text).expect("a written file");
        run(gateway()
            .arg("apply")
            .arg(folder.join("onsale.toml"))
            .args(["--target", &server.url])
            .env("FAIRGATE_PROMOTER_KEY", PROMOTER_KEY))
    };
    let faulty = apply("faulty", "seatsio-sampleChartWithErrors.json", "1 = 100");
    assert!(!faulty.status.success());
    assert!(
        said(&faulty).lines().count() > 3,
        "each fault on a line: {}",
        said(&faulty)
    );
    server.get("/v1/shows/race").await.problem(404, "not_found");

    let good = apply(
        "good",
        "seatsio-sampleChartWithZones.json",
        "1 = 100, 2 = 200",
    );
    assert!(good.status.success(), "{}", said(&good));
    assert_eq!(server.get("/v1/shows/race").await.is(200)["seats"], 8_897);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_belongs_to_one_process() {
    let server = Server::start().await;
    let second = run(gateway()
        .arg("serve")
        .args(["--listen", "127.0.0.1:0", "--data"])
        .arg(server.data()));
    assert!(!second.status.success());
    let said = said(&second);
    assert!(
        said.contains(&server.data().display().to_string()),
        "the directory is not named in: {said}"
    );
    assert_eq!(server.get("/healthz").await.status, 200);
}

#[test]
fn all_bad_settings_are_reported_at_once_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = run(gateway()
        .args(["serve", "--data"])
        .arg(folder.path())
        .env("FAIRGATE_LISTEN", "somewhere")
        .env("FAIRGATE_JOINS_PER_S", "many")
        .env("FAIRGATE_PAYMENTS", "gold")
        .env("FAIRGATE_REDIS_URL", "redis://127.0.0.1/"));
    assert!(!output.status.success());
    let said = said(&output);
    for name in [
        "FAIRGATE_LISTEN",
        "FAIRGATE_JOINS_PER_S",
        "FAIRGATE_PAYMENTS",
        "FAIRGATE_REDIS_URL",
    ] {
        assert!(said.contains(name), "{name} is missing in: {said}");
    }
}

#[test]
fn every_command_prints_its_usage() {
    for command in [
        vec!["--help"],
        vec!["serve", "--help"],
        vec!["apply", "--help"],
        vec!["verify-draw", "--help"],
        vec!["keys", "rotate", "--help"],
    ] {
        let output = run(gateway().args(&command));
        assert!(
            output.status.success() && said(&output).contains("Usage"),
            "{command:?}: {}",
            said(&output)
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_closes_its_sockets_with_1012() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let ana = Visitor::joined(&server, "sale").await;
    let mut socket = Live::open(&ana).await;
    socket.text("place").await;
    server.terminate();
    let (code, reason) = socket.closed().await;
    assert_eq!(code, 1012);
    let hint: serde_json::Value = serde_json::from_str(&reason).expect("a JSON reason");
    assert!(hint["retry_ms"].is_u64(), "{reason}");
    server.ended().await;
    server.restart().await;
    assert_eq!(
        ana.look().await["number"],
        0,
        "the place is the same after the restart"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn health_readiness_metrics_and_the_api_description_are_served() {
    let server = Server::start().await;
    assert_eq!(server.get("/healthz").await.status, 200);
    let ready = server.ready_as_operator().await.is(200);
    assert!(ready["warnings"].to_string().contains("sandbox"), "{ready}");
    assert!(server.get("/metrics").await.text().contains("fairgate_"));
    let api = server.get("/openapi.json").await.is(200);
    for path in [
        "/v1/rooms/{room}/places",
        "/v1/rooms/{room}/draw",
        "/v1/shows/{show}/holds",
        "/v1/promoter/rooms/{room}",
    ] {
        assert!(api["paths"][path].is_object(), "{path}");
    }
    parameters_are_where_their_calls_have_them(&api);
}

/// Checks that a parameter is described as a part of the path if the path names it, and otherwise
/// not.
fn parameters_are_where_their_calls_have_them(api: &Value) {
    let mut queries = Vec::new();
    for (path, calls) in api["paths"].as_object().expect("paths") {
        for call in calls.as_object().expect("calls").values() {
            for parameter in call["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().expect("a name");
                let is_named =
                    path.contains(&format!("{{{name}}}")) || path.contains(&format!("{{*{name}}}"));
                assert_eq!(parameter["in"] == "path", is_named, "{name} of {path}");
                if parameter["in"] == "query" {
                    queries.push((path.as_str(), name, &parameter["required"]));
                }
            }
        }
    }
    let not_required = json!(false);
    let preview = ("/v1/promoter/apply", "preview", &not_required);
    assert!(queries.contains(&preview), "{queries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_on_the_machine_can_read_the_ledger() {
    let server = Server::start().await;
    let mut files = 0;
    for entry in std::fs::read_dir(server.data()).expect("the data folder can be read") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("its mode").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", entry.path().display());
        files += 1;
    }
    assert!(files > 0, "no ledger was made");
}
