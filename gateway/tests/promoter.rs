//! Tests what promoters, viewers and operators see and may do.

mod support;

use fairgate_model::onsale::{OnsaleFault, OnsaleReport, OnsaleStep};
use serde_json::{Value, json};
use support::{Gateway, PROMOTER, VIEWER};

#[tokio::test]
async fn only_the_promoter_makes_and_changes_a_room_and_every_change_is_audited() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let path = "/v1/promoter/rooms/demo";
    for (key, status, code) in [
        (None, 401, "key_required"),
        (Some("nobody"), 401, "key_invalid"),
        (Some(VIEWER), 403, "key_role"),
    ] {
        assert_eq!(
            gateway
                .call("PUT", path, key, Some(json!({})))
                .await
                .refusal(),
            (status, code.into())
        );
    }
    let bad = gateway
        .call(
            "PUT",
            path,
            Some(PROMOTER),
            Some(json!({"per_s": -1, "mode": "guess"})),
        )
        .await;
    assert_eq!(bad.refusal(), (422, "invalid_field".into()));
    assert_eq!(
        bad.json()["problems"].as_array().map(Vec::len),
        Some(6),
        "{}",
        bad.text()
    );
    assert_eq!(
        gateway.get("/v1/rooms/demo").await.status,
        404,
        "the refused room was not made"
    );

    gateway
        .open_room("demo", json!({"closes_at": "2099-02-01T00:00:00Z"}))
        .await;
    assert_eq!(
        gateway.core.coverage(),
        [("demo".to_owned(), vec!["demo-*".to_owned()])]
    );
    let shown = gateway.call("GET", path, Some(VIEWER), None).await.json();
    let again = gateway
        .call("PUT", path, Some(PROMOTER), Some(shown.clone()))
        .await;
    assert_eq!(
        (again.status, again.json()),
        (200, shown),
        "what is shown can be sent again"
    );
    let patched = gateway
        .call(
            "PATCH",
            path,
            Some(PROMOTER),
            Some(json!({"per_s": 2.5, "paused": true})),
        )
        .await;
    assert_eq!(
        (patched.status, &patched.json()["per_s"]),
        (200, &json!(2.5))
    );
    let auto = gateway
        .call("PATCH", path, Some(PROMOTER), Some(json!({"mode": "auto"})))
        .await;
    assert_eq!((auto.status, &auto.json()["mode"]), (200, &json!("auto")));
    let covered = gateway.put_room("two", json!({"shows": ["demo-7"]})).await;
    assert_eq!(covered.refusal(), (409, "show_covered".into()));
    assert_eq!(
        gateway.put_room("everyday", json!({})).await.refusal(),
        (409, "room_built_in".into())
    );

    let audit = gateway
        .call("GET", &format!("{path}/audit"), Some(VIEWER), None)
        .await
        .json();
    let actions: Vec<_> = audit["rows"]
        .as_array()
        .expect("rows")
        .iter()
        .map(|row| row["action"].clone())
        .collect();
    assert_eq!(
        (actions, &audit["intact"]),
        (
            vec![
                json!("room_created"),
                json!("room_patched"),
                json!("room_patched")
            ],
            &json!(true)
        )
    );
}

#[tokio::test]
async fn settings_of_the_draw_are_fixed_from_the_first_join_on_but_the_draw_can_be_postponed() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    assert_eq!(
        gateway
            .put_room("demo", json!({"method": "fifo"}))
            .await
            .status,
        200
    );
    assert_eq!(gateway.put_room("demo", json!({})).await.status, 200);
    gateway.newcomer("demo").await;
    for change in [
        json!({"method": "fifo"}),
        json!({"shows": ["x"]}),
        json!({"codes": "required"}),
        json!({"draw_at": "2098-01-01T00:00:00Z"}),
    ] {
        assert_eq!(
            gateway.put_room("demo", change.clone()).await.refusal(),
            (409, "draw_fixed".into()),
            "{change}"
        );
    }
    let later = json!({"draw_at": "2099-06-01T00:00:00Z", "title": "Later"});
    assert_eq!(gateway.put_room("demo", later).await.status, 200);
    gateway.by_hand("demo", "draw").await;
    gateway.until_drawn("demo").await;
    let after = gateway
        .put_room(
            "demo",
            json!({"draw_at": "2099-07-01T00:00:00Z", "title": "Later"}),
        )
        .await;
    assert_eq!(after.refusal(), (409, "draw_fixed".into()));
}

