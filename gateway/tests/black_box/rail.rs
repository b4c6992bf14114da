//! Tests the way from the search for trains to tickets with names. Stations are suggested while the
//! traveller types, a train is found, and two seats are held and paid. The search is also tested in
//! a browser that runs no scripts.

use std::path::Path;

use booking::choices::ImportDecisions;
use booking::commands::import_timetable::{RailFeedKind, TimetableImport, import_timetable};
use fairgate_model::payments::kind::ProviderKind;
use serde_json::{Value, json};

use crate::harness::{Browser, Server, TestShop, Visitor, in_seconds, until};
use crate::waiting::{give_back, state};

/// A timetable with two stations of similar names, and with Farend, which travellers from Riverton
/// reach only by changing trains.
const FEED: [(&str, &str); 3] = [
    (
        "stations.csv",
        "telecode,name,pinyin,abbr,pinyin_code,lon,lat\n\
         RVN,Riverton North,rivertonnorth,rn,rvn,9.0,50.0\n\
         RVS,Riverton South,rivertonsouth,rs,rvs,9.1,49.9\n\
         LAK,Lakeside <b>,lakeside,lk,lak,10.0,50.0\n\
         HIL,Hilltop,hilltop,ht,hil,11.0,50.0\n\
         FAR,Farend,farend,fe,far,12.0,50.0\n\
         BAY,Bay (Lak),bay,ba,bay,12.0,51.0\n",
    ),
    (
        "trains.csv",
        "trip_id,train_code,train_no,kind,stop_count,service_days,first_day,last_day\n\
         t1,R1,x,fast,3,ALL,,\n\
         t2,R3,x,fast,3,ALL,,\n\
         t3,N9,x,slow,2,ALL,,\n\
         t4,B7,x,slow,2,ALL,,\n",
    ),
    (
        "stop_times.csv",
        "trip_id,stop_sequence,station,arrival,departure,day_offset_arrival,day_offset_departure\n\
         t1,1,RVN,,08:00,,0\n\
         t1,3,LAK,09:00,09:05,0,0\n\
         t1,4,HIL,10:00,,0,\n\
         t2,1,RVN,,12:00,,0\n\
         t2,2,LAK,13:00,13:05,0,0\n\
         t2,3,HIL,14:00,,0,\n\
         t3,1,RVN,,22:30,,0\n\
         t3,2,HIL,02:10,,1,\n\
         t4,1,HIL,,15:00,,0\n\
         t4,2,FAR,16:00,,0,\n",
    ),
];

/// The terms of the trains, unless a test sets other terms.
pub const TERMS: &str = r#"
    [terms]
    exchange = { cheaper = "refund" }
    refunds = [{ until_h = 1, fee_pct = 10 }]
"#;

async fn put(data: &Path) {
    put_in("Europe/Berlin", TERMS, data).await;
}

/// Imports the timetable in this time zone. `settings` may hold carriages and terms.
pub async fn put_in(zone: &str, settings: &str, data: &Path) {
    let feed = tempfile::tempdir().expect("a folder");
    for (name, text) in FEED {
        std::fs::write(feed.path().join(name), text).expect("written");
    }
    let rail = feed.path().join("rail.toml");
    std::fs::write(&rail, settings).expect("written");
    let wanted = TimetableImport {
        source: RailFeedKind::Timetable {
            timezone: zone.to_owned(),
        },
        folder: feed.path().to_owned(),
        rail: Some(rail),
        data: data.to_owned(),
        database: None,
        payments: ProviderKind::None,
        decisions: ImportDecisions::default(),
    };
    import_timetable(wanted, 1).await.expect("imported");
}

pub async fn opened() -> Server {
    Server::prepared(&[], put).await
}

