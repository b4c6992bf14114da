//! The transitions of one hold. Each calls one script, and reads the script's answer.

use std::sync::atomic::Ordering;

use fairgate_model::holds::{HeldSeat, Hold, HoldPurpose};
use fairgate_model::ids::{HoldId, ShowId};
use fairgate_pass::Holder;
use fairgate_redis::{RedisCallError, RedisReply, ScriptCall};
use sha2::{Digest, Sha256};

use super::act::check_reply;
use super::followed::FollowedShow;
use super::scripts::{
    AcceptOfferScript, ChangeHoldScript, ExtendHoldScript, NewHoldArguments, OfferHoldScript,
    OwnHoldArguments, ProlongHoldScript, ReadHoldScript, ReadOwnHoldsScript, ReleaseHoldScript,
    SecureHoldScript, ShowScriptContext, TakeHoldScript, UnsecureHoldScript,
};
use super::{RedisStore, keys, packing};
use crate::store::{BasketDeadlines, CallId, ClaimableHold, InventoryRefusal, PROLONGED_BY_MS_MIN};

/// How long a released hold is remembered, in milliseconds. No caller repeats its call later than
/// that.
const RELEASED_MS: i64 = 600_000;

/// Builds the arguments that name a visitor's hold to a script, with the purposes that the hold may
/// have.
fn own_hold(hold: &HoldId, visitor: Holder, purposes: &[HoldPurpose]) -> OwnHoldArguments {
    let words: Vec<&str> = purposes.iter().map(|purpose| purpose.as_str()).collect();
    OwnHoldArguments {
        id: keys::hold_tail(hold),
        visitor: visitor.0,
        purposes: words.join(","),
    }
}

/// Builds the arguments that describe a new hold.
fn wanted_hold(hold: &Hold, limit: u32) -> NewHoldArguments {
    NewHoldArguments {
        id: keys::hold_tail(&hold.id),
        visitor: hold.visitor.0,
        limit,
        plan: hold.plan_version,
        items: packing::pack_items(&hold.items),
        room: hold.room.clone(),
        side_by_side: hold.next_to_each_other,
        expires_ms: hold.expires_at_ms,
        lock_until_ms: hold.lock_until_ms,
        extensions: hold.extensions_left,
        purpose: hold.purpose.as_str(),
        terms: hold.terms,
    }
}

/// Reads the hold from a script's answer.
fn answered_hold(id: &HoldId, reply: &RedisReply, limit: u32) -> Result<Hold, InventoryRefusal> {
    check_reply(reply, limit)?;
    let hold = reply
        .field("hold")
        .and_then(|hold| packing::read_hold(id, hold));
    hold.map_err(|error| {
        tracing::error!(hold = %id, %error, "a hold in Redis cannot be read");
        InventoryRefusal::Unreachable
    })
}

/// Reads the holds of an answer, each with its id.
fn read_own_holds(show: &ShowId, reply: &RedisReply) -> Result<Vec<Hold>, RedisCallError> {
    reply.field("holds")?.read_list(|own| {
        let id = packing::hold_id(show, own.field("id")?.as_bytes()?)?;
        packing::read_hold(&id, own.field("hold")?)
    })
}

impl RedisStore {
    /// Calls a script on one hold, and returns the hold as it is after the script.
    async fn act_on_hold(
        &self,
        id: &HoldId,
        limit: u32,
        script: impl ScriptCall<Family = ShowScriptContext>,
    ) -> Result<Hold, InventoryRefusal> {
        let (_, reply) = self.inner.run_transition(&id.show(), script).await?;
        answered_hold(id, &reply, limit)
    }

