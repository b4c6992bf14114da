//! Prepares what benches over a rig need: an on-sale, and visitors with passes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};

/// The room of every bench.
const ROOM: &str = "sale";
/// How long it may take until a call is granted: the line lets visitors in second by second, and a
/// node hears of a room within a second.
const GRANTED_WITHIN: Duration = Duration::from_secs(60);
/// The wait before a call that was put off is sent again.
const AGAIN: Duration = Duration::from_millis(50);
/// The number of visitors who ask at once.
const AT_ONCE: usize = 64;

/// Puts one of the promoter's documents, such as `venues/hall`.
///
/// # Errors
/// Where it is refused; the answer is told.
pub async fn put(
    http: &LoadHttpClient,
    key: &str,
    what: &str,
    document: Value,
) -> anyhow::Result<()> {
    let call = LoadHttpCall {
        body: Some(document),
        ..LoadHttpCall::new(Method::PUT, format!("/v1/promoter/{what}"))
    };
    let answer = http.send(&call.bearer(key), 0).await;
    let answer = answer.map_err(anyhow::Error::msg)?;
    if !answer.is_ok() {
        bail!("{what} was refused {}", answer_text(&answer));
    }
    Ok(())
}

/// Opens a room without a line over these shows, as large as the crowd.
///
/// # Errors
/// As [`put`].
pub async fn open_room(
    http: &LoadHttpClient,
    key: &str,
    shows: &[&str],
    visitors: usize,
) -> anyhow::Result<()> {
    let room = json!({
        "title": "A sale", "shows": shows, "method": "open", "max_inside": visitors * 2,
        "opens_at": "2026-01-01T00:00:00Z", "draw_at": "2026-01-01T00:00:00Z", "closes_at": "2027-05-01T00:00:00Z",
    });
    put(http, key, &format!("rooms/{ROOM}"), room).await
}

/// Gets a pass for every visitor, in the order of the visitors.
///
/// # Errors
/// Where somebody is not let in.
pub async fn passes(http: &LoadHttpClient, visitors: usize) -> anyhow::Result<Vec<String>> {
    for_everybody(http, visitors, pass).await
}

/// Runs a task for every visitor, so many at once. Returns the results in the order of the
/// visitors.
///
/// # Errors
/// The first that fails.
pub async fn for_everybody<
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
>(
    http: &LoadHttpClient,
    people: usize,
    what: impl Fn(LoadHttpClient, usize) -> F + Clone + Send + 'static,
) -> anyhow::Result<Vec<T>> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut doing = JoinSet::new();
    for _ in 0..AT_ONCE.min(people) {
        let (http, next, what) = (http.clone(), Arc::clone(&next), what.clone());
        doing.spawn(async move {
            let mut done = Vec::new();
            loop {
                let who = next.fetch_add(1, Ordering::Relaxed);
                if who >= people {
                    return anyhow::Ok(done);
                }
                done.push((who, what(http.clone(), who).await?));
            }
        });
    }
    let mut answers = Vec::new();
    while let Some(done) = doing.join_next().await {
        answers.extend(done??);
    }
    answers.sort_by_key(|(who, _)| *who);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// Joins and claims a pass as soon as the line gives one.
async fn pass(http: LoadHttpClient, who: usize) -> anyhow::Result<String> {
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&who.to_be_bytes());
    let secret = json!({"secret": hex::encode(secret)});
    let join = LoadHttpCall::post(format!("/v1/rooms/{ROOM}/places"), secret);
    let place = text(&granted(&http, who, &join).await?, "place")?;
    let claim = LoadHttpCall::new(Method::POST, format!("/v1/rooms/{ROOM}/pass")).bearer(&place);
    text(&granted(&http, who, &claim).await?, "pass")
}

/// Sends a call until it is granted.
///
/// # Errors
/// Where it is refused for good, or put off for too long.
pub async fn granted(
    http: &LoadHttpClient,
    who: usize,
    call: &LoadHttpCall,
) -> anyhow::Result<Value> {
    let begun = Instant::now();
    loop {
        let answer = http.send(call, who).await.map_err(anyhow::Error::msg)?;
        if answer.is_ok() {
            return Ok(answer.json());
        }
        // Not every gateway knows a room that was just made.
        let passes = matches!(answer.status, 404 | 409 | 429 | 503);
        if !passes || begun.elapsed() > GRANTED_WITHIN {
            bail!("{} was refused {}", call.path, answer_text(&answer));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Returns a text field of an answer.
///
/// # Errors
/// Where there is none.
pub fn text(answer: &Value, field: &str) -> anyhow::Result<String> {
    let text = answer[field].as_str().map(str::to_owned);
    text.with_context(|| format!("an answer without \"{field}\": {answer}"))
}

/// Describes an answer in words.
fn answer_text(answer: &LoadHttpAnswer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    format!("({}): {body}", answer.status)
}
