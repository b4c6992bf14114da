//! Checks what must hold after the histories.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Seek};
use std::time::Duration;

use fairgate_model::ids::{OrderId, PaymentId};
use fairgate_model::orders::OrderRecord;
use fairgate_model::payments::Payment;
use fairgate_servers::FakeStripeServer;
use fairgate_servers::actors::{PATIENCE, get, text, until, within};
use serde_json::Value;

use super::nodes::{PROMOTER, TwoNodes};
use super::playing::PlayedHistory;

/// How long owed calls and unsettled events may take after the faults have ended. Each is tried
/// again within a minute, and may need a few tries.
const SETTLED_WITHIN: Duration = Duration::from_secs(240);

/// Waits until nothing is owed and all events are settled, and then checks every history.
pub async fn check(nodes: &TwoNodes, stripe: &FakeStripeServer, played: &[PlayedHistory]) {
    for history in played {
        let agreed = within(PATIENCE, async || {
            let faults = disagreements(nodes, stripe, history).await;
            faults.is_empty().then_some(())
        })
        .await;
        if agreed.is_none() {
            let faults = disagreements(nodes, stripe, history).await;
            let PlayedHistory { seed, acts, .. } = history;
            panic!("history {seed}: {faults:#?} after {acts:#?}");
        }
    }
    // Refunds of disputed payments wait for the bank. Nothing else is owed for ever.
    for history in played {
        for order in &history.orders {
            stripe.close_dispute(&text(&order["payment"], "payment"), true);
        }
    }
    let done = within(SETTLED_WITHIN, async || {
        let backlog = nodes.ledger.backlog().await.expect("readable");
        (backlog == (0, 0)).then_some(())
    })
    .await;
    if done.is_none() {
        panic!("still owed: {:#?}", unfinished(nodes).await);
    }
    unknown_money_is_listed(nodes, played).await;
}

/// Returns the lines of the dump about calls and refunds that are not done.
async fn unfinished(nodes: &TwoNodes) -> Vec<String> {
    let file = tempfile::tempfile().expect("a file");
    let dump = nodes.ledger.write_dump(file, 0).await;
    let mut dump = dump.map_err(|_| "the dump").expect("written");
    let mut text = String::new();
    dump.rewind().expect("a file");
    dump.read_to_string(&mut text).expect("text");
    let is_open = |line: &&str| line.contains("\"done_ms\":null") || line.contains("\"pending\"");
    text.lines().filter(is_open).map(str::to_owned).collect()
}

/// An order of a history, with its payment and with what the provider has of it.
struct Part {
    record: OrderRecord,
    payment: Payment,
    kept_there: i64,
}

async fn disagreements(
    nodes: &TwoNodes,
    stripe: &FakeStripeServer,
    history: &PlayedHistory,
) -> Vec<String> {
    let money = stripe.known_money();
    let mut faults = Vec::new();
    let mut chain = Vec::new();
    for order in &history.orders {
        let id: OrderId = text(order, "order").parse().expect("an id");
        let record = nodes.ledger.order(&id).await.expect("readable");
        let payment = PaymentId::of_order(&id);
        let payment = nodes.ledger.payment(&payment).await.expect("readable");
        let payment = payment.expect("it has a payment");
        chain.push(Part {
            record: record.expect("it is there"),
            kept_there: money.get(payment.id.as_str()).copied().unwrap_or(0),
            payment,
        });
    }
    for part in &chain {
        let Payment {
            id,
            amount,
            state,
            refunded,
            ..
        } = &part.payment;
        let kept_here = match state.is_taken() {
            true => amount.amount - refunded,
            false => 0,
        };
        if kept_here != part.kept_there {
            let there = part.kept_there;
            faults.push(format!(
                "{id}: {kept_here} here and {there} at the provider"
            ));
        }
    }
    faults.extend(void_without_money(&chain));
    faults
}

/// Checks that no order has a valid ticket after its whole money went back, or was lost in a
/// dispute. The money of an order may be in the payments of the orders that were exchanged for it.
fn void_without_money(chain: &[Part]) -> Vec<String> {
    let mut by_order: HashMap<&OrderId, &Part> = HashMap::new();
    for part in chain {
        by_order.insert(&part.record.order.id, part);
    }
    let mut faults = Vec::new();
    for part in chain {
        let mut tickets = part.record.tickets.iter();
        let valid = tickets.any(|ticket| ticket.voided_at_ms.is_none());
        let paid: i64 = chain.iter().map(|one| one.kept_there).sum();
        let went_back = chain.iter().any(|one| one.payment.refunded > 0);
        if valid && paid == 0 && went_back {
            let id = &part.record.order.id;
            faults.push(format!("{id} has valid tickets, and no money is left"));
        }
    }
    faults
}

/// Checks that each sum that belongs to no payment is listed, unless it was given back.
async fn unknown_money_is_listed(nodes: &TwoNodes, played: &[PlayedHistory]) {
    let unknown: Vec<&(String, i64)> = played.iter().flat_map(|one| &one.unknown).collect();
    let given_back: Vec<&String> = played.iter().flat_map(|one| &one.given_back).collect();
    until("exactly the unknown money to be listed", async || {
        let listed = nodes
            .ask(0, &get("/v1/promoter/attention").by(PROMOTER))
            .await;
        let listed = listed.json();
        let all = listed.as_array().expect("a list");
        let sum_of = |one: &Value| one["amount"]["amount"].as_i64().unwrap_or(0);
        let listed: BTreeMap<String, i64> = all
            .iter()
            .filter(|one| one["code"] == "unknown_money")
            .map(|one| (text(one, "finding"), sum_of(one)))
            .collect();
        let is_listed = |one: &&(String, i64)| listed.get(&one.0) == Some(&one.1);
        let is_left = |id: &&String| listed.contains_key(*id);
        (unknown.iter().all(is_listed) && !given_back.iter().any(is_left)).then_some(())
    })
    .await;
}
