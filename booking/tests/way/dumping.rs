//! Tests the dump of the ledger, which the load test's judge reads. The dump is complete, even
//! while booking runs. After an error the file is unchanged.

use std::path::Path;
use std::process::Command;

use booking::commands::dump::{DumpError, write, write_database};
use serde_json::{Value, json};

use crate::harness::*;

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("a dump");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("JSON lines")
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|line| line["kind"] == kind).collect()
}

fn folder(app: &App) -> &Path {
    app.folder.path()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_of_a_running_booking_has_every_order_whole() {
    let (app, ana, ben) = opened().await;
    let paid = one_paid_and_one_open(&app, &ana, &ben).await;
    let out = folder(&app).join("dump.jsonl");
    let records = write(folder(&app), &out, 1_234).expect("a dump");
    assert_eq!(records, lines(&out).len() as u64);
    check_whole(&lines(&out), &paid, &Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dump_of_a_postgresql_ledger_has_the_same_records() {
    if fairgate_servers::must_skip("the dump of a PostgreSQL database") {
        return;
    }
    let (app, ana, ben) = opened_on_server().await;
    let paid = one_paid_and_one_open(&app, &ana, &ben).await;
    let out = folder(&app).join("dump.jsonl");
    let delivered = async || {
        let records = write_database(&app.url(), &out, 1_234).await;
        assert_eq!(records.expect("a dump"), lines(&out).len() as u64);
        let last = lines(&out).pop();
        last.filter(|last| last["seat_rows"] == 0)
    };
    until("the delivery of the sold seats", delivered).await;
    check_whole(&lines(&out), &paid, &json!(0));

    // A restarted app finds the whole ledger.
    let app = app.restarted().await;
    let again = post("/v1/shows/night-1/holds", &json!({ "seats": ["A-1"] }));
    app.ask(again.by(&ben)).await.problem(409, "seats_taken");
    app.order_in(&paid, "ticketed").await;
}

async fn one_paid_and_one_open(app: &App, ana: &Visitor, ben: &Visitor) -> Value {
    let paid = app.order(ana, &["A-1", "A-2"]).await;
    app.pay(&paid, "approve").await.is(200);
    app.order_in(&paid, "ticketed").await;
    let open = app.order(ben, &["B-3"]).await;
    assert!(open["order"].is_string());
    paid
}

fn check_whole(lines: &[Value], paid: &Value, undelivered: &Value) {
    assert_eq!(
        lines[0],
        json!({"kind": "dump", "version": 1, "at_ms": 1_234})
    );
    let show = of(lines, "show")[0];
    assert_eq!((&show["seats"], &show["legs"]), (&json!(40), &json!(1)));
    assert_eq!(show["labels"][1], "A-2");
    assert_eq!(show["seats_per_visitor"], 4);
    assert_eq!(show["categories"][0]["key"], "cat1");
    assert_eq!(show["seat_categories"][1], 0);
    assert_eq!((&show["fares"], &show["fate"]), (&json!([]), &Value::Null));

    let terms = of(lines, "terms");
    assert_eq!(
        (&terms[0]["version"], &terms[0]["prices"]["cat1"]),
        (&json!(1), &json!(9_900))
    );
    assert_eq!(text(terms[0], "digest").len(), 64);

    let orders = of(lines, "order");
    assert_eq!(orders.len(), 2);
    let first = orders
        .iter()
        .find(|order| order["order"] == paid["order"])
        .expect("the paid order");
    assert_eq!(
        (&first["state"], &first["amount"], &first["cells"]),
        (&json!("ticketed"), &json!(19_800), &json!([0, 1]))
    );
    let steps = first["history"].as_array().expect("a list");
    let states: Vec<_> = steps.iter().map(|step| text(step, "state")).collect();
    assert_eq!(states, ["pending", "confirmed", "ticketed"]);
    assert_eq!(first["visitor"], "01".repeat(32));

    let cells: Vec<_> = of(lines, "claim")
        .iter()
        .map(|claim| &claim["cell"])
        .cloned()
        .collect();
    assert_eq!(cells, [json!(0), json!(1), json!(12)]);
    let payments = of(lines, "payment").into_iter().map(|payment| {
        let captured = payment["captured"].as_i64();
        (
            payment["order"] == paid["order"],
            captured,
            payment["provider_state"].clone(),
        )
    });
    let money: Vec<_> = payments.collect();
    assert!(
        money.contains(&(true, Some(19_800), json!("captured"))),
        "{money:?}"
    );
    assert!(money.contains(&(false, Some(0), Value::Null)), "{money:?}");
    assert_eq!(of(lines, "ticket").len(), 2);
    assert!(
        of(lines, "ticket")
            .iter()
            .all(|ticket| ticket["scanned_ms"].is_null())
    );
    let paid_by = of(lines, "payment").into_iter();
    let mut paid_by = paid_by.filter(|payment| payment["order"] == paid["order"]);
    let paid_by = paid_by.next().expect("the payment");
    assert_eq!(
        (&paid_by["provider_refunds"], &paid_by["cards"]),
        (&json!([]), &json!([]))
    );
    let effect = of(lines, "effect")[0];
    assert_eq!(effect["what"], "capture");
    assert!(effect["done_ms"].is_i64());
    assert_eq!(
        lines.last(),
        Some(&json!({"kind": "pending", "seat_rows": undelivered, "effects": 0, "events": 0}))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promoter_reads_the_same_dump_over_http_without_names_and_addresses() {
    let (app, ana, ben) = opened().await;
    let paid = one_paid_and_one_open(&app, &ana, &ben).await;
    let call = || get("/v1/promoter/dump");
    for (refused, status, code) in [
        (call(), 401, "key_required"),
        (call().by(&"not-a-key"), 401, "key_invalid"),
        (call().by(&DOOR), 403, "key_role"),
    ] {
        app.ask(refused).await.problem(status, code);
    }
    let told = app.ask(call().by(&PROMOTER)).await;
    assert_eq!(told.status, 200, "{}", told.text());
    assert_eq!(told.header("content-type"), "application/x-ndjson");
    assert_eq!(
        told.header("content-length"),
        told.body.len().to_string(),
        "a cut-off answer must be noticed"
    );
    let out = folder(&app).join("told.jsonl");
    std::fs::write(&out, &told.body).expect("written");
    let mut sent = lines(&out);
    let buyer = &buyer()["buyer"];
    for secret in [&buyer["name"], &buyer["email"], &paid["order_key"]] {
        let secret = secret.as_str().expect("a text");
        assert!(!told.text().contains(secret), "{secret} is in the dump");
    }
    sent[0]["at_ms"] = json!(1_234);
    check_whole(&sent, &paid, &Value::Null);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_order_keeps_its_cells_in_the_dump_and_has_no_claims() {
    let (app, ana, _) = opened_with(json!({"hold_s": 60, "pay_s": 60, "claim_grace_s": 1})).await;
    let order = app.order(&ana, &["A-1"]).await;
    app.clock.advance_ms(120_000);
    app.order_in(&order, "expired").await;
    let out = folder(&app).join("dump.jsonl");
    write(folder(&app), &out, 0).expect("a dump");
    let lines = lines(&out);
    assert_eq!(of(&lines, "order")[0]["cells"], json!([0]));
    assert!(of(&lines, "claim").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn scans_refunds_and_waiting_parties_are_in_the_dump() {
    let terms = json!({ "refunds": [{ "until_h": 48, "fee_pct": 10 }] });
    let (app, ana, ben) = opened_with(terms).await;
    let paid = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&paid, "approve").await.is(200);
    let order = app.order_in(&paid, "ticketed").await;
    let (scanned, going) = (
        text(&order["tickets"][0], "ticket"),
        text(&order["tickets"][1], "ticket"),
    );
    let scan = post(&format!("/v1/tickets/{scanned}/scan"), &json!({}));
    app.ask(scan.by(&DOOR)).await.is(200);
    let back = format!("/v1/orders/{}/refund", text(&paid, "order"));
    let back = post(&back, &json!({ "tickets": [going] }));
    app.ask(back.by(&text(&paid, "order_key"))).await.is(200);
    let wait = post("/v1/shows/night-1/waitlist", &json!({ "quantity": 2 }));
    let waits = app.ask(wait.by(&ben)).await.is(201);
    let out = folder(&app).join("dump.jsonl");
    let refunded = async || {
        write(folder(&app), &out, 0).expect("a dump");
        let lines = lines(&out);
        let payment = of(&lines, "payment")[0].clone();
        (payment["provider_refunds"][0]["amount"] == 8_910).then_some(lines)
    };
    let lines = until("the sandbox's refund of the ticket", refunded).await;
    let ticket = |id: &str| {
        let tickets = of(&lines, "ticket").into_iter();
        let mut tickets = tickets.filter(|ticket| ticket["ticket"] == id);
        tickets.next().expect("the ticket").clone()
    };
    assert!(ticket(&scanned)["scanned_ms"].is_i64());
    assert!(ticket(&going)["void_ms"].is_i64());
    let waiter = of(&lines, "waiter")[0];
    assert_eq!(
        (&waiter["waiter"], &waiter["quantity"], &waiter["any"]),
        (&waits["waiter"], &json!(2), &json!(true))
    );
}

#[test]
fn a_dump_without_a_ledger_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("dump.jsonl");
    std::fs::write(&out, "before").expect("written");
    let nowhere = write(&folder.path().join("nowhere"), &out, 0);
    assert!(
        matches!(nowhere, Err(DumpError::NoFolder(_))),
        "{nowhere:?}"
    );
    let empty = write(folder.path(), &out, 0);
    assert!(matches!(empty, Err(DumpError::NoLedger(_))), "{empty:?}");
    std::fs::write(
        folder.path().join("ledger.db"),
        "no database at all, not even nearly",
    )
    .expect("written");
    let rubbish = write(folder.path(), &out, 0);
    assert!(matches!(rubbish, Err(DumpError::Ledger(..))), "{rubbish:?}");
    assert_eq!(
        std::fs::read_to_string(&out).expect("the file is readable"),
        "before"
    );
    let left: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .collect();
    assert_eq!(left.len(), 2, "no partial dump is left: {left:?}");
    let nowhere = write(folder.path(), &folder.path().join("no/dump"), 0);
    assert!(matches!(nowhere, Err(DumpError::File(..))), "{nowhere:?}");
}

#[tokio::test]
async fn a_dump_without_a_database_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("dump.jsonl");
    std::fs::write(&out, "before").expect("written");
    // Nothing listens on the discard port.
    let nobody = write_database("postgres://fan:hush@127.0.0.1:9/x", &out, 0).await;
    let told = nobody.expect_err("nobody answers").to_string();
    assert!(
        told.contains("nothing was written") && !told.contains("hush"),
        "{told}"
    );
    assert_eq!(
        std::fs::read_to_string(&out).expect("the file is readable"),
        "before"
    );
}

#[test]
fn the_command_names_the_missing_ledger_and_exits_with_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = Command::new(env!("CARGO_BIN_EXE_booking"))
        .args(["dump", "--data"])
        .arg(folder.path())
        .arg("--out")
        .arg(folder.path().join("dump.jsonl"))
        .output()
        .expect("the program");
    assert_eq!(run.status.code(), Some(1));
    let told = String::from_utf8_lossy(&run.stderr);
    assert!(
        told.contains("ledger.db") && told.contains("--data"),
        "{told}"
    );
}
