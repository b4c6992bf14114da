//! Tests one line from join to pass, on a real listener.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use fairgate_databases::{Installation, SqliteDatabase};
use fairgate_pass::Digest;
use fairgate_servers::actors::until;
use gateway::ledger::{RoomAuditEntry, RoomLedger};
use serde_json::{Value, json};

use support::{Gateway, PROMOTER};

fn holder_of(secret: &str) -> String {
    let secret: [u8; 32] = hex::decode(secret)
        .expect("hex")
        .try_into()
        .expect("32 bytes");
    fairgate_pass::Holder::of_secret(&secret).to_string()
}

#[tokio::test]
async fn a_visitor_joins_is_drawn_is_called_and_claims_a_pass_that_verifies() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let mut visitors = Vec::new();
    for _ in 0..20 {
        visitors.push(gateway.newcomer("demo").await);
    }
    let before = gateway.place("demo", &visitors[0].0).await;
    assert_eq!(
        (&before["rank"], &before["state"]),
        (&Value::Null, &json!("waiting"))
    );
    let early = gateway
        .call("POST", "/v1/rooms/demo/pass", Some(&visitors[0].0), None)
        .await;
    assert_eq!(early.refusal(), (409, "not_called".into()));
    assert_eq!(
        gateway.get("/v1/rooms/demo/draw/leaves").await.refusal(),
        (409, "not_frozen".into())
    );

    gateway.by_hand("demo", "draw").await;
    let record = gateway.until_drawn("demo").await;
    assert_eq!((&record["n"], &record["voids"]), (&json!(20), &json!(0)));
    let late = gateway.newcomer("demo").await;
    assert_eq!(
        late.1, 20,
        "a visitor who joins after the freeze comes after everybody drawn"
    );
    assert_eq!(gateway.place("demo", &late.0).await["rank"], 20);

    let mut ranks = BTreeSet::new();
    for (place, number) in visitors.iter().chain([&late]) {
        let called = gateway.until_called("demo", place).await;
        assert_eq!(called["number"], *number);
        ranks.insert(called["rank"].as_u64().expect("a rank"));
        let pass = gateway
            .call("POST", "/v1/rooms/demo/pass", Some(place), None)
            .await;
        assert_eq!(pass.status, 201, "{}", pass.text());
        let again = gateway
            .call("POST", "/v1/rooms/demo/pass", Some(place), None)
            .await;
        assert_eq!(
            pass.json(),
            again.json(),
            "claiming twice gives the same pass"
        );
        let pass = pass.json()["pass"].as_str().expect("a pass").to_owned();
        let verified = gateway
            .call("GET", "/v1/verify?room=demo", Some(&pass), None)
            .await;
        assert_eq!(
            (verified.status, &verified.headers["x-fairgate-rank"]),
            (204, &called["rank"].to_string().parse().expect("a header"))
        );
        for (method, path) in [
            ("GET", "/v1/verify/demo"),
            ("POST", "/v1/verify/demo/"),
            ("DELETE", "/v1/verify/demo/shop/basket?item=1"),
        ] {
            let verified = gateway.call(method, path, Some(&pass), None).await;
            assert_eq!(verified.status, 204, "{method} {path}");
            let refused = gateway.call(method, path, None, None).await;
            assert_eq!(refused.refusal(), (401, "pass_invalid".into()));
        }
        let elsewhere = gateway
            .call("GET", "/v1/verify?room=everyday", Some(&pass), None)
            .await;
        assert_eq!(elsewhere.refusal(), (401, "pass_invalid".into()));
        assert_eq!(gateway.place("demo", place).await["state"], "admitted");
    }
    assert_eq!(ranks, (0..21).collect(), "every rank is given once");
}

