//! The parts of HTTP that gateway and booking share: one shape of error, one way to read a body,
//! one request id. There are no business rules here.

mod body;
mod byte_cache;
pub mod keys;
mod problem;
mod problem_code;
mod readiness;
mod refusal_log;
pub(crate) mod refused_connection;
mod request_id;
pub mod shared_answers;
pub mod shared_bodies;
mod slow_body;
mod switched;
pub mod tagged;
mod wrap;

pub use body::{
    BodyBytes, BodyBytesMax, BodyText, JsonBody, JsonBytes, JsonText, NoFields, PathParams,
    QueryParams, parse_json,
};
pub use problem::{CODE, Problem};
pub use problem_code::ProblemCode;
pub use readiness::Readiness;
pub use request_id::{RequestId, request_id};
pub use slow_body::BodyProgress;
pub use switched::switched_stream;
pub use wrap::{head_as_get, wrapped, wrong_method};
