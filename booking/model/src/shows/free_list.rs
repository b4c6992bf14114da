//! Lists the free seats of a show for people who do not see its map: how many each section and each
//! area has, and the seats of one section row by row.

use super::Show;
use crate::grid::CellState;
use crate::plans::seatmap::{AdmissionArea, Seat, SeatKind};

/// The free seats of a section. Standing places are not counted here but in their area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeSection<'s> {
    /// The section's number. Seats in no section have the number after the last section.
    pub number: usize,
    /// The section's label. Empty for seats in no section.
    pub label: &'s str,
    /// How many of its seats are free.
    pub free: u32,
    /// The lowest price of a free seat, in minor units.
    pub from: i64,
}

/// The free places of an area.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeArea<'s> {
    /// The area.
    pub area: &'s AdmissionArea,
    /// How many of its places are free.
    pub free: u32,
    /// The price of a place, in minor units.
    pub price: i64,
}

/// The free seats of a row.
#[derive(Debug, Clone, PartialEq)]
pub struct FreeRow<'s> {
    /// The row's label. Empty for seats in no row.
    pub label: &'s str,
    /// The seats with their prices in minor units, in the plan's order.
    pub seats: Vec<(&'s Seat, i64)>,
}

/// The seats of a show that are free and for sale on all legs.
pub struct FreeSeatList<'s> {
    show: &'s Show,
    /// The price of each seat of the plan, in minor units. `None` if nobody can buy the seat now.
    prices: Vec<Option<i64>>,
}

impl<'s> FreeSeatList<'s> {
    /// Makes the list from the states of all cells. The list is empty if the show is over, or if
    /// there are not as many states as the show has cells.
    #[must_use]
    pub fn new(show: &'s Show, states: &[CellState], now_ms: i64) -> Self {
        let grid = show.grid();
        let is_on_sale = !show.is_over(now_ms) && states.len() == grid.cell_count() as usize;
        let price = |seat| is_on_sale.then(|| show.price(seat)).flatten();
        let mut prices: Vec<Option<i64>> = (0..grid.seats).map(price).collect();
        for (cell, state) in (0..grid.cell_count()).zip(states) {
            if *state != CellState::Free {
                prices[grid.seat_of(cell) as usize] = None;
            }
        }
        Self { show, prices }
    }

    /// Returns the free seats that are not standing places. Each comes with its section's number
    /// and its price.
    fn seats(&self) -> impl Iterator<Item = (usize, &'s Seat, i64)> {
        let map = &self.show.plan.map;
        let none = map.sections.len();
        let priced = map.seats.iter().zip(&self.prices);
        priced
            .filter(|(seat, _)| seat.kind != SeatKind::Standing)
            .filter_map(move |(seat, price)| {
                let section = seat.section.map_or(none, |section| section as usize);
                Some((section, seat, (*price)?))
            })
    }

    /// Returns the sections with free seats, in the plan's order.
    #[must_use]
    pub fn sections(&self) -> Vec<FreeSection<'s>> {
        let map = &self.show.plan.map;
        let mut counted: Vec<(u32, i64)> = vec![(0, i64::MAX); map.sections.len() + 1];
        for (section, _, price) in self.seats() {
            let (free, from) = &mut counted[section];
            *free += 1;
            *from = price.min(*from);
        }
        let labels = map.sections.iter().map(String::as_str).chain([""]);
        let sections = counted.into_iter().zip(labels).enumerate();
        sections
            .filter(|(_, ((free, _), _))| *free > 0)
            .map(|(number, ((free, from), label))| FreeSection {
                number,
                label,
                free,
                from,
            })
            .collect()
    }

    /// Returns the rows of a section that have free seats. Free seats form one row if they follow
    /// each other in the plan and have the same row there.
    #[must_use]
    pub fn rows(&self, section: usize) -> Vec<FreeRow<'s>> {
        let map = &self.show.plan.map;
        let mut rows: Vec<(Option<u32>, FreeRow)> = Vec::new();
        for (_, seat, price) in self
            .seats()
            .filter(|(seat_section, ..)| *seat_section == section)
        {
            match rows.last_mut() {
                Some((row, free)) if *row == seat.row => free.seats.push((seat, price)),
                _ => {
                    let row = seat.row.and_then(|row| map.rows.get(row as usize));
                    let label = row.map_or("", |row| row.label.as_str());
                    let seats = vec![(seat, price)];
                    rows.push((seat.row, FreeRow { label, seats }));
                }
            }
        }
        rows.into_iter().map(|(_, row)| row).collect()
    }

    /// Returns the areas with free places, in the plan's order.
    #[must_use]
    pub fn areas(&self) -> Vec<FreeArea<'s>> {
        let areas = self.show.plan.map.areas.iter();
        areas
            .filter_map(|area| {
                let of_area = area.cells();
                let prices = &self.prices[of_area.start as usize..of_area.end as usize];
                let mut free = prices.iter().flatten();
                let price = *free.next()?;
                Some(FreeArea {
                    area,
                    free: 1 + free.count() as u32,
                    price,
                })
            })
            .collect()
    }
}
