//! Money that went back to the buyer at the provider: refunds that Fairgate asked for, refunds that
//! somebody made in the provider's own pages, and disputes that were lost. Decides what the ledger
//! has to write so that it agrees with the provider. The module is pure.

use super::refund_copy::RefundCopy;
use crate::ids::RefundId;

/// Where a dispute of a payment stands. A dispute is the buyer's complaint at the bank, also called
/// a chargeback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DisputeState {
    /// The bank has not decided yet. It has the money for now.
    Open,
    /// The bank decided for the promoter, who has the money again.
    Won,
    /// The bank decided for the buyer, who has the money for good.
    Lost,
}

impl DisputeState {
    /// Returns the state's word in the ledger.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Won => "won",
            Self::Lost => "lost",
        }
    }

    /// Returns the state with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Open, Self::Won, Self::Lost]
            .into_iter()
            .find(|state| state.as_str() == word)
    }

    /// Returns whether a report of `next` changes what is known. A payment may be disputed again,
    /// and a bank may decide once more.
    #[must_use]
    pub fn is_news(known: Option<Self>, next: Self) -> bool {
        known != Some(next)
    }

    /// Returns one state for several disputes of a payment: open while one is open, else lost if
    /// one was lost. Returns `None` if there is no dispute.
    #[must_use]
    pub fn of_all(disputes: impl IntoIterator<Item = Self>) -> Option<Self> {
        let rank = |state: &Self| match state {
            Self::Won => 0,
            Self::Lost => 1,
            Self::Open => 2,
        };
        disputes.into_iter().max_by_key(rank)
    }
}

/// How money went back at the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReturnOrigin {
    /// By a refund that carries the ledger's id of a refund.
    Asked(String),
    /// By a refund without such an id.
    AtProvider,
    /// By a dispute that was lost.
    Dispute,
}

/// Where money that goes back stands at the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnState {
    /// It is on its way.
    Pending,
    /// It went back.
    Done,
    /// It did not go back, or came back.
    Failed,
}

/// One sum that went back at the provider, or is to go back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReturnedSum {
    /// The provider's id of the refund or of the dispute.
    pub id: String,
    /// The sum, in minor units.
    pub amount: i64,
    /// How it went back.
    pub origin: ReturnOrigin,
    /// Where it stands.
    pub state: ReturnState,
    /// What the provider keeps of the refund, if the ledger asked for it.
    pub copy: Option<RefundCopy>,
}

/// All that the provider knows about money of one payment that went back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderReturns {
    /// The single sums, oldest first. Disputes that are decided come last. A sum whose dispute was
    /// won has failed to go back.
    pub sums: Vec<ReturnedSum>,
    /// The disputes of the payment together; none if there is none.
    pub dispute: Option<DisputeState>,
}

impl ProviderReturns {
    /// Returns how much of `captured` is gone: the finished refunds and the lost disputes, in minor
    /// units.
    #[must_use]
    pub fn sum_gone(&self, captured: i64) -> i64 {
        let done = self.sums.iter();
        let done = done.filter(|sum| sum.state == ReturnState::Done);
        done.map(|sum| sum.amount).sum::<i64>().min(captured)
    }
}

/// A refund that the ledger has, as far as it matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerRefund {
    /// Its id.
    pub id: RefundId,
    /// Its sum, in minor units.
    pub amount: i64,
    /// Whether it is done.
    pub done: bool,
    /// Whether the provider could not make it so far.
    pub failed: bool,
    /// The provider's id of the sum that the ledger wrote this refund for. None if the ledger asked
    /// for the refund itself.
    pub of_sum: Option<String>,
}

/// A sum that the ledger does not know yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownReturn {
    /// The provider's id of the sum.
    pub id: String,
    /// The part of the payment that went back with it, in minor units. It is never more than what
    /// was left.
    pub amount: i64,
    /// Whether a dispute was lost over it.
    pub in_dispute: bool,
    /// The owed refund of the ledger that somebody made by hand with this sum; none if it is a
    /// refund of its own.
    pub by_hand: Option<RefundId>,
    /// How much of it counts for refunds that the provider could not make, in minor units.
    pub counted: i64,
    /// The refund of ours that the ledger has lost; none if the ledger did not ask for the sum.
    pub lost: Option<LostRefund>,
}

/// A refund that the ledger asked for and that it no longer has, because it is an older copy of
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostRefund {
    /// Its id.
    pub id: RefundId,
    /// What the provider keeps of it.
    pub copy: RefundCopy,
}

