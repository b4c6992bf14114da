//! Runs contract suites. A claim is a statement that must be true for every store or every ledger,
//! and a suite is a list of claims. All claims are tested, even after one has failed.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::FutureExt;

/// The name of a claim, and the function that tests the claim on a store or ledger.
pub type ContractCase<'a, S> = (
    &'static str,
    fn(S) -> Pin<Box<dyn Future<Output = ()> + 'a>>,
);

/// Makes a list of [`ContractCase`]s from async functions. The name of each function is its claim.
/// Each function gets the subject, which is the store or ledger to test, as its argument. Other
/// arguments can be named, as in
/// `contract_cases![|nodes| (&nodes.one, &nodes.two); a_claim, another_claim]`. Here `nodes` is the
/// subject.
#[macro_export]
macro_rules! contract_cases {
    (|$subject:ident| $arguments:tt; $($claim:ident),* $(,)?) => {
        &[$((stringify!($claim), |$subject| Box::pin(async move { $claim $arguments.await }))),*]
    };
    ($($claim:ident),* $(,)?) => {
        $crate::contract_cases![|subject| (subject); $($claim),*]
    };
}

/// Runs every case on a new subject from `make`, and reports all claims that do not hold.
///
/// # Panics
/// Where claims do not hold. The message names them.
pub async fn run_contract<'a, S>(cases: &[ContractCase<'a, S>], make: impl AsyncFn() -> S) {
    let mut broken = Vec::new();
    for (claim, case) in cases {
        let subject = make().await;
        let result = AssertUnwindSafe(case(subject)).catch_unwind().await;
        if result.is_err() {
            broken.push(*claim);
        }
    }
    assert!(broken.is_empty(), "claims that do not hold: {broken:#?}");
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    async fn a_number_is_even(number: u32) {
        assert_eq!(number % 2, 0);
    }

    async fn a_number_is_odd(number: u32) {
        assert_eq!(number % 2, 1);
    }

    async fn a_number_is_below_two(number: u32) {
        assert!(number < 2);
    }

    const PARITY: &[ContractCase<'_, u32>] =
        contract_cases![a_number_is_odd, a_number_is_odd, a_number_is_even];
    const SIZE: &[ContractCase<'_, u32>] =
        contract_cases![|number| (number - 2); a_number_is_below_two];

    #[tokio::test]
    async fn every_claim_gets_a_fresh_subject_and_the_message_names_all_broken_claims() {
        let made = AtomicU32::new(0);
        let cases = [PARITY, SIZE].concat();
        let run = run_contract(&cases, async || made.fetch_add(1, Ordering::Relaxed));
        let told = AssertUnwindSafe(run).catch_unwind().await;
        let told = told.expect_err("the first claim is broken");
        let told = told.downcast::<String>().expect("a message");
        assert_eq!(told.matches("a_number_is_odd").count(), 1, "{told}");
        assert!(!told.contains("even") && !told.contains("below"), "{told}");
        assert_eq!(made.into_inner(), 4);
    }
}
