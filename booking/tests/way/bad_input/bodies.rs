//! Tests bodies that do not follow the contract, and wishes that cannot be met.

use serde_json::{Value, json};

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_do_not_follow_the_contract_are_refused() {
    let scene = scene().await;
    let raw = |body: &str| scene.hold(&Value::Null).raw(body);
    let order = |body: &str| {
        let path = format!("/v1/holds/{}/order", scene.bens);
        post(&path, &Value::Null).raw(body).by(&scene.ben)
    };
    let deep = "[".repeat(5_000);
    let large = format!(r#"{{"seats":["{}"]}}"#, "A".repeat(70_000));
    let show = |body: &str| {
        put("/v1/promoter/shows/night-1", &Value::Null)
            .raw(body)
            .by(PROMOTER)
    };
    scene
        .refuses(rows! {
            "malformed JSON": raw("{\"seats\": [") => 400 invalid_json;
            "two documents": raw("{}{}") => 400 invalid_json;
            "not UTF-8": raw("").raw(vec![b'"', 0xff, b'"']) => 400 invalid_json;
            "deep nesting": raw(&format!("{{\"seats\": {deep}")) => 422 invalid_field;
            "deep nesting in best": raw(&format!("{{\"best\": {deep}")) => 422 invalid_field;
            "a list for an object": raw("[1]") => 422 invalid_field;
            "null": raw("null") => 422 invalid_field;
            "an unknown field": raw(r#"{"seat": ["A-3"]}"#) => 422 unknown_field;
            "an endless unknown field": raw(&format!(r#"{{"{}": 1}}"#, "x".repeat(50_000))) => 422 unknown_field;
            "an unknown field of best": raw(r#"{"best": {"quantity": 1, "row": "A"}}"#) => 422 unknown_field;
            "text for a list": raw(r#"{"seats": "A-3"}"#) => 422 invalid_field;
            "a number for a label": raw(r#"{"seats": [3]}"#) => 422 invalid_field;
            "a fraction of a seat": raw(r#"{"best": {"quantity": 1.5}}"#) => 422 invalid_field;
            "a field twice": raw(r#"{"seats": ["A-3"], "seats": ["A-4"]}"#) => 422 invalid_field;
            "an oversized hold": raw(&large) => 413 body_too_large;
            "an oversized order": order(&large) => 413 body_too_large;
            "an order without a buyer": order("{}") => 422 invalid_field;
            "a buyer without a name": order(r#"{"buyer":{"name":" ","email":"a@b.cd"}}"#) => 422 invalid_field;
            "a control character": order(r#"{"buyer":{"name":"a\u0000","email":"a@b.cd"}}"#) => 422 invalid_field;
            "no e-mail address": order(r#"{"buyer":{"name":"Ben","email":"ben"}}"#) => 422 invalid_field;
            "two at signs": order(r#"{"buyer":{"name":"Ben","email":"ben@home@b.cd"}}"#) => 422 invalid_field;
            "a blank of no width": order(r#"{"buyer":{"name":"Ben","email":"ben@b.cd\u200b"}}"#) => 422 invalid_field;
            "an address in brackets": order(r#"{"buyer":{"name":"Ben","email":"<ben@b.cd>"}}"#) => 422 invalid_field;
            "a name that nobody sees": order(r#"{"buyer":{"name":"\u202e\u200b","email":"a@b.cd"}}"#) => 422 invalid_field;
            "travellers": order(r#"{"buyer":{"name":"B","email":"a@b.cd"},"travellers":["B"]}"#) => 422 invalid_field;
            "a show with an unknown field": show(r#"{"vanue": "hall"}"#) => 422 unknown_field;
            "a show without a venue": show("{}") => 422 invalid_field;
            "a show in another currency": show(&document(json!({"currency": "euro"})).to_string()) => 422 invalid_field;
            "a show in no currency of ISO 4217": show(&document(json!({"currency": "QQQ"})).to_string()) => 422 invalid_field;
            "a show in gold": show(&document(json!({"currency": "XAU"})).to_string()) => 422 invalid_field;
            "a price beyond all numbers": show(&document(json!({"prices": {"cat1": 7_777}})).to_string().replace("7777", "1e999")) => 422 invalid_field;
            "a time to pay beyond all numbers": show(&document(json!({"pay_s": 7_777})).to_string().replace("7777", "1e999")) => 422 invalid_field;
            "a negative time to pay": show(&document(json!({"pay_s": -1})).to_string()) => 422 invalid_field;
            "a huge time to pay": show(&document(json!({"pay_s": 4_294_967_296_u64})).to_string()) => 422 invalid_field;
            "a show that starts at no time": show(&document(json!({"starts_at": "soon"})).to_string()) => 422 invalid_field;
            "a price that is a float": show(&document(json!({"prices": {"cat1": 1.5}})).to_string()) => 422 invalid_field;
            "a plan that is not UTF-8": put("/v1/promoter/venues/hall", &Value::Null).raw(vec![0xff]).by(PROMOTER) => 400 invalid_text;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wishes_that_cannot_be_met_are_refused() {
    let scene = scene().await;
    let hold = |body: Value| scene.hold(&body);
    let change = |body: Value| patch(&format!("/v1/holds/{}", scene.bens), &body).by(&scene.ben);
    let many: Vec<String> = (0..1_000).map(|n| format!("A-{n}")).collect();
    scene
        .refuses(rows! {
            "an empty wish": hold(json!({})) => 422 invalid_field;
            "no seats": hold(json!({"seats": []})) => 422 invalid_field;
            "the best of none": hold(json!({"best": {"quantity": 0}})) => 422 invalid_field;
            "1,000 seats": hold(json!({"seats": many})) => 422 limit_exceeded;
            "the best of 1,000": hold(json!({"best": {"quantity": 1_000}})) => 422 limit_exceeded;
            "the best of very many": hold(json!({"best": {"quantity": 4_294_967_296_u64}})) => 422 invalid_field;
            "1,000 places": hold(json!({"areas": [{"label": "GA", "quantity": 1_000}]})) => 422 limit_exceeded;
            "a seat twice": hold(json!({"seats": ["A-3", "A-3"]})) => 422 duplicate_seat;
            "an unknown seat": hold(json!({"seats": ["A-3", "Z-99"]})) => 422 unknown_seat;
            "an endless label": hold(json!({"seats": ["Z".repeat(50_000)]})) => 422 unknown_seat;
            "a negative quantity": hold(json!({"best": {"quantity": -1}})) => 422 invalid_field;
            "negative places": hold(json!({"areas": [{"label": "GA", "quantity": -1}]})) => 422 invalid_field;
            "an unknown area": hold(json!({"areas": [{"label": "GA", "quantity": 1}]})) => 422 unknown_seat;
            "an unknown category": hold(json!({"best": {"quantity": 1, "categories": ["x"]}})) => 422 invalid_field;
            "an endless category": hold(json!({"best": {"quantity": 1, "categories": ["x".repeat(50_000)]}})) => 422 invalid_field;
            "sales channels": hold(json!({"best": {"quantity": 1, "channels": ["x"]}})) => 422 not_available;
            "channels ignored": hold(json!({"best": {"quantity": 1, "ignore_channels": true}})) => 422 not_available;
            "an unknown zone": hold(json!({"best": {"quantity": 1, "zone": "x"}})) => 422 invalid_field;
            "an unknown section": hold(json!({"best": {"quantity": 1, "sections": ["x"]}})) => 422 invalid_field;
            "more accessible than seats": hold(json!({"best": {"quantity": 1, "accessible": 2}})) => 422 invalid_field;
            "best and seats": hold(json!({"best": {"quantity": 1}, "seats": ["A-3"]})) => 422 invalid_field;
            "best and areas": hold(json!({"best": {"quantity": 1}, "areas": [{"label": "GA", "quantity": 1}]})) => 422 invalid_field;
            "stops of a concert": hold(json!({"seats": ["A-3"], "from": "a", "to": "b"})) => 422 invalid_field;
            "somebody's seat": hold(json!({"seats": ["A-3", "C-1"]})) => 409 seats_taken;
            "a sold seat": hold(json!({"seats": ["A-1"]})) => 409 seats_taken;
            "a change of nothing": change(json!({})) => 422 invalid_field;
            "an unknown seat added": change(json!({"add": ["Z-1"]})) => 422 unknown_seat;
            "a seat added twice": change(json!({"add": ["D-2", "D-2"]})) => 422 duplicate_seat;
            "a seat not held given back": change(json!({"add": ["D-2"], "remove": ["C-1"]})) => 422 unknown_seat;
            "everything given back": change(json!({"remove": ["D-1"]})) => 422 invalid_field;
            "somebody's seat added": change(json!({"add": ["C-1"]})) => 409 seats_taken;
            "1,001 seats added": change(json!({"add": vec!["A-3"; 1_001]})) => 422 limit_exceeded;
            "an unknown field of a change": change(json!({"plus": []})) => 422 unknown_field;
        })
        .await;
}
