//! Builds the parts that move money: the provider and the workers. The workers wake each other.

use std::sync::Arc;

use fairgate_base::clock::Clock;

use super::BookingSetup;
use crate::catalogue::Catalogue;
use crate::config::PaymentSettings;
use crate::inventory::seats::SeatInventory;
use crate::ledger::{Ledger, LedgerError};
use crate::orders::late::LateMoneyWorker;
use crate::orders::refund::mass::MassRefundWorker;
use crate::payments::PaymentProvider;
use crate::payments::effects::PaymentEffectWorker;
use crate::payments::refunding::RefundWorker;
use crate::payments::sandbox::SandboxProvider;
use crate::payments::stripe::StripeProvider;
use crate::payments::webhook::PaymentEventInbox;
use crate::wake::{LedgerNotifiers, WorkerNotifier};

/// The first value is the sandbox, or `None` if the provider is not the sandbox. The second value
/// is the payment provider, or `None` if payments are not configured.
pub(super) type PaymentProviders = (Option<SandboxProvider>, Option<Arc<dyn PaymentProvider>>);

/// Opens the payment provider that the settings name.
///
/// # Errors
/// Returns an error if its settings cannot be used.
pub(super) fn provider(
    setup: &BookingSetup,
    ledger: &Ledger,
    sandbox_secret: [u8; 32],
) -> Result<PaymentProviders, LedgerError> {
    Ok(match &setup.payments {
        PaymentSettings::None => (None, None),
        PaymentSettings::Sandbox => {
            let sandbox = SandboxProvider::new(ledger.clone(), sandbox_secret);
            (Some(sandbox.clone()), Some(Arc::new(sandbox)))
        }
        PaymentSettings::Stripe(settings) => {
            let stripe = StripeProvider::new(settings.clone());
            let stripe = stripe.map_err(|error| LedgerError::Unavailable(error.to_string()))?;
            (None, Some(Arc::new(stripe)))
        }
    })
}

/// The workers that move money. A worker that calls a provider exists only if a provider is
/// configured.
#[derive(Clone)]
pub(super) struct PaymentWorkers {
    pub(super) sandbox: Option<SandboxProvider>,
    pub(super) inbox: Option<PaymentEventInbox>,
    pub(super) effects: Option<PaymentEffectWorker>,
    pub(super) refunding: Option<RefundWorker>,
    pub(super) mass: MassRefundWorker,
    pub(super) late: LateMoneyWorker,
    pub(super) notifiers: LedgerNotifiers,
}

impl PaymentWorkers {
    /// Builds the workers without starting them.
    pub(super) fn new(
        (sandbox, provider): PaymentProviders,
        catalogue: &Catalogue,
        seats: &SeatInventory,
        ledger: &Ledger,
        clock: &Clock,
    ) -> Self {
        let [wake_seat, wake_event, wake_effect, wake_late, wake_refund] =
            std::array::from_fn(|_| WorkerNotifier::default());
        let notifiers = LedgerNotifiers {
            seats: wake_seat.clone(),
            effects: wake_effect.clone(),
            refunds: wake_refund.clone(),
        };
        let inbox = provider.clone().map(|provider| PaymentEventInbox {
            ledger: ledger.clone(),
            provider,
            clock: clock.clone(),
            notifier: wake_event,
            seats: wake_seat.clone(),
            effects: wake_effect.clone(),
            refunds: wake_refund.clone(),
            late: wake_late.clone(),
            catalogue: catalogue.clone(),
        });
        Self {
            sandbox,
            inbox: inbox.clone(),
            effects: provider.clone().map(|provider| PaymentEffectWorker {
                ledger: ledger.clone(),
                provider,
                clock: clock.clone(),
                notifier: wake_effect.clone(),
                seats: wake_seat.clone(),
            }),
            refunding: provider.zip(inbox).map(|(provider, inbox)| RefundWorker {
                ledger: ledger.clone(),
                provider,
                inbox,
                clock: clock.clone(),
                notifier: wake_refund,
            }),
            mass: MassRefundWorker {
                ledger: ledger.clone(),
                clock: clock.clone(),
                notifier: WorkerNotifier::default(),
                notifiers: notifiers.clone(),
            },
            late: LateMoneyWorker {
                ledger: ledger.clone(),
                catalogue: catalogue.clone(),
                seats: seats.clone(),
                clock: clock.clone(),
                notifier: wake_late,
                outbox: wake_seat,
                effects: wake_effect,
            },
            notifiers,
        }
    }
}
