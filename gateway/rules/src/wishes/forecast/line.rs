//! Reads the wishes of the line before the walks. Equal wishes are looked up once. In a long line
//! only some people are read. Each of them also represents the people directly behind, up to the
//! next person who is read.

use std::collections::HashMap;

use super::super::SeatWish;
use super::categories::{CategoryIndex, NeededSeats};

/// Everybody before this place in the line is read. From there to twice this place, every second
/// person is read. From there to four times this place, every fourth person is read, and so on. A
/// million people take 113,000 steps.
const ONE_BY_ONE: usize = 1 << 15;

/// Some people who are next to each other in the line. Only the first of them is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineStep {
    /// The number of people.
    pub people: u32,
    /// The index of their wishes in [`ReadLine::lists`]; `None` if they have not stated wishes.
    pub list: Option<u32>,
}

/// The line as the walks read it.
#[derive(Debug, Default)]
pub struct ReadLine {
    /// The people, in the order of their ranks.
    pub steps: Vec<LineStep>,
    /// The different lists of wishes. Each list has indices of `wishes`.
    pub lists: Vec<Vec<u32>>,
    /// The seats that each different wish needs.
    pub wishes: Vec<NeededSeats>,
    /// For each step whose people have stated wishes, the index of their list in `lists`.
    pub stated_lists: Vec<u32>,
    /// The total number of seats in the first wishes of the lists in `stated_lists`.
    pub stated_seats: f64,
}

impl ReadLine {
    /// Reads the line.
    pub fn new(people: &[&[SeatWish]], index: &CategoryIndex) -> Self {
        let mut line = Self::default();
        let mut list_indices: HashMap<&[SeatWish], u32> = HashMap::new();
        let mut wish_indices: HashMap<&SeatWish, u32> = HashMap::new();
        let mut at = 0;
        while at < people.len() {
            let stride = stride_at(at).min(people.len() - at);
            let own_wishes: &[SeatWish] = people[at];
            let list = (!own_wishes.is_empty()).then(|| {
                *list_indices.entry(own_wishes).or_insert_with(|| {
                    let indices = own_wishes.iter().map(|wish| {
                        *wish_indices.entry(wish).or_insert_with(|| {
                            line.wishes.push(index.needed(wish));
                            line.wishes.len() as u32 - 1
                        })
                    });
                    line.lists.push(indices.collect());
                    line.lists.len() as u32 - 1
                })
            });
            line.stated_lists.extend(list);
            line.stated_seats += own_wishes
                .first()
                .map_or(0.0, |wish| f64::from(wish.quantity));
            line.steps.push(LineStep {
                people: stride as u32,
                list,
            });
            at += stride;
        }
        line
    }
}

/// Returns how many people the person at this place in the line represents, including this person.
fn stride_at(place: usize) -> usize {
    if place < ONE_BY_ONE {
        1
    } else {
        2 << (place / ONE_BY_ONE).ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_read_in_steps_that_grow_and_cover_everybody() {
        let people: Vec<&[SeatWish]> = vec![&[]; 1_000_000];
        let line = ReadLine::new(&people, &CategoryIndex::new(&[]));
        let covered: usize = line.steps.iter().map(|step| step.people as usize).sum();
        assert_eq!(covered, people.len());
        assert!(line.steps.len() < 130_000, "{}", line.steps.len());
        assert!(line.steps[..100_000].is_sorted_by_key(|step| step.people));
        assert_eq!([0, 32_767, 32_768, 65_536].map(stride_at), [1, 1, 2, 4]);
    }

    #[test]
    fn equal_wishes_are_kept_once() {
        let wish = |quantity| SeatWish {
            show: None,
            quantity,
            categories: Vec::new(),
            accessible: 0,
        };
        let lists = [
            vec![wish(1), wish(2)],
            vec![wish(2)],
            vec![wish(1), wish(2)],
            vec![],
        ];
        let people: Vec<&[SeatWish]> = lists.iter().map(Vec::as_slice).collect();
        let line = ReadLine::new(&people, &CategoryIndex::new(&[]));
        assert_eq!(line.lists, [vec![0, 1], vec![1]]);
        assert_eq!((line.wishes.len(), line.stated_lists), (2, vec![0, 1, 0]));
        assert_eq!(line.steps[3].list, None);
    }
}
