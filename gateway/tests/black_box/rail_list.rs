//! Tests the list of the trains that were found: how they are marked, ordered and filtered, and
//! that they are low on a phone. Also tests which station a name means.

use crate::harness::{Browser, Server};
use crate::rail;

/// The slow train has a class of its own, which is the cheapest. So the order by price differs from
/// the order by departure.
const NIGHT_STOCK: &str = r#"
    [[class]]
    key = "second"
    per_km = 4600
    [[class]]
    key = "couchette"
    per_km = 2300
    [[stock]]
    id = "day"
    carriages = [{ class = "second", rows = 10, seats = "ABC DF" }]
    [[stock]]
    id = "night"
    kinds = ["slow"]
    carriages = [{ class = "couchette", rows = 10, seats = "AB CD" }]
"#;

/// Returns the codes of the trains in the page, in their order.
const TRAINS: &str = "[...document.querySelectorAll('#found .train h3')].map((one) => one.firstChild.textContent.trim()).join(' ')";

/// Returns the marks of each train in the page, in the order of the trains.
const MARKS: &str = "[...document.querySelectorAll('#found .train h3')].map((one) => [...one.querySelectorAll('.mark')].map((mark) => mark.textContent.trim()).join(' '))";

#[tokio::test(flavor = "multi_thread")]
async fn trains_are_marked_sorted_and_filtered_and_all_fit_on_a_phone() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::prepared(&[], async |data: &std::path::Path| {
        let settings = format!("{}{NIGHT_STOCK}", rail::TERMS);
        rail::put_in("Europe/Berlin", &settings, data).await;
    })
    .await;
    let search = format!("/rail?from=RVN&to=HIL&date={}&seats=1", rail::date());
    let lists = async |more: &str, expected: &str| {
        ana.go(&server.at(&format!("{search}{more}"))).await;
        ana.until::<bool>(&format!("{TRAINS} === '{expected}'"))
            .await;
    };
    lists("", "R1 R3 N9").await;
    let marks: Vec<String> = ana.until(MARKS).await;
    assert_eq!(marks, ["Fastest", "Fastest", "Cheapest"]);
    ana.picture("12-trains-listed").await;
    lists("&sort=cheapest", "N9 R1 R3").await;
    lists("&after=10%3A00", "R3 N9").await;
    lists("&after=23%3A00", "").await;
    ana.until::<bool>("document.querySelector('#found .empty') !== null")
        .await;
    lists("", "R1 R3 N9").await;
    // On a phone, each train is low enough that all three fit into the window.
    ana.become_phone().await;
    ana.until::<bool>(
        "document.querySelector('#found .finds').offsetHeight <= innerHeight && [...document.querySelectorAll('#found .train')].every((one) => one.offsetHeight < 140 && one.querySelector('.find-best a').offsetHeight >= 44)",
    )
    .await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn journeys_with_a_change_are_filtered_and_told_with_their_price() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = rail::opened().await;
    let search = format!("/rail?from=RVN&to=FAR&date={}&seats=2", rail::date());
    let classes = "document.querySelectorAll('#changing [data-class]').length";
    ana.go(&server.at(&search)).await;
    let all: usize = ana.until(classes).await;
    assert!(all > 2, "{all} classes");
    let total: String = ana
        .until("document.querySelector('#changing li.card p').innerText")
        .await;
    assert!(
        total.contains("from CN¥98.64 per person") && total.contains("change at Hilltop"),
        "{total}"
    );
    ana.picture("12-journeys-with-a-change").await;
    ana.run(
        "document.querySelector('#class').value = 'first'; document.querySelector('#find').click()",
    )
    .await;
    ana.until::<bool>(&format!(
        "location.search.includes('class=first') && {classes} === 2"
    ))
    .await;
    // If no journey fits the filters, the page says so.
    ana.go(&server.at(&format!("{search}&after=20%3A00"))).await;
    let empty: String = ana
        .until("document.querySelector('#changing .empty').textContent")
        .await;
    assert!(empty.contains("fits these choices"), "{empty}");
    ana.go(&server.at(&format!("{search}&changes=0"))).await;
    ana.until::<bool>("document.querySelector('#changing') === null && document.querySelector('#with-change') !== null && document.querySelector('#changes').value === '0'")
        .await;
    ana.click("#with-change").await;
    ana.until::<bool>("document.querySelector('#changing li.card') !== null && document.querySelector('#changes').value === '1'")
        .await;
    ana.close("Ana").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_ends_in_brackets_is_not_the_code_of_another_station() {
    let server = rail::opened().await;
    // LAK is the code of Lakeside. Bay (Lak) once had another name.
    for typed in [
        "Bay+%28Lak%29",
        "Bay+%28Lak%29+%28BAY%29",
        "Old+Name+%28BAY%29",
    ] {
        let search = format!("/rail?from={typed}&to=HIL&date={}&seats=1", rail::date());
        let page = server.get(&search).await.text();
        assert!(
            page.contains("value=\"Bay (Lak) (BAY)\""),
            "{typed}: {page}"
        );
    }
}