    /// Makes a new hold with a script that takes the hold's cells.
    async fn make_hold(
        &self,
        followed: &FollowedShow,
        hold: Hold,
        limit: u32,
        script: impl ScriptCall<Family = ShowScriptContext>,
    ) -> Result<Hold, InventoryRefusal> {
        let now_ms = self.inner.options.clock.now_ms();
        let (_, reply) = self
            .inner
            .run_transition_at(followed, now_ms, script)
            .await?;
        check_reply(&reply, limit)?;
        match reply.field("hold").map(RedisReply::present) {
            // A repeated call gets the hold as it is.
            Ok(Some(stored)) => packing::read_hold(&hold.id, stored)
                .map_err(|error| self.inner.log_unreadable(followed, &error)),
            Ok(None) => Ok(hold),
            Err(error) => Err(self.inner.log_unreadable(followed, &error)),
        }
    }

    /// Takes the cells of a hold, unless this process already knows that some of the cells are not
    /// free.
    pub(super) async fn take_hold(&self, hold: Hold, limit: u32) -> Result<Hold, InventoryRefusal> {
        let followed = self.inner.followed(&hold.id.show());
        if followed.is_fresh(self.inner.options.shield) {
            let taken = {
                let state = followed.state();
                let known = state.known.as_ref();
                known.map(|known| known.surely_taken(&hold, &keys::hold_tail(&hold.id), limit))
            };
            if let Some(taken) = taken.filter(|taken| !taken.is_empty()) {
                metrics::counter!("fairgate_takes_shielded_total").increment(1);
                return Err(InventoryRefusal::Taken(taken));
            }
        }
        let take = TakeHoldScript {
            hold: wanted_hold(&hold, limit),
        };
        self.make_hold(&followed, hold, limit, take).await
    }

    /// Takes cells that are free or kept for the waitlist.
    pub(super) async fn offer_hold(
        &self,
        hold: Hold,
        limit: u32,
    ) -> Result<Hold, InventoryRefusal> {
        let followed = self.inner.followed(&hold.id.show());
        let offer = OfferHoldScript {
            hold: wanted_hold(&hold, limit),
        };
        self.make_hold(&followed, hold, limit, offer).await
    }

    /// Turns an offer into a basket, unless the offer's lock has ended by `now_ms`.
    pub(super) async fn accept_offered_hold(
        &self,
        hold: &HoldId,
        visitor: Holder,
        limit: u32,
        until: BasketDeadlines,
        now_ms: i64,
    ) -> Result<Hold, InventoryRefusal> {
        let accept = AcceptOfferScript {
            limit,
            expires_ms: until.expires_at_ms,
            lock_until_ms: until.lock_until_ms,
            own: own_hold(hold, visitor, &[HoldPurpose::Offer, HoldPurpose::Basket]),
        };
        let followed = self.inner.followed(&hold.show());
        let accepted = self.inner.run_transition_at(&followed, now_ms, accept);
        let (_, reply) = accepted.await?;
        answered_hold(hold, &reply, limit)
    }

    /// Gives some seats of a basket back and takes others.
    pub(super) async fn change_hold(
        &self,
        hold: &HoldId,
        visitor: Holder,
        (add, remove): (&[HeldSeat], &[u32]),
        side_by_side: bool,
        limit: u32,
    ) -> Result<Hold, InventoryRefusal> {
        let (add, remove) = (packing::pack_items(add), packing::pack_numbers(remove));
        let wish = Sha256::new()
            .chain_update((add.len() as u64).to_be_bytes())
            .chain_update(&add)
            .chain_update(&remove)
            .finalize();
        let change = ChangeHoldScript {
            limit,
            add,
            remove,
            side_by_side,
            wish: wish[..16].to_vec(),
            own: own_hold(hold, visitor, &[HoldPurpose::Basket]),
        };
        self.act_on_hold(hold, limit, change).await
    }

    /// Reads a hold of any purpose.
    pub(super) async fn read_hold(
        &self,
        hold: &HoldId,
        visitor: Holder,
    ) -> Result<Hold, InventoryRefusal> {
        let own = own_hold(hold, visitor, &HoldPurpose::ALL);
        self.act_on_hold(hold, 0, ReadHoldScript { own }).await
    }

