//! Plays one history: an order, calls of its buyer and of the promoter, and what people do at the
//! provider in between.

use std::sync::Arc;

use fairgate_model::ids::{HoldId, OrderId, PaymentId, ShowId};
use fairgate_pass::Holder;
use fairgate_servers::FakeStripeServer;
use fairgate_servers::actors::{TestCall, get, post, text, until};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

use super::nodes::{DOOR, PROMOTER, SHOWS, TwoNodes};

/// The most acts of one history, after its order was made.
const ACTS_MAX: u32 = 9;

/// A history that is being played.
pub struct History {
    seed: u64,
    dice: StdRng,
    nodes: Arc<TwoNodes>,
    stripe: FakeStripeServer,
    played: PlayedHistory,
}

/// What was played.
#[derive(Debug, Default)]
pub struct PlayedHistory {
    pub seed: u64,
    /// The orders, oldest first, as their buyer got them: `order`, `order_key`, `payment`.
    pub orders: Vec<Value>,
    /// What was done, for the message of a failure.
    pub acts: Vec<String>,
    /// Money that belongs to no payment: the id of its intent, and its sum.
    pub unknown: Vec<(String, i64)>,
    /// The intents of such money that was all given back.
    pub given_back: Vec<String>,
}

impl History {
    pub fn new(seed: u64, nodes: Arc<TwoNodes>, stripe: FakeStripeServer) -> Self {
        Self {
            seed,
            dice: StdRng::seed_from_u64(seed),
            nodes,
            stripe,
            played: PlayedHistory {
                seed,
                ..PlayedHistory::default()
            },
        }
    }

    /// Plays the history to its end.
    pub async fn play(mut self) -> PlayedHistory {
        self.order().await;
        for _ in 0..self.dice.random_range(3..=ACTS_MAX) {
            self.act().await;
        }
        self.played
    }

    async fn ask(&mut self, call: TestCall) -> (u16, Value) {
        let at = self.dice.random_range(0..2);
        let answer = self.nodes.ask(at, &call).await;
        let body = serde_json::from_slice(answer.text().as_bytes()).unwrap_or(Value::Null);
        (answer.status, body)
    }

    fn note(&mut self, act: &str, told: impl std::fmt::Display) {
        self.played.acts.push(format!("{act}: {told}"));
    }

    /// Holds the best seats and orders them.
    async fn order(&mut self) {
        let visitor = u16::try_from(self.seed % 60_000).expect("a small number");
        let pass = self.nodes.pass(visitor);
        let quantity = self.dice.random_range(1..=4);
        let wish = json!({"best": {"quantity": quantity}});
        let hold = post(&format!("/v1/shows/{}/holds", SHOWS[0]), &wish).by(&pass);
        let (status, hold) = self.ask(hold.keyed(&format!("hold-{}", self.seed))).await;
        assert_eq!(status, 201, "{hold}");
        let buyer = json!({"buyer": {"name": "Ana", "email": "ana@example.org"}});
        let order = post(&format!("/v1/holds/{}/order", text(&hold, "hold")), &buyer).by(&pass);
        let (status, order) = self.ask(order.keyed(&format!("order-{}", self.seed))).await;
        assert_eq!(status, 201, "{order}");
        self.note("order", text(&order, "order"));
        self.played.orders.push(order);
    }

    fn newest(&self) -> Value {
        self.played.orders.last().expect("an order").clone()
    }

    async fn read(&mut self, order: &Value) -> Value {
        let path = format!("/v1/orders/{}", text(order, "order"));
        let (status, read) = self.ask(get(&path).by(&text(order, "order_key"))).await;
        assert_eq!(status, 200, "{read}");
        read
    }

    /// Does one thing, as the newest order allows.
    async fn act(&mut self) {
        let order = self.newest();
        let read = self.read(&order).await;
        match read["state"].as_str().unwrap_or("") {
            "pending" => self.act_before_payment(&order).await,
            "confirmed" => self.wait_for_tickets(&order).await,
            _ => self.act_after_payment(&order, &read).await,
        }
    }

