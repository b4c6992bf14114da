//! Tests that the lobby follows what another tab of the same browser does with the place.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server};

/// Returns an expression that presses a button in a tab, and is true once the place is in this
/// state. If the page's script has not run yet, the button sends its form, and the tab loads a new
/// page. A press that changes nothing for five seconds is repeated, as a visitor would do.
fn pressed(button: &str, state: &str) -> String {
    format!(
        "(() => {{
            const button = document.querySelector('{button}');
            const isDue = Date.now() - (sessionStorage.pressed ?? 0) > 5000;
            if (isDue && button && !button.closest('[hidden]')) {{ sessionStorage.pressed = Date.now(); button.click(); }}
            return Boolean(sessionStorage.pressed) && document.querySelector('#place').dataset.state === '{state}';
        }})()"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lobby_follows_what_another_tab_does_with_the_place() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("4x10", json!({}), json!({})).await;
    let lobby = server.at("/r/sale");
    let shows = async |state: &str| {
        let state = format!("document.querySelector('#place').dataset.state === '{state}'");
        ana.until::<bool>(&state).await;
    };
    ana.go(&lobby).await;
    shows("join_prequeue").await;

    let joined = pressed("#join", "waiting_prequeue");
    ana.in_other_tab(&lobby, &joined).await;
    shows("waiting_prequeue").await;
    promoter.draw("sale").await;
    shows("called").await;

    ana.in_other_tab(&lobby, &pressed("#turn", "admitted"))
        .await;
    shows("admitted").await;

    ana.in_other_tab(&lobby, &pressed("#leave", "join_selling"))
        .await;
    shows("join_selling").await;
    ana.close("Ana").await;
}
