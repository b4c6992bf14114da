//! Renders a ticket as a QR code and as a calendar entry.

use fairgate_base::calendar::{CalendarEvent, write_calendar};
use qrcode::render::svg;
use qrcode::{EcLevel, QrCode};

use super::PrintedTicket;

/// How many hours a calendar entry lasts if the end is not known. Only train journeys have a known
/// end.
const ENTRY_HOURS: i64 = 3;

/// Returns the QR code of a signed ticket as an SVG image.
///
/// # Errors
/// Returns an error where the text is too long for a QR code.
pub fn qr_svg(signed: &str) -> Result<String, qrcode::types::QrError> {
    // Doors read tickets from screens and paper. The low error-correction level keeps the squares
    // large.
    let code = QrCode::with_error_correction_level(signed, EcLevel::L)?;
    Ok(code
        .render::<svg::Color<'_>>()
        .min_dimensions(320, 320)
        .quiet_zone(true)
        .build())
}

/// Returns the calendar entry of a ticket.
#[must_use]
pub fn calendar(printed: &PrintedTicket) -> String {
    let journey = printed.journey.as_ref();
    let arrives = journey.and_then(|journey| journey.to.at);
    let ends_at = arrives.unwrap_or_else(|| {
        let after = jiff::SignedDuration::from_hours(ENTRY_HOURS);
        let ends_at = printed.starts_at.saturating_add(after);
        ends_at.unwrap_or(printed.starts_at)
    });
    let venue = printed.place.line();
    let venue = venue.as_deref().unwrap_or(&printed.venue);
    let place = journey.map_or(venue, |journey| journey.from.name.as_str());
    let seat = match &printed.ticket.name {
        Some(name) => format!("Seat {}, {name}", printed.ticket.label),
        None => format!("Seat {}", printed.ticket.label),
    };
    let issued =
        jiff::Timestamp::from_millisecond(printed.ticket.issued_at_ms).unwrap_or(printed.starts_at);
    write_calendar(&[CalendarEvent {
        uid: printed.ticket.id.as_str(),
        summary: &printed.title,
        location: place,
        description: &seat,
        issued_at: issued,
        starts_at: printed.starts_at,
        ends_at,
        time_zone: printed.place.time_zone.as_deref(),
    }])
}