/// Returns the day after tomorrow, on which no train has left in any time zone.
pub fn date() -> String {
    in_seconds(2 * 86_400)[..10].to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_train_is_found_and_two_seats_of_it_are_booked_by_name() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = opened().await;
    ana.go(&server.at("/")).await;
    ana.click("a[href='/rail']").await;
    ana.until::<bool>("document.querySelector('#from').getAttribute('role') === 'combobox'")
        .await;
    ana.fill("#from", "rivert").await;
    ana.until::<bool>("document.querySelectorAll('#from-list:not([hidden]) li').length === 2")
        .await;
    ana.picture("11-rail-suggestions").await;
    ana.click("#from-list li").await;
    ana.fill("#to", "ht").await;
    ana.click("#to-list li").await;
    let chosen: Vec<String> = ana
        .until("document.querySelector('#to').value && [...document.querySelectorAll('#from, #to')].map(one => one.value)")
        .await;
    assert_eq!(chosen, ["Riverton North (RVN)", "Hilltop (HIL)"]);
    ana.run(&format!("document.querySelector('#date').value = '{}'; document.querySelector('#seats').value = '2'", date())).await;
    ana.click("#find").await;
    let clocks: Vec<String> = ana
        .until("document.querySelector('#found') && document.readyState === 'complete' && [...document.querySelectorAll('#found .find-clock')].map(one => one.textContent)")
        .await;
    assert_eq!(
        clocks,
        ["08:00", "10:00", "12:00", "14:00", "22:30", "02:10"]
    );
    ana.picture("11-rail-trains").await;
    ana.click("#found .train li[data-class='second'] a").await;
    ana.until::<bool>("document.querySelector('#train-form input:checked').value === 'second' && document.querySelector('#travellers').value === '2'").await;
    ana.picture("11-rail-train").await;
    ana.click("#hold").await;
    ana.until::<bool>("!document.querySelector('#held').hidden && document.querySelectorAll('#held-seats li').length === 2").await;
    ana.picture("11-rail-held").await;
    ana.click("#to-checkout").await;
    ana.until::<bool>("document.querySelectorAll('input.traveller').length === 2")
        .await;
    ana.fill("#buyer-name", "Ana Fan").await;
    ana.fill("#buyer-email", "ana@example.org").await;
    ana.fill("label:nth-child(1) input.traveller", "Ana Fan")
        .await;
    ana.click("#pay").await;
    ana.until::<bool>("!document.querySelector('#travellers-fault').hidden")
        .await;
    ana.picture("11-rail-checkout").await;
    ana.fill("label:nth-child(2) input.traveller", "Ben Fan")
        .await;
    ana.click("#pay").await;
    ana.until::<bool>(
        "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
    )
    .await;
    ana.click("#approve").await;
    ana.until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    let told: String = ana.until("document.querySelector('main').innerText").await;
    for words in ["R1 Riverton North – Hilltop", "Ana Fan", "Ben Fan"] {
        assert!(told.contains(words), "{words} in {told}");
    }
    ana.picture("11-rail-order").await;
    exchange_for_a_later_train(&ana).await;
    give_bens_ticket_back(&ana).await;
    ana.click(".ticket-link").await;
    ana.until::<bool>("document.querySelector('#qr svg') && document.querySelector('#name').textContent === 'Ana Fan'").await;
    ana.picture("11-rail-ticket").await;
    on_another_device(&ana, &server).await;
    ana.close("Ana").await;
}