#[tokio::test]
async fn the_published_draw_can_be_checked_by_anyone() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let mut places = Vec::new();
    for at in 0..7 {
        let (place, _) = gateway.newcomer("demo").await;
        if at == 3 {
            let left = gateway
                .call("DELETE", "/v1/rooms/demo/place", Some(&place), None)
                .await;
            assert_eq!(left.status, 204);
        } else {
            places.push(place);
        }
    }
    gateway.by_hand("demo", "draw").await;
    let mut record = gateway.until_drawn("demo").await;
    assert_eq!((&record["n"], &record["voids"]), (&json!(7), &json!(1)));
    let bytes = gateway
        .client
        .get(gateway.url("/v1/rooms/demo/draw/leaves"))
        .send()
        .await
        .expect("an answer");
    let leaves = bytes.bytes().await.expect("a body");
    let mut given = Vec::new();
    for place in &places {
        let place = gateway
            .until("/v1/rooms/demo/place", Some(place), |place| {
                !place["rank"].is_null()
            })
            .await;
        let proof = gateway
            .get(&format!("/v1/rooms/demo/draw/proof/{}", place["number"]))
            .await
            .json();
        assert_eq!(proof["rank"], place["rank"]);
        let path: Vec<fairgate_pass::Digest> =
            serde_json::from_value(proof["path"].clone()).expect("a path");
        let holder: fairgate_pass::Holder =
            serde_json::from_value(proof["holder"].clone()).expect("a holder");
        let root = serde_json::from_value(record["root"].clone()).expect("a root");
        let number = place["number"].as_u64().expect("a number");
        assert!(fairgate_rules::draw::merkle::verify_proof(
            number, 7, holder.0, &path, &root
        ));
        given.push(json!({"number": number, "rank": place["rank"]}));
    }
    record["places"] = given.into();
    let jwks =
        serde_json::from_value(gateway.get("/.well-known/jwks.json").await.json()).expect("keys");
    let parsed = serde_json::from_value(record.clone()).expect("a record");
    let report = fairgate_rules::draw::verify::check_record(&parsed, Some(&leaves), Some(&jwks));
    assert!(report.has_no_faults(), "{report:?}");
    record["places"][0]["rank"] = json!(record["places"][0]["rank"].as_u64().expect("a rank") ^ 1);
    let parsed = serde_json::from_value(record).expect("a record");
    assert!(
        !fairgate_rules::draw::verify::check_record(&parsed, Some(&leaves), Some(&jwks))
            .has_no_faults()
    );
}

#[tokio::test]
async fn coming_back_by_place_cookie_or_secret_finds_the_same_place_and_a_holder_hash_does_not() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let secret = "ab".repeat(32);
    let joined = gateway.join("demo", json!({"secret": secret})).await;
    assert_eq!(
        (joined.status, &joined.json()["secret"]),
        (201, &Value::Null),
        "the client's own secret is not sent back"
    );
    let place = joined.json()["place"].clone();
    let cookie = joined.headers["set-cookie"]
        .to_str()
        .expect("text")
        .to_owned();
    for part in ["fg_demo=", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{part} in {cookie}");
    }

    let by_secret = gateway.join("demo", json!({"secret": secret})).await;
    let request = gateway.client.post(gateway.url("/v1/rooms/demo/places"));
    let by_cookie =
        Gateway::read(request.header("cookie", cookie.split(';').next().expect("a pair"))).await;
    let by_place = gateway
        .call(
            "POST",
            "/v1/rooms/demo/places",
            place.as_str(),
            Some(json!({})),
        )
        .await;
    for again in [by_secret, by_cookie, by_place] {
        assert_eq!((again.status, &again.json()["place"]), (200, &place));
    }

    let published = holder_of(&secret);
    let thief = gateway.join("demo", json!({"secret": published})).await;
    assert_eq!(
        (thief.status, &thief.json()["number"]),
        (201, &json!(1)),
        "as a secret, a published hash gives a new place"
    );

    let (made, number) = (gateway.join("demo", json!({})).await.json(), 2);
    assert_eq!(made["number"], number);
    let back = gateway
        .join("demo", json!({"secret": made["secret"]}))
        .await;
    assert_eq!((back.status, &back.json()["place"]), (200, &made["place"]));
}

