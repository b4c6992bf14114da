//! Completes a provider's event before it is settled: reads from the provider what the event does
//! not say, and notes money that the ledger does not know.

use fairgate_model::payments::returns::ProviderReturns;
use fairgate_model::payments::{
    ParsedProviderEvent, Payment, ProviderError, ProviderEvent, ProviderEventKind, ProviderPayment,
};

use super::restoring::CopiedOrder;
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
                match self.event_of_reference(event, reference.clone()).await? {
                    Some(event) => event,
                    // Another shop may use the same account.
                    None => {
                        self.note_unknown_left(&reference).await?;
                        return Ok(ParsedProviderEvent::Ignored);
                    }
                }
            }
            other => return Ok(other),
        };
        // What went back is read for each such event, because more may have gone back since, or a
        // refund may have failed.
        if let Some(reference) = event
            .reference
            .as_ref()
            .filter(|_| !event.kind.brings_money())
        {
            self.note_unknown_left(reference).await?;
        }
        if event.kind != ProviderEventKind::Refunded {
            let event = self.with_whole_amount(event).await?;
            let event = self.with_known_payment(event).await?;
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

    /// Gives the event of a capture the whole amount of its payment if somebody captured only a
    /// part of it in the provider's own pages. What was not captured counts as given back there.
    async fn with_whole_amount(
        &self,
        event: ProviderEvent,
    ) -> Result<ProviderEvent, ProviderError> {
        if event.kind != ProviderEventKind::Captured {
            return Ok(event);
        }
        let known = self.ledger.payment(&event.payment).await;
        let Some(payment) = known.map_err(|error| later(&error))? else {
            return Ok(event);
        };
        let is_own = payment.reference.is_some() && payment.reference == event.reference;
        let is_part = payment.amount.currency == event.amount.currency
            && event.amount.amount < payment.amount.amount;
        if !is_own || !is_part {
            return Ok(event);
        }
        let read = self.read_back(&event).await?;
        Ok(ProviderEvent {
            amount: payment.amount,
            returns: read.map(|read| read.returns),
            ..event
        })
    }

    /// Notes how much is left of money that is listed as unknown, after some of it went back.
    async fn note_unknown_left(&self, reference: &str) -> Result<(), ProviderError> {
        let listed = self.ledger.is_unknown_money(reference.to_owned()).await;
        if !listed.map_err(|error| later(&error))? {
            return Ok(());
        }
        let read = tokio::time::timeout(READ_WITHIN, self.provider.money_of(reference)).await;
        let left = read.map_err(|_| too_slow())??.map_or(0, |left| left.amount);
        let now_ms = self.clock.now_ms();
        let noted = self
            .ledger
            .note_unknown_left(reference.to_owned(), left, now_ms);
        noted.await.map_err(|error| later(&error))
    }

    /// Looks for the payment of an event that brings money. If the ledger went back and the
    /// provider has a copy of the order, the order is written again, and a capture tells what has
    /// gone back of it since. Money of another ledger that uses the same account is left to that
    /// ledger. All other money that belongs to no payment of this ledger is noted.
    async fn with_known_payment(
        &self,
        event: ProviderEvent,
    ) -> Result<ProviderEvent, ProviderError> {
        let Some(reference) = event
            .reference
            .clone()
            .filter(|_| event.kind.brings_money())
        else {
            return Ok(event);
        };
        let known = self.ledger.payment(&event.payment).await;
        let known = known.map_err(|error| later(&error))?;
        if let Some(payment) = &known
            && self.is_own_money(&event, &reference, payment).await?
        {
            return Ok(event);
        }
        // An event may be old, so the provider is asked how much it has now.
        let read = tokio::time::timeout(READ_WITHIN, self.provider.money_of(&reference)).await;
        let Some(sum) = read.map_err(|_| too_slow())?? else {
            return Ok(event);
        };
        if known.is_none() {
            match self.copied_order(&event, &reference).await? {
                CopiedOrder::OfAnotherLedger(ledger) => {
                    tracing::warn!(payment = %event.payment, reference, ledger, "money at the provider belongs to another ledger, which uses the same account");
                    return Ok(event);
                }
                CopiedOrder::Own(copy, show) => {
                    let restored = self.restore_order(&event, &reference, (&copy, &show));
                    if let Some(returns) = restored.await? {
                        let tells = event.kind == ProviderEventKind::Captured
                            && returns != ProviderReturns::default();
                        let returns = tells.then_some(returns);
                        return Ok(ProviderEvent { returns, ..event });
                    }
                }
                CopiedOrder::None => {}
            }
        }
        tracing::error!(payment = %event.payment, reference, sum = sum.amount, "the provider has money that the ledger does not know");
        let (name, now_ms) = (self.provider.name(), self.clock.now_ms());
        let of = (
            event.payment.to_string(),
            known.map(|payment| payment.order),
        );
        let noted = self
            .ledger
            .note_unknown_money(name, reference, of, sum, now_ms);
        noted.await.map_err(|error| later(&error))?;
        Ok(event)
    }

    /// Returns whether the money of an event is that of this payment: over the same sum, and not
    /// under another id of the provider or one that ended.
    async fn is_own_money(
        &self,
        event: &ProviderEvent,
        reference: &str,
        payment: &Payment,
    ) -> Result<bool, ProviderError> {
        let mut own = payment.reference.iter();
        if !own.all(|own| own == reference) || payment.amount != event.amount {
            return Ok(false);
        }
        let has_ended = self.ledger.has_ended(&event.payment, reference.to_owned());
        Ok(!has_ended.await.map_err(|error| later(&error))?)
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