/// What the ledger has to write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReturnPlan {
    /// The sums that are new, oldest first.
    pub unknown: Vec<UnknownReturn>,
    /// The ledger's refunds whose sums change, with the new sum. A refund of 0 is done.
    pub changed: Vec<(RefundId, i64)>,
    /// The provider's ids of known sums that did not reach the buyer after all.
    pub came_back: Vec<String>,
}

/// Compares what the provider returned of one payment with the ledger's refunds of it. `refunds`
/// are all refunds of the payment, oldest first.
///
/// - A sum that the ledger did not ask for is new. If it is as large as a refund that is owed,
///   somebody made this refund by hand.
/// - Another sum counts first for refunds that the provider could not make: they are lower by it.
/// - What is still owed is at most what is left. The newest refunds lose first.
/// - A refund that was made at the provider has the sum that was made, even if the ledger lowered
///   it meanwhile.
#[must_use]
pub fn plan_returns(captured: i64, refunds: &[LedgerRefund], sums: &[ReturnedSum]) -> ReturnPlan {
    let mut plan = ReturnPlan::default();
    let made = |id: &RefundId| -> i64 {
        let of_refund = |sum: &&ReturnedSum| {
            sum.state != ReturnState::Failed
                && matches!(&sum.origin, ReturnOrigin::Asked(asked) if asked == id.as_str())
        };
        sums.iter().filter(of_refund).map(|sum| sum.amount).sum()
    };
    // The ledger's own refunds as they will be: id, sum, and whether the sum may still shrink.
    let mut own: Vec<(RefundId, i64, bool)> = Vec::new();
    for refund in refunds {
        let made = match refund.of_sum {
            Some(_) => 0,
            None => made(&refund.id),
        };
        own.push((
            refund.id.clone(),
            refund.amount.max(made),
            !refund.done && made == 0,
        ));
    }
    for sum in sums {
        let known = |refund: &LedgerRefund| refund.of_sum.as_deref() == Some(sum.id.as_str());
        match (refunds.iter().any(known), sum.state) {
            (true, ReturnState::Failed) => plan.came_back.push(sum.id.clone()),
            (false, ReturnState::Done) if !is_asked_for(sum, refunds) => {
                plan_unknown(captured, refunds, sum, &mut own, &mut plan);
            }
            _ => {}
        }
    }
    let fixed: i64 = own.iter().filter(|one| !one.2).map(|one| one.1).sum();
    let new = plan.unknown.iter().filter(|one| one.by_hand.is_none());
    let mut left = captured - fixed - new.map(|one| one.amount).sum::<i64>();
    for (id, amount, may_shrink) in own {
        let amount = match may_shrink {
            true => amount.min(left.max(0)),
            false => amount,
        };
        left -= if may_shrink { amount } else { 0 };
        if refunds
            .iter()
            .any(|one| one.id == id && one.amount != amount)
        {
            plan.changed.push((id, amount));
        }
    }
    plan
}

/// Returns whether the ledger has asked for this sum.
fn is_asked_for(sum: &ReturnedSum, refunds: &[LedgerRefund]) -> bool {
    matches!(&sum.origin, ReturnOrigin::Asked(id)
        if refunds.iter().any(|refund| refund.id.as_str() == id))
}

/// Plans a sum that the ledger does not know.
fn plan_unknown(
    captured: i64,
    refunds: &[LedgerRefund],
    sum: &ReturnedSum,
    own: &mut [(RefundId, i64, bool)],
    plan: &mut ReturnPlan,
) {
    let gone: i64 = own.iter().filter(|one| !one.2).map(|one| one.1).sum();
    let new = plan.unknown.iter().filter(|one| one.by_hand.is_none());
    let left = captured - gone - new.map(|one| one.amount).sum::<i64>();
    let amount = sum.amount.min(left);
    if amount <= 0 {
        return;
    }
    let lost = lost_refund(sum).filter(|_| amount == sum.amount);
    // A refund that failed comes first. Money that is only owed so far counts too, because it would
    // go back twice otherwise. A refund of ours that the ledger has lost is none of these.
    let owed = |refund: &&LedgerRefund| lost.is_none() && !refund.done && refund.amount == amount;
    let mut owed: Vec<&LedgerRefund> = refunds.iter().filter(owed).collect();
    owed.sort_by_key(|refund| !refund.failed);
    let by_hand = owed.into_iter().find_map(|refund| {
        let one = own.iter_mut().find(|one| one.0 == refund.id && one.2)?;
        one.2 = false;
        Some(refund.id.clone())
    });
    let in_dispute = sum.origin == ReturnOrigin::Dispute;
    let counted = match by_hand.is_some() || in_dispute || lost.is_some() {
        true => 0,
        false => count_for_failed(amount, refunds, own),
    };
    plan.unknown.push(UnknownReturn {
        id: sum.id.clone(),
        amount,
        in_dispute,
        by_hand,
        counted,
        lost,
    });
}

