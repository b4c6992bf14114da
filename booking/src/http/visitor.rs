//! Finds out who calls: a visitor with a pass, or somebody with an order's key. Booking checks this
//! itself, so a caller gains nothing by going around the gateway.

use axum::http::HeaderMap;
use fairgate_base::http::keys::bearer;
use fairgate_base::http::{Problem, ProblemCode};
use fairgate_model::ids::{OrderId, ShowId};
use fairgate_model::shows::Show;
use fairgate_model::shows::coverage::NotSoldReason;
use fairgate_pass::{Holder, LivePass, PassError, VerifiedPass, Verifier};

use crate::catalogue::Catalogue;
use crate::catalogue::selling::NotSold;
use crate::http::refusals::holds::{no_new_seats, not_yours, pass_ended, pass_stopped};
use crate::orders::key::{OrderKeys, PREFIX};
use crate::stopped_passes::StoppedPasses;

/// After how many seconds a visitor without a pass should try again.
const WAITING_ROOM_RETRY_S: u64 = 10;

/// Checks passes and order keys.
#[derive(Clone)]
pub struct CallerVerifier {
    /// Checks the signature and the times of passes.
    pub verifier: Verifier,
    /// Knows the room of each show.
    pub catalogue: Catalogue,
    /// Checks the keys of orders.
    pub order_keys: OrderKeys,
    /// Knows which passes were stopped.
    pub stopped: StoppedPasses,
}

impl CallerVerifier {
    /// Returns the visitor's pass for a show, live or expired.
    ///
    /// # Errors
    /// 429 `waiting_room` without a pass. 401 `pass_invalid` for a bad pass or a pass of another
    /// room.
    pub fn require_pass(
        &self,
        headers: &HeaderMap,
        show: &ShowId,
        now_s: i64,
    ) -> Result<VerifiedPass, Problem> {
        let room = self.catalogue.room_of(show);
        let Some(credential) = bearer(headers) else {
            return Err(waiting_room(&room));
        };
        let presented = self
            .verifier
            .verify_pass(credential, now_s)
            .map_err(|error| pass_invalid(&error, &room))?;
        if presented.room() == room {
            Ok(presented)
        } else {
            let detail = format!(
                "The pass is for another on-sale. Nothing was changed. This show's waiting room is /r/{room}."
            );
            Err(Problem::new(ProblemCode::PassInvalid, detail)
                .with_title("The pass does not fit")
                .with_member("room", room))
        }
    }

    /// Returns the visitor's live pass for a show that is sold now, for a call that takes something
    /// new. A change that another node made before this call counts.
    ///
    /// # Errors
    /// 409 `not_on_sale` if nobody sells the show, whoever calls. 503 `ledger_unavailable` if it is
    /// not known who sells it. Otherwise the errors of [`CallerVerifier::require_live_pass`].
    pub async fn require_sale(
        &self,
        headers: &HeaderMap,
        show: &Show,
        now_s: i64,
    ) -> Result<LivePass, Problem> {
        let seller = self.catalogue.current_seller_of(show).await;
        seller.map_err(|refused| not_sold(&show.id, refused))?;
        self.require_live_pass(headers, &show.id, now_s).await
    }

    /// Returns the visitor's pass for a show if the pass is live.
    ///
    /// # Errors The errors of [`CallerVerifier::require_pass`], 401 `pass_expired` for an expired
    /// pass, 401 `pass_stopped` for a pass that was stopped or whose room is over, and 401
    /// `pass_ended` if the visit ended early. 503 if it is not known whether the pass was stopped.
    pub async fn require_live_pass(
        &self,
        headers: &HeaderMap,
        show: &ShowId,
        now_s: i64,
    ) -> Result<LivePass, Problem> {
        let presented = self.require_pass(headers, show, now_s)?;
        let room = presented.room();
        let Ok(live) = presented.require_live() else {
            return Err(no_new_seats(
                ProblemCode::PassExpired,
                room,
                format!(
                    "The pass ran out; no new seats were held. What you hold or ordered you can still pay, read or give back. For new seats claim another pass at /r/{room}."
                ),
            ));
        };
        self.stopped.ensure_fresh().await?;
        if self.stopped.contains(live) {
            return Err(pass_stopped(room));
        }
        if let Some(cause) = self.stopped.visit_end(live) {
            return Err(pass_ended(room, cause));
        }
        Ok(live.clone())
    }

