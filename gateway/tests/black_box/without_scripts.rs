//! Tests a browser that runs no scripts: the visitor gets from joining to the tickets with forms
//! alone.

use reqwest::RequestBuilder;
use serde_json::{Value, json};

use crate::card_form::{confirm, selling_by_card};
use crate::harness::{Browser, Promoter, Server, TestAnswer, TestShop, Visitor, show, text, until};
use crate::rail;

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_a_visitor_can_join_check_the_place_and_take_the_turn() {
    let Some(browser) = Browser::without_scripts().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    browser.go(&server.at("/r/sale")).await;
    browser.press("#join").await;
    browser.shows("#number", |text| text == "0").await;
    browser.picture("1-lobby-without-scripts").await;
    promoter.draw("sale").await;
    until("the turn is on the page", async || {
        browser.press("#check-place").await;
        browser.has("#turn-form:not([hidden])").await.then_some(())
    })
    .await;
    browser.press("#turn").await;
    browser
        .shows("#go-seats:not([hidden]) a", |text| !text.is_empty())
        .await;
    browser.picture("2-lobby-admitted-without-scripts").await;
    let next = Visitor::joined(&server, "sale").await.number;
    assert_eq!(next, 1, "the visitor joined only once");

    browser.press("#go-seats a").await;
    browser
        .shows("#plain-form", |html| html.contains("Best available"))
        .await;
    browser.picture("3-seats-without-scripts").await;
    browser.enter("#plain-seats", "A-1, A-2").await;
    browser.press("#plain-hold").await;
    browser
        .shows("#plain-seats", |html| {
            html.contains("A-1") && html.contains("A-2")
        })
        .await;
    browser.enter("#plain-name", "Ana Fan").await;
    browser.enter("#plain-email", "ana@example.org").await;
    browser.picture("5-checkout-without-scripts").await;
    browser.press("#plain-order").await;
    browser
        .shows("#plain-state", |text| text == "Waiting for payment")
        .await;
    browser.picture("6-order-without-scripts").await;
    browser.press("#plain-approve").await;
    browser
        .shows("#plain-state", |text| text != "Waiting for payment")
        .await;
    until("the tickets are on the page", async || {
        if browser.has("#plain-tickets li + li svg").await {
            return Some(());
        }
        browser.reload().await;
        None
    })
    .await;
    browser.picture("7-tickets-without-scripts").await;
    browser.close("without scripts").await;
}

/// Fills the fields of a form into a request.
fn filled(request: RequestBuilder, fields: &[(&str, &str)]) -> RequestBuilder {
    let body = gateway::pages::with_query("", fields);
    let body = body.trim_start_matches('?').to_owned();
    request
        .header("content-type", "application/x-www-form-urlencoded")
        .body(body)
}

/// Sends a form as a browser with these cookies does, and returns the answer.
async fn send(server: &Server, path: &str, cookie: &str, fields: &[(&str, &str)]) -> TestAnswer {
    let request = server.http.post(server.at(path));
    let request = request
        .header("accept", "text/html")
        .header("cookie", cookie);
    let sent = TestAnswer::of(filled(request, fields)).await;
    sent.expect("an answer")
}

/// Returns whether a page has a link to this path.
fn links_to(page: &TestAnswer, path: &str) -> bool {
    let html = page.text().replace("&#x2f;", "/");
    html.contains(&format!("href=\"{path}\""))
}

/// Returns the cookie that holds a visitor's pass.
async fn pass_cookie(visitor: &Visitor<'_>) -> String {
    let claimed = visitor.post_once("pass", &json!({})).await;
    let cookies = claimed.headers.get_all("set-cookie").iter();
    let mut cookies = cookies.filter_map(|cookie| cookie.to_str().ok());
    let cookie = cookies.find(|cookie| cookie.starts_with("fgp_"));
    let cookie = cookie.expect("a pass").split(';').next();
    cookie.expect("a value").to_owned()
}

