//! One call of a trip, and its stored form, which is short because a timetable has very many calls.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// One call of a trip. Times are seconds from the beginning of the service day, which GTFS defines
/// as twelve hours before its noon.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TripStop {
    /// Index into [`TimetableParts::stations`](super::TimetableParts::stations).
    pub station: u32,
    /// The number of the call in the source. The numbers rise along the trip, and may have gaps.
    pub sequence: u32,
    /// When the train arrives. `None` at the first call.
    pub arrives: Option<u32>,
    /// When the train leaves. `None` at the last call.
    pub departs: Option<u32>,
    /// Metres from the first call, along the line.
    pub at_m: u32,
    /// Whether nobody may get on here.
    pub no_boarding: bool,
    /// Whether nobody may get off here.
    pub no_alighting: bool,
}

/// The bit that is stored for [`TripStop::no_boarding`].
const NO_BOARDING: u8 = 1;
/// The bit that is stored for [`TripStop::no_alighting`].
const NO_ALIGHTING: u8 = 2;

/// A call is stored as the list of its first five values. Calls were stored in this form before
/// `no_boarding` and `no_alighting` existed. Only a call where boarding or alighting is forbidden
/// has a sixth value.
impl Serialize for TripStop {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let forbidden = if self.no_boarding { NO_BOARDING } else { 0 }
            | if self.no_alighting { NO_ALIGHTING } else { 0 };
        let mut list = serializer.serialize_seq(Some(5 + usize::from(forbidden > 0)))?;
        list.serialize_element(&self.station)?;
        list.serialize_element(&self.sequence)?;
        list.serialize_element(&self.arrives)?;
        list.serialize_element(&self.departs)?;
        list.serialize_element(&self.at_m)?;
        if forbidden > 0 {
            list.serialize_element(&forbidden)?;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for TripStop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(TripStopVisitor)
    }
}

struct TripStopVisitor;

impl<'de> Visitor<'de> for TripStopVisitor {
    type Value = TripStop;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the five or six values of a call")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TripStop, A::Error> {
        fn value<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(
            list: &mut A,
            at: usize,
        ) -> Result<T, A::Error> {
            let value = list.next_element()?;
            value.ok_or_else(|| Error::invalid_length(at, &TripStopVisitor))
        }
        let (station, sequence) = (value(&mut list, 0)?, value(&mut list, 1)?);
        let (arrives, departs) = (value(&mut list, 2)?, value(&mut list, 3)?);
        let at_m = value(&mut list, 4)?;
        let forbidden: u8 = list.next_element()?.unwrap_or(0);
        Ok(TripStop {
            station,
            sequence,
            arrives,
            departs,
            at_m,
            no_boarding: forbidden & NO_BOARDING > 0,
            no_alighting: forbidden & NO_ALIGHTING > 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_stored_as_a_list_and_older_lists_are_read() {
        let stop = TripStop {
            station: 7,
            sequence: 3,
            arrives: Some(60),
            departs: None,
            at_m: 900,
            ..TripStop::default()
        };
        let only_off = TripStop {
            no_boarding: true,
            ..stop
        };
        let only_on = TripStop {
            no_alighting: true,
            ..stop
        };
        for (stop, text) in [
            (stop, "[7,3,60,null,900]"),
            (only_off, "[7,3,60,null,900,1]"),
            (only_on, "[7,3,60,null,900,2]"),
        ] {
            assert_eq!(serde_json::to_string(&stop).expect("JSON"), text);
            assert_eq!(serde_json::from_str::<TripStop>(text).expect(text), stop);
        }
        for text in ["[7,3,60,null]", "[7,3,60,null,900,1,1]", "{}"] {
            assert!(serde_json::from_str::<TripStop>(text).is_err(), "{text}");
        }
    }
}