    /// Returns the visitor's pass for a show. The pass may have expired, but a live pass must not
    /// have been stopped, and its room must not be over. This is for a call that needs no new turn
    /// in the line. Visitors with a stopped pass may not make such a call.
    ///
    /// # Errors
    /// The errors of [`CallerVerifier::require_pass`], and 401 `pass_stopped` for a live pass that
    /// was stopped and for a pass whose room is over. 503 if it is not known whether the pass was
    /// stopped.
    pub async fn require_pass_not_stopped(
        &self,
        headers: &HeaderMap,
        show: &ShowId,
        now_s: i64,
    ) -> Result<VerifiedPass, Problem> {
        let presented = self.require_pass(headers, show, now_s)?;
        self.stopped.ensure_fresh().await?;
        if self.is_stopped(&presented) || self.stopped.is_over(presented.room()) {
            return Err(pass_stopped(presented.room()));
        }
        Ok(presented)
    }

    /// Returns whether a live pass was stopped. Returns false for an expired pass.
    #[must_use]
    pub fn is_stopped(&self, pass: &VerifiedPass) -> bool {
        pass.require_live()
            .is_ok_and(|live| self.stopped.contains(live))
    }

    /// Returns the caller who wants to open an order: a visitor, or somebody who has the order's
    /// key. [`OrderCaller::may_open`] then checks whether the order belongs to the visitor.
    ///
    /// # Errors
    /// 401 `order_key_required` without a key or pass. 401 `pass_invalid` for a bad pass or a pass
    /// of another room. 403 `not_yours` for a wrong key.
    pub fn order_caller(
        &self,
        headers: &HeaderMap,
        order: &OrderId,
        now_s: i64,
    ) -> Result<OrderCaller, Problem> {
        match bearer(headers) {
            Some(key) if key.starts_with(PREFIX) => {
                if self.order_keys.opens(order, key) {
                    Ok(OrderCaller::Key)
                } else {
                    Err(not_yours("order"))
                }
            }
            Some(_) => Ok(OrderCaller::Visitor(
                self.require_pass(headers, &order.show(), now_s)?.holder(),
            )),
            None => Err(Problem::new(
                ProblemCode::OrderKeyRequired,
                "Send the order's key, or the pass it was made with, as \"Authorization: Bearer …\". Nothing was changed.",
            )),
        }
    }
}

/// The caller who wants to open an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderCaller {
    /// Somebody who has the order's key.
    Key,
    /// A visitor, who may open only the orders that belong to this visitor.
    Visitor(Holder),
}

impl OrderCaller {
    /// Checks that the caller may open an order that belongs to `visitor`.
    ///
    /// # Errors
    /// 403 `not_yours` if the order is another visitor's.
    pub fn may_open(self, visitor: Holder) -> Result<(), Problem> {
        match self {
            Self::Visitor(caller) if caller != visitor => Err(not_yours("order")),
            _ => Ok(()),
        }
    }
}

/// Builds the problem of a show that takes no new buyers.
#[must_use]
pub fn not_sold(show: &ShowId, refused: NotSold) -> Problem {
    let why = match refused {
        NotSold::Ledger(error) => return error.into(),
        NotSold::Announced(NotSoldReason::Announced) => "The promoter has announced it only",
        NotSold::Announced(NotSoldReason::NoRoom) => "No waiting room sells it",
        NotSold::Announced(NotSoldReason::Withheld) => "A change of its sale is not complete",
    };
    let detail = format!(
        "This show is announced and not on sale. {why}. No new seats were held. What you hold or ordered you can still pay, read or give back. /s/{show} says when the sale begins."
    );
    Problem::new(ProblemCode::NotOnSale, detail)
        .with_member("show", show.as_str())
        .with_member("state", "announced")
}

/// Builds 401 `pass_invalid`.
#[must_use]
pub fn pass_invalid(error: &PassError, room: &str) -> Problem {
    Problem::new(
        ProblemCode::PassInvalid,
        format!("{error}. Nothing was changed. Come in through the waiting room at /r/{room}."),
    )
    .with_member("room", room)
    .with_member("room_url", format!("/r/{room}"))
}

/// Builds 429 `waiting_room`: the visitor must first wait in line.
#[must_use]
pub fn waiting_room(room: &str) -> Problem {
    Problem::new(
        ProblemCode::WaitingRoom,
        format!("Seats of this show can only be held with a pass from its waiting room. Nothing was held. Go to /r/{room}."),
    )
    .with_member("room", room)
    .with_member("room_url", format!("/r/{room}"))
    .retry_after(WAITING_ROOM_RETRY_S)
}
