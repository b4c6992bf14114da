//! A booking server that takes payments through a fake Stripe server. Booking listens on a free
//! port, and the fake server sends its events there.

use booking::app::{Booking, BookingSetup};
use booking::config::PaymentSettings;
use booking::ledger::Ledger;
use booking::payments::READ_BACK_AFTER;
use booking::payments::stripe::StripeSettings;
use fairgate_base::clock::Clock;
use fairgate_base::http::keys::{Role, RoleKeys};
use fairgate_base::http::request_id;
use fairgate_base::secret::InstallationSecret;
use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_pass::{Keyring, StoredKey};
pub use fairgate_servers::actors::{
    TestAnswer, TestClient, TestShop, get, patch, post, put, sign_test_pass, text, until,
};
use fairgate_servers::{
    FakeStripeServer, STRIPE_PUBLISHABLE_KEY, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;

pub const PROMOTER: &str = "promoter-key";
pub const DOOR: &str = "door-key";

/// Booking with its workers and its payment provider.
pub struct Shop {
    pub stripe: FakeStripeServer,
    pub booking: Booking,
    pub ledger: Ledger,
    client: TestClient,
    keyring: Keyring,
    _workers: JoinSet<()>,
    _folder: TempDir,
}

impl Shop {
    /// Opens booking with a hall and a show in it. `grid` is the size of the hall, such as `4x10`.
    /// `changes` are changes to the show's document. `seed` seeds the provider's faults.
    pub async fn open(seed: u64, grid: &str, changes: Value) -> Self {
        let stripe = FakeStripeServer::start(seed).await.expect("a port");
        let folder = tempfile::tempdir().expect("a folder");
        let writer = SqliteDatabase::open(&folder.path().join("ledger.db")).expect("a ledger file");
        let now_s = jiff::Timestamp::now().as_second();
        let keyring =
            Keyring::new(vec![StoredKey::generate(now_s).expect("a key")]).expect("a keyring");
        let mut keys = RoleKeys::default();
        keys.add(Role::Promoter, PROMOTER);
        keys.add(Role::Door, DOOR);
        let setup = BookingSetup {
            secret: InstallationSecret::derive("a test's secret"),
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
        let ledger = Ledger::open(Installation::File(writer))
            .await
            .expect("open");
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
            .gateways()
            .replace_coverage(vec![("demo".to_owned(), vec!["night-*".to_owned()])])
            .await
            .expect("covered");
        let shop = Self {
            stripe,
            booking,
            ledger,
            client: TestClient::of_router(router),
            keyring,
            _workers: workers,
            _folder: folder,
        };
        let plan = json!({ "plan": format!("grid:{grid}") });
        let hall = put("/v1/promoter/venues/hall", &plan).by(PROMOTER);
        shop.ask(hall).await.is(200);
        shop.put_show(changes).await.is(200);
        shop
    }

    /// Puts the show with these changes to its document.
    pub async fn put_show(&self, changes: Value) -> TestAnswer {
        let mut document = json!({
            "venue": "hall", "title": "Night one", "starts_at": "2099-06-01T20:00:00+02:00", "currency": "EUR",
            "prices": { "cat1": 9_900, "cat2": 4_900 }, "orphans": "allow",
        });
        if let (Some(document), Value::Object(changes)) = (document.as_object_mut(), changes) {
            document.extend(changes);
        }
        let put = put("/v1/promoter/shows/night-1", &document).by(PROMOTER);
        self.ask(put).await
    }

    /// Returns the pass of the visitor with this number.
    pub fn pass(&self, n: u16) -> String {
        let now_s = jiff::Timestamp::now().as_second();
        sign_test_pass(&self.keyring, "demo", n, now_s)
    }

    /// Adds a seat to a basket.
    pub async fn add(&self, who: &str, hold: &Value, seat: &str) {
        let path = format!("/v1/holds/{}", text(hold, "hold"));
        let more = json!({ "add": [seat] });
        self.ask(patch(&path, &more).by(who)).await.is(200);
    }

    pub async fn seats_are_free(&self) {
        until("free seats", async || {
            let seats = self.seats("night-1").await;
            (seats["unavailable"] == json!({})).then_some(())
        })
        .await;
    }

    async fn hold_best(&self, pass: &str, quantity: u32) -> Value {
        let wish = json!({ "best": { "quantity": quantity } });
        self.try_hold(&pass, "night-1", &wish).await.is(201)
    }

    /// Orders the best `quantity` seats.
    pub async fn order_best(&self, n: u16, quantity: u32) -> Value {
        let pass = self.pass(n);
        let hold = self.hold_best(&pass, quantity).await;
        self.checkout(&pass, &hold).await
    }

    /// Orders the best `quantity` seats, and repeats the checkout while the misbehaving provider
    /// does not answer.
    pub async fn order_from_ill_provider(&self, n: u16, quantity: u32) -> Value {
        let pass = self.pass(n);
        let hold = self.hold_best(&pass, quantity).await;
        until("an order", async || {
            let answer = self.try_checkout(&pass, &hold).await;
            assert!(matches!(answer.status, 201 | 503), "{}", answer.text());
            (answer.status == 201).then(|| answer.json())
        })
        .await
    }

    /// Makes a call about the order, such as `refund` or `cancel`, with the order's key.
    pub async fn change_order(&self, order: &Value, what: &str, body: &Value) {
        let path = format!("/v1/orders/{}/{what}", text(order, "order"));
        let key = text(order, "order_key");
        self.ask(post(&path, body).by(&key)).await.is(200);
    }

    /// Confirms the order's payment at the provider, as the page does with its card form.
    pub fn pay_by_card(&self, order: &Value, card: &str, good: bool) {
        let secret = text(&order["payment"]["client"], "client_secret");
        let known = self.stripe.confirm(&secret, card, good);
        assert!(known.is_some(), "no intent has this secret");
    }
}

impl TestShop for Shop {
    fn client(&self) -> &TestClient {
        &self.client
    }
}
