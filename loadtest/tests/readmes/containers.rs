//! Checks `compose.yaml` and `Dockerfile` as far as that is possible without a container engine.
//! Runs the processes of `compose.yaml` behind its proxy, with its commands and settings. Compares
//! the copied paths, the build and the command of `Dockerfile` with the repository.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use fairgate_servers::actors::{TestClient, get, until};
use fairgate_servers::{
    FrontProxy, FrontProxyKind, FrontProxyTargets, PostgresServer, RedisServers, free_port,
    must_skip,
};

const COMPOSE: &str = include_str!("../../../compose.yaml");
const DOCKERFILE: &str = include_str!("../../../Dockerfile");
const README: &str = include_str!("../../../README.md");
/// The value of each setting that the user of compose must choose.
const CHOSEN: &str = "a-key-or-a-secret-that-somebody-chose";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the settings that all processes share.
fn settings() -> Vec<(String, String)> {
    let lines = COMPOSE.lines();
    let lines = lines.skip_while(|line| *line != "x-settings: &settings");
    let of_block = lines.skip(1).take_while(|line| line.starts_with("  "));
    let setting = |line: &str| {
        let (name, value) = line.trim().split_once(": ").expect("a name and a value");
        let value = value.trim_matches('"');
        let chosen = value.starts_with("${") && value.contains(":?");
        let value = if chosen { CHOSEN } else { value };
        (name.to_owned(), value.to_owned())
    };
    of_block.map(setting).collect()
}

/// Returns the command of a service.
fn command_of(service: &str) -> Vec<String> {
    let lines = COMPOSE.lines();
    let mut lines = lines.skip_while(|line| *line != format!("  {service}:"));
    let command = lines.find_map(|line| line.trim().strip_prefix("command: "));
    serde_json::from_str(command.expect("a command")).expect("a list of words")
}

/// A process of compose. Dropping this value ends it.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a service with these settings. `places` lists texts in the settings, such as a service
/// and its port. Beside each is the text that replaces it.
fn start(service: &str, settings: &[(String, String)], places: &[(String, String)]) -> Process {
    let place = |text: &str| {
        let replace = |text: String, (old, new): &(String, String)| text.replace(old, new);
        places.iter().fold(text.to_owned(), replace)
    };
    let own = places.iter().find(|(name, _)| name.starts_with(service));
    let (port, address) = own.expect("its place");
    let port = port.split(':').nth(1).expect("its port");
    let words = command_of(service);
    let words = words
        .iter()
        .map(|word| word.replace(&format!("0.0.0.0:{port}"), address));
    let words: Vec<String> = words.collect();
    assert!(words.contains(address), "{service} listens elsewhere");
    let program = Path::new(env!("CARGO_BIN_EXE_loadtest")).with_file_name(&words[0]);
    let inherited = std::env::vars().filter(|(name, _)| name.starts_with("FAIRGATE_"));
    let mut command = Command::new(program);
    for (name, _) in inherited {
        command.env_remove(name);
    }
    let settings = settings.iter().map(|(name, value)| (name, place(value)));
    let started = command
        .args(&words[1..])
        .envs(settings)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn();
    Process(started.expect("the service starts"))
}

/// Returns the sample of nginx with the changes that compose makes. The gateways then get the
/// addresses that the sample has, because [`FrontProxy`] replaces these.
fn proxy_sample() -> String {
    let command = command_of("proxy");
    let script = command[2].split('\'').nth(1).expect("a script of sed");
    let sample = root().join("gateway/proxies/nginx.conf");
    let changed = Command::new("sed").arg(script).arg(sample).output();
    let changed = String::from_utf8(changed.expect("sed starts").stdout).expect("UTF-8");
    let gateways = [
        ("gateway-1:8080", "127.0.0.1:8080"),
        ("gateway-2:8080", "127.0.0.1:8082"),
    ];
    for (name, address) in gateways {
        assert!(changed.contains(name), "compose does not name {name}");
        assert!(!changed.contains(address), "{address} stays");
    }
    let place = |text: String, (name, address): (&str, &str)| text.replace(name, address);
    gateways.into_iter().fold(changed, place)
}

