//! Sends calls to a router in this process, without sockets, or to a server at an address.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::Request;
use tower::ServiceExt;

use super::{TestAnswer, TestCall, until};

/// The longest time for one answer of a server.
const ANSWER_MAX: Duration = Duration::from_secs(30);

/// Sends calls and reads their answers in full. A clone is cheap.
#[derive(Debug, Clone)]
pub struct TestClient {
    target: CallTarget,
}

#[derive(Debug, Clone)]
enum CallTarget {
    Router(Router),
    Address(String, reqwest::Client),
}

impl TestClient {
    /// Makes a client that calls a router in this process.
    #[must_use]
    pub fn of_router(router: Router) -> Self {
        let target = CallTarget::Router(router);
        Self { target }
    }

    /// Makes a client that calls the server at `http://…`. The client stores no cookies.
    ///
    /// # Panics
    /// Where the client cannot be built.
    #[must_use]
    pub fn of_address(url: &str) -> Self {
        let http = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(ANSWER_MAX)
            .build();
        let target = CallTarget::Address(url.to_owned(), http.expect("no special wishes"));
        Self { target }
    }

    /// Sends a call and reads its answer.
    ///
    /// # Panics
    /// Where no answer comes.
    pub async fn ask(&self, call: TestCall) -> TestAnswer {
        self.try_ask(call).await.expect("an answer")
    }

    /// Does the same as [`Self::ask`], but returns an error instead of panicking. This is for a
    /// server that may be killed during the call.
    ///
    /// # Errors
    /// Where the server does not answer in full.
    pub async fn try_ask(&self, call: TestCall) -> Result<TestAnswer, reqwest::Error> {
        match &self.target {
            CallTarget::Router(router) => Ok(ask_router(router.clone(), call).await),
            CallTarget::Address(url, http) => {
                let request = http.request(call.method, format!("{url}{}", call.path));
                TestAnswer::of(request.headers(call.headers).body(call.body)).await
            }
        }
    }

    /// Sends a call again and again until `is_done` returns true for its answer.
    ///
    /// # Panics
    /// Where that takes longer than [`super::PATIENCE`].
    pub async fn ask_until(
        &self,
        call: &TestCall,
        mut is_done: impl FnMut(&TestAnswer) -> bool,
    ) -> TestAnswer {
        until(&format!("the answer of {}", call.path), async || {
            Some(self.ask(call.clone()).await).filter(&mut is_done)
        })
        .await
    }
}

async fn ask_router(router: Router, call: TestCall) -> TestAnswer {
    let asked = format!("{} {}", call.method, call.path);
    let request = Request::builder().method(call.method).uri(call.path);
    let mut request = request.body(Body::from(call.body)).expect("a request");
    *request.headers_mut() = call.headers;
    let Ok(response) = router.oneshot(request).await;
    let (parts, body) = response.into_parts();
    TestAnswer {
        asked,
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: to_bytes(body, usize::MAX).await.expect("a whole body"),
    }
}