#[tokio::test]
async fn stale_foreign_and_tampered_places_are_refused_and_change_nothing() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    gateway.open_room("other", json!({})).await;
    let (place, _) = gateway.newcomer("demo").await;
    let (foreign, _) = gateway.newcomer("other").await;
    let mut tampered = place.clone();
    let middle = tampered.len() / 2;
    let swapped = if &tampered[middle..=middle] == "A" {
        "B"
    } else {
        "A"
    };
    tampered.replace_range(middle..=middle, swapped);
    for (bad, code) in [
        (foreign.as_str(), "place_invalid"),
        (&tampered, "place_invalid"),
        ("x", "place_invalid"),
    ] {
        for (method, path) in [
            ("GET", "place"),
            ("DELETE", "place"),
            ("POST", "pass"),
            ("POST", "places"),
            ("GET", "live"),
        ] {
            let body = (path == "places").then(|| json!({}));
            let answer = gateway
                .call(method, &format!("/v1/rooms/demo/{path}"), Some(bad), body)
                .await;
            assert_eq!(answer.refusal(), (401, code.into()), "{method} {path}");
        }
    }
    assert_eq!(
        gateway.get("/v1/rooms/demo/place").await.refusal(),
        (401, "place_required".into())
    );
    assert_eq!(
        gateway.place("demo", &place).await["state"],
        "waiting",
        "the good place is still valid"
    );

    let left = gateway
        .call("DELETE", "/v1/rooms/demo/place", Some(&place), None)
        .await;
    let twice = gateway
        .call("DELETE", "/v1/rooms/demo/place", Some(&place), None)
        .await;
    assert_eq!((left.status, twice.status), (204, 204));
    let stale = gateway
        .call("GET", "/v1/rooms/demo/place", Some(&place), None)
        .await;
    assert_eq!(stale.refusal(), (410, "place_left".into()));
}