#[tokio::test]
async fn a_paused_room_draws_but_admits_nobody_and_a_closed_room_stays_closed() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let (place, _) = gateway.newcomer("demo").await;
    let patch = |body| {
        gateway.call(
            "PATCH",
            "/v1/promoter/rooms/demo",
            Some(PROMOTER),
            Some(body),
        )
    };
    patch(json!({"paused": true})).await;
    gateway.by_hand("demo", "draw").await;
    gateway.until_drawn("demo").await;
    let seen = gateway
        .until("/v1/rooms/demo/place", Some(&place), |place| {
            !place["rank"].is_null()
        })
        .await;
    assert_eq!(
        (&seen["state"], &seen["wait"]["known"]),
        (&json!("waiting"), &json!(false))
    );
    assert_eq!(
        gateway
            .call("POST", "/v1/rooms/demo/pass", Some(&place), None)
            .await
            .refusal(),
        (409, "not_called".into())
    );
    patch(json!({"paused": false})).await;
    gateway.until_called("demo", &place).await;
    gateway.by_hand("demo", "close").await;
    assert_eq!(
        gateway
            .call("POST", "/v1/rooms/demo/pass", Some(&place), None)
            .await
            .refusal(),
        (410, "room_closed".into())
    );
    assert_eq!(gateway.place("demo", &place).await["state"], "closed");
    assert_eq!(
        gateway
            .call("POST", "/v1/promoter/rooms/demo/open", Some(PROMOTER), None)
            .await
            .refusal(),
        (410, "room_closed".into())
    );
}

#[tokio::test]
async fn after_a_finished_order_the_next_visitor_is_called_and_the_phase_follows_the_seats() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway
        .open_room("demo", json!({"max_inside": 1, "method": "fifo"}))
        .await;
    let secret = [5; 32];
    let first = gateway
        .join("demo", json!({"secret": hex::encode(secret)}))
        .await
        .json()["place"]
        .as_str()
        .expect("a place")
        .to_owned();
    let (second, _) = gateway.newcomer("demo").await;
    gateway.by_hand("demo", "draw").await;
    gateway.until_called("demo", &first).await;
    assert_eq!(
        gateway
            .call("POST", "/v1/rooms/demo/pass", Some(&first), None)
            .await
            .status,
        201
    );
    assert_eq!(
        gateway.place("demo", &second).await["state"],
        "waiting",
        "only one visitor may be inside"
    );
    gateway
        .core
        .finish(1, fairgate_pass::Holder::of_secret(&secret));
    gateway
        .until("/v1/rooms/demo/place", Some(&first), |place| {
            place["state"] == "done"
        })
        .await;
    gateway.until_called("demo", &second).await;
    gateway.core.set_pulse(0, 0, 8);
    let room = gateway
        .until("/v1/rooms/demo", None, |room| room["phase"] == "sold_out")
        .await;
    assert_eq!(room["seats"], json!({"free": 0, "held": 0, "sold": 8}));
    gateway.core.set_pulse(1, 0, 7);
    gateway
        .until("/v1/rooms/demo", None, |room| room["phase"] == "selling")
        .await;
}

#[tokio::test]
async fn a_room_whose_seats_can_no_longer_be_bought_is_sold_out_and_its_odds_are_zero() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway
        .open_room("demo", json!({"max_inside": 1, "method": "fifo"}))
        .await;
    gateway.core.set_pulse(0, 0, 0);
    gateway.core.set_gone(8);
    gateway.by_hand("demo", "draw").await;
    let room = gateway
        .until("/v1/rooms/demo", None, |room| room["phase"] == "sold_out")
        .await;
    assert_eq!(room["seats"], json!({"free": 0, "held": 0, "sold": 0}));
    let (place, _) = gateway.newcomer("demo").await;
    let place = gateway.place("demo", &place).await;
    assert_eq!(
        (&place["state"], &place["odds"]),
        (&json!("waiting"), &json!(0.0))
    );
}

