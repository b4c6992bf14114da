//! Tests in a browser that a train between stations of two time zones is told by both clocks, from
//! the search to the ticket. The browser itself is in a third zone.

use std::path::Path;

use booking::choices::ImportDecisions;
use booking::commands::import_timetable::{RailFeedKind, TimetableImport, import_timetable};
use fairgate_model::payments::kind::ProviderKind;

use crate::harness::{Browser, Server};
use crate::rail::date;

/// RE 101 and RE 103 go from Ahausen, in London's zone, to Bedorf and Cestadt, in that of Paris. At
/// Cestadt one changes to RB 7. RE 199 leaves at 00:20 in Paris, which in London is 23:20 of the
/// day before.
const FEED: [(&str, &str); 7] = [
    (
        "agency.txt",
        "agency_id,agency_name,agency_url,agency_timezone\n\
         a,Rail,https://rail.example,Europe/Paris\n",
    ),
    (
        "stops.txt",
        "stop_id,stop_name,stop_lat,stop_lon,stop_timezone\n\
         aa,Ahausen,50.0,8.0,Europe/London\nbb,Bedorf,50.0,8.5,\ncc,Cestadt,50.0,9.0,\n\
         dd,Deheim,50.0,9.5,\n",
    ),
    ("routes.txt", "route_id,agency_id,route_type\nr,a,2\n"),
    (
        "calendar.txt",
        "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n\
         s,1,1,1,1,1,1,1,20260101,20991231\n",
    ),
    (
        "trips.txt",
        "route_id,service_id,trip_id,trip_short_name\nr,s,t1,RE 101\nr,s,t3,RE 103\nr,s,t7,RB 7\n\
         r,s,t9,RE 199\n",
    ),
    (
        "stop_times.txt",
        "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n\
         t1,09:00:00,09:00:00,aa,1\nt1,09:30:00,09:32:00,bb,2\nt1,10:10:00,10:10:00,cc,3\n\
         t3,13:00:00,13:00:00,aa,1\nt3,14:10:00,14:10:00,cc,2\n\
         t7,10:40:00,10:40:00,cc,1\nt7,11:20:00,11:20:00,dd,2\n\
         t9,00:20:00,00:20:00,aa,1\nt9,01:30:00,01:30:00,cc,2\n",
    ),
    (
        "rail.toml",
        "[terms]\ncurrency = \"EUR\"\nexchange = { cheaper = \"refund\" }\n\
         refunds = [{ until_h = 1, fee_pct = 10 }]\n",
    ),
];

async fn import(data: &Path) {
    let feed = tempfile::tempdir().expect("a folder");
    for (name, text) in FEED {
        std::fs::write(feed.path().join(name), text).expect("written");
    }
    let wanted = TimetableImport {
        source: RailFeedKind::Gtfs,
        folder: feed.path().to_owned(),
        rail: Some(feed.path().join("rail.toml")),
        data: data.to_owned(),
        database: None,
        payments: ProviderKind::None,
        decisions: ImportDecisions::default(),
    };
    import_timetable(wanted, 1).await.expect("imported");
}

/// Waits until an element of the page has these words.
async fn reads(browser: &Browser, element: &str, words: &str) {
    let text = format!("document.querySelector('{element}')?.innerText.replace(/\\s+/g, ' ')");
    browser
        .until::<bool>(&format!("({text})?.includes('{words}') ?? false"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_clocks_are_shown_from_the_search_to_the_ticket() {
    let Some(ana) = Browser::in_zone("America/New_York").await else {
        return;
    };
    let server = Server::prepared(&[], async |data: &Path| import(data).await).await;
    let day = date();
    let search = |from: &str, to: &str| server.at(&format!("/rail?from={from}&to={to}&date={day}"));

    ana.go(&search("bb", "cc")).await;
    reads(&ana, "#found", "All times are Paris time.").await;
    reads(&ana, "#found .train", "09:32 → 10:10").await;
    ana.picture("13-clocks-one-zone").await;
    ana.go(&search("aa", "dd")).await;
    let words = "08:00 London time → 11:20 Paris time";
    reads(&ana, "#changing", words).await;
    reads(&ana, "#changing", "10:40 Paris time → 11:20 Paris time").await;
    ana.picture("13-clocks-changing").await;
    ana.go(&search("aa", "cc")).await;
    let words = "08:00 London time → 10:10 Paris time";
    reads(&ana, "#found .train", words).await;
    ana.picture("13-clocks-trains").await;

    choose(&ana, "re-101").await;
    reads(&ana, "#journey", words).await;
    reads(&ana, ".stops", "Bedorf arrives 09:30 Paris time").await;
    ana.picture("13-clocks-train").await;
    let words = "08:00 London time – 10:10 Paris time";
    ana.click("#hold").await;
    reads(&ana, "#held-journey", words).await;
    ana.click("#to-checkout").await;
    reads(&ana, "#journey", words).await;
    ana.picture("13-clocks-checkout").await;
    pay(&ana).await;
    reads(&ana, "#show-title", words).await;
    ana.click("#exchange-find").await;
    ana.until::<bool>("[...document.querySelector('#exchange-train').options].some(({ text }) => text.includes('12:00 London time – 14:10 Paris time'))")
        .await;
    ana.picture("13-clocks-order").await;
    ana.click(".ticket-link").await;
    reads(&ana, "#starts", words).await;
    ana.picture("13-clocks-ticket").await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_night_train_is_booked_and_exchanged_on_the_day_where_one_gets_on() {
    let Some(ben) = Browser::in_zone("Asia/Tokyo").await else {
        return;
    };
    let server = Server::prepared(&[], async |data: &Path| import(data).await).await;
    let day = date();
    ben.go(&server.at(&format!("/rail?from=aa&to=cc&date={day}&after=20:00")))
        .await;
    let words = "23:20 London time → 01:30 Paris time 1 day later";
    reads(&ben, "#found .train", words).await;
    ben.picture("13-clocks-night").await;
    choose(&ben, "re-199").await;
    reads(&ben, "#journey", words).await;
    ben.click("#hold").await;
    ben.click("#to-checkout").await;
    pay(&ben).await;
    ben.until::<bool>(&format!(
        "document.querySelector('#exchange-date').value === '{day}'"
    ))
    .await;
    ben.click("#exchange-find").await;
    ben.until::<bool>("[...document.querySelector('#exchange-train').options].some(({ text }) => text.startsWith('RE 199') && text.includes('23:20 London time'))")
        .await;
    ben.close("Ben").await;
}

/// Opens the page of a found train for its second class.
async fn choose(browser: &Browser, train: &str) {
    browser
        .click(&format!(
            "#found .train[data-show^='{train}'] li[data-class='second'] a"
        ))
        .await;
    browser
        .until::<bool>("document.querySelector('#train-form input:checked').value === 'second'")
        .await;
}

/// Pays a basket of one seat at the checkout, and waits for the ticket.
async fn pay(browser: &Browser) {
    browser
        .until::<bool>("document.querySelector('input.traveller') !== null")
        .await;
    for (field, name) in [
        ("#buyer-name", "Ana Fan"),
        ("#buyer-email", "ana@example.org"),
        ("input.traveller", "Ana Fan"),
    ] {
        browser.fill(field, name).await;
    }
    browser.click("#pay").await;
    browser
        .until::<bool>(
            "document.querySelector('#approve') && !document.querySelector('#sandbox').hidden",
        )
        .await;
    browser.click("#approve").await;
    browser
        .until::<bool>("document.querySelectorAll('#tickets svg').length === 1")
        .await;
}