    /// Reads all holds of a visitor, in the order in which their locks end.
    pub(super) async fn read_holds_of(
        &self,
        show: &ShowId,
        visitor: Holder,
    ) -> Result<Vec<Hold>, InventoryRefusal> {
        let followed = self.inner.followed_without_use(show);
        let now_ms = self.inner.options.clock.now_ms();
        let script = ReadOwnHoldsScript { visitor: visitor.0 };
        let read = self.inner.run_transition_at(&followed, now_ms, script);
        let (_, reply) = read.await?;
        check_reply(&reply, 0)?;
        let mut holds = read_own_holds(show, &reply)
            .map_err(|error| self.inner.log_unreadable(&followed, &error))?;
        holds.sort_by(|a, b| (a.lock_until_ms, &a.id).cmp(&(b.lock_until_ms, &b.id)));
        Ok(holds)
    }

    /// Frees a hold that is not locked for an order.
    pub(super) async fn release_hold(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
    ) -> Result<(), InventoryRefusal> {
        let release = ReleaseHoldScript {
            remembered_ms: RELEASED_MS,
            own: own_hold(hold, visitor, purposes),
        };
        let (_, reply) = self.inner.run_transition(&hold.show(), release).await?;
        check_reply(&reply, 0)
    }

    /// Moves the deadlines of a basket.
    pub(super) async fn extend_hold(
        &self,
        hold: &HoldId,
        visitor: Holder,
        call: CallId,
        (expires_ms, lock_until_ms): (i64, i64),
    ) -> Result<Hold, InventoryRefusal> {
        let extend = ExtendHoldScript {
            call_id: call.0,
            expires_ms,
            lock_until_ms,
            own: own_hold(hold, visitor, &[HoldPurpose::Basket]),
        };
        self.act_on_hold(hold, 0, extend).await
    }

    /// Locks a hold for an order that is about to claim it.
    pub(super) async fn secure_hold(
        &self,
        hold: &HoldId,
        visitor: Holder,
        purposes: &[HoldPurpose],
        lock_until_ms: i64,
    ) -> Result<ClaimableHold, InventoryRefusal> {
        let secure = SecureHoldScript {
            lock_until_ms,
            own: own_hold(hold, visitor, purposes),
        };
        let (incarnation, reply) = self.inner.run_transition(&hold.show(), secure).await?;
        Ok(ClaimableHold {
            hold: answered_hold(hold, &reply, 0)?,
            incarnation,
        })
    }

    /// Turns a hold into a basket again, because the ledger did not accept the claim.
    pub(super) async fn unsecure_hold(
        &self,
        hold: &HoldId,
        secured_until_ms: i64,
        lock_until_ms: i64,
    ) {
        let show = hold.show();
        let unsecure = UnsecureHoldScript {
            id: keys::hold_tail(hold),
            lock_until_ms,
            secured_until_ms,
        };
        let undone = self.inner.run_transition(&show, unsecure).await;
        let followed = self.inner.followed(&show);
        followed.sweep_anyway.store(true, Ordering::Release);
        if let Err(refused) = undone {
            // The reconciler releases the hold later.
            tracing::warn!(%hold, %refused, "a hold stays locked for an order that was not made");
        }
    }

    /// Prolongs the lock of an order whose claim is still in the ledger.
    pub(super) async fn prolong_hold(
        &self,
        hold: Hold,
        cursor: u64,
    ) -> Result<(), InventoryRefusal> {
        let followed = self.inner.followed_without_use(&hold.id.show());
        let now_ms = self.inner.options.clock.now_ms();
        let prolong = ProlongHoldScript {
            id: keys::hold_tail(&hold.id),
            visitor: hold.visitor.0,
            plan: hold.plan_version,
            items: packing::pack_items(&hold.items),
            room: hold.room,
            side_by_side: hold.next_to_each_other,
            expires_ms: hold.expires_at_ms,
            lock_until_ms: hold.lock_until_ms,
            purpose: hold.purpose.as_str(),
            terms: hold.terms,
            cursor,
            gain_ms_min: PROLONGED_BY_MS_MIN,
        };
        let (_, reply) = self
            .inner
            .run_transition_at(&followed, now_ms, prolong)
            .await?;
        check_reply(&reply, 0)
    }
}
