//! The call with which a promoter opens shows again that are closed because the ledger went back.

use axum::extract::State;
use fairgate_base::clock::{Clock, rfc3339};
use fairgate_base::http::keys::{KeyedRoutes, PromoterCaller, RoleKeys};
use fairgate_base::http::{PathParams, Problem, ProblemCode};
use fairgate_model::ids::ShowId;
use serde::Serialize;

use crate::http::answers::JsonAnswer;
use crate::reconciler::ReconcilerLine;
use crate::set_back::reopen::{ReopenOutcome, ShowReopener};

/// The most shows or differences that a refusal describes.
const DESCRIBED_MAX: usize = 20;

/// What the handler of reopened shows needs.
#[derive(Clone)]
pub struct ReopenRoutes {
    /// Opens shows again.
    pub reopener: ShowReopener,
    /// The keys that callers need.
    pub keys: RoleKeys,
    /// The clock.
    pub clock: Clock,
}

impl KeyedRoutes for ReopenRoutes {
    fn role_keys(&self) -> &RoleKeys {
        &self.keys
    }
}

/// The shows that sell again.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct ReopenedShows {
    /// The id or the glob of the shows.
    shows: String,
    /// Whether they were closed. False if nothing was closed.
    was_closed: bool,
    /// How many orders of these shows came back from the payment provider since the ledger went
    /// back.
    orders_restored: u64,
    /// How many orders of the whole ledger are lost at least of which no payment provider knows:
    /// they were free, or paid in the sandbox. Null if that is not known, or nothing was closed.
    orders_lost: Option<u64>,
    /// When they were reopened, RFC 3339.
    at: String,
}

/// Opens a show again that is closed because the ledger went back to an older state. `{show}` may
/// be a glob such as `g1-*`. First compares the payments, the orders and the seats of the show, and
/// repairs what differs. If something is left, the show stays closed.
#[utoipa::path(post, path = "/v1/promoter/shows/{show}/reopen", tag = "promoter", params(("show" = String, Path)),
    responses((status = 200, body = ReopenedShows), (status = 404), (status = 409, description = "not_reconciled")))]
pub async fn reopen(
    State(routes): State<ReopenRoutes>,
    PathParams(show): PathParams<String>,
    _: PromoterCaller,
) -> Result<JsonAnswer, Problem> {
    let now_ms = routes.clock.now_ms();
    let outcome = routes.reopener.reopen(&show, now_ms).await?;
    let (was_closed, orders_restored, orders_lost) = match outcome {
        ReopenOutcome::Reopened { restored, lost } => (true, restored, lost),
        ReopenOutcome::NothingClosed => (false, 0, None),
        ReopenOutcome::NoShow => return Err(Problem::not_found("show", &show)),
        ReopenOutcome::StoreAhead(shows) => return Err(store_ahead(&shows)),
        ReopenOutcome::CancelledBefore(shows) => return Err(cancelled_before(&shows)),
        ReopenOutcome::ProviderUnused(provider) => {
            let detail = format!(
                "This ledger has payments at {provider}, and this process does not use it, so nobody could ask what was paid meanwhile. Nothing was reopened. Start it with FAIRGATE_PAYMENTS={provider}, and call again."
            );
            return Err(Problem::new(ProblemCode::NotReconciled, detail));
        }
        ReopenOutcome::ProviderSilent(why) => {
            let detail = format!(
                "The payment provider could not be asked what was paid meanwhile ({why}), so nothing was reopened. Call again once it answers."
            );
            return Err(Problem::new(
                ProblemCode::PaymentProviderUnreachable,
                detail,
            ));
        }
        ReopenOutcome::Unreconciled(left) => return Err(unreconciled(&left)),
    };
    let reopened = ReopenedShows {
        shows: show,
        was_closed,
        orders_restored,
        orders_lost,
        at: rfc3339(now_ms),
    };
    JsonAnswer::json(200, &reopened)
}

fn unreconciled(left: &[ReconcilerLine]) -> Problem {
    let described = left.iter().take(DESCRIBED_MAX);
    let described: Vec<String> = described
        .map(|line| format!("{}: {}", line.about, line.told))
        .collect();
    let detail = format!(
        "Payments, orders and seats do not agree yet, so nothing was reopened: {}. What can be repaired is being repaired. Money that belongs to no payment here may be for shows, prices or plans that were changed since: apply your files again first, and call again; its orders then come back. Settle what is left at /v1/promoter/attention, after you gave it back. Then call again.",
        described.join("; ")
    );
    Problem::new(ProblemCode::NotReconciled, detail).with_member("findings", left)
}

fn store_ahead(shows: &[ShowId]) -> Problem {
    let detail = format!(
        "Redis knows sales of these shows that the ledger lacks, so nothing was reopened: {}. Put the newer ledger back. If it is lost, compare the shows' orders with your payment provider, empty Redis, and call again.",
        named(shows)
    );
    Problem::new(ProblemCode::NotReconciled, detail).with_member("shows", shows)
}

fn cancelled_before(shows: &[ShowId]) -> Problem {
    let detail = format!(
        "Refunds at the payment provider say that these shows were cancelled, and the ledger does not know it any more, so nothing was reopened: {}. Cancel them again, or reopen the other shows by their ids.",
        named(shows)
    );
    Problem::new(ProblemCode::NotReconciled, detail).with_member("shows", shows)
}

fn named(shows: &[ShowId]) -> String {
    let named = shows.iter().take(DESCRIBED_MAX).map(ShowId::as_str);
    named.collect::<Vec<_>>().join(", ")
}
