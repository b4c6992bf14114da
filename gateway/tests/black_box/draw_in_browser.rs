//! Tests that the lobby checks the draw in a worker, or in the page itself if the browser starts no
//! worker.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server};

/// Counts the workers that the page starts.
const COUNT_WORKERS: &str = "(() => {
    window.workers = 0;
    window.Worker = class extends Worker { constructor(...given) { super(...given); window.workers += 1; } };
})()";

/// Presses the button and returns the verdict.
async fn check(browser: &Browser) -> String {
    browser.click("#check-draw").await;
    browser
        .until("document.querySelector('#draw-result').dataset.verdict")
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_draw_is_checked_in_a_worker_or_else_in_the_page() {
    let Some(browser) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    browser.go(&server.at("/r/sale")).await;
    browser.click("#join").await;
    browser
        .until::<String>("document.querySelector('#number').dataset.value")
        .await;
    promoter.draw("sale").await;
    browser
        .until::<bool>("!document.querySelector('#check-draw').hidden")
        .await;

    browser.run(COUNT_WORKERS).await;
    let beside = check(&browser).await;
    let workers: u32 = browser.until("window.workers").await;
    assert_eq!(workers, 1);
    let steps: usize = browser
        .until("document.querySelectorAll('#draw-result li[data-result=pass]').length")
        .await;
    assert!(steps >= 5, "{steps} steps passed");
    assert_ne!(beside, "fail");

    browser
        .run("window.Worker = undefined; delete document.querySelector('#draw-result').dataset.verdict")
        .await;
    assert_eq!(check(&browser).await, beside);
    browser.close("a visitor who checks the draw").await;
}
