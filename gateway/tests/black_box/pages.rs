//! Tests the pages as a browser gets them: with their headers and assets, on narrow phones, and
//! when something is missing.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server, TestAnswer, until};

#[tokio::test(flavor = "multi_thread")]
async fn every_page_comes_with_its_headers_and_without_inline_scripts() {
    let server = Server::start().await;
    Promoter::of(&server)
        .on_sale("4x10", json!({}), json!({}))
        .await;
    for (path, status) in [
        ("/", 200),
        ("/?q=night&from=2031-01-01&to=2031-12-31", 200),
        ("/r/sale", 200),
        ("/s/night", 200),
        ("/r/nowhere", 404),
        ("/s/nowhere", 404),
        ("/nowhere", 404),
    ] {
        let page = server
            .http
            .get(server.at(path))
            .header("accept", "text/html");
        let page = TestAnswer::of(page).await.expect("an answer");
        assert_eq!(page.status, status, "{path}");
        assert!(
            page.header("content-type").starts_with("text/html"),
            "{path}"
        );
        assert!(
            page.header("content-security-policy")
                .contains("script-src 'self'"),
            "{path}"
        );
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
        let text = page.text();
        assert!(text.contains("TEST"), "{path} does not say TEST");
        let scripts = text.matches("<script").count();
        let harmless = text.matches("<script type=\"application/json\"").count()
            + text.matches(" src=\"").count();
        assert!(scripts <= harmless, "{path} has an inline script");
        for asset in text
            .split(['"', '\''])
            .filter(|part| part.starts_with("/assets/"))
        {
            assert_eq!(server.get(asset).await.status, 200, "{asset} of {path}");
        }
    }
}

/// Leaves out the pages on the way to a ticket and the results of both searches. The tests that
/// take their pictures check their width.
#[tokio::test(flavor = "multi_thread")]
async fn no_page_is_wider_than_the_narrowest_phone() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let long = "Incomprehensibilities ".repeat(8);
    let title = json!({"title": long.trim()});
    let message = "https://example.org/".to_owned() + &"a".repeat(120);
    let room = json!({"title": long.trim(), "message": message, "codes": "required"});
    Promoter::of(&server).on_sale("40x60", title, room).await;
    for (path, ready) in [
        ("/", "document.querySelector('.cards')"),
        (
            "/?q=nothing-is-called-so",
            "document.querySelector('.empty')",
        ),
        ("/r/sale", "document.querySelector('#join')"),
        ("/s/night", "window.fairgate"),
        ("/s/night?seats=2", "window.fairgate"),
        ("/cinema?from=soon", "document.querySelector('#problem')"),
        ("/rail", "document.querySelector('#problem')"),
        (
            "/checkout/hold_x",
            "document.querySelector('#problem').dataset.code",
        ),
        (
            "/o/order_x",
            "document.querySelector('#problem').dataset.code",
        ),
        (
            "/t/ticket_x",
            "document.querySelector('#problem').dataset.code",
        ),
        ("/nowhere", "document.querySelector('.problem-page')"),
    ] {
        browser.go(&server.at(path)).await;
        browser.until::<bool>(&format!("Boolean({ready})")).await;
        browser.fits(path).await;
    }
    // The console may complain only about missing pages and documents.
    for complaint in browser.end().await {
        assert!(complaint.contains("status of 4"), "{complaint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lobbys_forms_answer_with_the_lobby_and_say_what_went_wrong() {
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("4x10", json!({}), json!({"codes": "required"}))
        .await;
    promoter
        .put_text("rooms/sale/codes", "ROSE-1\n".to_owned())
        .await
        .is(200);
    let post = async |what: &str, body: &str, cookie: &str| {
        // If a busy server refuses the form, the test sends it again, as a person would.
        until("the form is accepted", async || {
            let request = server
                .http
                .post(server.at(&format!("/r/sale/{what}")))
                .header("origin", &server.url);
            let request = request
                .header("content-type", "application/x-www-form-urlencoded")
                .header("accept", "text/html")
                // The form has seen that the browser keeps cookies.
                .header("cookie", format!("fgc_ok=1; {cookie}"));
            let answer = TestAnswer::of(request.body(body.to_owned()))
                .await
                .expect("an answer");
            let is_shed = answer.text().contains("data-code=\"too_many_joins\"");
            (!is_shed).then_some(answer)
        })
        .await
    };
    let refused = post("join", "code=WRONG", "").await;
    assert!(
        refused.text().contains("data-code=\"code_invalid\""),
        "{}",
        refused.text()
    );
    let joined = post("join", "code=ROSE-1", "").await;
    assert_eq!((joined.status, joined.header("location")), (303, "/r/sale"));
    let cookie = joined
        .header("set-cookie")
        .split(';')
        .next()
        .unwrap_or_default()
        .to_owned();
    let early = post("pass", "", &cookie).await;
    assert!(
        early.text().contains("data-code=\"not_called\""),
        "{}",
        early.text()
    );
    assert_eq!(post("leave", "", &cookie).await.status, 303);
    let gone = post("pass", "", &cookie).await;
    assert!(
        gone.text().contains("data-code=\"place_left\""),
        "{}",
        gone.text()
    );
}