#[tokio::test]
async fn bad_input_to_a_join_is_refused_and_gives_no_place() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    gateway
        .put_room("later", json!({"opens_at": "2098-01-01T00:00:00Z"}))
        .await;
    let raw = |body: &'static str| {
        gateway
            .client
            .post(gateway.url("/v1/rooms/demo/places"))
            .body(body)
    };
    for (body, status, code) in [
        ("{", 400, "invalid_json"),
        (r#"{"secrt":1}"#, 422, "unknown_field"),
        (r#"{"secret":1}"#, 422, "invalid_field"),
        (r#"{"secret":"ab"}"#, 422, "invalid_field"),
        (r#"{"key":{}}"#, 422, "not_available"),
        (r#"{"lane":"m"}"#, 422, "not_available"),
        (r#"{"challenge":"x"}"#, 403, "challenge_failed"),
        ("[]", 422, "invalid_field"),
    ] {
        assert_eq!(
            Gateway::read(raw(body)).await.refusal(),
            (status, code.into()),
            "{body}"
        );
    }
    let huge = gateway
        .client
        .post(gateway.url("/v1/rooms/demo/places"))
        .body(" ".repeat(70 << 10));
    assert_eq!(
        Gateway::read(huge).await.refusal(),
        (413, "body_too_large".into())
    );
    assert_eq!(
        gateway.join("nowhere", json!({})).await.refusal(),
        (404, "not_found".into())
    );
    let early = gateway.join("later", json!({})).await;
    assert_eq!(
        (early.refusal(), &early.json()["opens_at"]),
        ((409, "not_open".into()), &json!("2098-01-01T00:00:00Z"))
    );
    let foreign = gateway
        .client
        .post(gateway.url("/v1/rooms/demo/places"))
        .header("origin", "https://evil.example")
        .body("{}");
    assert_eq!(
        Gateway::read(foreign).await.refusal(),
        (403, "origin_refused".into())
    );
    assert_eq!(
        gateway
            .call("PUT", "/v1/rooms/demo/places", None, None)
            .await
            .refusal(),
        (405, "method_not_allowed".into())
    );
    assert_eq!(
        gateway.get("/v1/nothing").await.refusal(),
        (404, "not_found".into())
    );
    assert_eq!(
        gateway.get("/v1/verify").await.refusal(),
        (400, "invalid_query".into())
    );
    gateway.by_hand("demo", "close").await;
    assert_eq!(
        gateway.join("demo", json!({})).await.refusal(),
        (410, "room_closed".into())
    );
    assert_eq!(gateway.get("/v1/rooms/demo").await.json()["joined"], 0);
}

#[tokio::test]
async fn a_code_gives_one_place_and_the_codes_are_fixed_from_the_first_join_on() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway
        .open_room("members", json!({"codes": "required"}))
        .await;
    let codes = |list: &'static str| {
        gateway
            .client
            .put(gateway.url("/v1/promoter/rooms/members/codes"))
            .bearer_auth(PROMOTER)
            .body(list)
    };
    assert_eq!(
        Gateway::read(codes("RED-1\nRED-2\n\n RED-2 \n"))
            .await
            .json()["codes"],
        2
    );
    assert_eq!(
        gateway.join("members", json!({})).await.refusal(),
        (403, "code_invalid".into())
    );
    assert_eq!(
        gateway
            .join("members", json!({"code": "BLUE"}))
            .await
            .refusal(),
        (403, "code_invalid".into())
    );
    let joined = gateway.join("members", json!({"code": " RED-1"})).await;
    assert_eq!(joined.status, 201);
    assert_eq!(
        gateway
            .join("members", json!({"code": "RED-1"}))
            .await
            .refusal(),
        (403, "code_used".into())
    );
    assert_eq!(
        Gateway::read(codes("BLUE")).await.refusal(),
        (409, "draw_fixed".into())
    );

    let place = joined.json()["place"].as_str().expect("a place").to_owned();
    gateway
        .call("DELETE", "/v1/rooms/members/place", Some(&place), None)
        .await;
    assert_eq!(
        gateway
            .join("members", json!({"code": "RED-1"}))
            .await
            .refusal(),
        (403, "code_used".into()),
        "the code stays used after its visitor left"
    );
}

#[tokio::test]
async fn a_code_is_found_however_it_is_written_down_and_typed() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let required = json!({"codes": "required"});
    gateway.open_room("members", required).await;
    let put = async |list: &'static str| {
        let put = gateway.url("/v1/promoter/rooms/members/codes");
        Gateway::read(gateway.client.put(put).bearer_auth(PROMOTER).body(list)).await
    };
    // A spreadsheet writes a byte order mark, quotes and other line ends.
    let list = "\u{feff}FAN-2027-AAAA\r\nwelcome-2027\r\n\"RED 7\"\r\nFan-2027-aaaa\r\n";
    assert_eq!(put(list).await.json()["codes"], 3);
    for nothing in ["RED\n--\n", "\"\"\n", "RED\u{0}\n"] {
        put(nothing).await.problem(422, "invalid_field");
    }
    for (typed, again) in [
        ("FAN-2027-AAAA", "\u{feff}fan–2027–aaaa"),
        ("WELCOME-2027", "Welcome 2027 "),
        ("red—7", "“RED-7”"),
    ] {
        let join = async |code: &str| gateway.join("members", json!({ "code": code })).await;
        assert_eq!(join(typed).await.status, 201, "{typed}");
        join(again).await.problem(403, "code_used");
    }
    let other = gateway.join("members", json!({"code": "FAN-2027-AAAB"}));
    other.await.problem(403, "code_invalid");
    // The promoter need not type the code as it was put, either.
    let revoke = json!({"code": "red 7", "reason": "a bot"});
    let path = "/v1/promoter/rooms/members/revoke";
    let ended = gateway
        .call("POST", path, Some(PROMOTER), Some(revoke))
        .await;
    assert_eq!(ended.is(200)["revoked"], 1);
}

#[tokio::test]
async fn a_code_that_was_stored_before_codes_had_a_normal_form_is_found_as_it_was_typed() {
    let data = tempfile::tempdir().expect("a folder");
    let mut gateway = Gateway::start(data.path()).await;
    let required = json!({"codes": "required"});
    gateway.open_room("members", required).await;
    gateway.stop().await;
    {
        let file = SqliteDatabase::open(&data.path().join("ledger.db")).expect("the file");
        let ledger = RoomLedger::open(
            Installation::File(file),
            fairgate_base::secret::InstallationSecret::derive(fairgate_servers::TEST_SECRET),
        )
        .await;
        let ledger = ledger.expect("opens");
        let entry = RoomAuditEntry {
            at: 0,
            role: "promoter",
            action: "codes_replaced",
            detail: json!({}),
        };
        let older = vec![Digest::of_bytes(b"Fan-2027"), Digest::of_bytes(b"Fan-2028")];
        let put = ledger.put_codes("members", older, entry);
        put.await.expect("written");
    }
    let gateway = Gateway::start(data.path()).await;
    let join = async |code: &str| gateway.join("members", json!({ "code": code })).await;
    assert_eq!(join(" Fan-2027").await.status, 201);
    join("Fan-2027").await.problem(403, "code_used");
    // Only a digest was stored, so another spelling cannot be found.
    join("FAN-2028").await.problem(403, "code_invalid");
    let revoke = json!({"code": "Fan-2027", "reason": "a bot"});
    let path = "/v1/promoter/rooms/members/revoke";
    let ended = gateway
        .call("POST", path, Some(PROMOTER), Some(revoke))
        .await;
    assert_eq!(ended.is(200)["revoked"], 1);
}

#[tokio::test]
async fn in_a_room_without_a_line_everybody_gets_a_pass_at_once_until_max_inside_is_reached() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let limit = gateway
        .call(
            "PATCH",
            "/v1/promoter/rooms/everyday",
            Some(PROMOTER),
            Some(json!({"max_inside": 3})),
        )
        .await;
    assert_eq!(limit.status, 200, "{}", limit.text());
    let mut outcomes = Vec::new();
    for _ in 0..5 {
        let (place, _) = gateway.newcomer("everyday").await;
        outcomes.push(
            gateway
                .call("POST", "/v1/rooms/everyday/pass", Some(&place), None)
                .await
                .status,
        );
    }
    assert_eq!(outcomes, [201, 201, 201, 409, 409]);
    assert_eq!(
        gateway.get("/v1/rooms/everyday/draw").await.refusal(),
        (404, "no_draw".into())
    );
}

