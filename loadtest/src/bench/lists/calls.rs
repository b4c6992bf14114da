//! The lists and pages that need no key, and the clients that ask for them.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::ensure;
use serde::Serialize;
use tokio::net::TcpStream;

use super::programme::{day, title};
use crate::bench::edge::clients::{ask, head};

/// How a list is made, which decides what a call may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListKind {
    /// The call with which all others are compared.
    Baseline,
    /// The list is prepared, and everybody gets the same bytes.
    Prepared,
    /// The answer is made for the call: another search each time, or the page of a room or a show.
    Made,
}

impl ListKind {
    /// Returns the most processor time of a call in milliseconds, if it has a limit.
    pub fn cpu_ms_max(self) -> Option<f64> {
        match self {
            Self::Baseline => None,
            Self::Prepared => Some(0.2),
            Self::Made => Some(5.0),
        }
    }
}

/// A list or a page.
#[derive(Clone, Copy)]
pub struct KeylessList {
    /// What the report calls it.
    pub name: &'static str,
    /// How it is made.
    pub kind: ListKind,
    /// Returns the address of a call. Each number gives another search.
    path: fn(usize) -> String,
}

impl KeylessList {
    /// Describes a list.
    pub const fn new(name: &'static str, kind: ListKind, path: fn(usize) -> String) -> Self {
        Self { name, kind, path }
    }
}

/// Returns every list and page that needs no key, apart from those of trains.
pub fn lists() -> Vec<KeylessList> {
    use ListKind::{Made, Prepared};
    let list = KeylessList::new;
    vec![
        list("/", Prepared, |_| "/".to_owned()),
        list("/v1/rooms", Prepared, |_| "/v1/rooms".to_owned()),
        list("/v1/shows", Prepared, |_| "/v1/shows".to_owned()),
        list("/cinema", Prepared, |_| "/cinema".to_owned()),
        list("/v1/cinema/cities", Prepared, |_| {
            "/v1/cinema/cities".to_owned()
        }),
        list("/v1/cinema/cities/…/films", Prepared, |_| {
            "/v1/cinema/cities/city-0/films".to_owned()
        }),
        list("/v1/cinema/showings", Prepared, |_| {
            "/v1/cinema/showings".to_owned()
        }),
        list("/openapi.json", Prepared, |_| "/openapi.json".to_owned()),
        list("/v1/rooms/{room}", Made, |_| "/v1/rooms/live-1".to_owned()),
        list("/v1/shows/{show}", Made, |_| {
            "/v1/shows/showing-77".to_owned()
        }),
        list("/v1/shows/{show}/seatmap", Prepared, |_| {
            "/v1/shows/live-1/seatmap".to_owned()
        }),
        list("/v1/shows/{show}/seats", Prepared, |_| {
            "/v1/shows/live-1/seats".to_owned()
        }),
        list("/v1/shows/{show}/free", Made, |_| {
            "/v1/shows/live-1/free".to_owned()
        }),
        list("/?q=", Made, |n| format!("/?q={}", words(n))),
        list("/?city=&from=&page=", Made, |n| {
            format!("/?city=City+1&from={}&page={}", day(n % 6), 1 + n % 90)
        }),
        list("/v1/rooms?q=", Made, |n| {
            format!("/v1/rooms?q={}", words(n))
        }),
        list("/v1/rooms?city=&from=&to=", Made, |n| {
            format!(
                "/v1/rooms?city=City+{}&from={}&to={}",
                n % 20,
                day(n % 6),
                day(6 + n % 60)
            )
        }),
        list("/v1/shows?q=", Made, |n| {
            format!("/v1/shows?q={}", words(n))
        }),
        list("/v1/shows?venue=&category=&from=", Made, |n| {
            format!(
                "/v1/shows?venue=hall-{}&category=cat1&from={}",
                n % 500,
                day(n % 3)
            )
        }),
        list("/v1/shows?page=", Made, |n| {
            format!("/v1/shows?page={}", 2 + n % 290)
        }),
        list("/v1/cinema/showings?keyword=", Made, |n| {
            format!("/v1/cinema/showings?keyword={}", words(n))
        }),
        list("/v1/cinema/showings?sort=distance", Made, |n| {
            format!(
                "/v1/cinema/showings?lat=48.{n}&lon=2.3&sort=distance&page={}",
                1 + n % 700
            )
        }),
        list("/cinema?keyword=", Made, |n| {
            format!("/cinema?keyword={}", words(n))
        }),
        list("/r/{room}", Made, |n| format!("/r/live-{}", n % 60)),
        list("/r/everyday", Made, |_| "/r/everyday".to_owned()),
        list("/s/{show}", Made, |n| format!("/s/showing-{}", n % 60)),
        list("/v1/rooms/{room}.ics", Made, |n| {
            format!("/v1/rooms/live-{}.ics", n % 60)
        }),
    ]
}

/// Returns words of titles with a slip, for an address. No two numbers below some thousands give
/// the same words.
fn words(n: usize) -> String {
    let mut words = title(n).replace(' ', "+");
    words.remove(1 + n % 3);
    format!("{words}+{}", n / 256)
}

/// Asks for a list over an open connection, as this client. Returns the length of the answer.
///
/// # Errors
/// Where the answer is not a success.
pub async fn call_for(
    stream: &mut TcpStream,
    list: KeylessList,
    client: u32,
    call: usize,
) -> anyhow::Result<usize> {
    let path = (list.path)(call);
    let [_, a, b, c] = client.to_be_bytes();
    let headers = format!("accept-encoding: gzip\r\nx-forwarded-for: 10.{a}.{b}.{c}\r\n");
    let answer = ask(stream, &head("GET", &path, &headers)).await?;
    ensure!(answer.status == 200, "{path} answered {}", answer.status);
    Ok(answer.body_bytes)
}

/// Asks for a list as fast as the answers come. Returns how many answers came.
///
/// # Errors
/// Where an answer is not a success.
pub async fn keep_calling(
    address: SocketAddr,
    list: KeylessList,
    client: u32,
    until: Instant,
) -> anyhow::Result<usize> {
    let mut stream = TcpStream::connect(address).await?;
    let mut answers = 0;
    while Instant::now() < until {
        // Each client begins with other searches.
        let call = client as usize * 1_000 + answers;
        call_for(&mut stream, list, client, call).await?;
        answers += 1;
    }
    Ok(answers)
}