/// Reads the order and its ticket in a second browser, which has the order's key and is set to
/// another time zone. The pages must show the times of the stations' clocks.
async fn on_another_device(ana: &Browser, server: &Server) {
    let ben = Browser::in_zone("America/New_York").await;
    let ben = ben.expect("chromium was there before");
    let kept: Vec<String> = ana
        .until("(() => { const [ticket, order] = [location.pathname.split('/').pop(), document.querySelector('#to-order').pathname.split('/').pop()]; return [ticket, order, JSON.parse(localStorage.getItem(`fairgate.order.${order}`)).key]; })()")
        .await;
    let [ticket, order, key] = kept.as_slice() else {
        panic!("{kept:?}");
    };
    ben.go(&server.at("/")).await;
    ben.run(&format!("localStorage.setItem('fairgate.order.{order}', JSON.stringify({{ key: '{key}' }})); localStorage.setItem('fairgate.ticket.{ticket}', JSON.stringify('{order}'))"))
        .await;
    for (page, title, words) in [
        (
            format!("/o/{order}"),
            "#show-title",
            "R3 Riverton North – Hilltop",
        ),
        (format!("/t/{ticket}"), "#starts", ""),
    ] {
        ben.go(&server.at(&page)).await;
        let told: String = ben
            .until(&format!("document.querySelector('{title}').textContent.includes('12:00 – 14:00') && document.querySelector('{title}').textContent"))
            .await;
        assert!(told.contains(words), "{told}");
    }
    ben.close("Ben").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_search_proposes_the_date_at_the_stations() {
    // The time zone is chosen so that its date differs from the date in Greenwich, whenever this
    // runs.
    let utc = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let zone = if utc.hour() < 10 {
        "Pacific/Pago_Pago"
    } else {
        "Pacific/Kiritimati"
    };
    let server = Server::prepared(&[], async |data| put_in(zone, TERMS, data).await).await;
    let there = || {
        let now = jiff::Timestamp::now().in_tz(zone).expect("a known zone");
        now.date().to_string()
    };
    let before = there();
    let days = server.get("/v1/rail/timetable").await.is(200);
    let page = server.get("/rail").await.text();
    let first = days["first"].as_str().expect("a day");
    assert!([before, there()].contains(&first.to_owned()), "{days}");
    assert_eq!(days["time_zone"], zone);
    let next = days["next"].as_str().expect("trains run every day");
    assert!(
        page.contains(&format!("name=\"date\" value=\"{next}\" min=\"{first}\"")),
        "{next}, {first}: {page}"
    );
    let found = server
        .get(&format!("/v1/rail/trips?from=RVN&to=HIL&date={next}"))
        .await;
    let trips = found.is(200);
    assert!(!trips.as_array().expect("a list").is_empty(), "{trips}");
    let today = utc.date().to_string();
    assert_ne!(first, today, "in Greenwich the date is another one");
}

/// Exchanges the tickets for the same class and stretch of a later train on that day, at the same
/// price. The travellers' names stay the same.
async fn exchange_for_a_later_train(ana: &Browser) {
    let before: String = ana.until("location.pathname").await;
    ana.click("#exchange-find").await;
    ana.until::<bool>("(() => { const select = document.querySelector('#exchange-train'); const later = [...select.options].find(({ text }) => text.startsWith('R3') && text.includes('12:00') && text.includes('Second')); if (later) select.value = later.value; return Boolean(later); })()")
        .await;
    ana.click("#exchange-ask summary").await;
    ana.picture("11-rail-exchange").await;
    ana.click("#exchange").await;
    ana.until::<bool>(&format!(
        "location.pathname !== '{before}' && document.querySelectorAll('#tickets svg').length === 2"
    ))
    .await;
    let told: String = ana.until("document.querySelector('main').innerText").await;
    for words in ["R3 Riverton North – Hilltop", "12:00", "Ana Fan", "Ben Fan"] {
        assert!(told.contains(words), "{words} in {told}");
    }
}

/// Gives Ben's ticket back, which is possible until an hour before the train leaves. The other
/// ticket stays valid.
async fn give_bens_ticket_back(ana: &Browser) {
    let offered: Vec<String> = ana
        .until("document.querySelectorAll('#refund-tickets input').length === 2 && [...document.querySelectorAll('#refund-tickets li, #refund-until')].map(one => one.textContent)")
        .await;
    let all = offered.join(" | ");
    for words in ["Ana Fan", "Ben Fan", "11:00"] {
        assert!(all.contains(words), "{words} in {all}");
    }
    ana.click("#refund-tickets li:nth-child(2) input").await;
    ana.click("#refund-ask summary").await;
    ana.picture("11-rail-refund").await;
    ana.click("#refund").await;
    ana.until::<bool>("document.querySelector('#refunds li[data-state=done]') && document.querySelector('#order-state').dataset.state === 'partly_refunded'").await;
    ana.until::<bool>("document.querySelectorAll('#tickets li').length === 1")
        .await;
    ana.picture("11-rail-refunded").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_scripts_the_search_asks_which_station_is_meant() {
    let Some(browser) = Browser::without_scripts().await else {
        return;
    };
    let server = opened().await;
    let date = date();
    browser
        .go(&server.at(&format!("/rail?from=Rivertn&to=farend&date={date}&seats=1")))
        .await;
    browser
        .shows("#choice-from", |text| text.contains("Rivertn"))
        .await;
    browser.picture("11-rail-which-station").await;
    browser.press("[data-choice='from'] li a").await;
    browser
        .shows("#changing-title", |text| {
            text == "1 journey with one change"
        })
        .await;
    assert!(
        browser
            .has("#changing [data-show^='r3-'] a[href*='class=second']")
            .await
    );
    assert!(browser.has("#changing [data-show^='b7-']").await);
    browser.picture("11-rail-one-change").await;
    // The links to other days and to the way back keep the choice of changes.
    let direct_only = format!("/rail?from=RVN&to=HIL&date={date}&seats=1&changes=0");
    browser.go(&server.at(&direct_only)).await;
    browser
        .shows("#changes option[selected]", |text| text == "Direct only")
        .await;
    for kept in ["a[rel=next][href*='changes=0']", "#swap[href*='changes=0']"] {
        assert!(browser.has(kept).await, "{kept}");
    }
    assert!(!browser.has("#changing").await);
    browser.press("#with-change").await;
    browser
        .shows("#changes option[selected]", |text| text == "Up to 1 change")
        .await;
    for kept in [
        "#changing",
        "a[rel=next][href*='changes=1']",
        "#swap[href*='changes=1']",
    ] {
        assert!(browser.has(kept).await, "{kept}");
    }
    browser.close("without scripts").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_text_is_escaped_and_a_wrong_query_is_explained() {
    let server = opened().await;
    let date = date();
    for (query, status, words) in [
        (String::new(), 200, "Find trains"),
        (
            "?from=%22%3E%3Cscript%3E&to=hilltop".to_owned(),
            200,
            "a station called",
        ),
        (
            format!("?from=RVN&to=LAK&date={date}"),
            200,
            "Lakeside &lt;b&gt;",
        ),
        (format!("?from=RVN&date={date}"), 422, "Where to?"),
        (format!("?to=LAK&date={date}"), 422, "Where from?"),
        (
            format!("?from=RVN&to=RVN&date={date}"),
            422,
            "the same station",
        ),
        (
            "?from=RVN&to=HIL&date=1999-01-01".to_owned(),
            422,
            "on sale from",
        ),
        (
            "?from=RVN&to=HIL&date=%3Cscript%3E".to_owned(),
            422,
            "is not a day",
        ),
    ] {
        let page = server.get(&format!("/rail{query}")).await;
        assert_eq!(page.status, status, "{query}");
        let text = page.text().replace("&#x2f;", "/");
        assert!(text.contains(words), "{query}: {words} in {text}");
        assert_eq!(
            text.matches("<script").count(),
            2,
            "{query}: one module and its texts"
        );
        assert!(!text.contains("Lakeside <b>"), "{query}");
    }
    let train = server
        .get(&format!(
            "/s/r1-{date}?from=LAK&to=HIL&class=first&seats=99"
        ))
        .await;
    let text = train.text();
    assert!(
        text.contains("09:05 → 10:00") && text.contains("value=\"first\" checked"),
        "{text}"
    );
    assert!(!text.contains("id=\"elsewhere\""), "{text}");
    for (query, words) in [
        ("?from=HIL&to=LAK", "id=\"elsewhere\""),
        ("?from=RVN&to=FAR", "route from Riverton North to Hilltop"),
        (
            "?from=LAK&to=nowhere",
            "route from Lakeside &lt;b&gt; to Hilltop",
        ),
    ] {
        let page = server.get(&format!("/s/r1-{date}{query}")).await;
        assert!(page.text().contains(words), "{query}: {}", page.text());
    }
    let gone = server.get("/s/r1-2020-01-01").await;
    assert!(gone.text().contains("has left"), "{}", gone.text());
    assert!(gone.text().contains("08:00 → 10:00"), "{}", gone.text());
    assert!(gone.text().contains("(Berlin time)"), "{}", gone.text());
    let found = server
        .get(&format!("/rail?from=RVN&to=HIL&date={date}"))
        .await
        .text();
    assert!(found.contains("All times are Berlin time."), "{found}");
    assert!(
        server
            .get("/")
            .await
            .text()
            .contains("Trains: find a connection")
    );
    let bare = Server::start().await;
    assert!(!bare.get("/").await.text().contains("Trains: find"));
    assert_eq!(
        bare.get("/rail").await.status,
        422,
        "a server without a timetable refuses the search"
    );
}

/// Holds all seats of the smallest class of train R1 on a date, from end to end. Returns the
/// class's key, and the visitors with their holds.
async fn filled<'a>(
    server: &'a Server,
    show: &str,
    date: &str,
) -> (String, Vec<(Visitor<'a>, Value)>) {
    let path = format!("/v1/rail/trips?from=RVN&to=HIL&date={date}");
    let trips = server.get(&path).await.is(200);
    assert_eq!(trips[0]["time_zone"], "Europe/Berlin");
    let classes = trips[0]["classes"].as_array().expect("a list");
    let class = classes
        .iter()
        .min_by_key(|class| class["free"].as_u64())
        .expect("a class");
    let (key, mut left) = (
        class["class"].as_str().expect("a key"),
        class["free"].as_u64().expect("a number"),
    );
    let mut baskets = Vec::new();
    while left > 0 {
        let visitor = Visitor::admitted(server, "everyday").await;
        let quantity = left.min(5);
        let ask = json!({"best": {"quantity": quantity, "class": key}, "from": "RVN", "to": "HIL"});
        let held = server.try_hold(&visitor, show, &ask).await.is(201);
        baskets.push((visitor, held));
        left -= quantity;
    }
    (key.to_owned(), baskets)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_class_is_shown_as_full_and_has_no_link() {
    let server = opened().await;
    let date = date();
    let show = format!("r1-{date}");
    let (key, _) = filled(&server, &show, &date).await;
    let address = format!("/rail?from=RVN&to=HIL&date={date}");
    until("the class is shown as full", async || {
        let page = server.get(&address).await.text().replace("&#x2f;", "/");
        let is_full = page.contains("data-status=\"full\"");
        assert_eq!(
            page.contains(&format!(
                "/s/{show}?from=RVN&amp;to=HIL&amp;date={date}&amp;class={key}&"
            )),
            !is_full
        );
        is_full.then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_traveller_waits_for_a_full_class_is_offered_seats_and_takes_them() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = opened().await;
    let date = date();
    let show = format!("r1-{date}");
    let trips = server
        .get(&format!("/v1/rail/trips?from=RVN&to=HIL&date={date}"))
        .await
        .is(200);
    let smallest = trips[0]["classes"][0]["class"].as_str().expect("a key");
    let address = format!("/s/{show}?from=RVN&to=LAK&date={date}&class={smallest}&seats=2");
    ana.go(&server.at(&address)).await;
    let (class, baskets) = filled(&server, &show, &date).await;
    assert_eq!(class, smallest);
    // The page still shows the seats that were free when it was loaded, so Ana can ask for them.
    ana.click("#hold").await;
    ana.until::<bool>(
        "document.querySelector('#problem').dataset.code === 'best_available_not_found'",
    )
    .await;
    ana.picture("11-rail-refused").await;
    ana.click("#problem .actions button").await;
    let chosen: String = ana
        .until("!document.querySelector('#wait-form').hidden && document.querySelector('#wait-category').value")
        .await;
    assert_eq!(chosen, class);
    ana.picture("11-rail-wait-form").await;
    ana.click("#wait-join").await;
    state(&ana, "waiting").await;
    let way: String = ana
        .until("document.querySelector('#wait-journey').textContent")
        .await;
    assert!(way.contains("R1 Riverton North – Lakeside"), "{way}");
    ana.picture("11-rail-waiting").await;
    ana.click("#wait-leave").await;
    state(&ana, "none").await;
    until("the page shows that the class is full", async || {
        let page = server.get(&address).await.text();
        page.contains("id=\"wait-open\"").then_some(())
    })
    .await;
    ana.go(&server.at(&address)).await;
    ana.click("#wait-open").await;
    ana.picture("11-rail-wait-open").await;
    ana.click("#wait-join").await;
    state(&ana, "waiting").await;
    give_back(&baskets[0]).await;
    state(&ana, "offered").await;
    ana.picture("11-rail-wait-offered").await;
    // A page that is loaded again shows its offer.
    ana.go(&server.at(&address)).await;
    state(&ana, "offered").await;
    ana.click("#wait-take").await;
    let held: String = ana
        .until("!document.querySelector('#held-journey').hidden && document.querySelector('#wait').hidden && document.querySelector('#held').innerText")
        .await;
    assert!(held.contains("R1 Riverton North – Lakeside"), "{held}");
    ana.picture("11-rail-wait-taken").await;
    ana.click("#to-checkout").await;
    ana.until::<bool>("document.querySelectorAll('input.traveller').length === 2")
        .await;
    ana.close("Ana").await;
}