/// Reads which refund of ours a sum is.
fn lost_refund(sum: &ReturnedSum) -> Option<LostRefund> {
    let ReturnOrigin::Asked(id) = &sum.origin else {
        return None;
    };
    Some(LostRefund {
        id: id.parse().ok()?,
        copy: sum.copy.clone()?,
    })
}

/// Lowers the refunds that the provider could not make by a sum that somebody gave by hand. Returns
/// by how much.
fn count_for_failed(sum: i64, refunds: &[LedgerRefund], own: &mut [(RefundId, i64, bool)]) -> i64 {
    let mut rest = sum;
    for (id, amount, may_shrink) in own {
        let is_failed = |refund: &LedgerRefund| refund.failed && refund.id == *id;
        if *may_shrink && refunds.iter().any(is_failed) {
            let taken = rest.min(*amount);
            *amount -= taken;
            rest -= taken;
        }
    }
    sum - rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{HoldId, OrderId};

    fn refund(nth: u32, amount: i64, done: bool) -> LedgerRefund {
        let show = "night-1".parse().expect("a slug");
        let hold = HoldId::of_key(&show, fairgate_pass::Holder([1; 32]), "k");
        LedgerRefund {
            id: RefundId::of_order(&OrderId::of_hold(&hold), nth),
            amount,
            done,
            failed: false,
            of_sum: None,
        }
    }

    fn sum(id: &str, amount: i64, origin: ReturnOrigin) -> ReturnedSum {
        ReturnedSum {
            id: id.to_owned(),
            amount,
            origin,
            state: ReturnState::Done,
            copy: None,
        }
    }

    fn asked(id: &str, refund: &LedgerRefund, amount: i64) -> ReturnedSum {
        sum(id, amount, ReturnOrigin::Asked(refund.id.to_string()))
    }

    fn amounts(plan: &ReturnPlan) -> Vec<i64> {
        plan.unknown.iter().map(|one| one.amount).collect()
    }

    #[test]
    fn a_sum_that_nobody_asked_for_is_new_once() {
        let at_provider = sum("re_1", 30, ReturnOrigin::AtProvider);
        let plan = plan_returns(100, &[], std::slice::from_ref(&at_provider));
        assert!(!plan.unknown[0].in_dispute);
        assert_eq!((amounts(&plan), plan.changed), (vec![30], vec![]));
        let known = LedgerRefund {
            of_sum: Some("re_1".to_owned()),
            ..refund(1, 30, true)
        };
        assert_eq!(
            plan_returns(100, &[known], &[at_provider]),
            ReturnPlan::default()
        );
    }

    #[test]
    fn what_is_owed_shrinks_to_what_is_left_and_the_newest_refund_loses_first() {
        let (first, second) = (refund(1, 50, false), refund(2, 50, false));
        let dashboard = sum("re_1", 70, ReturnOrigin::AtProvider);
        let plan = plan_returns(100, &[first.clone(), second.clone()], &[dashboard]);
        assert_eq!(
            plan.changed,
            [(first.id.clone(), 30), (second.id.clone(), 0)]
        );
        // The second one was made at the provider before, so the first one loses.
        let made = [
            asked("re_0", &second, 50),
            sum("re_1", 40, ReturnOrigin::AtProvider),
        ];
        let plan = plan_returns(100, &[first.clone(), second], &made);
        assert_eq!(plan.changed, [(first.id, 10)]);
    }

    #[test]
    fn a_refund_that_was_made_has_the_sum_that_was_made() {
        let lowered = refund(1, 0, true);
        let plan = plan_returns(
            100,
            std::slice::from_ref(&lowered),
            &[asked("re_0", &lowered, 50)],
        );
        assert_eq!(plan.changed, [(lowered.id, 50)]);
    }

    #[test]
    fn an_owed_refund_that_somebody_made_by_hand_is_not_made_again() {
        let owed = refund(1, 50, false);
        let failed = LedgerRefund {
            failed: true,
            ..refund(2, 50, false)
        };
        let dashboard = sum("re_1", 50, ReturnOrigin::AtProvider);
        for (all, by_hand) in [
            (vec![owed.clone()], &owed),
            (vec![failed.clone()], &failed),
            // The one that the provider could not make is the likelier one.
            (vec![owed.clone(), failed.clone()], &failed),
        ] {
            let plan = plan_returns(100, &all, std::slice::from_ref(&dashboard));
            assert_eq!(plan.unknown[0].by_hand.as_ref(), Some(&by_hand.id));
            assert_eq!(plan.changed, []);
        }
    }

    #[test]
    fn a_lost_dispute_takes_no_more_than_what_is_left() {
        let given_back = refund(1, 60, true);
        let sums = [
            asked("re_0", &given_back, 60),
            sum("dp_1", 100, ReturnOrigin::Dispute),
        ];
        let plan = plan_returns(100, &[given_back], &sums);
        assert_eq!(amounts(&plan), [40]);
        assert!(plan.unknown[0].in_dispute);
    }

    #[test]
    fn a_refund_of_a_ledger_that_went_back_is_new() {
        let strange = sum("re_1", 40, ReturnOrigin::Asked("refund_x".to_owned()));
        assert_eq!(amounts(&plan_returns(100, &[], &[strange])), [40]);
    }

    #[test]
    fn a_known_sum_that_failed_came_back() {
        let known = LedgerRefund {
            of_sum: Some("re_1".to_owned()),
            ..refund(1, 30, true)
        };
        let failed = ReturnedSum {
            state: ReturnState::Failed,
            ..sum("re_1", 30, ReturnOrigin::AtProvider)
        };
        let plan = plan_returns(100, &[known], &[failed]);
        assert_eq!(plan.came_back, ["re_1"]);
        assert_eq!(plan.unknown, []);
    }

    #[test]
    fn of_several_disputes_the_open_one_counts_and_then_the_lost_one() {
        use DisputeState as D;
        assert_eq!(D::of_all([D::Won, D::Open, D::Lost]), Some(D::Open));
        assert_eq!(D::of_all([D::Won, D::Lost]), Some(D::Lost));
        assert_eq!(D::of_all([]), None);
    }

    #[test]
    fn no_more_is_gone_than_was_captured() {
        let at_provider = |id, amount| sum(id, amount, ReturnOrigin::AtProvider);
        let returns = ProviderReturns {
            sums: vec![at_provider("re_1", 60), at_provider("re_2", 100)],
            dispute: None,
        };
        assert_eq!((returns.sum_gone(100), returns.sum_gone(200)), (100, 160));
    }

    #[test]
    fn a_failed_refund_is_lowered_by_what_was_given_by_hand() {
        let failed = LedgerRefund {
            failed: true,
            ..refund(1, 90, false)
        };
        let at_provider = |id, amount| sum(id, amount, ReturnOrigin::AtProvider);
        let plan = |sums: &[ReturnedSum]| plan_returns(200, std::slice::from_ref(&failed), sums);
        let halves = plan(&[at_provider("re_1", 45), at_provider("re_2", 45)]);
        assert_eq!(halves.changed, [(failed.id.clone(), 0)]);
        let counted: Vec<i64> = halves.unknown.iter().map(|one| one.counted).collect();
        assert_eq!(counted, [45, 45]);
        let more = plan(&[at_provider("re_1", 95)]);
        assert_eq!(more.changed, [(failed.id.clone(), 0)]);
        assert_eq!((more.unknown[0].amount, more.unknown[0].counted), (95, 90));
        let dispute = plan(&[sum("dp_1", 45, ReturnOrigin::Dispute)]);
        assert_eq!((dispute.changed, dispute.unknown[0].counted), (vec![], 0));
    }

    #[test]
    fn a_bank_may_decide_once_more() {
        use DisputeState as D;
        assert!(D::is_news(Some(D::Won), D::Lost) && D::is_news(Some(D::Lost), D::Won));
        assert!(
            D::is_news(None, D::Open) && D::is_news(Some(D::Won), D::Open),
            "a second one"
        );
        assert!(!D::is_news(Some(D::Lost), D::Lost));
        let known = LedgerRefund {
            of_sum: Some("dp_1".to_owned()),
            ..refund(1, 30, true)
        };
        let won = |id| ReturnedSum {
            state: ReturnState::Failed,
            ..sum(id, 30, ReturnOrigin::Dispute)
        };
        let plan = plan_returns(100, &[known], &[won("dp_1"), won("dp_2")]);
        assert_eq!(plan.came_back, ["dp_1"]);
        assert_eq!((amounts(&plan), plan.changed), (vec![], vec![]));
    }
}