#[tokio::test]
async fn a_restart_keeps_every_place_rank_pass_and_the_counter() {
    let data = tempfile::tempdir().expect("a folder");
    let mut gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({"per_s": 5})).await;
    let mut visitors = Vec::new();
    for _ in 0..30 {
        visitors.push(gateway.newcomer("demo").await);
    }
    gateway
        .call("DELETE", "/v1/rooms/demo/place", Some(&visitors[4].0), None)
        .await;
    gateway.by_hand("demo", "draw").await;
    let record = gateway.until_drawn("demo").await;
    gateway
        .until("/v1/rooms/demo", None, |room| {
            room["released"].as_u64() >= Some(5)
        })
        .await;
    let mut before = BTreeMap::new();
    let mut passes = BTreeMap::new();
    for (place, number) in &visitors {
        let seen = gateway.place("demo", place).await;
        if seen["state"] == "called" {
            let claimed = gateway
                .call("POST", "/v1/rooms/demo/pass", Some(place), None)
                .await;
            // More than one tick may have called visitors, and they enter at the pace.
            if claimed.status == 201 {
                passes.insert(place, claimed.json());
            }
        }
        before.insert(*number, seen["rank"].clone());
    }
    assert!(!passes.is_empty());
    gateway.stop().await;

    let gateway = Gateway::start(data.path()).await;
    assert_eq!(gateway.get("/v1/rooms/demo/draw").await.json(), record);
    assert!(gateway.get("/v1/rooms/demo").await.json()["released"].as_u64() >= Some(5));
    for (place, number) in &visitors {
        assert_eq!(gateway.place("demo", place).await["rank"], before[number]);
    }
    for (place, pass) in passes {
        assert_eq!(
            gateway
                .call("POST", "/v1/rooms/demo/pass", Some(place), None)
                .await
                .json(),
            pass
        );
    }
    assert_eq!(gateway.newcomer("demo").await.1, 30);
}