#[tokio::test]
async fn operators_get_health_metrics_keys_a_report_and_the_api_description() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start_with(data.path(), &[("payments", "sandbox")]).await;
    assert_eq!(gateway.get("/healthz").await.text(), "alive\n");
    let ready = gateway.ready().await;
    assert_eq!(ready["ready"], true);
    assert_eq!(gateway.get("/readyz").await.json(), json!({"ready": true}));
    let guessed = gateway.call("GET", "/readyz", Some("guess"), None).await;
    assert_eq!(guessed.refusal(), (401, "key_invalid".into()));
    assert!(ready["warnings"].to_string().contains("sandbox"), "{ready}");
    assert_eq!(gateway.get("/metrics").await.status, 200);
    assert_eq!(
        gateway.get("/.well-known/jwks.json").await.json()["keys"][0]["alg"],
        "EdDSA"
    );
    let calls = gateway.get("/openapi.json").await.json();
    for path in [
        "/v1/rooms/{room}/places",
        "/v1/rooms/{room}/draw/leaves",
        "/v1/promoter/rooms/{room}/codes",
        "/readyz",
    ] {
        assert!(calls["paths"][path].is_object(), "{path}");
    }
    let report = gateway
        .call(
            "GET",
            "/v1/promoter/rooms/everyday/report?format=csv",
            Some(VIEWER),
            None,
        )
        .await;
    assert!(report.text().starts_with("at,joined,"), "{}", report.text());
    let rooms = gateway.get("/v1/rooms").await;
    assert!(
        rooms.headers["cache-control"]
            .to_str()
            .expect("text")
            .contains("max-age=1")
    );
    for header in [
        "content-security-policy",
        "x-content-type-options",
        "referrer-policy",
        "x-request-id",
    ] {
        assert!(rooms.headers.contains_key(header), "{header}");
    }
}

#[tokio::test]
async fn joins_over_a_networks_quota_are_refused_with_a_time_to_come_back() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway =
        Gateway::start_with(data.path(), &[("joins_per_s", "1"), ("joins_burst", "3")]).await;
    gateway.open_room("demo", json!({})).await;
    let (place, _) = gateway.newcomer("demo").await;
    gateway.newcomer("demo").await;
    gateway.newcomer("demo").await;
    let refused = gateway.join("demo", json!({})).await;
    assert_eq!(refused.refusal(), (429, "too_many_joins".into()));
    assert!(refused.headers.contains_key("retry-after"));
    let back = gateway
        .call(
            "POST",
            "/v1/rooms/demo/places",
            Some(&place),
            Some(json!({})),
        )
        .await;
    assert_eq!(back.status, 200, "a visitor who has a place needs no quota");
}

#[tokio::test]
async fn a_room_that_has_begun_cannot_return_to_an_earlier_phase() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let fifo = json!({"method": "fifo", "draw_at": "2020-01-02T00:00:00Z", "closes_at": "2098-01-01T00:00:00Z"});
    gateway.open_room("demo", fifo.clone()).await;
    let with = |changes: serde_json::Value| {
        let mut document = fifo.clone();
        for (field, value) in changes.as_object().expect("an object") {
            document[field] = value.clone();
        }
        gateway.put_room("demo", document)
    };
    for change in [
        json!({"draw_at": "2097-01-01T00:00:00Z"}),
        json!({"draw_at": "2097-01-01T00:00:00Z", "opens_at": "2096-01-01T00:00:00Z"}),
    ] {
        assert_eq!(
            with(change.clone()).await.refusal(),
            (409, "draw_fixed".into()),
            "{change}"
        );
    }
    assert_eq!(
        gateway.get("/v1/rooms/demo").await.json()["phase"],
        "selling"
    );
    let longer = json!({"closes_at": "2099-01-01T00:00:00Z"});
    assert_eq!(with(longer).await.status, 200);
    let ended = with(json!({"closes_at": "2020-01-03T00:00:00Z"})).await;
    assert_eq!(ended.refusal(), (422, "invalid_field".into()));
    assert_eq!(ended.json()["field"], "closes_at");
    assert_eq!(
        gateway.get("/v1/rooms/demo").await.json()["phase"],
        "selling",
        "an end that has passed is refused"
    );
    gateway.by_hand("demo", "close").await;
    assert_eq!(
        with(json!({"closes_at": "2098-01-01T00:00:00Z"}))
            .await
            .refusal(),
        (409, "room_closed".into()),
        "a closed room does not open again"
    );
    // Another opening time in the past does not change the phase, so it is accepted.
    gateway.open_room("lobby", json!({})).await;
    let again = gateway
        .put_room("lobby", json!({"opens_at": "2020-01-01T00:00:01Z"}))
        .await;
    assert_eq!(again.status, 200, "{}", again.text());
    let shut = gateway
        .put_room("lobby", json!({"opens_at": "2098-01-01T00:00:00Z"}))
        .await;
    assert_eq!(shut.refusal(), (409, "draw_fixed".into()));
    gateway
        .put_room("later", json!({"opens_at": "2097-01-01T00:00:00Z"}))
        .await;
    let postponed = gateway
        .put_room("later", json!({"opens_at": "2098-01-01T00:00:00Z"}))
        .await;
    assert_eq!(postponed.status, 200, "{}", postponed.text());
}

