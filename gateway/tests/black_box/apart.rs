//! Tests a gateway and a separate booking server that share one PostgreSQL and one Redis: the whole
//! way to a scanned ticket, and the gateway's answers while booking is down. Booking runs on a
//! runtime of its own in the test's process. Shutting this runtime down ends booking at once, like
//! killing a process.

use std::net::TcpListener;

use booking::config::BookingConfig;
use booking::service::BookingService;
use fairgate_base::config::SettingSources;
use fairgate_servers::{PostgresServer, RedisServers};
use reqwest::Method;
use serde_json::json;

use crate::harness::{
    DOOR_KEY, PROMOTER_KEY, Promoter, Server, TestAnswer, TestShop, Visitor, free_port, text, until,
};
use crate::way::whole_way;

/// The servers and settings that both processes share.
struct Shared {
    postgres: PostgresServer,
    redis: RedisServers,
    port: u16,
}

/// A running booking server.
struct Core {
    runtime: Option<tokio::runtime::Runtime>,
}

impl Shared {
    async fn start() -> Self {
        Self {
            postgres: PostgresServer::start().await.expect("PostgreSQL"),
            redis: RedisServers::single().await.expect("Redis"),
            port: free_port().expect("a free port"),
        }
    }

    fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    async fn gateway(&self) -> Server {
        Server::with(&[
            ("FAIRGATE_DATABASE_URL", &self.postgres.url()),
            ("FAIRGATE_REDIS_URL", &self.redis.url()),
            (
                "FAIRGATE_BOOKING_URL",
                &format!("http://{}", self.address()),
            ),
        ])
        .await
    }

    /// Starts booking at the address that the gateway knows, and waits until it listens.
    async fn booking(&self) -> Core {
        let flags = [
            ("listen", self.address()),
            ("database_url", self.postgres.url()),
            ("redis_url", self.redis.url()),
            ("promoter_key", PROMOTER_KEY.to_owned()),
            ("door_key", DOOR_KEY.to_owned()),
            ("payments", "sandbox".to_owned()),
            ("secret", fairgate_servers::TEST_SECRET.to_owned()),
        ];
        let config = BookingConfig::resolve(&SettingSources {
            flags: flags.into(),
            ..SettingSources::default()
        })
        .expect("good settings");
        // After booking is killed, its address stays in use for a moment.
        until("booking's address is free", async || {
            TcpListener::bind(self.address()).ok().map(drop)
        })
        .await;
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        let built = runtime.spawn(BookingService::build(config));
        let service = built.await.expect("no panic").expect("it opens");
        runtime.spawn(service.run(std::future::pending()));
        Core {
            runtime: Some(runtime),
        }
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Waits until booking answers through the gateway.
async fn answers(server: &Server) {
    until("booking answers", async || {
        (server.get("/v1/shows").await.status == 200).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_is_bought_and_scanned_with_booking_apart_from_the_gateway() {
    if fairgate_servers::must_skip("the way with booking as a process of its own") {
        return;
    }
    let shared = Shared::start().await;
    let server = shared.gateway().await;
    let _booking = shared.booking().await;
    answers(&server).await;
    whole_way(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_booking_is_killed_visitors_can_still_join_and_no_hold_is_lost() {
    if fairgate_servers::must_skip("a booking that is killed") {
        return;
    }
    let shared = Shared::start().await;
    let server = shared.gateway().await;
    let booking = shared.booking().await;
    answers(&server).await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("10x20", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let held = server
        .try_hold(&ana, "night", &json!({"seats": ["A-1", "A-2"]}))
        .await
        .is(201);

    drop(booking);
    let away = until("booking is away", async || {
        let answer = server.get("/v1/shows/night").await;
        (answer.status == 503).then_some(answer)
    })
    .await;
    assert!(!away.header("retry-after").is_empty());
    let refused = ana
        .send(
            Method::GET,
            &format!("/v1/holds/{}", text(&held, "hold")),
            &json!({}),
        )
        .await;
    refused.problem(503, "booking_unreachable");
    let ready = until("readiness reports that booking is away", async || {
        let answer = server.ready_as_operator().await;
        answer
            .text()
            .contains("no booking answers")
            .then_some(answer)
    })
    .await;
    assert_eq!(
        ready.status,
        200,
        "the gateway stays ready: {}",
        ready.text()
    );
    assert!(ready.text().contains(&shared.address()), "{}", ready.text());
    let ben = Visitor::joined(&server, "sale").await;
    assert!(ben.number > ana.number);
    ben.look().await;

    let _booking = shared.booking().await;
    answers(&server).await;
    let ordered = server.checkout(&ana, &held).await;
    server.pay(&ordered, "approve").await.is(200);
    let order = server.order_in(&ordered, "ticketed").await;
    assert_eq!(order["tickets"].as_array().map(Vec::len), Some(2));
    let scan = format!(
        "/v1/tickets/{}/scan",
        order["tickets"][0]["ticket"].as_str().expect("a ticket")
    );
    let scanned = TestAnswer::of(server.http.post(server.at(&scan)).bearer_auth(DOOR_KEY));
    assert_eq!(scanned.await.expect("an answer").is(200)["seat"], "A-1");
}
