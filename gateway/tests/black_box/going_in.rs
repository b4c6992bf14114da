//! Tests that the page of a called visitor whom the room cannot let in yet goes in by itself.

use serde_json::json;

use crate::harness::{Browser, Promoter, Server, Visitor};

#[tokio::test(flavor = "multi_thread")]
async fn a_called_visitor_who_finds_the_room_full_presses_once_and_goes_in_when_there_is_space() {
    let Some(ana) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    let room = json!({"title": "Night one", "method": "fifo", "max_inside": 2});
    promoter.on_sale("4x10", json!({}), room).await;
    ana.go(&server.at("/r/sale")).await;
    ana.click("#join").await;
    ana.until::<String>("document.querySelector('#number').dataset.value")
        .await;
    let mut ben = Visitor::joined(&server, "sale").await;
    promoter.draw("sale").await;
    ana.until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    ben.claim().await;
    let full = json!({"max_inside": 1});
    promoter.patch("rooms/sale", &full).await.is(200);
    ana.click("#turn").await;
    let said: String = ana
        .until("document.querySelector('#problem').dataset.code === 'not_called' && document.querySelector('#problem').innerText")
        .await;
    assert!(said.contains("going in one after another"), "{said}");
    assert!(!said.contains("press the button"), "{said}");
    ana.picture("2-lobby-going-in").await;
    let roomy = json!({"max_inside": 2});
    promoter.patch("rooms/sale", &roomy).await.is(200);
    ana.until::<bool>(
        "!document.querySelector('#go-seats').hidden && document.querySelector('#problem').hidden",
    )
    .await;
    ana.close("Ana").await;
}
