//! Where a journey begins and ends, by the codes of a train's stations; a show that stays where it is has neither. And
//! whether seats are still sold there.

use std::ops::Range;

use crate::catalogue::show::Show;
use crate::rail::run::{Call, Run};
use fairgate_base::http::Problem;

/// Characters of an unknown code that are told back.
const SHOWN_MAX: usize = 40;

/// What a refused ask for a hold leaves undone.
pub const NOTHING_HELD: &str = "Nothing was held.";

/// What a refused change of a hold leaves undone.
pub const HOLD_UNCHANGED: &str = "The hold is as it was.";

/// The legs of a show from one station to another; the only leg of a show without stops. `undone` is what a refusal says of
/// the call.
///
/// # Errors
/// 422 with the field that is wrong; 409 as [`on_sale`].
pub fn legs_of(
    show: &Show,
    from: Option<&str>,
    to: Option<&str>,
    now_ms: i64,
    undone: &str,
) -> Result<Range<u16>, Problem> {
    let Some(run) = &show.run else {
        for (field, set) in [("from", from.is_some()), ("to", to.is_some())] {
            if set {
                return Err(Problem::field(
                    field,
                    format!("{field}: this show has no stops; leave it out. {undone}"),
                ));
            }
        }
        let legs = show.legs();
        return on_sale(show, &legs, now_ms, undone).map(|()| legs);
    };
    let from = called_at(run, "from", from, "begins", undone)?;
    let to = called_at(run, "to", to, "ends", undone)?;
    let legs = run.between(from, to).ok_or_else(|| {
        Problem::field(
            "to",
            format!(
                "to: {} does not go from {from} to {to}; it calls at {}, in this order. {undone}",
                run.train,
                stations(run)
            ),
        )
    })?;
    on_sale(show, &legs, now_ms, undone).map(|()| legs)
}

/// Whether seats over these legs are still sold. `undone` is what a refusal says of the call.
///
/// # Errors
/// 409 `departed` where the train has left the first station; 409 `sales_ended` where the show's sale has ended.
pub fn on_sale(show: &Show, legs: &Range<u16>, now_ms: i64, undone: &str) -> Result<(), Problem> {
    if !show.sale_has_ended(legs, now_ms) {
        return Ok(());
    }
    let call = show.run.as_ref().and_then(|run| {
        let call = run.calls.get(usize::from(legs.start))?;
        Some((run, call))
    });
    if let Some((run, Call { station, .. })) = call {
        let detail = format!(
            "{} has left {station}. {undone} Choose a later train.",
            run.train
        );
        let problem = Problem::new(409, "departed", "The train has left", detail);
        return Err(problem.with("from", station));
    }
    let since = show.sells_until(legs);
    let detail = format!(
        "Seats of {} were sold until {since}. {undone} What you hold since before then can still be ordered and paid; for anything else, look for another show.",
        show.document.title
    );
    Err(Problem::new(409, "sales_ended", "The sale has ended", detail).with("since", since))
}

fn called_at<'a>(
    run: &Run,
    field: &str,
    code: Option<&'a str>,
    what: &str,
    undone: &str,
) -> Result<&'a str, Problem> {
    let code = code.ok_or_else(|| {
        Problem::field(
            field,
            format!(
                "{field}: say where the journey {what}, by the code of a station; {} calls at {}. {undone}",
                run.train,
                stations(run)
            ),
        )
    })?;
    if run.calls.iter().any(|call| call.station == code) {
        return Ok(code);
    }
    let shown: String = code.chars().take(SHOWN_MAX).collect();
    Err(Problem::field(
        field,
        format!(
            "{field}: {} does not call at \"{shown}\"; it calls at {}. {undone}",
            run.train,
            stations(run)
        ),
    ))
}

fn stations(run: &Run) -> String {
    let codes: Vec<&str> = run.calls.iter().map(|call| call.station.as_str()).collect();
    codes.join(", ")
}