/// Returns the proxy's answer: the body, a space and the status.
fn through_proxy(port: u16, more: &[&str], path: &str) -> String {
    let answer = Command::new("curl")
        .args(["-sk", "--noproxy", "*", "-w", " %{http_code}"])
        .args(["--resolve", &format!("sale.example:{port}:127.0.0.1")])
        .args(more)
        .arg(format!("https://sale.example:{port}{path}"))
        .output();
    String::from_utf8(answer.expect("curl starts").stdout).expect("UTF-8")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_processes_of_compose_serve_visitors_behind_its_proxy() {
    let what = "the processes of compose.yaml";
    if must_skip(what) || FrontProxyKind::Nginx.must_skip(what) {
        return;
    }
    let postgres = PostgresServer::start().await.expect("PostgreSQL");
    let redis = RedisServers::single().await.expect("Redis");
    let services = ["booking-1", "booking-2", "gateway-1", "gateway-2"];
    let place = |(service, port): (&str, u16)| {
        let free = free_port().expect("a free port");
        (format!("{service}:{port}"), format!("127.0.0.1:{free}"))
    };
    let ports = [8090, 8090, 8080, 8080];
    let mut places: Vec<_> = services.into_iter().zip(ports).map(place).collect();
    let gateways = [places[2].1.clone(), places[3].1.clone()];
    let fixed = [
        ("postgres://fairgate:fairgate@db/fairgate", postgres.url()),
        ("redis://redis:6379", redis.url()),
    ];
    places.extend(fixed.map(|(name, url)| (name.to_owned(), url)));
    let settings = settings();
    let _running: Vec<Process> = services
        .iter()
        .map(|service| start(service, &settings, &places))
        .collect();
    for gateway in &gateways {
        let client = TestClient::of_address(&format!("http://{gateway}"));
        until("a gateway is ready", async || {
            let answer = client.try_ask(get("/readyz")).await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
    }
    let addresses = gateways
        .each_ref()
        .map(|gateway| gateway.parse().expect("an address"));
    let targets = FrontProxyTargets {
        gateways: addresses,
        guards: addresses,
        shop: addresses[0],
    };
    let sample = proxy_sample();
    let proxy = FrontProxy::start(FrontProxyKind::Nginx, &sample, targets).await;
    let port = proxy.as_ref().expect("nginx").port();
    let key = format!("Authorization: Bearer {CHOSEN}");
    let room = r#"{"title":"A night","shows":["night-*"],"opens_at":"2020-01-01T00:00:00Z","draw_at":"2099-01-01T00:00:00Z"}"#;
    let json = "Content-Type: application/json";
    let put = ["-X", "PUT", "-H", &key, "-H", json, "-d", room];
    let made = through_proxy(port, &put, "/v1/promoter/rooms/night");
    assert!(made.ends_with(" 201"), "{made}");
    // nginx asks the gateways in turn. One of them may learn about the room a moment later.
    for gateway in &gateways {
        let client = TestClient::of_address(&format!("http://{gateway}"));
        let room = get("/v1/rooms/night");
        client.ask_until(&room, |answer| answer.status == 200).await;
    }
    for number in 0..4 {
        let joined = through_proxy(port, &["-X", "POST"], "/v1/rooms/night/places");
        assert!(joined.ends_with(" 201"), "{joined}");
        assert!(joined.contains(&format!("\"number\":{number}")), "{joined}");
    }
}

#[test]
fn the_dockerfile_copies_what_is_there_and_builds_as_the_readme_says() {
    let lines: Vec<&str> = DOCKERFILE.lines().collect();
    let mut copied = 0;
    for line in &lines {
        let Some(paths) = line.strip_prefix("COPY ") else {
            continue;
        };
        let mut paths: Vec<&str> = paths.split(' ').collect();
        paths.pop();
        if paths[0] == "--from=build" {
            let built =
                ["gateway", "booking"].map(|name| format!("/fairgate/target/release/{name}"));
            assert_eq!(paths[1..], built);
            continue;
        }
        for path in paths {
            assert!(root().join(path).exists(), "there is no {path}");
            copied += 1;
        }
    }
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    let members = manifest
        .lines()
        .find(|line| line.starts_with("members"))
        .expect("members");
    for member in members.split('"').skip(1).step_by(2) {
        let top = member.split('/').next().expect("a folder");
        let copy = format!("COPY {top} {top}");
        assert!(lines.contains(&copy.as_str()), "{member} is not copied");
    }
    assert!(copied >= 6, "{copied} paths");
    let build = lines
        .iter()
        .find_map(|line| line.strip_prefix("RUN cargo "));
    let build = format!("cargo {}", build.expect("a build"));
    assert!(README.contains(&build), "the README does not say {build}");
    let last = lines.last().expect("a last line");
    let words = last.strip_prefix("CMD ").expect("a command");
    let words: Vec<String> = serde_json::from_str(words).expect("a list of words");
    assert_eq!(words, command_of("gateway-1"));
}

#[test]
fn compose_mounts_files_that_are_there() {
    let volumes = COMPOSE.lines().filter(|line| line.contains("volumes: ["));
    let paths = volumes.flat_map(|line| line.split('"').skip(1).step_by(2));
    let paths = paths.filter_map(|volume| volume.strip_prefix("./")?.split(':').next());
    let (made, there): (Vec<&str>, Vec<&str>) = paths.partition(|path| *path == "tls");
    assert!(!made.is_empty() && !there.is_empty());
    for path in there {
        assert!(root().join(path).exists(), "there is no {path}");
    }
    assert!(
        README.contains("mkdir -p tls"),
        "the README makes the folder tls"
    );
}
