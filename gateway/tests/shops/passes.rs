//! Gets passes for the tests of this binary.

use fairgate_servers::actors::{TestAnswer, text};
use serde_json::json;

use crate::support::Gateway;

/// A pass, as a program sends it and as a browser sends it.
pub struct ClaimedPass {
    /// The pass as a JWT.
    pub jwt: String,
    /// The cookie that the browser sends, as `name=value`.
    pub cookie: String,
}

impl ClaimedPass {
    /// Returns the cookie's name.
    pub fn cookie_name(&self) -> &str {
        self.cookie.split('=').next().expect("a name")
    }

    /// Returns the cookie's value.
    pub fn cookie_value(&self) -> &str {
        self.cookie.split_once('=').expect("a value").1
    }
}

/// Opens a room that lets everybody in at once.
pub async fn open_room(gateway: &Gateway, room: &str) {
    let at_once = json!({"method": "open", "draw_at": "2020-01-02T00:00:00Z"});
    gateway.open_room(room, at_once).await;
}

/// Joins as a new visitor, and claims a pass.
pub async fn new_pass(gateway: &Gateway, room: &str) -> ClaimedPass {
    let (place, _) = gateway.newcomer(room).await;
    gateway.until_called(room, &place).await;
    let path = format!("/v1/rooms/{room}/pass");
    let claimed = gateway.call("POST", &path, Some(&place), None).await;
    ClaimedPass {
        jwt: text(&claimed.is(201), "pass"),
        cookie: cookie_of(&claimed),
    }
}

/// Returns the cookie that a browser sends after this answer, as `name=value`.
pub fn cookie_of(answer: &TestAnswer) -> String {
    let set = answer.header("set-cookie");
    set.split(';').next().expect("a cookie").to_owned()
}
