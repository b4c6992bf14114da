//! `GET /v1/promoter/dump`: the ledger and the payments, in the form that a judge reads. The dump
//! contains no names and no addresses.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use bytes::Bytes;
use fairgate_base::clock::Clock;
use fairgate_base::http::Problem;
use fairgate_base::http::ProblemCode;
use fairgate_base::http::keys::{KeyedRoutes, PromoterCaller, RoleKeys};
use futures_util::stream::try_unfold;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::Mutex;

use crate::dump::lines::DumpFailed;
use crate::ledger::Ledger;

/// The size of one piece of the answer, in bytes.
const PIECE_BYTES: usize = 256 << 10;

/// What the handler of the dump needs.
#[derive(Clone)]
pub struct DumpRoutes {
    /// The ledger.
    pub ledger: Ledger,
    /// The keys that callers of this route need.
    pub keys: RoleKeys,
    /// The clock.
    pub clock: Clock,
    /// Only one dump is read at a time, because each reads the whole ledger.
    pub reading: Arc<Mutex<()>>,
}

impl KeyedRoutes for DumpRoutes {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

/// Sends the whole ledger as `booking dump` writes it, with one JSON record on each line. The last
/// record is `pending`. If it is missing, the answer was cut off.
#[utoipa::path(get, path = "/v1/promoter/dump", tag = "promoter",
    responses((status = 200, content_type = "application/x-ndjson", body = String), (status = 401), (status = 503)))]
pub async fn dump(
    State(routes): State<DumpRoutes>,
    _: PromoterCaller,
) -> Result<impl IntoResponse, Problem> {
    // The dump is written to a file first. Otherwise a slow client would keep the ledger's snapshot
    // open, and a failure of the ledger could leave the client with half of a dump.
    let file = {
        let _one = routes.reading.lock().await;
        let file = tempfile::tempfile().map_err(|error| refused(DumpFailed::Written(error)))?;
        let written = routes.ledger.write_dump(file, routes.clock.now_ms()).await;
        File::from_std(written.map_err(refused)?)
    };
    let (file, length) = rewound(file)
        .await
        .map_err(|error| refused(DumpFailed::Written(error)))?;
    let headers = [
        (header::CONTENT_TYPE, "application/x-ndjson".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::CONTENT_LENGTH, length.to_string()),
        (
            header::CONTENT_DISPOSITION,
            "attachment; filename=\"fairgate-dump.jsonl\"".to_owned(),
        ),
    ];
    let pieces = try_unfold(file, async |mut file: File| -> std::io::Result<_> {
        let mut piece = vec![0; PIECE_BYTES];
        let read = file.read(&mut piece).await?;
        piece.truncate(read);
        Ok((read > 0).then(|| (Bytes::from(piece), file)))
    });
    Ok((headers, Body::from_stream(pieces)))
}

/// Rewinds the file, and returns it with its length in bytes.
async fn rewound(mut file: File) -> std::io::Result<(File, u64)> {
    file.rewind().await?;
    let length = file.metadata().await?.len();
    Ok((file, length))
}

fn refused(failed: DumpFailed) -> Problem {
    match failed {
        DumpFailed::Read(error) => error.into(),
        DumpFailed::Written(error) => {
            tracing::error!(%error, "the file of a dump could not be written");
            Problem::new(
                ProblemCode::Internal,
                "The dump could not be written to this server's temporary folder. Nothing was \
                 changed. Ask for it again once the folder has space.",
            )
            .with_title("The dump could not be made")
        }
    }
}
