//! Prepares an on-sale, and visitors with passes, for the benches that run against a rig.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use hyper::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::http::{LoadHttpAnswer, LoadHttpCall, LoadHttpClient};

/// The id of the room that [`open_room`] makes.
const ROOM: &str = "sale";
/// The longest time until a call succeeds. The room releases visitors once a second, and a node
/// learns of a new room within a second.
const GRANTED_WITHIN: Duration = Duration::from_secs(60);
/// The longest time until every node knows of a new room.
const KNOWN_EVERYWHERE_WITHIN: Duration = Duration::from_secs(15);
/// How many right answers in a row a gateway must give. It asks its booking processes in turn, so
/// each of them has answered by then.
const ANSWERS_IN_A_ROW: u32 = 12;
/// The wait between two tries of a call.
const AGAIN: Duration = Duration::from_millis(50);
/// The wait between two tries of a call that was refused because too many calls came. With shorter
/// waits, these tries alone would be too many.
const AGAIN_UNDER_LOAD: Duration = Duration::from_millis(200);
/// How often a call that got no answer is repeated at most.
const UNANSWERED_MAX: u32 = 3;
/// The most tasks that `for_everybody` runs at the same time.
const AT_ONCE: usize = 64;

/// Sends one of the promoter's documents by `PUT`, such as `venues/hall`.
///
/// # Errors
/// Where the document is refused, or no answer comes. The error contains the answer.
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

/// Opens a room for these shows. Twice as many visitors as `visitors` may be inside, so there is no
/// line.
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
        "opens_at": "2026-01-01T00:00:00Z", "draw_at": "2026-01-01T00:00:00Z", "closes_at": "2099-05-01T00:00:00Z",
    });
    put(http, key, &format!("rooms/{ROOM}"), room).await?;
    // Patterns such as `a*` are skipped, because a gateway can be asked only for a single show.
    for show in shows.iter().filter(|show| !show.ends_with('*')) {
        until_sold_everywhere(http, show).await?;
    }
    Ok(())
}

