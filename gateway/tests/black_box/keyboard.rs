//! Goes from the lobby to the ticket with the keyboard alone. Each element that gets the focus must
//! be in the window and show that it has the focus.

use serde_json::{Value, json};

use crate::harness::{Browser, Promoter, Server};

/// The next element must have the focus after at most this many presses of Tab.
const TABS_MAX: usize = 60;

/// Describes the element that has the focus.
const FOCUSED: &str = "(() => {
    const one = document.activeElement;
    const { top, bottom } = one.getBoundingClientRect();
    const { outlineStyle, outlineWidth } = getComputedStyle(one);
    return {
        html: one.outerHTML.slice(0, 160),
        isSeen: bottom > 0 && top < innerHeight,
        isMarked: outlineStyle !== 'none' && parseFloat(outlineWidth) >= 1,
    };
})()";

/// Describes the element that has the focus. This element must be seen and marked.
async fn focused(fan: &Browser) -> Value {
    let focused: Value = fan.until(FOCUSED).await;
    assert_eq!(focused["isSeen"], true, "{focused}");
    assert_eq!(focused["isMarked"], true, "{focused}");
    focused
}

/// Presses Tab until an element has the focus.
async fn tab_to(fan: &Browser, selector: &str) {
    let has_focus = format!("document.activeElement.matches('{selector}') ? 'yes' : 'no'");
    let mut passed = Vec::new();
    for _ in 0..TABS_MAX {
        fan.press_key("Tab").await;
        let focused = focused(fan).await;
        if fan.until::<String>(&has_focus).await == "yes" {
            return;
        }
        passed.push(focused["html"].clone());
    }
    panic!("Tab does not come to {selector}, but to {passed:#?}");
}

/// Waits until an element has the focus by itself.
async fn focus_is_on(fan: &Browser, selector: &str) {
    fan.until::<bool>(&format!("document.activeElement.matches('{selector}')"))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keyboard_alone_leads_from_the_lobby_to_the_ticket() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter.on_sale("9x20", json!({}), json!({})).await;
    fan.go(&server.at("/r/sale")).await;
    tab_to(&fan, "#join").await;
    fan.press_key("Enter").await;
    fan.until::<String>("document.querySelector('#number').dataset.value")
        .await;
    promoter.draw("sale").await;
    fan.until::<bool>("!document.querySelector('#turn-form').hidden")
        .await;
    tab_to(&fan, "#turn").await;
    fan.press_key("Enter").await;
    focus_is_on(&fan, "#go-seats a").await;
    fan.press_key("Enter").await;

    fan.until::<bool>("document.querySelector('#map').dataset.version !== undefined")
        .await;
    tab_to(&fan, "#map").await;
    for key in ["ArrowRight", "Enter", "ArrowRight", " "] {
        fan.press_key(key).await;
    }
    fan.until::<bool>("document.querySelectorAll('#chosen li').length === 2")
        .await;
    tab_to(&fan, "#hold").await;
    // Shift and Tab go one element back. This element must be seen and marked, too.
    let hold = focused(&fan).await;
    fan.press_shift_tab().await;
    let before = focused(&fan).await;
    assert_ne!(before["html"], hold["html"]);
    fan.press_key("Tab").await;
    focus_is_on(&fan, "#hold").await;
    fan.press_key(" ").await;
    focus_is_on(&fan, "#held-title").await;
    tab_to(&fan, "#to-checkout").await;
    fan.press_key("Enter").await;

    fan.until::<bool>(
        "document.querySelector('#total') && document.querySelector('#total').textContent !== ''",
    )
    .await;
    for (field, text) in [
        ("#buyer-name", "Ana Fan"),
        ("#buyer-email", "ana@example.org"),
    ] {
        tab_to(&fan, field).await;
        fan.type_text(text).await;
    }
    fan.press_key("Enter").await;

    fan.until::<bool>(
        "document.querySelector('#sandbox') && !document.querySelector('#sandbox').hidden",
    )
    .await;
    tab_to(&fan, "#approve").await;
    fan.press_key("Enter").await;
    fan.until::<bool>("document.querySelectorAll('#tickets svg').length === 2")
        .await;
    tab_to(&fan, ".ticket-link").await;
    fan.press_key("Enter").await;
    fan.until::<bool>("document.querySelector('#qr svg') !== null")
        .await;
    fan.close("the fan").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_basket_that_is_larger_than_its_sheet_on_a_phone_is_reached_and_scrolled() {
    let Some(fan) = Browser::open().await else {
        return;
    };
    let server = Server::start().await;
    let promoter = Promoter::of(&server);
    promoter
        .on_sale("9x20", json!({"seats_per_visitor": 20}), json!({}))
        .await;
    fan.go(&server.at("/r/sale")).await;
    fan.click("#join").await;
    fan.until::<String>("document.querySelector('#number').dataset.value")
        .await;
    promoter.draw("sale").await;
    fan.click("#turn").await;
    fan.click("#go-seats a").await;
    fan.until::<bool>("document.querySelector('#map').dataset.version !== undefined")
        .await;
    fan.run("document.querySelector('#best-quantity').value = '20'; undefined")
        .await;
    fan.click("#best-find").await;
    fan.until::<bool>("document.querySelectorAll('#held-seats li').length === 20")
        .await;
    fan.become_phone().await;
    let larger = "['#held-seats', '.held'].find((one) => { const part = document.querySelector(one); return part.scrollHeight > part.clientHeight + 1 || part.scrollWidth > part.clientWidth + 1; })";
    let part: String = fan.until(larger).await;
    tab_to(&fan, &part).await;
    for key in ["ArrowDown", "ArrowRight"] {
        fan.press_key(key).await;
    }
    let scrolled = format!(
        "(({{ scrollTop, scrollLeft }}) => scrollTop > 0 || scrollLeft > 0)(document.querySelector('{part}'))"
    );
    fan.until::<bool>(&scrolled).await;
    fan.close("the fan").await;
}
