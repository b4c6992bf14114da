//! Checks with axe the pages that a fan sees on the way to a ticket, in light and in dark colours.
//! axe is a script of another project, so the test runs only where `AXE_SCRIPT` names its file.
//! `./test prove fans` fetches it. Prints `axe: N rules passed, M violated`.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server};
use crate::rail;

/// Opens the closed parts, so that axe looks at them, too.
const OPEN: &str =
    "document.querySelectorAll('details').forEach((one) => { one.open = true; }); undefined";

/// Runs axe on one page after another, and adds up the results.
struct AxeChecks<'b> {
    browser: &'b Browser,
    script: String,
    passed: u64,
    violated: Vec<String>,
}

impl AxeChecks<'_> {
    async fn check(&mut self, page: &str) {
        for dark in [false, true] {
            self.browser.prefer_dark(dark).await;
            self.browser.run(OPEN).await;
            let found = self.browser.axe(&self.script).await;
            self.passed += found.passed;
            let named = found.violated.iter();
            let named = named.map(|one| format!("{page}, dark {dark}: {one}"));
            self.violated.extend(named);
        }
    }
}

fn state(state: &str) -> String {
    format!("document.querySelector('#place').dataset.state === '{state}'")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs axe, which ./test prove fans fetches"]
async fn axe_finds_nothing_on_any_page_of_a_fans_way() {
    let path = std::env::var("AXE_SCRIPT").expect("AXE_SCRIPT names axe's script");
    let script = std::fs::read_to_string(path).expect("axe's script");
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::prepared(&[], async |data: &std::path::Path| {
        rail::put_in("Europe/Berlin", rail::TERMS, data).await;
    })
    .await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("10x20", json!({}), json!({})).await;
    let mut checks = AxeChecks {
        browser: &fan,
        script,
        passed: 0,
        violated: Vec::new(),
    };
    let day = rail::date();
    let trains = format!("/rail?from=RVN&to=HIL&date={day}&seats=1");
    let changing = format!("/rail?from=RVN&to=FAR&date={day}&seats=1");
    for (name, path) in [
        ("start page", "/"),
        ("search without a result", "/?q=nothing"),
        ("trains", &trains),
        ("journeys with a change", &changing),
        ("no such page", "/r/nowhere"),
    ] {
        fan.go(&server.at(path)).await;
        checks.check(name).await;
    }

    check_carriages(&mut checks, &server, &day).await;
    check_lobby(&mut checks, &server, &promoter).await;
    check_purchase(&mut checks, &server).await;
    promoter.post("rooms/sale/close").await.is(200);
    fan.go(&server.at("/r/sale")).await;
    checks.check("closed lobby").await;

    eprintln!(
        "axe: {} rules passed, {} violated",
        checks.passed,
        checks.violated.len()
    );
    assert!(checks.violated.is_empty(), "{:#?}", checks.violated);
    // The console may complain only about the missing page.
    for complaint in fan.end().await {
        assert!(complaint.contains("/r/nowhere"), "{complaint}");
    }
}

/// Checks the lobby from joining to the turn.
async fn check_lobby(checks: &mut AxeChecks<'_>, server: &Server, promoter: &Promoter<'_>) {
    let fan = checks.browser;
    fan.go(&server.at("/r/sale")).await;
    fan.until::<bool>(&state("join_prequeue")).await;
    checks.check("lobby before joining").await;
    fan.click("#join").await;
    fan.until::<bool>(&state("waiting_prequeue")).await;
    checks.check("lobby before the draw").await;
    fan.click("#wish-open").await;
    fan.click("#wish-add").await;
    checks.check("form of the wishes").await;
    fan.click("#wish-save").await;
    fan.until::<bool>("document.querySelectorAll('#wish-list li').length === 1")
        .await;
    checks.check("lobby with wishes").await;
    promoter.draw("sale").await;
    fan.until::<bool>(&state("called")).await;
    fan.until::<bool>("!document.querySelector('#wish-hold').hidden")
        .await;
    checks.check("lobby at the turn").await;
    fan.click("#turn").await;
    fan.until::<bool>(&state("admitted")).await;
    checks.check("lobby when admitted").await;
}

/// Checks the page of a train, its carriages with a choice, and held seats.
async fn check_carriages(checks: &mut AxeChecks<'_>, server: &Server, day: &str) {
    let fan = checks.browser;
    let train = format!("/s/r1-{day}?from=RVN&to=HIL&date={day}");
    fan.go(&server.at(&train)).await;
    checks.check("train").await;
    fan.click("#own-open").await;
    fan.until::<bool>("document.querySelector('#map').dataset.version !== undefined")
        .await;
    fan.click("#seat-list summary").await;
    fan.click("#seat-list input").await;
    checks.check("carriages with a choice").await;
    fan.click("#hold-own").await;
    fan.until::<bool>("!document.querySelector('#held').hidden")
        .await;
    checks.check("held seats of a train").await;
    fan.click("#release").await;
}

/// Checks the pages from the seats to the ticket.
async fn check_purchase(checks: &mut AxeChecks<'_>, server: &Server) {
    let fan = checks.browser;
    fan.go(&server.at("/s/night")).await;
    fan.until::<bool>("window.fairgate?.stateOf('A-1') === 'free'")
        .await;
    checks.check("seats").await;
    fan.run("document.querySelector('#best-form').requestSubmit()")
        .await;
    fan.until::<bool>("!document.querySelector('#to-checkout').closest('[hidden]')")
        .await;
    checks.check("held seats").await;
    fan.click("#to-checkout").await;
    fan.until::<bool>("document.querySelector('#buyer-name') !== null")
        .await;
    checks.check("checkout").await;
    fan.fill("#buyer-name", "Ana").await;
    fan.fill("#buyer-email", "ana@example.org").await;
    fan.click("#pay").await;
    fan.until::<bool>("document.querySelector('#approve') !== null")
        .await;
    checks.check("order before payment").await;
    fan.click("#approve").await;
    fan.until::<bool>("document.querySelector('.ticket-link') !== null")
        .await;
    checks.check("order with tickets").await;
    fan.click(".ticket-link").await;
    fan.until::<bool>("document.querySelector('#qr svg') !== null")
        .await;
    checks.check("ticket").await;
}