#[tokio::test]
async fn a_late_refusal_of_booking_says_why_and_which_rooms_are_stored() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let fault = OnsaleFault {
        field: "currency".to_owned(),
        code: "currency_in_use".to_owned(),
        detail: "an order was just made in EUR".to_owned(),
        ..OnsaleFault::default()
    };
    let faulty = OnsaleReport {
        faults: vec![fault],
        ..OnsaleReport::default()
    };
    let withheld = "demo-1".parse().expect("a show's id");
    gateway.core.withhold(vec![withheld]);
    let room = json!({
        "id": "demo", "title": "N", "shows": ["demo-1"], "opens_at": "2020-01-01T00:00:00Z",
        "draw_at": "2099-01-01T00:00:00Z",
    });
    let file = json!({"room": [room]});
    let apply = async || {
        let (path, file) = ("/v1/promoter/apply", Some(file.clone()));
        gateway.call("POST", path, Some(PROMOTER), file).await
    };
    // Booking finds the fault before the rooms are stored.
    let core = &gateway.core;
    core.refuse_onsale(OnsaleStep::Withhold, faulty.clone());
    let refused = apply().await;
    assert_eq!(refused.refusal(), (422, "onsale_invalid".into()));
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("Nothing was applied"), "{detail}");
    assert_eq!(refused.json()["off_sale"], Value::Null);
    assert_eq!(gateway.get("/v1/rooms/demo").await.status, 404);
    // Booking finds the fault after the rooms are stored, and shows are off sale by then.
    core.refuse_onsale(OnsaleStep::Write, faulty);
    let refused = apply().await;
    assert_eq!(refused.refusal(), (422, "onsale_invalid".into()));
    assert_eq!(refused.json()["faults"][0]["code"], "currency_in_use");
    assert_eq!(refused.json()["off_sale"], json!(["demo-1"]));
    let detail = refused.json()["detail"].to_string();
    for part in [
        "made in EUR",
        "rooms of the file were stored",
        "demo",
        "off sale",
        "demo-1",
    ] {
        assert!(detail.contains(part), "{part} is not in {detail}");
    }
    assert_eq!(gateway.get("/v1/rooms/demo").await.status, 200);
    // The room is as the file says already, so this apply stores nothing.
    let detail = apply().await.json()["detail"].to_string();
    assert!(detail.contains("Nothing was applied"), "{detail}");
    assert!(
        detail.contains("off sale until you apply it again"),
        "{detail}"
    );
    // Without a reason, nobody knows what booking did.
    core.refuse_onsale(OnsaleStep::Write, OnsaleReport::default());
    let unknown = apply().await;
    assert_eq!(unknown.refusal(), (503, "booking_unanswered".into()));
}

#[tokio::test]
async fn an_empty_patch_is_refused_with_the_known_settings_and_is_not_audited() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let path = "/v1/promoter/rooms/demo";
    let refused = gateway
        .call("PATCH", path, Some(PROMOTER), Some(json!({})))
        .await;
    assert_eq!(refused.refusal(), (422, "invalid_field".into()));
    assert!(refused.text().contains("max_inside"), "{}", refused.text());
    let audit = gateway
        .call("GET", &format!("{path}/audit"), Some(VIEWER), None)
        .await
        .json();
    assert_eq!(audit["rows"].as_array().map(Vec::len), Some(1));
}
