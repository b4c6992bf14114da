//! Renders a ticket as a QR code and as a calendar entry.

use fairgate_base::calendar::{CalendarEvent, write_calendar};
use qrcode::render::svg;
use qrcode::{EcLevel, QrCode};

use super::PrintedTicket;

/// How many hours a calendar entry lasts if the end is not known. Only the end of a train journey
/// is known.
const ENTRY_HOURS: i64 = 3;

/// Returns an SVG image of the QR code for a ticket's code. Doors read tickets from screens and
/// from paper, so the squares of the QR code should be as large as possible. The QR code has the
/// smallest version that holds the text, and the highest level of error correction that fits into
/// this version.
///
/// # Errors
/// Returns an error if the text is too long for a QR code.
pub fn qr_svg(code: &str) -> Result<String, qrcode::types::QrError> {
    let smallest = QrCode::with_error_correction_level(code, EcLevel::L)?;
    let version = smallest.version();
    let better = [EcLevel::Q, EcLevel::M]
        .into_iter()
        .find_map(|level| QrCode::with_version(code, version, level).ok());
    Ok(better
        .unwrap_or(smallest)
        .render::<svg::Color<'_>>()
        .min_dimensions(320, 320)
        .quiet_zone(true)
        .build())
}

/// Returns the calendar entry of a ticket. `changed_at_ms` is the time at which the show's terms,
/// which include its beginning, changed for the last time. It is `None` if they never changed.
#[must_use]
pub fn calendar(printed: &PrintedTicket, changed_at_ms: Option<i64>) -> String {
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
    let written_ms = changed_at_ms.map_or(printed.ticket.issued_at_ms, |changed_ms| {
        changed_ms.max(printed.ticket.issued_at_ms)
    });
    let written = jiff::Timestamp::from_millisecond(written_ms).unwrap_or(printed.starts_at);
    write_calendar(&[CalendarEvent {
        uid: printed.ticket.id.as_str(),
        summary: &printed.title,
        location: place,
        description: &seat,
        issued_at: written,
        sequence: u64::from(printed.terms.saturating_sub(1)),
        starts_at: printed.starts_at,
        ends_at,
        time_zone: printed.place.time_zone.as_deref(),
        end_time_zone: journey.and_then(|journey| journey.to.time_zone.as_deref()),
    }])
}