    async fn act_before_payment(&mut self, order: &Value) {
        let payment = text(&order["payment"], "payment");
        match self.dice.random_range(0..10) {
            0 | 1 => {
                let done = self.stripe.cancel_in_dashboard(&payment);
                self.note("cancelled at the provider", done);
            }
            2 => self.pay(order, false).await,
            3 => self.unknown_money(order),
            4 => {
                self.pay(order, true).await;
                let part = self.dice.random_range(1..4_000);
                let done = self.stripe.capture_part_in_dashboard(&payment, part);
                self.note("captured in part at the provider", format!("{part} {done}"));
                self.wait_for_tickets(order).await;
            }
            _ => {
                self.pay(order, true).await;
                self.wait_for_tickets(order).await;
            }
        }
    }

    /// Pays as the order's page does: with the secret that the order has now.
    async fn pay(&mut self, order: &Value, good: bool) {
        let read = self.read(order).await;
        let secret = read["payment"]["client"]["client_secret"].as_str();
        let status = secret.map(|secret| self.stripe.confirm(secret, "visa", good));
        self.note("paid", format!("{good} {status:?}"));
    }

    /// Waits until an order has its tickets, or has ended, or waits for another payment.
    async fn wait_for_tickets(&mut self, order: &Value) {
        let (nodes, path) = (
            Arc::clone(&self.nodes),
            format!("/v1/orders/{}", text(order, "order")),
        );
        let call = get(&path).by(&text(order, "order_key"));
        let payment = text(&order["payment"], "payment");
        let (stripe, mut at) = (self.stripe.clone(), 0);
        let state = until("an order to go on", async || {
            at += 1;
            let answer = nodes.ask(at % 2, &call).await.json();
            let state = text(&answer, "state");
            let is_paid = stripe.has_money(&payment);
            let waits = state == "confirmed" || (state == "pending" && is_paid);
            (!waits).then_some(state)
        })
        .await;
        self.note("waited", state);
    }

    async fn act_after_payment(&mut self, order: &Value, read: &Value) {
        match self.dice.random_range(0..12) {
            0..=2 => self.refund_in_dashboard(),
            3 => self.open_dispute(),
            4 | 5 => self.close_disputes(),
            6 => self.unknown_money(order),
            7 => self.refund(order, read).await,
            8 => self.exchange(order).await,
            9 => self.scan(read).await,
            _ => self.settle(order, read).await,
        }
    }

    /// Chooses one of the payments of the chain, mostly the newest.
    fn any_payment(&mut self) -> String {
        let count = self.played.orders.len();
        let at = match self.dice.random_range(0..3) {
            0 => self.dice.random_range(0..count),
            _ => count - 1,
        };
        text(&self.played.orders[at]["payment"], "payment")
    }

    fn refund_in_dashboard(&mut self) {
        let payment = self.any_payment();
        let left = self.stripe.money_by_payment().get(&payment).copied();
        let left = left.unwrap_or(0);
        if left <= 0 {
            return;
        }
        let amount = match self.dice.random_range(0..3) {
            0 => left,
            _ => self.dice.random_range(1..=left),
        };
        let done = self.stripe.refund_in_dashboard(&payment, amount);
        self.note("refunded at the provider", format!("{amount} {done}"));
    }

    fn open_dispute(&mut self) {
        let payment = self.any_payment();
        let amount = match self.dice.random_range(0..2) {
            0 => i64::MAX,
            _ => self.dice.random_range(1..9_000),
        };
        let done = self.stripe.open_dispute_over(&payment, amount);
        self.note("disputed", format!("{amount} {done}"));
    }

    fn close_disputes(&mut self) {
        let won = self.dice.random_range(0..2) == 0;
        for order in self.played.orders.clone() {
            let payment = text(&order["payment"], "payment");
            if self.stripe.close_dispute(&payment, won) {
                self.note("dispute closed", won);
            }
        }
    }

    /// Returns the id of a payment that the ledger never had.
    fn payment_of_nobody(&self) -> PaymentId {
        let show: ShowId = SHOWS[0].parse().expect("a slug");
        let key = format!("nobody-{}-{}", self.seed, self.played.acts.len());
        let hold = HoldId::of_key(&show, Holder([7; 32]), &key);
        PaymentId::of_order(&OrderId::of_hold(&hold))
    }