/// Opens a sale whose line is drawn, and admits two visitors. Returns the cookies of their passes.
async fn passes_of_two(server: &Server) -> [String; 2] {
    let promoter = Promoter::of(server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(server, "sale").await;
    let ben = Visitor::admitted(server, "sale").await;
    [pass_cookie(&ana).await, pass_cookie(&ben).await]
}

/// Returns a hall with stalls, a gallery that costs less, and a floor to stand on.
fn hall_with_floor() -> Value {
    let section = |label: &str, category: &str, y: u32| {
        let row =
            |row: &str, y: u32| json!({"label": row, "count": 8, "from": [0, y], "to": [160, y]});
        json!({"label": label, "category": category, "rows": [row("A", y), row("B", y + 24)]})
    };
    json!({
        "categories": [{"key": "cat1", "label": "Stalls"}, {"key": "cat2", "label": "Gallery"}],
        "sections": [section("Stalls", "cat1", 0), section("Gallery", "cat2", 100)],
        "areas": [{"label": "Floor", "category": "cat2", "capacity": 30, "center": [80, -40]}],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_free_seats_and_standing_places_are_picked_from_a_list() {
    let Some(browser) = Browser::without_scripts().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    for (what, document) in [
        ("venues/hall?format=fairgate", hall_with_floor()),
        ("shows/night", show("hall", json!({"walk_in": true}))),
    ] {
        promoter.put(what, &document).await.is(200);
    }
    // This show is a walk-in, so the browser joins the line of the room `everyday`.
    browser.go(&server.at("/r/everyday")).await;
    browser.press("#join").await;
    until("the turn is on the page", async || {
        browser.press("#check-place").await;
        browser.has("#turn-form:not([hidden])").await.then_some(())
    })
    .await;
    browser.press("#turn").await;
    browser.shows("#turn-form[hidden]", |_| true).await;

    let taker = Visitor::admitted(&server, "everyday").await;
    let seat = json!({"seats": ["Gallery-A-2"]});
    server.try_hold(&taker, "night", &seat).await.is(201);
    browser.go(&server.at("/s/night")).await;
    browser.press("#plain-free").await;
    browser
        .shows("#free-sections", |html| {
            html.contains("Stalls: 16 free") && html.contains("Gallery: 15 free")
        })
        .await;
    browser.picture("3-free-sections-without-scripts").await;
    browser.press("#free-sections li:nth-child(2) a").await;
    browser
        .shows("#free-seats", |html| {
            html.contains("Gallery-A-1") && !html.contains("Gallery-A-2")
        })
        .await;
    browser.picture("3-free-seats-without-scripts").await;
    browser.press("[value=Gallery-A-3]").await;
    browser.press("[value=Gallery-A-4]").await;
    browser.press("#free-hold").await;
    browser
        .shows("#plain-seats", |html| {
            html.contains("Gallery-A-3") && html.contains("Gallery-A-4")
        })
        .await;

    browser.go(&server.at("/s/night?free=all")).await;
    browser.press("[name=places-0]").await;
    browser.press_key("ArrowUp").await;
    browser.press("#free-areas-hold").await;
    browser
        .shows("#plain-seats", |html| html.contains("Floor"))
        .await;
    browser.close("a list without scripts").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_free_seats_holds_what_is_ticked_and_tells_what_is_taken() {
    let server = Server::start().await;
    let [of_ana, of_ben] = passes_of_two(&server).await;
    let ticked = [("seat", "A-1"), ("seat", "A-2"), ("key", "one")];
    let held = send(&server, "/s/night/hold", &of_ana, &ticked).await;
    assert_eq!(held.status, 303, "{}", held.text());
    let late = [("seat", "A-2"), ("seat", "A-3"), ("key", "two")];
    let refused = send(&server, "/s/night/hold", &of_ben, &late).await;
    assert_eq!(refused.status, 409);
    assert!(refused.text().contains("A-2"), "{}", refused.text());
    // The same form with other seats is a new call, although its key is the same.
    let other = [("seat", "A-3"), ("seat", "A-4"), ("key", "two")];
    let other = send(&server, "/s/night/hold", &of_ben, &other).await;
    assert_eq!(other.status, 303, "{}", other.text());
    let nothing = [("key", "three"), ("free", "0"), ("page", "2")];
    let nothing = send(&server, "/s/night/hold", &of_ben, &nothing).await;
    assert_eq!(nothing.status, 422);
    assert!(nothing.text().contains("You chose nothing"));
    assert!(links_to(&nothing, "/s/night?free=0&amp;page=2"));
    // If a hall has only one section, its seats are listed at once.
    for (query, lists) in [
        ("?free=all", true),
        ("?free=0&page=9", true),
        ("?free=7", false),
    ] {
        let page = server.get(&format!("/s/night{query}")).await;
        assert_eq!(page.status, 200, "{query}");
        let html = page.text();
        assert!(!html.contains("value=\"A-1\""), "{query}");
        assert_eq!(html.contains("value=\"A-5\""), lists, "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn held_seats_are_given_back_by_a_form_of_whoever_holds_them() {
    let server = Server::start().await;
    let [of_ana, of_ben] = passes_of_two(&server).await;
    let ticked = [("seat", "A-1"), ("seat", "A-2"), ("key", "one")];
    let held = send(&server, "/s/night/hold", &of_ana, &ticked).await;
    let checkout = held.header("location").split('?').next().expect("a path");
    let release = format!("{checkout}/release");
    let shown = server.http.get(server.at(held.header("location")));
    let shown = TestAnswer::of(shown.header("cookie", &of_ana)).await;
    assert!(shown.expect("an answer").text().contains("plain-release"));

    let refused = send(&server, &release, &of_ben, &[]).await;
    assert_eq!(refused.status, 403);
    let foreign = server.http.post(server.at(&release));
    let foreign = foreign
        .header("cookie", &of_ana)
        .header("origin", "https://elsewhere.example");
    let foreign = TestAnswer::of(foreign).await.expect("an answer");
    assert_eq!(foreign.status, 403);
    let released = send(&server, &release, &of_ana, &[]).await;
    assert_eq!(released.status, 303, "{}", released.text());
    assert_eq!(released.header("location"), "/s/night");
    let again = send(&server, "/s/night/hold", &of_ben, &ticked).await;
    assert_eq!(again.status, 303, "the seats are free");
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_that_are_kept_for_late_money_are_taken_by_a_form() {
    let short =
        json!({"title": "Night one", "hold_s": 1, "grace_s": 0, "claim_grace_s": 0, "pay_s": 3});
    let (stripe, server) = selling_by_card(short).await;
    let seats = json!({"seats": ["A-1", "A-2"]});
    let ana = Visitor::admitted(&server, "sale").await;
    let held = server.try_hold(&ana, "night", &seats).await.is(201);
    let late = server.checkout(&ana, &held).await;
    server.order_in(&late, "expired").await;
    // Somebody else has the seats, so the late money gets an offer of other seats.
    let ben = Visitor::admitted(&server, "sale").await;
    let held = server.try_hold(&ben, "night", &seats).await.is(201);
    let others = server.checkout(&ben, &held).await;
    confirm(&stripe, &ben, &others).await;
    server.order_in(&others, "ticketed").await;
    confirm(&stripe, &ana, &late).await;
    server.order_in(&late, "awaiting_consent").await;

    let (id, key) = (text(&late, "order"), text(&late, "order_key"));
    let (consent, own) = (format!("/o/{id}/consent"), format!("fgo_{id}={key}"));
    let yes = [("accept", "yes")];
    for (cookie, fields, status) in [
        (own.as_str(), &[][..], 422),
        (&own, &[("accept", "perhaps")], 422),
        ("a=b", &yes, 404),
        (&format!("{own}x"), &yes, 403),
    ] {
        let refused = send(&server, &consent, cookie, fields).await;
        assert_eq!(refused.status, status, "{}", refused.text());
    }
    let offered = server.read(&late).await;
    assert_eq!(offered["state"], "awaiting_consent", "nothing was decided");
    let pressed = [(), ()].map(|()| send(&server, &consent, &own, &yes));
    let pressed = futures_util::future::join_all(pressed).await;
    assert!(pressed.iter().any(|one| one.status == 303));
    let taken = server.order_in(&late, "ticketed").await;
    assert_eq!(taken["tickets"].as_array().map(Vec::len), Some(2));
    assert_eq!(taken["total"], late["total"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_is_sent_once_and_serves_nobody_else() {
    let server = Server::start().await;
    let [of_ana, of_ben] = passes_of_two(&server).await;
    let best = [("quantity", "2"), ("key", "once")];

    // Without a pass the page leads to the waiting room.
    let refused = send(&server, "/s/night/hold", "a=b", &best).await;
    assert_eq!(refused.status, 429);
    assert!(links_to(&refused, "/r/sale"));

    let pressed = [
        send(&server, "/s/night/hold", &of_ana, &best),
        send(&server, "/s/night/hold", &of_ana, &best),
    ];
    let pressed = futures_util::future::join_all(pressed).await;
    let places: Vec<&str> = pressed.iter().map(|one| one.header("location")).collect();
    assert_eq!(pressed[0].status, 303, "{}", pressed[0].text());
    assert_eq!(places[0], places[1], "both hold the same seats");
    let checkout = places[0].split('?').next().expect("a path").to_owned();
    assert!(checkout.starts_with("/checkout/hold_night_"), "{checkout}");

    // Another visitor cannot use this checkout, nor can a foreign page.
    let buyer = [("name", "Ana"), ("email", "ana@example.org"), ("key", "o")];
    let of_another = send(&server, &checkout, &of_ben, &buyer).await;
    assert_eq!(of_another.status, 403);
    let foreign = filled(server.http.post(server.at(&checkout)), &buyer);
    let foreign = foreign
        .header("cookie", &of_ana)
        .header("origin", "https://elsewhere.example");
    let foreign = TestAnswer::of(foreign).await.expect("an answer");
    assert_eq!(foreign.status, 403);
    let faulty = send(&server, &checkout, &of_ana, &[("name", ""), ("email", "x")]).await;
    assert_eq!(faulty.status, 422);
    assert!(links_to(&faulty, &format!("{checkout}?plain=1")));

    let page = order_once(&server, &checkout, &of_ana, &buyer).await;
    only_its_cookie_pays(&server, &page, &of_ana).await;
}

/// Sends the form of a checkout twice. Returns the order's page and the cookie with its key.
async fn order_once(
    server: &Server,
    checkout: &str,
    pass: &str,
    buyer: &[(&str, &str)],
) -> (String, String) {
    let ordered = send(server, checkout, pass, buyer).await;
    assert_eq!(ordered.status, 303, "{}", ordered.text());
    let again = send(server, checkout, pass, buyer).await;
    let page = ordered.header("location");
    assert_eq!(again.header("location"), page, "it is one order");
    let cookie = ordered.header("set-cookie").split(';').next();
    (page.to_owned(), cookie.expect("a cookie").to_owned())
}

/// Pays an order by its form. Only the browser with the order's cookie can do this.
async fn only_its_cookie_pays(server: &Server, (page, key): &(String, String), pass: &str) {
    let pay = async |cookie: &str| {
        let outcome = [("outcome", "approve")];
        send(server, &format!("{page}/pay"), cookie, &outcome).await
    };
    assert_eq!(pay(pass).await.status, 404);
    assert_eq!(pay(&format!("{key}x")).await.status, 403);
    let paid = pay(key).await;
    assert_eq!(paid.status, 303, "{}", paid.text());
    until("the tickets are on the page", async || {
        let request = server.http.get(server.at(page)).header("cookie", key);
        let shown = TestAnswer::of(request).await.ok()?.text();
        (shown.matches("<svg").count() >= 2 && shown.contains("plain-tickets")).then_some(())
    })
    .await;
    // The page contains the key for its scripts, which cannot read the cookie. Nobody else gets it.
    let secret = key.split_once('=').expect("a cookie").1;
    let own = server.http.get(server.at(page)).header("cookie", key);
    let own = TestAnswer::of(own).await.expect("an answer").text();
    assert!(own.contains(secret), "the page has the key");
    let stranger = server.get(page).await.text();
    assert!(!stranger.contains("plain-tickets") && !stranger.contains(secret));
    let consent = [("accept", "yes")];
    for (cookie, status) in [(key.as_str(), 409), (pass, 404)] {
        let refused = send(server, &format!("{page}/consent"), cookie, &consent).await;
        assert_eq!(refused.status, status, "{}", refused.text());
    }
}

/// Orders held seats by the form of the checkout. Returns the order's page and the cookie with its
/// key.
async fn order_by_form(
    server: &Server,
    held: &TestAnswer,
    pass: &str,
    travellers: &[&str],
) -> (String, String) {
    assert_eq!(held.status, 303, "{}", held.text());
    let checkout = held.header("location").split('?').next().expect("a path");
    let names: Vec<String> = (0..travellers.len())
        .map(|nth| format!("traveller-{nth}"))
        .collect();
    let mut fields = vec![("name", "Ana"), ("email", "ana@example.org"), ("key", "o")];
    fields.extend(
        names
            .iter()
            .map(String::as_str)
            .zip(travellers.iter().copied()),
    );
    order_once(server, checkout, pass, &fields).await
}

/// Waits until the page of an order shows these words to a browser without scripts.
async fn shows_order(server: &Server, (page, key): &(String, String), words: &[&str]) {
    until("the order shows what it should", async || {
        let request = server.http.get(server.at(page)).header("cookie", key);
        let shown = TestAnswer::of(request).await.ok()?.text();
        words.iter().all(|one| shown.contains(one)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_booked_by_forms_for_its_stretch_and_a_declined_payment_says_so() {
    let server = rail::opened().await;
    let date = rail::date();
    let ana = Visitor::admitted(&server, "everyday").await;
    let pass = pass_cookie(&ana).await;
    let address = format!("/s/r1-{date}?from=RVN&to=LAK&date={date}");
    let page = server.get(&address).await.text();
    for field in ["name=\"from\" value=\"RVN\"", "name=\"to\" value=\"LAK\""] {
        assert!(page.contains(field), "{field}");
    }
    let trips = format!("/v1/rail/trips?from=RVN&to=LAK&date={date}");
    let trips = server.get(&trips).await.is(200);
    let classes = trips[0]["classes"].as_array().expect("classes");
    let second = classes.iter().find(|one| one["class"] == "second");
    let price = second.expect("a class")["price"]["amount"].as_i64();

    let wish = [
        ("quantity", "2"),
        ("class", "second"),
        ("from", "RVN"),
        ("to", "LAK"),
        ("key", "h"),
    ];
    let held = send(&server, &format!("/s/r1-{date}/hold"), &pass, &wish).await;
    let order = order_by_form(&server, &held, &pass, &["Ana Fan", "Ben Fan"]).await;
    let id = order.0.rsplit('/').next().expect("an id");
    let key = order.1.split_once('=').expect("a cookie").1;
    let known = server.http.get(server.at(&format!("/v1/orders/{id}")));
    let known = TestAnswer::of(known.bearer_auth(key)).await;
    let known = known.expect("an answer").is(200);
    assert_eq!(known["total"]["amount"].as_i64(), price.map(|one| 2 * one));
    assert_eq!(known["seats"][1]["traveller"], "Ben Fan");

    let decline = [("outcome", "decline")];
    send(&server, &format!("{}/pay", order.0), &order.1, &decline).await;
    shows_order(&server, &order, &["id=\"plain-reason\"", "plain-approve"]).await;
    let approve = [("outcome", "approve")];
    send(&server, &format!("{}/pay", order.0), &order.1, &approve).await;
    shows_order(&server, &order, &["plain-tickets", "Ben Fan"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn seats_that_cost_nothing_are_ordered_by_forms_without_a_payment() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let free = json!({"prices": {"cat1": 0, "cat2": 0}});
    promoter.on_sale("4x10", free, json!({})).await;
    promoter.draw("sale").await;
    let ana = Visitor::admitted(&server, "sale").await;
    let pass = pass_cookie(&ana).await;
    let best = [("quantity", "2"), ("key", "h")];
    let held = send(&server, "/s/night/hold", &pass, &best).await;
    let order = order_by_form(&server, &held, &pass, &[]).await;
    shows_order(&server, &order, &["plain-tickets", "€0.00"]).await;
    // There is no payment to approve, and the form says so.
    let approve = [("outcome", "approve")];
    let refused = send(&server, &format!("{}/pay", order.0), &order.1, &approve).await;
    assert_eq!(refused.status, 409);
    assert!(links_to(&refused, &order.0));
}

/// Returns the values of a form's hidden fields and of its fields with a value, by their names, and
/// its action.
fn form_of(page: &str, id: &str) -> (String, Vec<(String, String)>) {
    let form = page
        .split("<form ")
        .find(|form| form.contains(&format!("id=\"{id}\"")));
    let form = form
        .expect("the form")
        .split("</form>")
        .next()
        .expect("its end");
    let attribute = |tag: &str, name: &str| {
        let from = tag.split(&format!(" {name}=\"")).nth(1)?;
        Some(from.split('"').next()?.replace("&#x2f;", "/"))
    };
    let tag = format!(" {}", form.split('>').next().expect("a tag"));
    assert_eq!(attribute(&tag, "method").as_deref(), Some("post"), "{tag}");
    let fields = form.split("<input").skip(1).filter_map(|input| {
        let input = input.split('>').next()?;
        Some((attribute(input, "name")?, attribute(input, "value")?))
    });
    (
        attribute(&tag, "action").expect("an action"),
        fields.collect(),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn the_best_seats_are_found_although_the_button_is_pressed_before_the_scripts_have_come() {
    let server = Server::start().await;
    let [of_ana, of_ben] = passes_of_two(&server).await;
    let page = server.get("/s/night").await;
    let (action, fields) = form_of(&page.text(), "best-form");
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let found = send(&server, &action, &of_ana, &fields).await;
    assert_eq!(found.status, 303, "{}", found.text());
    let again = send(&server, &action, &of_ana, &fields).await;
    assert_eq!(again.header("location"), found.header("location"));
    let checkout = found.header("location").to_owned();
    let shown = server
        .http
        .get(server.at(&checkout))
        .header("cookie", &of_ana);
    let shown = TestAnswer::of(shown).await.expect("an answer").text();
    let seats = shown.split("id=\"plain-seats\"").nth(1).expect("the seats");
    assert!(seats.contains("A-"), "{seats}");
    // Somebody who has no pass yet is led to the waiting room.
    let refused = send(&server, &action, "a=b", &fields).await;
    assert!(links_to(&refused, "/r/sale"), "{}", refused.text());
    let other = send(&server, &action, &of_ben, &fields).await;
    assert_eq!(other.status, 303, "{}", other.text());
    assert_ne!(other.header("location"), checkout);
}
