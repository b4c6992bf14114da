//! Tests the cookies of places and passes: that they are short, that they are bound to their room,
//! and that those of earlier releases are replaced.

mod support;

use fairgate_servers::actors::until;
use fairgate_servers::{NginxServer, PostgresServer, RedisServers, must_skip, must_skip_nginx};
use reqwest::cookie::{CookieStore, Jar};
use serde_json::{Value, json};
use support::{Gateway, PROMOTER, TestAnswer};

/// The greatest length of a cookie, with its name, if the room's slug has 20 characters.
const COOKIE_BYTES_MAX: usize = 150;

/// Returns the cookies that an answer sets, without their attributes.
fn cookies_set(answer: &TestAnswer) -> Vec<String> {
    let all = answer.headers.get_all("set-cookie").iter();
    all.map(|cookie| {
        let cookie = cookie.to_str().expect("text");
        cookie.split(';').next().expect("a pair").to_owned()
    })
    .collect()
}

fn cookie_set(answer: &TestAnswer) -> String {
    match cookies_set(answer).as_slice() {
        [cookie] => cookie.clone(),
        other => panic!("{} set {other:?}", answer.asked),
    }
}

/// Makes a call with these cookies and no Bearer.
async fn with_cookies(gateway: &Gateway, method: &str, path: &str, cookies: &str) -> TestAnswer {
    let method = method.parse().expect("a method");
    let request = gateway.client.request(method, gateway.url(path));
    Gateway::read(request.header("cookie", cookies)).await
}

/// Makes a room without a line, in which everybody is called at once.
async fn open_doors(gateway: &Gateway, room: &str, changes: Value) {
    let mut document = json!({"method": "open", "draw_at": "2020-01-01T00:00:00Z"});
    for (field, value) in changes.as_object().expect("an object") {
        document[field] = value.clone();
    }
    gateway.open_room(room, document).await;
}

#[tokio::test]
async fn twenty_rooms_of_one_browser_work_behind_a_default_nginx() {
    if must_skip_nginx("twenty rooms behind nginx") {
        return;
    }
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    let nginx = NginxServer::before(&gateway.address.to_string())
        .await
        .expect("it starts");
    let jar = std::sync::Arc::new(Jar::default());
    let browser = reqwest::Client::builder().cookie_provider(jar.clone());
    let browser = browser.build().expect("a client");
    let url = |path: &str| format!("{}{path}", nginx.url());
    let sent = || {
        let url = url("/").parse().expect("an address");
        let cookies = jar.cookies(&url).expect("cookies");
        cookies.to_str().expect("text").to_owned()
    };

    let rooms: Vec<String> = (0..20)
        .map(|at| format!("night-of-the-show-{at:02}"))
        .collect();
    let mut older = Vec::new();
    for room in &rooms {
        assert_eq!(room.len(), 20);
        open_doors(&gateway, room, json!({"codes": "required"})).await;
        let codes = gateway
            .client
            .put(gateway.url(&format!("/v1/promoter/rooms/{room}/codes")));
        let codes = codes.bearer_auth(PROMOTER).body("CODE-OF-THE-FAN");
        assert_eq!(Gateway::read(codes).await.status, 200);
        // A slow machine may refuse joins for a moment.
        let joined = until("a place is given", async || {
            let join = browser.post(url(&format!("/v1/rooms/{room}/places")));
            let joined = Gateway::read(join.json(&json!({"code": "CODE-OF-THE-FAN"}))).await;
            (joined.status != 429).then_some(joined)
        })
        .await;
        let place = joined.is(201)["place"].as_str().expect("a JWT").to_owned();
        older.push(format!("fairgate_place_{room}={place}"));
    }
    let places = sent();
    assert!(places.len() < 4_096, "{} bytes of cookies", places.len());
    for cookie in places.split("; ") {
        assert!(
            cookie.len() <= COOKIE_BYTES_MAX - "__Host-".len(),
            "{cookie}"
        );
    }
    for room in &rooms {
        let path = url(&format!("/v1/rooms/{room}/place"));
        let place = Gateway::read(browser.get(path)).await.is(200);
        assert_eq!(place["number"], 0, "{room}");
        let claim = browser.post(url(&format!("/v1/rooms/{room}/pass")));
        Gateway::read(claim).await.is(201);
    }
    for room in &rooms {
        let path = url(&format!("/v1/verify?room={room}"));
        Gateway::read(browser.get(path)).await.is(204);
    }
    eprintln!(
        "twenty places: {} bytes of cookies; with twenty passes: {} bytes",
        places.len(),
        sent().len()
    );
    // The cookies of earlier releases are too long for this nginx.
    let whole = gateway
        .client
        .get(url("/"))
        .header("cookie", older.join("; "));
    let refused = TestAnswer::of(whole).await;
    assert!(refused.is_ok_and(|answer| answer.status == 400));
}

