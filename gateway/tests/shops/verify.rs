//! Tests the check of passes that proxies call.

use fairgate_servers::actors::{TestShop, call};

use crate::passes::{new_pass, open_room};
use crate::support::Gateway;

const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

#[tokio::test(flavor = "multi_thread")]
async fn any_method_and_origin_is_answered_by_the_pass_alone() {
    let data = tempfile::tempdir().expect("a folder");
    let origin = "https://app.example";
    let gateway = Gateway::start_with(data.path(), &[("origins", origin)]).await;
    open_room(&gateway, "demo").await;
    let pass = new_pass(&gateway, "demo").await;
    for method in METHODS {
        for origin in ["https://app.example", "https://evil.example", "null"] {
            let path = "/v1/verify/demo/shop/basket?item=1";
            let asked = || {
                call(method, path)
                    .header("origin", origin)
                    .header("access-control-request-method", "POST")
                    .header("sec-fetch-site", "cross-site")
            };
            let given = gateway.ask(asked().by(&pass.jwt)).await;
            assert_eq!(given.status, 204, "{method} from {origin}");
            assert_eq!(given.header("x-fairgate-room"), "demo");
            let in_cookie = asked().header("cookie", &format!("theme=dark; {}", pass.cookie));
            assert_eq!(gateway.ask(in_cookie).await.status, 204, "{method}");
            let refused = gateway.ask(asked()).await;
            assert_eq!(refused.status, 401, "{method} from {origin}");
            // Envoy lets a request pass only after a 200, so it has a path of its own.
            let of_envoy = || call(method, "/v1/verify-200/demo/shop/basket?item=1");
            let given = gateway.ask(of_envoy().by(&pass.jwt)).await;
            assert_eq!(
                (given.status, given.header("x-fairgate-room")),
                (200, "demo")
            );
            assert_eq!(gateway.ask(of_envoy()).await.status, 401, "{method}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sites_own_authorization_does_not_hide_the_pass_in_the_cookie() {
    let data = tempfile::tempdir().expect("a folder");
    let gateway = Gateway::start(data.path()).await;
    open_room(&gateway, "demo").await;
    open_room(&gateway, "other").await;
    let (pass, other) = (
        new_pass(&gateway, "demo").await,
        new_pass(&gateway, "other").await,
    );
    let check = async |authorization: &str, value: Option<&str>| {
        let mut asked = call("GET", "/v1/verify/demo/").header("authorization", authorization);
        if let Some(value) = value {
            asked = asked.header("cookie", &format!("{}={value}", pass.cookie_name()));
        }
        gateway.ask(asked).await.status
    };
    let of_other_room = format!("Bearer {}", other.jwt);
    for foreign in ["Bearer shop-session-1", "Basic YTpi", &of_other_room] {
        assert_eq!(
            check(foreign, Some(pass.cookie_value())).await,
            204,
            "{foreign}"
        );
        assert_eq!(
            check(foreign, Some(other.cookie_value())).await,
            401,
            "{foreign}"
        );
        assert_eq!(check(foreign, None).await, 401, "{foreign}");
    }
    let own = format!("Bearer {}", pass.jwt);
    assert_eq!(check(&own, Some("worn-out")).await, 204);
}
