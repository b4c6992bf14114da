//! The answer to a client whose connection is refused before a request was read.

use super::{Problem, ProblemCode};

/// The number of seconds after which a refused client may try again.
const REFUSED_FOR_S: u64 = 5;

/// Builds the whole HTTP/1.1 answer: 503 `too_many_connections`. `detail` says what happened and
/// what to do.
pub(crate) fn refused_connection_answer(detail: &str) -> String {
    let problem = Problem::new(ProblemCode::TooManyConnections, detail).retry_after(REFUSED_FOR_S);
    let body = problem.json_document().to_string();
    format!(
        "HTTP/1.1 {}\r\ncontent-type: application/problem+json\r\nretry-after: {REFUSED_FOR_S}\r\ncache-control: no-store\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        problem.status,
        body.len()
    )
}
