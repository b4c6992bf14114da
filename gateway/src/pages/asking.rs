//! Reads the documents that pages need from booking's public routes, in process.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use fairgate_base::http::Problem;
use serde_json::Value;
use tower::ServiceExt;

use super::{PageRoutes, address};

/// The longest document (bytes) that a page reads from booking.
const DOCUMENT_BYTES_MAX: usize = 4 << 20;

/// A problem that booking answered instead of a document.
#[derive(Debug, Clone)]
pub(super) struct DocumentRefusal {
    /// The answer's status.
    pub status: StatusCode,
    /// The problem document that booking answered with.
    pub document: Value,
}

impl From<Problem> for DocumentRefusal {
    fn from(problem: Problem) -> Self {
        Self {
            status: problem.status,
            document: problem.json_document(),
        }
    }
}

impl PageRoutes {
    /// Reads a public document of booking.
    pub(super) async fn fetch_document(&self, path: &str) -> Result<Value, DocumentRefusal> {
        let missing = || DocumentRefusal::from(Problem::not_found("page", path));
        let request = Request::get(path)
            .body(Body::empty())
            .map_err(|_| missing())?;
        let response = match self.booking.clone().oneshot(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        };
        let status = response.status();
        let bytes = axum::body::to_bytes(response.into_body(), DOCUMENT_BYTES_MAX)
            .await
            .map_err(|_| missing())?;
        let document: Value = serde_json::from_slice(&bytes).map_err(|_| missing())?;
        if status.is_success() {
            Ok(document)
        } else {
            Err(DocumentRefusal { status, document })
        }
    }

    /// Returns whether there is a cinema programme to search.
    pub(super) async fn has_programme(&self) -> bool {
        let cities = self.fetch_document("/v1/cinema/cities").await;
        cities.is_ok_and(|cities| {
            cities["cities"]
                .as_array()
                .is_some_and(|all| !all.is_empty())
        })
    }

    /// Returns whether there is a timetable to search.
    pub(super) async fn has_timetable(&self) -> bool {
        self.fetch_document("/v1/rail/timetable").await.is_ok()
    }

    /// Reads a public document of booking, with a query.
    pub(super) async fn fetch_with_query(
        &self,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Value, DocumentRefusal> {
        self.fetch_document(&address::with_query(path, query)).await
    }
}
