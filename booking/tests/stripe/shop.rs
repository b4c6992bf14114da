//! Booking with Stripe as its provider, serving on a free port so that events can come in.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use booking::app::{Booking, BookingSetup};
use booking::config::PaymentSettings;
use booking::door::{Role, RoleKeys};
use booking::ledger::Ledger;
use booking::ledger::sql::SqlLedger;
use booking::payments::READ_BACK_AFTER;
use booking::payments::stripe::StripeSettings;
use fairgate_base::clock::Clock;
use fairgate_base::http::request_id;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_pass::{Holder, Keyring, PassClaims, StoredKey};
use fairgate_servers::{
    FakeStripeServer, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET,
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tower::ServiceExt;

const PROMOTER: &str = "promoter-key";
const PATIENCE: Duration = Duration::from_secs(60);

/// The shop, its workers, and its provider.
pub struct Shop {
    pub stripe: FakeStripeServer,
    pub booking: Booking,
    pub ledger: Arc<dyn Ledger>,
    router: Router,
    keyring: Keyring,
    _workers: JoinSet<()>,
    _folder: TempDir,
}

impl Shop {
    /// A hall of `grid`, and a show whose document has these changes.
    pub async fn open(seed: u64, grid: &str, changes: Value) -> Self {
        let stripe = FakeStripeServer::start(seed).await.expect("a port");
        let folder = tempfile::tempdir().expect("a folder");
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a ledger file");
        let now_s = jiff::Timestamp::now().as_second();
        let keyring =
            Keyring::new(vec![StoredKey::generate(now_s).expect("a key")]).expect("a keyring");
        let mut keys = RoleKeys::default();
        keys.add(Role::Promoter, PROMOTER);
        let setup = BookingSetup {
            keyring: keyring.clone(),
            keys,
            clock: Clock::system(),
            payments: PaymentSettings::Stripe(StripeSettings {
                secret_key: STRIPE_SECRET_KEY.to_owned(),
                webhook_secret: STRIPE_WEBHOOK_SECRET.to_owned(),
                publishable_key: STRIPE_PUBLISHABLE_KEY.to_owned(),
                url: stripe.url().to_owned(),
                read_back_after: READ_BACK_AFTER,
            }),
        };
        let booking = Booking::open(writer.clone(), setup).await.expect("open");
        let ledger = Arc::new(
            SqlLedger::open(Installation::File(writer))
                .await
                .expect("open"),
        );
        let (router, _) = booking.router().split_for_parts();
        let router = router.layer(axum::middleware::from_fn(request_id));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let address = listener.local_addr().expect("bound");
        stripe.send_events_to(vec![format!("http://{address}/v1/payments/stripe/webhook")]);
        let served = router.clone();
        let mut workers = booking.start();
        workers.spawn(async move {
            let ended = axum::serve(listener, served).await;
            ended.expect("it serves");
        });
        booking
            .replace_coverage(vec![("demo".to_owned(), vec!["night-*".to_owned()])])
            .await
            .expect("covered");
        let shop = Self {
            stripe,
            booking,
            ledger,
            router,
            keyring,
            _workers: workers,
            _folder: folder,
        };
        let plan = json!({ "plan": format!("grid:{grid}") });
        shop.ask("PUT", "/v1/promoter/venues/hall", PROMOTER, &plan)
            .await
            .is(200);
        shop.put_show(changes).await.is(200);
        shop
    }

    /// The show's document, with these changes.
    pub async fn put_show(&self, changes: Value) -> Answer {
        let mut document = json!({
            "venue": "hall", "title": "Night one", "starts_at": "2099-06-01T20:00:00+02:00", "currency": "EUR",
            "prices": { "cat1": 9_900, "cat2": 4_900 }, "orphans": "allow",
        });
        if let (Some(document), Value::Object(changes)) = (document.as_object_mut(), changes) {
            document.extend(changes);
        }
        self.ask("PUT", "/v1/promoter/shows/night-1", PROMOTER, &document)
            .await
    }

    fn pass(&self, n: u16) -> String {
        let now = jiff::Timestamp::now().as_second();
        let [high, low] = n.to_be_bytes();
        let mut sub = [low; 32];
        sub[0] ^= high;
        self.keyring.sign_pass(&PassClaims {
            sub: Holder(sub),
            room: "demo".to_owned(),
            rank: u64::from(n),
            number: u64::from(n),
            iat: now,
            nbf: now,
            exp: now + 600,
            jti: format!("pass-{n}"),
        })
    }

    pub async fn ask(&self, method: &str, path: &str, who: &str, body: &Value) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("authorization", format!("Bearer {who}"))
            .header("accept", "application/json")
            .body(Body::from(body.to_string()))
            .expect("a request");
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("infallible");
        let status = response.status().as_u16();
        let body = response
            .into_body()
            .collect()
            .await
            .expect("whole")
            .to_bytes();
        Answer {
            status,
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
        }
    }

    pub async fn hold(&self, n: u16, seats: &[&str]) -> Value {
        let ask = json!({ "seats": seats });
        let pass = self.pass(n);
        let held = self.ask("POST", "/v1/shows/night-1/holds", &pass, &ask);
        held.await.is(201)
    }

    pub async fn read_hold(&self, n: u16, hold: &Value) -> Answer {
        let path = format!("/v1/holds/{}", text(hold, "hold"));
        self.ask("GET", &path, &self.pass(n), &Value::Null).await
    }

    /// One seat more in the basket.
    pub async fn add(&self, n: u16, hold: &Value, seat: &str) {
        let path = format!("/v1/holds/{}", text(hold, "hold"));
        let more = json!({ "add": [seat] });
        self.ask("PATCH", &path, &self.pass(n), &more).await.is(200);
    }

    /// The basket is to become an order; asked for once.
    pub async fn order_hold(&self, n: u16, hold: &Value) -> Answer {
        let path = format!("/v1/holds/{}/order", text(hold, "hold"));
        let buyer = json!({ "buyer": { "name": "Ana Perez", "email": "ana@example.org" } });
        self.ask("POST", &path, &self.pass(n), &buyer).await
    }

    pub async fn order_of(&self, n: u16, seats: &[&str]) -> Answer {
        let hold = self.hold(n, seats).await;
        self.order_hold(n, &hold).await
    }

    pub async fn seats_are_free(&self) {
        until("free seats", async || {
            let path = "/v1/shows/night-1/seats";
            let seats = self.ask("GET", path, &self.pass(1), &Value::Null).await;
            (seats.is(200)["unavailable"] == json!({})).then_some(())
        })
        .await;
    }

    /// An order of the best `quantity` seats, asked for again while the provider does not answer.
    pub async fn order(&self, n: u16, quantity: u32) -> Value {
        let pass = self.pass(n);
        let ask = json!({ "best": { "quantity": quantity } });
        let hold = self
            .ask("POST", "/v1/shows/night-1/holds", &pass, &ask)
            .await
            .is(201);
        let path = format!("/v1/holds/{}/order", text(&hold, "hold"));
        let buyer = json!({ "buyer": { "name": "Ana Perez", "email": "ana@example.org" } });
        until("an order", async || {
            let answer = self.ask("POST", &path, &pass, &buyer).await;
            assert!(matches!(answer.status, 201 | 503), "{}", answer.body);
            (answer.status == 201).then_some(answer.body)
        })
        .await
    }

    pub async fn read(&self, order: &Value) -> Value {
        let path = format!("/v1/orders/{}", text(order, "order"));
        let key = text(order, "order_key");
        self.ask("GET", &path, &key, &Value::Null).await.is(200)
    }

    pub async fn consent(&self, order: &Value, accept: bool) {
        let path = format!("/v1/orders/{}/consent", text(order, "order"));
        let key = text(order, "order_key");
        self.ask("POST", &path, &key, &json!({ "accept": accept }))
            .await
            .is(200);
    }

    pub async fn cancel(&self, order: &Value) {
        let path = format!("/v1/orders/{}/cancel", text(order, "order"));
        let key = text(order, "order_key");
        self.ask("POST", &path, &key, &json!({})).await.is(200);
    }

    pub async fn refund(&self, order: &Value, ask: &Value) {
        let path = format!("/v1/orders/{}/refund", text(order, "order"));
        let key = text(order, "order_key");
        self.ask("POST", &path, &key, ask).await.is(200);
    }

    /// What the page does with its card form.
    pub fn pay(&self, order: &Value, card: &str, good: bool) {
        let secret = text(&order["payment"]["client"], "client_secret");
        let known = self.stripe.confirm(&secret, card, good);
        assert!(known.is_some(), "an intent of this secret");
    }

    /// Waits until the order is as `ready` wants it, while the reconciler passes now and then.
    pub async fn order_once(&self, order: &Value, ready: impl Fn(&Value) -> bool) -> Value {
        until("the order's state", async || {
            Some(self.read(order).await).filter(&ready)
        })
        .await
    }
}

/// What came back.
pub struct Answer {
    pub status: u16,
    pub body: Value,
}

impl Answer {
    #[track_caller]
    pub fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }
}

#[track_caller]
pub fn text(document: &Value, member: &str) -> String {
    let text = document[member].as_str();
    text.unwrap_or_else(|| panic!("no {member} in {document:#}"))
        .to_owned()
}

/// Looks again and again until something is there.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let mut every = tokio::time::interval(Duration::from_millis(20));
    let search = async {
        loop {
            every.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    let found = tokio::time::timeout(PATIENCE, search).await;
    found.unwrap_or_else(|_| panic!("{what} did not come about"))
}