    /// Captures money that belongs to no payment, or gives a part or all of such money back.
    fn unknown_money(&mut self, order: &Value) {
        if let Some((id, sum)) = self.played.unknown.pop() {
            let amount = match self.dice.random_range(0..2) {
                0 => sum,
                _ => self.dice.random_range(1..=sum),
            };
            let done = self.stripe.refund_intent(&id, amount);
            self.note("unknown money given back", format!("{id} {amount} {done}"));
            match amount < sum {
                true => self.played.unknown.push((id, sum - amount)),
                false => self.played.given_back.push(id),
            }
            return;
        }
        let amount = self.dice.random_range(100..9_000);
        let own = text(&order["payment"], "payment");
        let payment = match self.dice.random_range(0..2) {
            0 => own,
            _ => self.payment_of_nobody().to_string(),
        };
        let order = text(order, "order");
        let id = self.stripe.capture_unknown(&payment, &order, amount);
        self.note("unknown money", &id);
        self.played.unknown.push((id, amount));
    }

    async fn refund(&mut self, order: &Value, read: &Value) {
        let path = format!("/v1/orders/{}/refund", text(order, "order"));
        let tickets = read["tickets"].as_array().cloned().unwrap_or_default();
        let body = match (self.dice.random_range(0..2), tickets.first()) {
            (0, Some(first)) => json!({"tickets": [first["ticket"]]}),
            _ => json!({}),
        };
        let call = post(&path, &body).by(&text(order, "order_key"));
        let (status, told) = self.ask(call).await;
        self.note(
            "refunded by the buyer",
            format!("{status} {}", told["code"]),
        );
        assert!(matches!(status, 200 | 409 | 422), "{told}");
    }

    async fn exchange(&mut self, order: &Value) {
        let quantity = {
            let read = self.read(order).await;
            read["tickets"].as_array().map_or(0, Vec::len)
        };
        let show = match text(order, "order").contains(SHOWS[0]) {
            true => SHOWS[1],
            false => SHOWS[0],
        };
        let path = format!("/v1/orders/{}/exchange", text(order, "order"));
        let body = json!({"show": show, "best": {"quantity": quantity.max(1)}});
        let key = format!("exchange-{}-{}", self.seed, self.played.acts.len());
        let call = post(&path, &body).by(&text(order, "order_key")).keyed(&key);
        let (status, made) = self.ask(call).await;
        self.note("exchanged", format!("{status} {}", made["code"]));
        if status != 200 {
            assert!(matches!(status, 403 | 409 | 422), "{made}");
            return;
        }
        let read = self.read(order).await;
        let told = &read["exchange"];
        let successor = json!({
            "order": told["order"], "order_key": told["order_key"], "payment": made["payment"],
        });
        self.played.orders.push(successor);
    }

    async fn scan(&mut self, read: &Value) {
        let tickets = read["tickets"].as_array().cloned().unwrap_or_default();
        let Some(ticket) = tickets.last() else { return };
        let path = format!("/v1/tickets/{}/scan", text(ticket, "ticket"));
        let key = format!("scan-{}-{}", self.seed, self.played.acts.len());
        let call = post(&path, &json!({})).by(DOOR).keyed(&key);
        let (status, told) = self.ask(call).await;
        self.note("scanned", format!("{status} {}", told["code"]));
        assert!(matches!(status, 200 | 409), "{told}");
    }

    async fn settle(&mut self, order: &Value, read: &Value) {
        let path = format!("/v1/promoter/orders/{}/settle", text(order, "order"));
        let tickets = read["tickets"].as_array().cloned().unwrap_or_default();
        let body = match (self.dice.random_range(0..2), tickets.first()) {
            (0, Some(first)) => json!({"tickets": [first["ticket"]]}),
            _ => json!({"goodwill": true, "reason": "a present"}),
        };
        let (status, told) = self.ask(post(&path, &body).by(PROMOTER)).await;
        self.note("settled", format!("{status} {}", told["code"]));
        assert!(matches!(status, 200 | 409 | 422), "{told}");
    }
}