#[tokio::test]
async fn a_draw_interrupted_after_its_freeze_or_its_root_ends_with_the_same_n_and_root() {
    use fairgate_pass::Holder;
    use fairgate_rules::phase::RoomFacts;
    use fairgate_rules::room_document::{LineMethod, RoomDocument};
    use gateway::ledger::{
        DrawSecret, JoinRow, LineFreeze, PublishedFreeze, RoomAuditEntry, RoomLedger, RoomRow,
    };

    let data = tempfile::tempdir().expect("a folder");
    let writer =
        fairgate_databases::SqliteDatabase::open(&data.path().join("ledger.db")).expect("it opens");
    let file = fairgate_databases::Installation::File(writer);
    let ledger = RoomLedger::open(
        file,
        fairgate_base::secret::InstallationSecret::derive(fairgate_servers::TEST_SECRET),
    )
    .await
    .expect("it migrates");
    let holders: Vec<[u8; 32]> = (0..5_u8).map(|at| [at + 1; 32]).collect();
    let root = fairgate_rules::draw::merkle::root(&holders);
    for room in ["frozen", "rooted"] {
        // By the clock the draw is not due, but a draw that has begun is completed anyway.
        let document = RoomDocument {
            method: LineMethod::Draw,
            draw_at: 4_000_000_000_000,
            ..RoomDocument::everyday()
        };
        let row = RoomRow {
            room: room.into(),
            document,
            facts: RoomFacts::default(),
            version: 1,
            secret: DrawSecret([9; 32]),
            created_at: 0,
        };
        let entry = RoomAuditEntry {
            at: 0,
            role: "promoter",
            action: "room_created",
            detail: Value::Null,
        };
        assert!(ledger.create_room(row, entry).await.expect("it is written"));
        for (number, holder) in (0..).zip(&holders) {
            let join = JoinRow {
                number,
                holder: Holder(*holder),
                code: None,
                at: 0,
                networks: gateway::ledger::NetworkKeys::NONE,
            };
            ledger.record_join(room, join).await.expect("it is written");
        }
        ledger
            .record_freeze(room, LineFreeze { n: 5, at: 1000 }, None)
            .await
            .expect("it is written");
    }
    let sealed = PublishedFreeze {
        voids: 0,
        root,
        signature: "made.before.the.crash".into(),
    };
    let entry = RoomAuditEntry {
        at: 0,
        role: "fairgate",
        action: "frozen",
        detail: Value::Null,
    };
    let sealed = ledger.seal("rooted", sealed, entry).await;
    sealed.expect("it is written");
    drop(ledger);

    let gateway = Gateway::start(data.path()).await;
    for room in ["frozen", "rooted"] {
        let record = gateway.until_drawn(room).await;
        assert_eq!(
            (&record["n"], &record["voids"], &record["frozen_at"]),
            (&json!(5), &json!(0), &json!("1970-01-01T00:00:01Z"))
        );
        assert_eq!(record["root"], json!(root));
        assert_eq!(
            record["seed"],
            json!(fairgate_rules::draw::seed(&[9; 32], 5, &root, b""))
        );
        assert_eq!(
            gateway.newcomer(room).await.1,
            5,
            "new numbers follow the frozen ones"
        );
    }
    let kept = gateway.get("/v1/rooms/rooted/draw").await.json();
    assert_eq!(
        kept["signature"], "made.before.the.crash",
        "a published root is not signed again"
    );
}

/// Claims with all places at the same time. Returns how many claims got a pass.
async fn claim_at_once(gateway: &Gateway, room: &str, places: &[String]) -> usize {
    let path = format!("/v1/rooms/{room}/pass");
    let claims = places.iter().map(|place| {
        gateway
            .client
            .post(gateway.url(&path))
            .bearer_auth(place)
            .send()
    });
    let answers = futures_util::future::join_all(claims).await;
    answers
        .into_iter()
        .filter(|answer| answer.as_ref().expect("an answer").status() == 201)
        .count()
}

async fn patch(gateway: &Gateway, room: &str, body: Value) {
    let path = format!("/v1/promoter/rooms/{room}");
    let answer = gateway
        .call("PATCH", &path, Some(PROMOTER), Some(body))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_forty_claims_at_once_only_as_many_get_a_pass_as_max_inside_allows() {
    let data = tempfile::tempdir().expect("a folder");
    let mut gateway = Gateway::start(data.path()).await;
    patch(&gateway, "everyday", json!({"max_inside": 5})).await;
    gateway
        .open_room(
            "fifo",
            json!({"method": "fifo", "mode": "fixed", "draw_at": "2020-01-02T00:00:00Z"}),
        )
        .await;
    let (mut open, mut fifo) = (Vec::new(), Vec::new());
    for _ in 0..40 {
        open.push(gateway.newcomer("everyday").await.0);
        fifo.push(gateway.newcomer("fifo").await.0);
    }
    assert_eq!(claim_at_once(&gateway, "everyday", &open).await, 5);
    gateway
        .until("/v1/rooms/fifo", None, |room| room["released"] == 40)
        .await;
    patch(&gateway, "fifo", json!({"max_inside": 5})).await;
    gateway.stop().await;
    // After a restart, no release has an open window, so all forty claims are late.
    let gateway = Gateway::start(data.path()).await;
    let mut let_in = 0;
    // Late claims need a share of the pace. They get one from the first tick on.
    for _ in 0..100 {
        let_in += claim_at_once(&gateway, "fifo", &fifo[let_in..]).await;
        if let_in > 0 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(let_in, 5);
    assert_eq!(claim_at_once(&gateway, "everyday", &open).await, 5);
}

#[tokio::test]
async fn a_visitor_who_left_with_a_pass_fills_the_entry_until_no_node_takes_the_pass() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    patch(&gateway, "everyday", json!({"max_inside": 1})).await;
    let (leaver, _) = gateway.newcomer("everyday").await;
    let (next, _) = gateway.newcomer("everyday").await;
    let claim = async |place: &str| {
        let path = "/v1/rooms/everyday/pass";
        gateway.call("POST", path, Some(place), None).await
    };
    let first = claim(&leaver).await;
    assert_eq!(first.status, 201);
    assert_eq!(claim(&next).await.refusal(), (409, "not_called".into()));
    let path = "/v1/rooms/everyday/place";
    let left = gateway.call("DELETE", path, Some(&leaver), None).await;
    assert_eq!(left.status, 204);
    let left_at = Instant::now();
    assert_eq!(claim(&next).await.refusal(), (409, "not_called".into()));
    let pass = first.json()["pass"].as_str().expect("a pass").to_owned();
    until("the pass opens nothing new", async || {
        let path = "/v1/verify?room=everyday";
        let verified = gateway.call("GET", path, Some(&pass), None).await;
        (verified.status == 401).then_some(())
    })
    .await;
    until("the next visitor enters", async || {
        let answer = claim(&next).await;
        (answer.status == 201).then_some(())
    })
    .await;
    // Every node knows within two seconds that the pass is stopped.
    let waited = left_at.elapsed();
    assert!(waited >= Duration::from_secs(2), "after {waited:?}");
}

#[tokio::test]
async fn a_code_in_a_room_without_codes_is_refused_and_gives_no_place() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    gateway.open_room("demo", json!({})).await;
    let refused = gateway.join("demo", json!({"code": "RED-1"})).await;
    assert_eq!(refused.refusal(), (422, "not_available".into()));
    assert_eq!(refused.json()["field"], "code");
    assert_eq!(gateway.newcomer("demo").await.1, 0);
}

