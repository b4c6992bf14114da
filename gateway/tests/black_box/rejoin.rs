//! Tests that a visitor gets the same place again by cookie, by the place itself, and by the
//! secret. Leaving a place is final.

use reqwest::Method;
use serde_json::json;

use crate::harness::{Browser, Promoter, Server, TestAnswer, Visitor, coming_back};

#[tokio::test(flavor = "multi_thread")]
async fn coming_back_by_place_secret_or_cookie_finds_the_same_place() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    let ana = Visitor::joined(&server, "sale").await;
    let ben = Visitor::joined(&server, "sale").await;
    assert_eq!((ana.number, ben.number), (0, 1));

    let by_place = ana.post("places", &json!({})).await.is(200);
    assert_eq!(by_place["number"], 0);
    let mut without_place = ana.clone();
    without_place.place.clear();
    let by_secret = without_place
        .post("places", &json!({"secret": ana.secret}))
        .await
        .is(200);
    assert_eq!(
        (&by_secret["number"], &by_secret["place"]),
        (&json!(0), &json!(ana.place))
    );

    let cookie = format!("fairgate_place_sale={}", ana.place);
    let address = server.at("/v1/rooms/sale/places");
    let by_cookie = TestAnswer::of(
        server
            .http
            .post(address)
            .header("cookie", &cookie)
            .json(&json!({})),
    )
    .await;
    assert_eq!(by_cookie.expect("an answer").is(200)["number"], 0);
    assert_eq!(
        Visitor::joined(&server, "sale").await.number,
        2,
        "nobody joined twice"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_joins_claims_and_holds_with_its_cookies_alone() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let browser = reqwest::Client::builder()
        .no_proxy()
        .cookie_store(true)
        .build()
        .expect("a client");
    let call = async |method: Method, path: &str, body| {
        coming_back(async || {
            let request = browser
                .request(method.clone(), server.at(path))
                .header("sec-fetch-site", "same-origin")
                .json(&body);
            TestAnswer::of(request).await.expect("an answer")
        })
        .await
    };
    let joined = call(Method::POST, "/v1/rooms/sale/places", json!({})).await;
    let secret = joined.is(201)["secret"].clone();
    assert_eq!(
        secret.as_str().map(str::len),
        Some(64),
        "the server made a secret and returned it once"
    );
    let cookie = joined.header("set-cookie").to_ascii_lowercase();
    assert!(
        cookie.contains("httponly") && cookie.contains("samesite=lax"),
        "{cookie}"
    );
    let again = call(Method::POST, "/v1/rooms/sale/places", json!({}))
        .await
        .is(200);
    assert_eq!(
        (&again["number"], &again["secret"]),
        (&json!(0), &json!(null))
    );

    promoter.draw("sale").await;
    let claimed = crate::harness::until("the turn comes", async || {
        let answer = call(Method::POST, "/v1/rooms/sale/pass", json!({})).await;
        (answer.status == 201).then_some(answer)
    })
    .await;
    assert!(
        claimed
            .header("set-cookie")
            .to_ascii_lowercase()
            .contains("httponly")
    );
    call(
        Method::POST,
        "/v1/shows/night/holds",
        json!({"best": {"quantity": 2}}),
    )
    .await
    .is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visitor_who_left_gets_a_new_number_at_the_end() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let mut ana = Visitor::joined(&server, "sale").await;
    let ben = Visitor::joined(&server, "sale").await;
    ana.leave().await.is(204);
    ana.leave().await.is(204);
    ana.post("pass", &json!({}))
        .await
        .problem(410, "place_left");
    ana.place.clear();
    ana.join().await;
    assert_eq!(ana.number, 2, "a new number, after everybody else's");

    promoter.draw("sale").await;
    let record = server.get("/v1/rooms/sale/draw").await.is(200);
    assert_eq!((&record["n"], &record["voids"]), (&json!(3), &json!(1)));
    // The void number holds up nobody, so both remaining visitors get a pass.
    for mut visitor in [ana, ben] {
        visitor.claim().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_gives_one_place_and_stays_used_after_leaving() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("4x10", json!({}), json!({"codes": "required"}))
        .await;
    promoter
        .put_text("rooms/sale/codes", "ROSE-1\nROSE-2\n".to_owned())
        .await
        .is(200);
    let (mut ana, ben) = (Visitor::new(&server, "sale"), Visitor::new(&server, "sale"));
    ana.post("places", &json!({"secret": ana.secret}))
        .await
        .problem(403, "code_invalid");
    ana.post("places", &json!({"secret": ana.secret, "code": "ROSE-9"}))
        .await
        .problem(403, "code_invalid");
    let joined = ana
        .post("places", &json!({"secret": ana.secret, "code": "ROSE-1"}))
        .await
        .is(201);
    ben.post("places", &json!({"secret": ben.secret, "code": "ROSE-1"}))
        .await
        .problem(403, "code_used");
    let again = ana
        .post("places", &json!({"secret": ana.secret, "code": "ROSE-1"}))
        .await
        .is(200);
    assert_eq!(again["number"], joined["number"]);
    ana.place = joined["place"].as_str().expect("a place").to_owned();
    ana.leave().await.is(204);
    ben.post("places", &json!({"secret": ben.secret, "code": "ROSE-1"}))
        .await
        .problem(403, "code_used");
    ben.post("places", &json!({"secret": ben.secret, "code": "ROSE-2"}))
        .await
        .is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_room_refuses_joins_and_claims() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let ana = Visitor::joined(&server, "sale").await;
    promoter.post("rooms/sale/close").await.is(200);
    let late = Visitor::new(&server, "sale");
    late.post("places", &json!({"secret": late.secret}))
        .await
        .problem(410, "room_closed");
    ana.post("pass", &json!({}))
        .await
        .problem(410, "room_closed");
    assert_eq!(ana.look().await["state"], "closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_whose_browser_blocks_cookies_says_so_and_takes_no_place() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    browser.go(&server.at("/r/sale")).await;
    browser
        .until::<bool>("document.documentElement.classList.contains('js')")
        .await;
    browser.block_cookies().await;
    for _ in 0..3 {
        browser.click("#join").await;
        let told: String = browser
            .until("!document.getElementById('problem').hidden && document.getElementById('problem').textContent")
            .await;
        assert!(told.contains("Your browser blocks cookies"), "{told}");
        browser
            .run("document.getElementById('problem').hidden = true")
            .await;
    }
    let next = Visitor::joined(&server, "sale").await.number;
    assert_eq!(next, 0, "the browser took no place");
    browser.close("blocked cookies").await;
}
