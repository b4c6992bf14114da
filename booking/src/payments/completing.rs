//! Completes a provider's event before it is settled: reads from the provider what the event does
//! not say, and notes money that the ledger does not know.

use fairgate_model::payments::{
    ParsedProviderEvent, ProviderError, ProviderEvent, ProviderEventKind, ProviderPayment,
};

use super::webhook::{PaymentEventInbox, READ_WITHIN};
use crate::ledger::LedgerError;

pub(super) fn later(error: &LedgerError) -> ProviderError {
    ProviderError::Later(error.to_string())
}

pub(super) fn too_slow() -> ProviderError {
    ProviderError::Later("the payment could not be read in time".to_owned())
}

impl PaymentEventInbox {
    /// Reads from the provider what an event does not say: the card, what has gone back, where the
    /// disputes stand, and which payment of ours it is about.
    pub(super) async fn complete_event_from_provider(
        &self,
        parsed: ParsedProviderEvent,
    ) -> Result<ParsedProviderEvent, ProviderError> {
        let event = match parsed {
            ParsedProviderEvent::Event(event) => event,
            ParsedProviderEvent::ReturnOf { event, reference } => {
                match self.event_of_reference(event, reference).await? {
                    Some(event) => event,
                    // Another shop may use the same account.
                    None => return Ok(ParsedProviderEvent::Ignored),
                }
            }
            other => return Ok(other),
        };
        // What went back is read for each such event, because more may have gone back since, or a
        // refund may have failed.
        if event.kind != ProviderEventKind::Refunded {
            self.note_unknown_money(&event).await?;
            return self.with_card(event).await.map(ParsedProviderEvent::Event);
        }
        let Some(read) = self.read_back(&event).await? else {
            return Ok(ParsedProviderEvent::Event(event));
        };
        Ok(ParsedProviderEvent::Event(ProviderEvent {
            amount: event.amount.currency.with_amount(read.refunded),
            returns: Some(read.returns),
            ..event
        }))
    }

    /// Builds the event for an event that names its payment only by the provider's id. Returns
    /// `None` if the ledger has no such payment.
    async fn event_of_reference(
        &self,
        event: String,
        reference: String,
    ) -> Result<Option<ProviderEvent>, ProviderError> {
        let name = self.provider.name();
        let payment = self.ledger.payment_of_reference(name, reference).await;
        Ok(payment
            .map_err(|error| later(&error))?
            .map(|payment| ProviderEvent {
                event,
                kind: ProviderEventKind::Refunded,
                payment: payment.id,
                amount: payment.amount.currency.with_amount(0),
                reference: payment.reference,
                card: None,
                returns: None,
            }))
    }

    /// Notes money that belongs to no payment of the ledger: the payment is unknown, the provider
    /// has it under another id than the ledger, or it is over another sum. The provider is asked
    /// how much it has now, because an event may be old. If the ledger went back and the provider
    /// has a copy of the order, the order is written again instead.
    async fn note_unknown_money(&self, event: &ProviderEvent) -> Result<(), ProviderError> {
        let Some(reference) = event
            .reference
            .as_ref()
            .filter(|_| event.kind.brings_money())
        else {
            return Ok(());
        };
        let known = self
            .ledger
            .payment(&event.payment)
            .await
            .map_err(|error| later(&error))?;
        let has_ended = self.ledger.has_ended(&event.payment, reference.clone());
        let is_known = known.is_some();
        let fits = known.is_some_and(|payment| {
            let is_own = payment
                .reference
                .as_ref()
                .is_none_or(|own| own == reference);
            is_own && payment.amount == event.amount
        });
        if fits && !has_ended.await.map_err(|error| later(&error))? {
            return Ok(());
        }
        let read = tokio::time::timeout(READ_WITHIN, self.provider.money_of(reference)).await;
        let Some(sum) = read.map_err(|_| too_slow())?? else {
            return Ok(());
        };
        if !is_known && self.restore_order(event, reference).await? {
            return Ok(());
        }
        tracing::error!(payment = %event.payment, reference, sum = sum.amount, "the provider has money that the ledger does not know");
        let (name, now_ms) = (self.provider.name(), self.clock.now_ms());
        let payment = event.payment.to_string();
        self.ledger
            .note_unknown_money(name, reference.clone(), payment, sum, now_ms)
            .await
            .map_err(|error| later(&error))
    }

    /// Reads the event's payment from the provider. Returns `None` for an unknown payment.
    async fn read_back(
        &self,
        event: &ProviderEvent,
    ) -> Result<Option<ProviderPayment>, ProviderError> {
        let Some(mut payment) = self
            .ledger
            .payment(&event.payment)
            .await
            .map_err(|error| later(&error))?
        else {
            return Ok(None);
        };
        payment.reference = payment.reference.or_else(|| event.reference.clone());
        let read = tokio::time::timeout(READ_WITHIN, self.provider.read_back(&payment)).await;
        read.map_err(|_| too_slow())?.map(Some)
    }

    /// Adds the card to an event of an authorisation or a capture, if the event lacks it. Shows can
    /// limit how many seats one card buys. Once any show has such a limit, the card is read for all
    /// shows, because their seats may be exchanged for seats of the show with the limit.
    async fn with_card(&self, event: ProviderEvent) -> Result<ProviderEvent, ProviderError> {
        let wanted = event.kind.brings_money()
            && event.card.is_none()
            && self.provider.kind().names_cards()
            && self.catalogue.limits_cards();
        if !wanted {
            return Ok(event);
        }
        let card = self.read_back(&event).await?.and_then(|read| read.card);
        Ok(ProviderEvent { card, ..event })
    }
}