#[tokio::test]
async fn over_tls_a_cookie_is_the_hosts_own_and_has_at_most_150_bytes() {
    let data = tempfile::tempdir().expect("a folder");
    let public = [("public_url", "https://sale.example")];
    let gateway = Gateway::start_with(data.path(), &public).await;
    let room = "night-of-the-show-01";
    open_doors(&gateway, room, json!({})).await;
    let joined = gateway.join(room, json!({})).await;
    let pair = cookie_set(&joined);
    let path = format!("/v1/rooms/{room}/pass");
    let claimed = with_cookies(&gateway, "POST", &path, &pair).await;
    claimed.is(201);
    for (answer, name) in [(&joined, "__Host-fg_"), (&claimed, "__Host-fgp_")] {
        let set = answer.header("set-cookie");
        let attributes = "; HttpOnly; SameSite=Lax; Path=/; Max-Age=";
        assert!(set.starts_with(&format!("{name}{room}=")), "{set}");
        assert!(
            set.contains(attributes) && set.ends_with("; Secure"),
            "{set}"
        );
        let pair = cookie_set(answer);
        assert!(pair.len() <= COOKIE_BYTES_MAX, "{} bytes", pair.len());
    }
}

#[tokio::test]
async fn tampered_swapped_and_foreign_cookies_are_refused() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    for room in ["demo", "other"] {
        open_doors(&gateway, room, json!({})).await;
    }
    let place = cookie_set(&gateway.join("demo", json!({})).await);
    let pass = with_cookies(&gateway, "POST", "/v1/rooms/demo/pass", &place).await;
    let pass = cookie_set(&pass);
    let value = |pair: &str| pair.split_once('=').expect("a pair").1.to_owned();
    let (place, pass) = (value(&place), value(&pass));
    let other = value(&cookie_set(&gateway.join("other", json!({})).await));

    let good = format!("fg_demo={place}");
    let read =
        async |cookies: &str| with_cookies(&gateway, "GET", "/v1/rooms/demo/place", cookies).await;
    read(&good).await.is(200);
    let flipped = if place.starts_with('A') { "B" } else { "A" };
    let tampered = format!("{flipped}{}", &place[1..]);
    for bad in [
        &tampered,
        &other,
        &pass,
        &place[1..].to_owned(),
        &String::new(),
    ] {
        let refused = read(&format!("fg_demo={bad}")).await;
        refused.problem(401, "place_invalid");
    }
    let verify =
        async |cookies: &str| with_cookies(&gateway, "GET", "/v1/verify?room=demo", cookies).await;
    verify(&format!("fgp_demo={pass}")).await.is(204);
    for bad in [&place, &pass[1..].to_owned()] {
        let refused = verify(&format!("fgp_demo={bad}")).await;
        refused.problem(401, "pass_invalid");
    }
    // This cookie has the pass of one room under the name of another room.
    let moved = format!("fgp_other={pass}");
    let refused = with_cookies(&gateway, "GET", "/v1/verify?room=other", &moved).await;
    refused.problem(401, "pass_invalid");
}

#[tokio::test]
async fn cookies_of_earlier_releases_are_read_and_replaced() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    open_doors(&gateway, "demo", json!({})).await;
    let joined = gateway.join("demo", json!({})).await;
    let new = cookie_set(&joined);
    let place = joined.json()["place"].as_str().expect("a JWT").to_owned();
    let claimed = gateway
        .call("POST", "/v1/rooms/demo/pass", Some(&place), None)
        .await;
    let new_pass = cookie_set(&claimed);
    let pass = claimed.json()["pass"].as_str().expect("a JWT").to_owned();
    let older = format!("fairgate_place_demo={place}; fairgate_pass_demo={pass}");
    let (gone, pass_gone) = ("fairgate_place_demo=", "fairgate_pass_demo=");

    let read = with_cookies(&gateway, "GET", "/v1/rooms/demo/place", &older).await;
    assert_eq!(read.is(200)["number"], 0);
    assert_eq!(cookies_set(&read), [&new, gone, &new_pass, pass_gone]);
    let page = with_cookies(&gateway, "GET", "/r/demo", &older).await;
    assert_eq!(cookies_set(&page), [&new, gone, &new_pass, pass_gone]);
    let verified = with_cookies(&gateway, "GET", "/v1/verify?room=demo", &older).await;
    assert_eq!(verified.status, 204);

    // A browser that has both keeps the new one.
    let both = format!("{new}; fairgate_place_demo={place}");
    let read = with_cookies(&gateway, "GET", "/v1/rooms/demo/place", &both).await;
    assert_eq!(cookies_set(&read), [gone]);

    // An answer that shared caches may keep sets no cookie.
    let shared = with_cookies(&gateway, "GET", "/v1/rooms/demo", &older).await;
    assert!(shared.header("cache-control").contains("max-age"));
    assert_eq!(cookies_set(&shared), Vec::<String>::new());

    // A cookie that cannot be verified is not removed, and gives no access.
    let foreign = format!("fairgate_place_demo={}x", place);
    let read = with_cookies(&gateway, "GET", "/v1/rooms/demo/place", &foreign).await;
    read.problem(401, "place_required");
    assert_eq!(cookies_set(&read), Vec::<String>::new());

    // When a visitor leaves, the older cookie is removed, too, and not replaced.
    let older = format!("fairgate_place_demo={place}");
    let left = with_cookies(&gateway, "DELETE", "/v1/rooms/demo/place", &older).await;
    assert_eq!(left.status, 204);
    assert_eq!(cookies_set(&left), ["fg_demo=", gone]);
}

