//! Every code of a problem, with the status and the title that go with it. This is the only place
//! where codes are added.

use axum::http::StatusCode;

/// Defines [`ProblemCode`] from a table of codes and titles, which are grouped by status.
macro_rules! problem_codes {
    ($($status:ident { $($variant:ident $code:literal: $title:literal,)+ })+) => {
        /// Tells programs what happened. Each code is in `snake_case`, and stays the same in every
        /// version.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum ProblemCode {
            $($(
                #[doc = concat!("`", $code, "`: ", $title, ".")]
                $variant,
            )+)+
        }

        impl ProblemCode {
            /// All codes, in the order of the table.
            pub const ALL: &[Self] = &[$($(Self::$variant),+),+];

            /// Returns the code as it is sent.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(Self::$variant => $code,)+)+
                }
            }

            /// Returns the usual status of answers with this code.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self {
                    $($(Self::$variant)|+ => StatusCode::$status,)+
                }
            }

            /// Returns the usual title of answers with this code.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $($(Self::$variant => $title,)+)+
                }
            }
        }
    };
}

problem_codes! {
    // 400
    BAD_REQUEST {
        BadRequest "bad_request": "The request was refused",
        BodyUnreadable "body_unreadable": "The body could not be read",
        IdempotencyKeyInvalid "idempotency_key_invalid": "The Idempotency-Key is not valid",
        InvalidJson "invalid_json": "The body is not JSON",
        InvalidQuery "invalid_query": "The query is not valid",
        InvalidText "invalid_text": "The body is not UTF-8",
        NotAWebsocket "not_a_websocket": "This address is a WebSocket",
        SignatureInvalid "signature_invalid": "The signature is not valid",
    }
    // 401
    UNAUTHORIZED {
        ApiKeyInvalid "api_key_invalid": "The API key is not known",
        InternalKeyRequired "internal_key_required": "This address is for gateways",
        KeyInvalid "key_invalid": "The key is not known here",
        KeyRequired "key_required": "A key is required",
        OrderKeyRequired "order_key_required": "Show whose order it is",
        PassEnded "pass_ended": "Your turn is over",
        PassExpired "pass_expired": "Your time for choosing seats is over",
        PassInvalid "pass_invalid": "The pass is not valid",
        PassStopped "pass_stopped": "The pass was ended",
        PlaceInvalid "place_invalid": "The place is not valid here",
        PlaceRequired "place_required": "You have no place in this line yet",
    }
    // 403
    FORBIDDEN {
        ChallengeFailed "challenge_failed": "A challenge must be solved first",
        CodeInvalid "code_invalid": "The code is not valid here",
        CodeUsed "code_used": "The code was used before",
        CookiesBlocked "cookies_blocked": "Please allow cookies",
        KeyRole "key_role": "This key may not do that",
        NetworkDenied "network_denied": "This room is closed to your network",
        NetworkFull "network_full": "Your network has its places",
        NotYours "not_yours": "This belongs to somebody else",
        Revoked "revoked": "The promoter ended this place",
        OriginRefused "origin_refused": "This call comes from another site",
    }
    // 404
    NOT_FOUND {
        NoDraw "no_draw": "This room has no draw",
        NotFound "not_found": "Not found",
        NotWaiting "not_waiting": "You are not on this waitlist",
    }
    // 405
    METHOD_NOT_ALLOWED {
        MethodNotAllowed "method_not_allowed": "This address takes another method",
    }
    // 408
    REQUEST_TIMEOUT {
        TooSlow "too_slow": "The request took too long",
    }
    // 409
    CONFLICT {
        AlreadyClaimed "already_claimed": "You have your pass already",
        AlreadyScanned "already_scanned": "The ticket was scanned before",
        AlreadyWaiting "already_waiting": "You are already waiting",
        BestAvailableNotFound "best_available_not_found": "No such seats are free",
        ChangedMeanwhile "changed_meanwhile": "Somebody else changed the room",
        CurrencyInUse "currency_in_use": "The currency is in use",
        Departed "departed": "The train has left",
        DrawFixed "draw_fixed": "This bears on the draw and can no longer change",
        ExchangeOpen "exchange_open": "An exchange is being paid",
        HoldOrdered "hold_ordered": "The hold has become an order",
        HoldPurpose "hold_purpose": "The hold is for something else",
        IdempotencyInFlight "idempotency_in_flight": "The same call is still running",
        JourneyHeld "journey_held": "You hold this journey",
        JourneyOrdered "journey_ordered": "You have ordered this journey",
        NoConsentAwaited "no_consent_awaited": "The order waits for no consent",
        NoExtensionsLeft "no_extensions_left": "The hold cannot be extended",
        NotCalled "not_called": "It is not your turn yet",
        NotCancellable "not_cancellable": "The order cannot be given up",
        NotExchangeable "not_exchangeable": "The order cannot be exchanged",
        NotFrozen "not_frozen": "The line is not frozen yet",
        NotOnSale "not_on_sale": "The show is not on sale",
        NotOpen "not_open": "The lobby is not open yet",
        NotPayable "not_payable": "The order cannot be paid any more",
        NotReconciled "not_reconciled": "The ledger does not agree with what is known outside it",
        NotRefundable "not_refundable": "The order cannot be refunded",
        NothingToSettle "nothing_to_settle": "Nothing waits to be settled",
        NothingToWaitFor "nothing_to_wait_for": "Too few seats can come free",
        OnsaleConflict "onsale_conflict": "The file and somebody else changed the same",
        PaymentDisputed "payment_disputed": "The payment is disputed",
        PaymentSettled "payment_settled": "The payment is settled",
        PlanChanged "plan_changed": "The seating plan has changed",
        PlanInUse "plan_in_use": "The plan is in use",
        PostponeInstead "postpone_instead": "People have orders for this date and hall",
        RoomBuiltIn "room_built_in": "The built-in room cannot be replaced",
        SalesEnded "sales_ended": "The sale has ended",
        SeatsTaken "seats_taken": "Seats are taken",
        ShowCancelled "show_cancelled": "The show is cancelled",
        ShowCovered "show_covered": "Another room covers this show",
        ShowingsUndecided "showings_undecided": "A person must decide about showings",
        TermsChanged "terms_changed": "The show's terms have changed",
        TicketScanned "ticket_scanned": "A ticket was scanned",
        TicketBlocked "ticket_blocked": "The payment of the ticket is disputed",
        TicketVoid "ticket_void": "The ticket is no longer valid",
        WrongShow "wrong_show": "The ticket is for another show",
    }
    // 410
    GONE {
        HoldExpired "hold_expired": "The hold has run out",
        PlaceLeft "place_left": "This place was given up",
        RoomClosed "room_closed": "The room is closed",
    }
    // 413
    PAYLOAD_TOO_LARGE {
        BodyTooLarge "body_too_large": "The body is too large",
    }
    // 415
    UNSUPPORTED_MEDIA_TYPE {
        UnsupportedMediaType "unsupported_media_type": "The body is of another type",
    }
    // 422
    UNPROCESSABLE_ENTITY {
        AmountTooFine "amount_too_fine": "The sum cannot be paid exactly",
        AmountTooLarge "amount_too_large": "The sum is too large to be paid at once",
        AmountTooSmall "amount_too_small": "The sum is too small to be paid",
        DuplicateSeat "duplicate_seat": "A seat is named twice",
        ExchangeQuantity "exchange_quantity": "Another number of seats",
        IdempotencyMismatch "idempotency_mismatch": "The Idempotency-Key was used for another call",
        InvalidField "invalid_field": "A field is not valid",
        LimitExceeded "limit_exceeded": "Too many seats",
        NotAvailable "not_available": "Not available here",
        NotForSale "not_for_sale": "Seats are not for sale",
        NothingToExchange "nothing_to_exchange": "These are the order's own seats",
        OnsaleInvalid "onsale_invalid": "The on-sale file has faults",
        PaymentRefused "payment_refused": "The payment is not possible",
        PlanInvalid "plan_invalid": "The seating plan has faults",
        ProgrammeInvalid "programme_invalid": "The programme has faults",
        UnknownField "unknown_field": "A field is unknown",
        UnknownSeat "unknown_seat": "A seat is unknown",
        WouldOrphan "would_orphan": "A single seat would be left",
    }
    // 429
    TOO_MANY_REQUESTS {
        TooManyAttempts "too_many_attempts": "Too many wrong codes or keys",
        TooManyJoins "too_many_joins": "Too many people join from your network at once",
        TooManySearches "too_many_searches": "Too many searches",
        TooManyWishes "too_many_wishes": "Your wishes change too often",
        WaitingRoom "waiting_room": "Please wait for your turn",
    }
    // 500
    INTERNAL_SERVER_ERROR {
        Internal "internal": "Something went wrong here",
        TicketTooLong "ticket_too_long": "The ticket does not fit a code",
    }
    // 502
    BAD_GATEWAY {
        ShopUnanswered "shop_unanswered": "The shop did not answer",
        ShopUnreachable "shop_unreachable": "The shop is not answering",
    }
    // 503
    SERVICE_UNAVAILABLE {
        BookingRefused "booking_refused": "Booking is not answering",
        BookingUnanswered "booking_unanswered": "Booking did not answer",
        BookingUnreachable "booking_unreachable": "Booking is not answering",
        Busy "busy": "So much is being bought that new seats must wait a moment",
        LedgerUnavailable "ledger_unavailable": "The ledger is not answering",
        LineUnavailable "line_unavailable": "The line is not answering",
        PaymentProviderUnreachable "payment_provider_unreachable": "The payment could not be prepared",
        PaymentsNotConfigured "payments_not_configured": "Payments are not set up here",
        Restarting "restarting": "This server is about to end",
        SaleClosedAfterRestore "sale_closed_after_restore": "The sale is stopped for a check",
        SeatsNotReady "seats_not_ready": "The seats are being read",
        SeatsUnreachable "seats_unreachable": "The seats cannot be reached",
        TooManyConnections "too_many_connections": "This server takes no more connections now",
        TooManySockets "too_many_sockets": "This server holds as many live connections as it can",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The codes that the contract names, except two: `revoked`, and `in_use`, which no part of the
    /// program uses yet.
    const OF_THE_CONTRACT: &[&str] = &[
        "already_scanned",
        "best_available_not_found",
        "challenge_failed",
        "code_invalid",
        "code_used",
        "draw_fixed",
        "hold_expired",
        "idempotency_in_flight",
        "idempotency_mismatch",
        "journey_ordered",
        "limit_exceeded",
        "network_full",
        "not_available",
        "not_called",
        "not_exchangeable",
        "not_open",
        "pass_expired",
        "pass_invalid",
        "payments_not_configured",
        "plan_in_use",
        "postpone_instead",
        "room_closed",
        "seats_taken",
        "too_many_joins",
        "unknown_seat",
        "waiting_room",
        "would_orphan",
        "wrong_show",
    ];

    fn all_codes() -> BTreeSet<&'static str> {
        ProblemCode::ALL.iter().map(|code| code.as_str()).collect()
    }

    /// Writes a name such as `SeatsTaken` as `seats_taken`.
    fn in_snake_case(variant: &str) -> String {
        let mut words = String::new();
        for (at, letter) in variant.char_indices() {
            if at > 0 && letter.is_ascii_uppercase() {
                words.push('_');
            }
            words.push(letter.to_ascii_lowercase());
        }
        words
    }

    #[test]
    fn no_two_variants_have_the_same_code() {
        assert_eq!(all_codes().len(), ProblemCode::ALL.len());
    }

    #[test]
    fn a_code_is_the_name_of_its_variant_in_snake_case() {
        for code in ProblemCode::ALL {
            assert_eq!(code.as_str(), in_snake_case(&format!("{code:?}")));
        }
    }

    #[test]
    fn a_title_begins_with_a_capital_and_ends_without_a_full_stop() {
        for code in ProblemCode::ALL {
            let title = code.title();
            assert!(
                title.starts_with(|first: char| first.is_uppercase()),
                "{title}"
            );
            assert!(
                title.ends_with(|last: char| last.is_alphanumeric()),
                "{title}"
            );
        }
    }

    #[test]
    fn every_status_is_an_error_status() {
        for code in ProblemCode::ALL {
            let status = code.status();
            assert!(
                status.is_client_error() || status.is_server_error(),
                "{code:?}"
            );
        }
    }

    #[test]
    fn every_code_of_the_contract_exists() {
        let all = all_codes();
        let missing: Vec<_> = OF_THE_CONTRACT
            .iter()
            .filter(|code| !all.contains(*code))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}