/// Waits until every gateway, whichever booking process it asks, says that the room sells the show.
/// A node that does not know this yet refuses the passes of the room.
async fn until_sold_everywhere(http: &LoadHttpClient, show: &str) -> anyhow::Result<()> {
    let call = LoadHttpCall::get(format!("/v1/shows/{show}"));
    let asked = Instant::now();
    for gateway in 0..http.gateways() {
        let mut in_a_row = 0;
        while in_a_row < ANSWERS_IN_A_ROW {
            let answer = http.send_to(gateway, &call, 0).await;
            let knows = answer.is_ok_and(|answer| answer.json()["room"] == ROOM);
            in_a_row = if knows { in_a_row + 1 } else { 0 };
            ensure!(
                asked.elapsed() < KNOWN_EVERYWHERE_WITHIN,
                "not every node knows within {} s that {show} is sold in {ROOM}",
                KNOWN_EVERYWHERE_WITHIN.as_secs()
            );
            if !knows {
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
    Ok(())
}

/// Opens the lobby of a room, and waits until every gateway knows the room. The room is drawn only
/// by hand, unless `changes` say otherwise. `changes` are fields of the room's document.
///
/// # Errors
/// As [`put`], or where a gateway does not learn of the room in time.
pub async fn open_doors(
    http: &LoadHttpClient,
    key: &str,
    room: &str,
    changes: Value,
) -> anyhow::Result<()> {
    let mut document = json!({
        "title": "A sale", "shows": ["night"], "opens_at": "2026-01-01T00:00:00Z",
        "draw_at": "2099-01-01T00:00:00Z", "closes_at": "2099-05-01T00:00:00Z",
    });
    for (field, value) in changes.as_object().into_iter().flatten() {
        document[field] = value.clone();
    }
    put(http, key, &format!("rooms/{room}"), document).await?;
    let room_call = LoadHttpCall::get(format!("/v1/rooms/{room}"));
    for gateway in 0..http.gateways() {
        granted(http, gateway, &room_call).await?;
    }
    Ok(())
}

/// Draws a room by hand, and waits until it is drawn. Does nothing if it is drawn already.
///
/// # Errors
/// Where the call is refused, or the draw does not come in time.
pub async fn draw(http: &LoadHttpClient, key: &str, room: &str) -> anyhow::Result<()> {
    let by_hand = LoadHttpCall::new(Method::POST, format!("/v1/promoter/rooms/{room}/draw"));
    granted(http, 0, &by_hand.bearer(key)).await?;
    let record = LoadHttpCall::get(format!("/v1/rooms/{room}/draw"));
    let begun = Instant::now();
    loop {
        let answer = http.send(&record, 0).await.map_err(anyhow::Error::msg)?;
        if answer.is_ok() && !answer.json()["seed"].is_null() {
            return Ok(());
        }
        if begun.elapsed() > GRANTED_WITHIN {
            bail!("the room was not drawn: {}", answer_text(&answer));
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Gets a pass for every visitor, in the order of the visitors.
///
/// # Errors
/// Where a visitor gets no pass.
pub async fn passes(http: &LoadHttpClient, visitors: usize) -> anyhow::Result<Vec<String>> {
    for_everybody(http, visitors, pass).await
}

/// Runs a task for every visitor, at most `AT_ONCE` at the same time. Returns the results in the
/// order of the visitors.
///
/// # Errors
/// The first error of a task.
pub async fn for_everybody<
    T: Send + 'static,
    F: Future<Output = anyhow::Result<T>> + Send + 'static,
>(
    http: &LoadHttpClient,
    people: usize,
    task: impl Fn(LoadHttpClient, usize) -> F + Clone + Send + 'static,
) -> anyhow::Result<Vec<T>> {
    for_each(http, people, AT_ONCE, task).await
}

/// Runs a task for every number below `people`, at most `at_once` at the same time. Returns the
/// results in the order of the numbers.
///
/// # Errors
/// The first error of a task.
pub async fn for_each<T: Send + 'static, F: Future<Output = anyhow::Result<T>> + Send + 'static>(
    http: &LoadHttpClient,
    people: usize,
    at_once: usize,
    task: impl Fn(LoadHttpClient, usize) -> F + Clone + Send + 'static,
) -> anyhow::Result<Vec<T>> {
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..at_once.min(people) {
        let (http, next, task) = (http.clone(), Arc::clone(&next), task.clone());
        tasks.spawn(async move {
            let mut results = Vec::new();
            loop {
                let person = next.fetch_add(1, Ordering::Relaxed);
                if person >= people {
                    return anyhow::Ok(results);
                }
                results.push((person, task(http.clone(), person).await?));
            }
        });
    }
    let mut answers = Vec::new();
    while let Some(results) = tasks.join_next().await {
        answers.extend(results??);
    }
    answers.sort_by_key(|(person, _)| *person);
    Ok(answers.into_iter().map(|(_, answer)| answer).collect())
}

/// Joins the room and claims a pass. Repeats each call until it succeeds.
async fn pass(http: LoadHttpClient, person: usize) -> anyhow::Result<String> {
    let mut secret = [0; 32];
    secret[..8].copy_from_slice(&person.to_be_bytes());
    let secret = json!({"secret": hex::encode(secret)});
    let join = LoadHttpCall::post(format!("/v1/rooms/{ROOM}/places"), secret);
    let place = text(&granted(&http, person, &join).await?, "place")?;
    let claim = LoadHttpCall::new(Method::POST, format!("/v1/rooms/{ROOM}/pass")).bearer(&place);
    text(&granted(&http, person, &claim).await?, "pass")
}

/// Sends a call again and again until the answer is a success.
///
/// # Errors
/// Where the call gets no answer, is refused for good, or does not succeed in time.
pub async fn granted(
    http: &LoadHttpClient,
    person: usize,
    call: &LoadHttpCall,
) -> anyhow::Result<Value> {
    let begun = Instant::now();
    let mut unanswered = 0;
    loop {
        let answer = match http.send(call, person).await {
            Ok(answer) => answer,
            // A call gets no answer if its connection closes at that moment.
            Err(_) if unanswered < UNANSWERED_MAX => {
                unanswered += 1;
                continue;
            }
            Err(error) => return Err(anyhow::Error::msg(error)),
        };
        if answer.is_ok() {
            return Ok(answer.json());
        }
        // These refusals are temporary. A gateway answers 404, for instance, until it knows a room
        // that was just made.
        let is_temporary = matches!(answer.status, 404 | 409 | 429 | 503);
        if !is_temporary || begun.elapsed() > GRANTED_WITHIN {
            bail!("{} was refused {}", call.path, answer_text(&answer));
        }
        let is_overloaded = matches!(answer.status, 429 | 503);
        tokio::time::sleep(if is_overloaded {
            AGAIN_UNDER_LOAD
        } else {
            AGAIN
        })
        .await;
    }
}

/// Returns a text field of an answer.
///
/// # Errors
/// Where the answer has no such text.
pub fn text(answer: &Value, field: &str) -> anyhow::Result<String> {
    let text = answer[field].as_str().map(str::to_owned);
    text.with_context(|| format!("an answer without \"{field}\": {answer}"))
}

/// Returns the status and the body of an answer as text.
pub fn answer_text(answer: &LoadHttpAnswer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    format!("({}): {body}", answer.status)
}