#[tokio::test]
async fn no_pass_is_given_before_the_sale_even_to_a_released_rank() {
    use fairgate_rules::phase::RoomFacts;
    use fairgate_rules::room_document::{LineMethod, RoomDocument};
    use gateway::ledger::{DrawSecret, JoinRow, ReleaseRow, RoomAuditEntry, RoomLedger, RoomRow};

    let data = tempfile::tempdir().expect("a folder");
    let writer =
        fairgate_databases::SqliteDatabase::open(&data.path().join("ledger.db")).expect("it opens");
    let file = fairgate_databases::Installation::File(writer);
    let ledger = RoomLedger::open(
        file,
        fairgate_base::secret::InstallationSecret::derive(fairgate_servers::TEST_SECRET),
    )
    .await
    .expect("it migrates");
    let row = RoomRow {
        room: "fifo".into(),
        document: RoomDocument {
            method: LineMethod::Fifo,
            draw_at: 4_000_000_000_000,
            ..RoomDocument::everyday()
        },
        facts: RoomFacts::default(),
        version: 1,
        secret: DrawSecret([9; 32]),
        created_at: 0,
    };
    let entry = RoomAuditEntry {
        at: 0,
        role: "promoter",
        action: "room_created",
        detail: Value::Null,
    };
    assert!(ledger.create_room(row, entry).await.expect("it is written"));
    let secret = [7; 32];
    let join = JoinRow {
        number: 0,
        holder: fairgate_pass::Holder::of_secret(&secret),
        code: None,
        at: 0,
        networks: gateway::ledger::NetworkKeys::NONE,
    };
    ledger
        .record_join("fifo", join)
        .await
        .expect("it is written");
    let released = ReleaseRow {
        released: 1,
        ..ReleaseRow::default()
    };
    let moved = ledger
        .advance_release_counter("fifo", &ReleaseRow::default(), &released)
        .await;
    assert!(moved.expect("it is written"));
    drop(ledger);

    let gateway = Gateway::start(data.path()).await;
    let back = gateway
        .join("fifo", json!({"secret": hex::encode(secret)}))
        .await
        .json();
    // From the first tick on, late claims have a share of the pace. So the claim below is refused
    // only because the sale has not begun.
    gateway
        .until("/v1/rooms/fifo", None, |room| room["released"] == 1)
        .await;
    let claim = async || {
        gateway
            .call("POST", "/v1/rooms/fifo/pass", back["place"].as_str(), None)
            .await
    };
    assert_eq!(claim().await.refusal(), (409, "not_called".into()));
    gateway.by_hand("fifo", "draw").await;
    gateway
        .until("/v1/rooms/fifo", None, |room| room["phase"] == "selling")
        .await;
    assert_eq!(claim().await.status, 201);
}
