//! Two gateways over one Redis and one PostgreSQL, behind a proxy. Each gateway is a process that
//! can be restarted and killed.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fairgate_servers::actors::{TestAnswer, TestClient, get, put, until};
use fairgate_servers::{
    FrontProxy, FrontProxyKind, FrontProxyTargets, PostgresServer, RedisServers, ServerProcess,
    ServerProgram, Signal, free_port,
};
use serde_json::json;

use crate::proxies::sample;
use crate::proxy_visitor::{ROOM, SALE};
use crate::support::PROMOTER;

/// The two gateways and the proxy.
pub struct RollSite {
    pub port: u16,
    gateways: [GatewayProcess; 2],
    _proxy: FrontProxy,
    postgres: PostgresServer,
    _redis: RedisServers,
    _folder: tempfile::TempDir,
}

/// A gateway as a process.
struct GatewayProcess {
    process: Arc<ServerProcess>,
    address: SocketAddr,
    calls: TestClient,
}

impl RollSite {
    pub async fn behind(kind: FrontProxyKind) -> Self {
        let redis = RedisServers::single().await.expect("Redis");
        let postgres = PostgresServer::start().await.expect("PostgreSQL");
        let folder = tempfile::tempdir().expect("a folder");
        let settings = [
            ("FAIRGATE_DATABASE_URL", postgres.url()),
            ("FAIRGATE_REDIS_URL", redis.url()),
            ("FAIRGATE_PROMOTER_KEY", PROMOTER.to_owned()),
            ("FAIRGATE_PUBLIC_URL", SALE.to_owned()),
            ("FAIRGATE_TRUSTED_HOPS", "1".to_owned()),
            ("FAIRGATE_SECRET", fairgate_servers::TEST_SECRET.to_owned()),
        ];
        let gateways =
            ["one", "two"].map(|name| GatewayProcess::new(folder.path(), name, &settings));
        for gateway in &gateways {
            gateway.start().await;
        }
        let targets = FrontProxyTargets {
            gateways: [gateways[0].address, gateways[1].address],
            guards: [gateways[0].address, gateways[1].address],
            shop: gateways[0].address,
        };
        let proxy = FrontProxy::start(kind, &sample(kind), targets).await;
        let proxy = proxy.expect("the sample is good");
        let site = Self {
            port: proxy.port(),
            gateways,
            _proxy: proxy,
            postgres,
            _redis: redis,
            _folder: folder,
        };
        site.open_room().await;
        site
    }

    async fn open_room(&self) {
        let room = json!({
            "title": "Night one", "shows": ["night-1"], "opens_at": "2020-01-01T00:00:00Z",
            "draw_at": "2099-01-01T00:00:00Z",
            "per_network": {"soft": 50_000, "hard": 50_000},
        });
        let [one, two] = &self.gateways;
        let path = "/v1/promoter/rooms/night-one";
        one.calls.ask(put(path, &room).by(PROMOTER)).await.is(201);
        two.calls
            .ask_until(&get(ROOM), |answer| answer.status == 200)
            .await;
    }

    /// Ends a gateway as a supervisor does, starts it again, and waits until it is ready.
    pub async fn restart(&self, gateway: usize) {
        let process = Arc::clone(&self.gateways[gateway].process);
        let ended = tokio::task::spawn_blocking(move || process.end_by_signal(Signal::TERM));
        ended.await.expect("it ends");
        self.gateways[gateway].start().await;
    }

    /// Kills a gateway for good, and returns the moment.
    pub async fn kill(&self, gateway: usize) -> Instant {
        let process = Arc::clone(&self.gateways[gateway].process);
        let killed_at = Instant::now();
        let ended = tokio::task::spawn_blocking(move || process.kill());
        ended.await.expect("it ends");
        killed_at
    }

    /// Lets PostgreSQL stand still for as long as `meanwhile` takes.
    pub async fn without_database(&self, meanwhile: impl Future<Output = ()>) {
        self.postgres.pause();
        meanwhile.await;
        self.postgres.resume();
    }

    /// Returns how many people have joined the room, once there are at least `expected`.
    pub async fn joined(&self, gateway: usize, expected: u64) -> u64 {
        let joined = |answer: &TestAnswer| answer.json()["joined"].as_u64();
        let enough = |answer: &TestAnswer| joined(answer) >= Some(expected);
        let call = get(ROOM);
        let room = self.gateways[gateway].calls.ask_until(&call, enough);
        joined(&room.await).expect("a figure")
    }
}

impl GatewayProcess {
    fn new(folder: &Path, name: &str, settings: &[(&str, String)]) -> Self {
        let port = free_port().expect("a free port");
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let own = [("FAIRGATE_LISTEN", address.to_string())];
        let all = settings.iter().chain(&own);
        let process = ServerProcess::new(ServerProgram {
            binary: env!("CARGO_BIN_EXE_gateway").into(),
            args: vec!["serve".into()],
            env: all
                .map(|(name, value)| ((*name).to_owned(), value.into()))
                .collect(),
            run_as: None,
            at_our_end: "KILL",
            log: folder.join(name),
        });
        Self {
            process: Arc::new(process),
            address,
            calls: TestClient::of_address(&format!("http://{address}")),
        }
    }

    async fn start(&self) {
        self.process.spawn().expect("the gateway starts");
        let asked_at = Instant::now();
        until("a gateway is ready", async || {
            assert!(self.process.pid().is_some(), "{}", self.process.log_end());
            let answer = self.calls.try_ask(get("/readyz")).await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
        let took = asked_at.elapsed();
        assert!(took < Duration::from_secs(30), "a start took {took:?}");
    }
}
