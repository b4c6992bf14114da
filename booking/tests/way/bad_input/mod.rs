//! Tests tables of bad input: each call gets a helpful problem+json, and changes nothing.

mod bodies;
mod callers;
mod elsewhere;

use serde_json::{Value, json};

use crate::harness::*;

/// One row: its name, the request, and the status and code of the answer.
type Row = (&'static str, TestCall, u16, &'static str);

/// Reads rows as `"name": call => status code;`, one on each line.
macro_rules! rows {
    ($($name:literal: $call:expr => $status:literal $code:ident;)*) => {
        vec![$(($name, $call, $status, stringify!($code))),*]
    };
}
use rows;

const HOLDS: &str = "/v1/shows/night-1/holds";

/// The app to which the rows are sent. It has Ana's ticketed order, her pending order and her
/// basket, and Ben's basket.
struct Scene {
    app: App,
    ana: Visitor,
    ben: Visitor,
    done: Value,
    pending: Value,
    basket: String,
    bens: String,
}

async fn scene() -> Scene {
    let (app, ana, ben) = opened_with(json!({"seats_per_visitor": 10, "orphans": "allow"})).await;
    let done = app.order(&ana, &["A-1", "A-2"]).await;
    app.pay(&done, "approve").await.is(200);
    app.order_in(&done, "ticketed").await;
    let done = {
        let mut read = app.read(&done).await;
        read["order_key"] = done["order_key"].clone();
        read
    };
    let pending = app.order(&ana, &["B-1", "B-2"]).await;
    let basket = text(&app.hold(&ana, &["C-1", "C-2"]).await, "hold");
    let bens = text(&app.hold(&ben, &["D-1"]).await, "hold");
    until("the sold seats", async || {
        (app.seats("night-1").await["sold"] == 2).then_some(())
    })
    .await;
    Scene {
        app,
        ana,
        ben,
        done,
        pending,
        basket,
        bens,
    }
}

impl Scene {
    /// Returns everything that a bad request must not change.
    async fn everything(&self) -> Value {
        let mut all = vec![self.app.seats("night-1").await];
        for order in [&self.done, &self.pending] {
            all.push(self.app.read(order).await);
        }
        for (hold, who) in [(&self.basket, &self.ana), (&self.bens, &self.ben)] {
            let call = get(&format!("/v1/holds/{hold}")).by(who);
            all.push(self.app.ask(call).await.is(200));
        }
        all.push(self.app.ask(get("/v1/shows")).await.is(200));
        Value::Array(all)
    }

    /// Runs the table, and reports by name every row whose answer differs.
    async fn refuses(&self, rows: Vec<Row>) {
        let before = self.everything().await;
        let mut wrong = Vec::new();
        for (name, call, status, code) in rows {
            let answer = self.app.ask(call).await;
            let faults = faults(&answer, status, code);
            if !faults.is_empty() {
                wrong.push(format!("{name}: {faults:?}: {}", answer.text()));
            }
            if self.everything().await != before {
                wrong.push(format!("{name}: something was changed"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    fn hold(&self, body: &Value) -> TestCall {
        post(HOLDS, body).by(&self.ben)
    }
}

fn faults(answer: &TestAnswer, status: u16, code: &str) -> Vec<String> {
    let mut faults: Vec<String> = answer.fault(status, code).into_iter().collect();
    let mut expect = |holds: bool, what: String| {
        if !holds {
            faults.push(what);
        }
    };
    let document: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let id = answer
        .headers
        .get("x-request-id")
        .and_then(|id| id.to_str().ok());
    expect(
        document["request_id"].as_str() == id && id.is_some(),
        "request_id".to_owned(),
    );
    let detail = document["detail"]
        .as_str()
        .unwrap_or_default()
        .to_lowercase();
    let unchanged = [
        "nothing",
        "as it was",
        "as before",
        "still held",
        "not stored",
        "no new seats",
    ];
    expect(
        unchanged.iter().any(|words| detail.contains(words)),
        "the detail does not say what was not changed".to_owned(),
    );
    expect(answer.body.len() < 8_192, "a long answer".to_owned());
    faults
}