#[tokio::test]
async fn a_cookie_from_before_the_address_became_https_is_replaced() {
    let data = tempfile::tempdir().expect("a folder");
    let mut plain = Gateway::start(data.path()).await;
    plain.open_room("demo", json!({})).await;
    let older = cookie_set(&plain.join("demo", json!({})).await);
    plain.stop().await;
    let public = [("public_url", "https://sale.example")];
    let gateway = Gateway::start_with(data.path(), &public).await;
    let read = with_cookies(&gateway, "GET", "/v1/rooms/demo/place", &older).await;
    assert_eq!(read.is(200)["number"], 0);
    let own = format!("__Host-{older}");
    assert_eq!(cookies_set(&read), [&*own, "fg_demo="]);
}

#[tokio::test]
async fn no_other_cookies_hide_an_older_one() {
    let data = tempfile::tempdir().expect("a folder");
    let mut plain = Gateway::start(data.path()).await;
    plain.open_room("demo", json!({})).await;
    plain.open_room("other", json!({})).await;
    let valid = cookie_set(&plain.join("demo", json!({})).await);
    let joined = plain.join("other", json!({})).await;
    let place = joined.is(201)["place"].as_str().expect("a JWT").to_owned();
    plain.stop().await;
    let public = [("public_url", "https://sale.example")];
    let gateway = Gateway::start_with(data.path(), &public).await;
    let older = format!("fairgate_place_other={place}");
    let before = async |others: Vec<String>| {
        let cookies = format!("{}; {older}", others.join("; "));
        let read = with_cookies(&gateway, "GET", "/v1/rooms/other/place", &cookies).await;
        assert_eq!(read.is(200)["number"], 0);
        cookies_set(&read)
    };

    let unknown = (0..100).map(|at| format!("fg_unknown-{at}=AAAA"));
    let set = before(unknown.collect()).await;
    let own = format!("__Host-{}", cookie_set(&joined));
    assert_eq!(set, [&*own, "fairgate_place_other="]);
    // One answer replaces only the first forty.
    let set = before(vec![valid.clone(); 100]).await;
    let own = format!("__Host-{valid}");
    assert_eq!(set, [&*own, "fg_demo="].repeat(40));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_is_the_same_place_at_another_node_after_a_restart_and_after_redis_was_emptied() {
    if must_skip("cookies over a loss of Redis") {
        return;
    }
    let redis = RedisServers::single().await.expect("it starts");
    let database = PostgresServer::start().await.expect("it starts");
    let data = tempfile::tempdir().expect("a folder");
    let (redis_url, database_url) = (redis.url(), database.url());
    let settings = [("redis_url", &*redis_url), ("database_url", &*database_url)];
    let mut one = Gateway::start_with(data.path(), &settings).await;
    let document = json!({"codes": "required"});
    one.open_room("demo", document).await;
    let codes = one.client.put(one.url("/v1/promoter/rooms/demo/codes"));
    let codes = codes.bearer_auth(PROMOTER).body("FAN-1\nFAN-2");
    assert_eq!(Gateway::read(codes).await.status, 200);
    let joined = one.join("demo", json!({"code": "FAN-1"})).await;
    let place = joined.is(201)["place"].clone();
    let cookie = cookie_set(&joined);
    redis.flush_all().await.expect("it is emptied");
    one.stop().await;

    let other = Gateway::start_with(data.path(), &settings).await;
    let again = with_cookies(&other, "POST", "/v1/rooms/demo/places", &cookie).await;
    assert_eq!(again.is(200)["place"], place, "the very same place");
    let used = other.join("demo", json!({"code": "FAN-1"})).await;
    assert_eq!(used.refusal(), (403, "code_used".into()));
}
