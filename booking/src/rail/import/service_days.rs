//! The days on which services run, and whether any of them is on sale.

use std::collections::BTreeSet;

use fairgate_model::timetables::{ServiceCalendar, TimetableParts};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

/// Returns a note if no train runs on the days that are on sale at `now_ms`. Such a timetable is
/// sound, but the person who imports it would wonder why nothing is on sale. The note says that the
/// last day of service is past, or when the next one goes on sale.
#[must_use]
pub fn sale_days_note(parts: &TimetableParts, now_ms: i64) -> Option<String> {
    let now = Timestamp::from_millisecond(now_ms).ok()?;
    let today = now.to_zoned(TimeZone::get(&parts.timezone).ok()?).date();
    // Services without trips put nothing on sale.
    let used: BTreeSet<u32> = parts.trips.iter().map(|trip| trip.service).collect();
    let services = used
        .iter()
        .filter_map(|at| parts.services.get(*at as usize));
    let services: Vec<&ServiceCalendar> = services.collect();
    let next = services.iter().filter_map(|of| next_day(of, today)).min();
    let Some(next) = next else {
        let last = services.iter().filter_map(|of| last_day(of)).max()?;
        return Some(format!(
            "the last day of service, {last}, is past: later days have no trains"
        ));
    };
    let days_before = i64::from(parts.terms.window_days) - 1;
    let on_sale_from = next.saturating_sub(Span::new().days(days_before));
    (on_sale_from > today)
        .then(|| format!("no train runs before {next}: that day goes on sale on {on_sale_from}"))
}

/// Returns the last day on which a service runs. It is [`Date::MAX`] for a service without end, and
/// `None` for a service that never runs.
pub fn last_day(service: &ServiceCalendar) -> Option<Date> {
    let weekly = match service.last {
        None => (service.weekdays != 0).then_some(Date::MAX),
        Some(last) => weekly_day(service, last, |day| day.yesterday().ok()),
    };
    weekly.max(service.added.iter().copied().max())
}

/// Returns the first day from `today` on which a service runs.
fn next_day(service: &ServiceCalendar, today: Date) -> Option<Date> {
    let from = service.first.map_or(today, |first| first.max(today));
    let weekly = weekly_day(service, from, |day| day.tomorrow().ok());
    let added = service.added.iter().copied().filter(|day| *day >= today);
    weekly.into_iter().chain(added).min()
}

/// Returns the first day on which a service runs by its days of the week, counted from `from` in
/// the direction of `step`.
fn weekly_day(
    service: &ServiceCalendar,
    from: Date,
    step: impl Fn(Date) -> Option<Date>,
) -> Option<Date> {
    if service.weekdays == 0 {
        return None;
    }
    // Any seven days have one of the service's days of the week, and each removed date can cost one
    // more week. If none of so many days is found, the service ends before there is one.
    let days = std::iter::successors(Some(from), |day| step(*day));
    let mut days = days.take(7 * (service.removed.len() + 1));
    days.find(|day| service.runs_on(*day))
}
