//! Runs the cases of the Autobahn test suite against the connection code of the live sockets. The
//! server is the example `echo`. The cases have the suite's numbers. Compression (12 and 13) is not
//! offered, so it has no cases here.

mod cases;
mod client;
#[path = "../../examples/echo.rs"]
#[allow(dead_code, reason = "the example has a main function, too")]
mod echo;

use std::net::SocketAddr;
use std::time::Duration;

use cases::{Case, CaseEnd};
use client::{CLOSE, RawClient, ServerFrame, frame};
use tokio::net::TcpListener;
use tokio::time::timeout;

/// How long a case may take on a busy machine.
const CASE_MAX: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread")]
async fn every_case_of_the_autobahn_suite_passes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(echo::run(listener));
    let (mut passed, mut failed) = (0, Vec::new());
    for case in cases::all() {
        let id = case.id.clone();
        match timeout(CASE_MAX, play(address, case)).await {
            Ok(Ok(())) => passed += 1,
            Ok(Err(why)) => failed.push(format!("{id}: {why}")),
            Err(_) => failed.push(format!("{id}: no end")),
        }
    }
    eprintln!(
        "FIGURE Autobahn cases: {passed} passed, {} failed",
        failed.len()
    );
    assert!(failed.is_empty(), "{failed:#?}");
}

async fn play(address: SocketAddr, mut case: Case) -> Result<(), String> {
    let mut client = RawClient::open(address, case.chop).await;
    client.send(&mut case.frames);
    for (head, payload) in case.answers {
        let answer = client.read().await;
        if answer
            .as_ref()
            .is_none_or(|got| got.head != head || got.payload != payload)
        {
            return Err(format!("{} instead of {head:#x}", shown(answer.as_ref())));
        }
    }
    let code = match case.end {
        CaseEnd::ByUs => {
            client.write(frame(CLOSE, &1000_u16.to_be_bytes()));
            Some(1000)
        }
        CaseEnd::Closes(code) => code,
    };
    let end = client.read().await;
    let told = |end: &ServerFrame| end.payload.first_chunk().copied().map(u16::from_be_bytes);
    if end
        .as_ref()
        .is_none_or(|end| end.head != CLOSE || told(end) != code)
    {
        return Err(format!(
            "{} instead of a close with {code:?}",
            shown(end.as_ref())
        ));
    }
    match client.read().await {
        None => Ok(()),
        more => Err(format!("{} after the close", shown(more.as_ref()))),
    }
}

fn shown(frame: Option<&ServerFrame>) -> String {
    frame.map_or("nothing".to_owned(), |frame| {
        let shown = &frame.payload[..frame.payload.len().min(20)];
        format!(
            "{:#x} with {} bytes {shown:?}",
            frame.head,
            frame.payload.len()
        )
    })
}
