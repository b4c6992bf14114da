//! Decides until when seats are sold. A show is sold until its `sells_until` or, if its document
//! has none, until it begins. On a train, journeys that begin at a stop are sold until the train
//! leaves that stop, or until its `sells_until` if that is earlier. Seats that were held before the
//! end may still be ordered and paid after it.

use std::ops::Range;

use jiff::{SignedDuration, Timestamp};

use crate::shows::Show;
use crate::shows::fate::ShowFate;

impl Show {
    /// Returns until when seats are sold over some legs. On a train, the sale ends at the latest
    /// when the train leaves the station where the legs begin. For any other show, the legs do not
    /// matter.
    #[must_use]
    pub fn sells_until(&self, legs: &Range<u16>) -> Timestamp {
        let until = self.document.sells_until;
        match self.departs_at(legs) {
            Some(departs) => until.map_or(departs, |until| until.min(departs)),
            None => until.unwrap_or(self.document.starts_at),
        }
    }

    /// Returns when the train leaves the station where the legs begin. If the train was postponed,
    /// it leaves every station with the same delay.
    #[must_use]
    pub fn departs_at(&self, legs: &Range<u16>) -> Option<Timestamp> {
        let run = self.run.as_ref()?;
        run.departs_at(legs)?.checked_add(self.delay()?).ok()
    }

    /// Returns when the train arrives at the station where the legs end, as [`Self::departs_at`].
    #[must_use]
    pub fn arrives_at(&self, legs: &Range<u16>) -> Option<Timestamp> {
        let call = self.run.as_ref()?.calls.get(usize::from(legs.end))?;
        call.arrives
            .or(call.departs)?
            .checked_add(self.delay()?)
            .ok()
    }

    /// Returns how much later than its run the train leaves, because it was postponed.
    fn delay(&self) -> Option<SignedDuration> {
        let begins = self.run.as_ref()?.departs_at(&(0..1))?;
        Some(self.document.starts_at.duration_since(begins))
    }

    /// Returns whether the sale of seats over some legs has ended.
    #[must_use]
    pub fn sale_has_ended(&self, legs: &Range<u16>, now_ms: i64) -> bool {
        self.sells_until(legs).as_millisecond() <= now_ms
    }

    /// Returns whether the show was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.fate == Some(ShowFate::Cancelled)
    }

    /// Returns whether no seat can be held any more, at any station. This is so if the show is
    /// cancelled, or if its sale has ended.
    #[must_use]
    pub fn is_over(&self, now_ms: i64) -> bool {
        self.is_cancelled() || self.first_leg_on_sale(now_ms).is_none()
    }

    /// Returns the first leg that is still sold. On a train, this leg begins at the first stop that
    /// the train has not left. A show without stops has only one leg.
    #[must_use]
    pub fn first_leg_on_sale(&self, now_ms: i64) -> Option<u16> {
        let mut legs = self.legs();
        legs.find(|leg| !self.sale_has_ended(&(*leg..leg + 1), now_ms))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plans::parse_grid;
    use crate::plans::pinned::{EncodedGeometry, SeatingPlan};
    use crate::runs::{StationCall, TrainFares, TrainRun};
    use crate::shows::terms::UNNUMBERED;

    const MINUTE_MS: i64 = 60_000;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_millisecond(minute * MINUTE_MS).expect("a moment")
    }

    fn show(sells_until: Option<Timestamp>, run: Option<TrainRun>) -> Show {
        let document = serde_json::json!({
            "venue": "hall", "title": "A show", "starts_at": at(10), "sells_until": sells_until, "prices": {},
        });
        let plan = SeatingPlan {
            version: 1,
            map: parse_grid("1x4").expect("a grid"),
            geometry: EncodedGeometry {
                json: Default::default(),
                packed: Default::default(),
                digest: String::new(),
            },
        };
        Show {
            id: "show".parse().expect("a slug"),
            document: serde_json::from_value(document).expect("a document"),
            plan: Arc::new(plan),
            prices: vec![Some(100)],
            run: run.map(Arc::new),
            untouched: false,
            fate: None,
            terms: UNNUMBERED,
        }
    }

    #[test]
    fn a_show_is_sold_until_it_begins_or_until_its_document_says() {
        let hall = |until: Option<i64>| show(until.map(at), None);
        for (until, ends) in [(None, 10), (Some(5), 5), (Some(20), 20)] {
            let show = hall(until);
            assert_eq!(show.sells_until(&(0..1)), at(ends));
            assert!(!show.is_over(ends * MINUTE_MS - 1));
            assert!(show.is_over(ends * MINUTE_MS));
        }
        let cancelled = Show {
            fate: Some(ShowFate::Cancelled),
            ..hall(None)
        };
        assert!(cancelled.is_over(0));
    }

    #[test]
    fn a_train_is_sold_from_each_stop_until_it_leaves_that_stop() {
        let call = |station: &str, departs: Option<i64>| StationCall {
            station: station.to_owned(),
            name: station.to_owned(),
            time_zone: None,
            arrives: None,
            departs: departs.map(at),
            at_m: 0,
            no_boarding: false,
            no_alighting: false,
        };
        let run = TrainRun {
            train: "G1".to_owned(),
            date: jiff::civil::date(2027, 1, 1),
            time_zone: None,
            calls: vec![call("A", Some(10)), call("B", Some(20)), call("C", None)],
            fares: Arc::new(TrainFares::ByDistance(Default::default())),
        };
        let train = show(None, Some(run));
        assert_eq!(train.sells_until(&(0..2)), at(10));
        assert_eq!(train.sells_until(&(1..2)), at(20));
        for (minute, first) in [(9, Some(0)), (10, Some(1)), (19, Some(1)), (20, None)] {
            let now_ms = minute * MINUTE_MS;
            assert_eq!(train.first_leg_on_sale(now_ms), first, "minute {minute}");
            assert_eq!(train.is_over(now_ms), first.is_none());
        }
        let mut ended = train.clone();
        ended.document.sells_until = Some(at(15));
        assert_eq!(ended.sells_until(&(0..2)), at(10));
        assert_eq!(ended.sells_until(&(1..2)), at(15), "nothing more is sold");
        let mut put_off = train;
        put_off.document.starts_at = at(70);
        assert_eq!(put_off.sells_until(&(1..2)), at(80));
    }
}
