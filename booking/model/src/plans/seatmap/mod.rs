//! One version of a venue's seating plan: a list of seats, and the rows, sections, zones and areas
//! that the seats belong to. The index of a seat is its position in the list.
//!
//! A map is immutable. Its [`SeatMapParts`] come from an importer, or from the JSON that the ledger
//! stores. The map is built from all of them, checked once, and never changed. An index therefore
//! means the same seat for as long as a show pins this version.

mod bench;
mod geometry;
mod outlines;
mod packed;

use std::collections::HashMap;
use std::ops::{Deref, Range};

use serde::{Deserialize, Serialize};

pub use bench::SeatBench;
pub use geometry::SeatMapBounds;
pub use outlines::{OUTLINE_POINTS_MAX, OutlinePoint, PlanStage, SectionOutline};
pub use packed::PACKED_MEDIA_TYPE;

use bench::{bench_cells, benches};

/// A point of the plan, in the plan's own units (seats.io: about 20 units a chair); y grows
/// downwards.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PlanPoint {
    /// Distance to the right.
    pub x: f32,
    /// Distance downwards.
    pub y: f32,
}

/// A price category.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriceCategory {
    /// Unique within the map. Numbers in foreign formats become text.
    pub key: String,
    /// The name that people read.
    pub label: String,
    /// A CSS colour.
    pub color: String,
}

/// A row of seats, in the order in which they stand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeatingRow {
    /// Index into [`SeatMapParts::sections`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<u32>,
    /// The label that is printed on the row, such as "A", or the table's label.
    pub label: String,
    /// Seat indices from one end to the other. All seats are of one kind.
    pub cells: Vec<u32>,
}

/// A part of a venue with a focal point of its own, such as the finish line of a race track.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VenueZone {
    /// Unique within the map.
    pub key: String,
    /// The name that people read.
    pub label: String,
    /// The point that people in this zone look at.
    pub focal: Option<PlanPoint>,
}

/// The kinds of sellable units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeatKind {
    /// A chair in a row.
    #[default]
    Seat,
    /// One of the interchangeable units of a standing area.
    Standing,
    /// A chair at a table.
    Table,
    /// A booth, which is sold as one unit. "Best available" never chooses it.
    Booth,
}

impl SeatKind {
    fn is_seat(&self) -> bool {
        *self == Self::Seat
    }
}

/// One sellable unit. Its index in [`SeatMapParts::seats`] is also its cell in a show that has only
/// one leg.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// Unique within the map: `A-4`, `Section A-A-1`, `GA1-100`.
    pub label: String,
    /// Distance to the right, see [`PlanPoint`].
    pub x: f32,
    /// Distance downwards, see [`PlanPoint`].
    pub y: f32,
    /// Index into [`SeatMapParts::categories`].
    pub category: u16,
    /// Index into [`SeatMapParts::sections`]. Each table is a section, to which its chairs belong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<u32>,
    /// Index into [`SeatMapParts::zones`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<u16>,
    /// Index into [`SeatMapParts::rows`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<u32>,
    /// The number that is printed on the chair.
    pub number: String,
    /// Whether it is for a visitor with a wheelchair.
    #[serde(default, skip_serializing_if = "is_false")]
    pub accessible: bool,
    /// Whether it is meant for the companion of a visitor in an accessible seat.
    #[serde(default, skip_serializing_if = "is_false")]
    pub companion: bool,
    /// Whether the view from it is restricted.
    #[serde(default, skip_serializing_if = "is_false")]
    pub restricted_view: bool,
    /// Its kind.
    #[serde(default, skip_serializing_if = "SeatKind::is_seat")]
    pub kind: SeatKind,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// A general-admission area: consecutive interchangeable units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdmissionArea {
    /// Its label, unique among areas. Its units are `LABEL-1` … `LABEL-capacity`.
    pub label: String,
    /// Index into [`SeatMapParts::categories`].
    pub category: u16,
    /// Index of its first unit in [`SeatMapParts::seats`].
    pub first: u32,
    /// How many units it has; their indices follow each other from `first` on.
    pub capacity: u32,
    /// Index into [`SeatMapParts::sections`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<u32>,
    /// Index into [`SeatMapParts::zones`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<u16>,
    /// The middle of the area.
    pub center: PlanPoint,
}

impl AdmissionArea {
    /// Returns the cells of this area.
    #[must_use]
    pub fn cells(&self) -> Range<u32> {
        self.first..self.first + self.capacity
    }
}

/// The parts that a map is made from and stored as.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SeatMapParts {
    /// The plan's name.
    pub name: String,
    /// The price categories.
    pub categories: Vec<PriceCategory>,
    /// Labels of sections (and of tables).
    pub sections: Vec<String>,
    /// The rows. A table is a row, too.
    pub rows: Vec<SeatingRow>,
    /// The zones.
    pub zones: Vec<VenueZone>,
    /// The point that the audience looks at.
    pub focal: Option<PlanPoint>,
    /// Every sellable unit.
    pub seats: Vec<Seat>,
    /// The general-admission areas.
    pub areas: Vec<AdmissionArea>,
    /// The stage, if the plan draws one. Plans that were stored before plans could have a stage
    /// have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<PlanStage>,
    /// The outlines of those sections whose outline the plan draws.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outlines: Vec<SectionOutline>,
}

/// Why parts do not make a map. Importers find these faults earlier and say where they are. This is
/// the last check, which also finds a damaged ledger.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeatMapError {
    /// Two seats or two areas share a label.
    #[error("the label {0:?} occurs twice in the seating plan")]
    DuplicateLabel(String),
    /// An index points to something that does not exist, or a seat is in the rows twice.
    #[error("{what} number {at} of the seating plan points at something that does not exist")]
    Dangling {
        /// The list that the index is in.
        what: &'static str,
        /// The position in that list.
        at: usize,
    },
    /// There are more seats than an index can number.
    #[error("the seating plan has {0} seats, which is more than can be numbered")]
    TooMany(usize),
}

/// A checked map with its indexes. It can be read like its [`SeatMapParts`] but not changed.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "SeatMapParts")]
pub struct SeatMap {
    parts: SeatMapParts,
    by_label: HashMap<Box<str>, u32>,
    area_by_label: HashMap<Box<str>, u32>,
    benches: Vec<SeatBench>,
    /// For each seat its bench and its position there. `None` for units that are on no bench.
    seated: Vec<Option<(u32, u32)>>,
}

impl Deref for SeatMap {
    type Target = SeatMapParts;
    fn deref(&self) -> &SeatMapParts {
        &self.parts
    }
}

impl Serialize for SeatMap {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.parts.serialize(serializer)
    }
}

impl PartialEq for SeatMap {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl TryFrom<SeatMapParts> for SeatMap {
    type Error = SeatMapError;
    fn try_from(parts: SeatMapParts) -> Result<Self, SeatMapError> {
        Self::new(parts)
    }
}

impl SeatMap {
    /// Checks the parts, and indexes labels and benches.
    ///
    /// # Errors
    /// [`SeatMapError`] if a label comes twice, an index points to something that does not exist, a
    /// seat is in the rows twice, or there are too many seats.
    pub fn new(parts: SeatMapParts) -> Result<Self, SeatMapError> {
        let count = u32::try_from(parts.seats.len())
            .ok()
            .filter(|count| *count < u32::MAX)
            .ok_or(SeatMapError::TooMany(parts.seats.len()))?;
        check_indices(&parts, count)?;
        let mut by_label = HashMap::with_capacity(parts.seats.len());
        for (cell, seat) in (0..count).zip(&parts.seats) {
            if by_label.insert(seat.label.as_str().into(), cell).is_some() {
                return Err(SeatMapError::DuplicateLabel(seat.label.clone()));
            }
        }
        let mut area_by_label = HashMap::with_capacity(parts.areas.len());
        for (at, area) in (0..).zip(&parts.areas) {
            if area_by_label
                .insert(area.label.as_str().into(), at)
                .is_some()
            {
                return Err(SeatMapError::DuplicateLabel(area.label.clone()));
            }
        }
        let benches = benches(&parts);
        let mut seated = vec![None; parts.seats.len()];
        for (number, bench) in (0..).zip(&benches) {
            for (position, cell) in (0..).zip(bench_cells(&parts, bench)) {
                if seated[*cell as usize].replace((number, position)).is_some() {
                    return Err(SeatMapError::Dangling {
                        what: "seat",
                        at: *cell as usize,
                    });
                }
            }
        }
        Ok(Self {
            parts,
            by_label,
            area_by_label,
            benches,
            seated,
        })
    }

    /// Returns how many cells this map has in each leg.
    #[must_use]
    pub fn cell_count(&self) -> u32 {
        u32::try_from(self.seats.len())
            .expect("the constructor refused more seats than a u32 can number")
    }

    /// Returns the index of the seat with this label.
    #[must_use]
    pub fn index_of(&self, label: &str) -> Option<u32> {
        self.by_label.get(label).copied()
    }

    /// Returns the general-admission area with this label.
    #[must_use]
    pub fn area(&self, label: &str) -> Option<&AdmissionArea> {
        self.area_by_label
            .get(label)
            .map(|at| &self.areas[*at as usize])
    }

    /// Returns the area that this cell is a unit of.
    #[must_use]
    pub fn area_of(&self, cell: u32) -> Option<&AdmissionArea> {
        self.areas.iter().find(|area| area.cells().contains(&cell))
    }

    /// Returns the category with this key or, if there is none, with this label.
    #[must_use]
    pub fn category_index(&self, key_or_label: &str) -> Option<u16> {
        let found =
            |matches: &dyn Fn(&PriceCategory) -> bool| self.categories.iter().position(matches);
        found(&|category| category.key == key_or_label)
            .or_else(|| found(&|category| category.label == key_or_label))
            .and_then(|at| u16::try_from(at).ok())
    }

    /// Returns the section with this label.
    #[must_use]
    pub fn section_index(&self, label: &str) -> Option<u32> {
        self.sections
            .iter()
            .position(|section| section == label)
            .and_then(|at| u32::try_from(at).ok())
    }

    /// Returns the zone with this key or, if there is none, with this label.
    #[must_use]
    pub fn zone_index(&self, key_or_label: &str) -> Option<u16> {
        let found = |is: &dyn Fn(&VenueZone) -> bool| self.zones.iter().position(is);
        found(&|zone| zone.key == key_or_label)
            .or_else(|| found(&|zone| zone.label == key_or_label))
            .and_then(|at| u16::try_from(at).ok())
    }

    /// Returns all benches: the runs of chairs between aisles.
    #[must_use]
    pub fn benches(&self) -> &[SeatBench] {
        &self.benches
    }

    /// Returns the cells of a bench, from one end to the other.
    #[must_use]
    pub fn on_bench(&self, bench: &SeatBench) -> &[u32] {
        bench_cells(&self.parts, bench)
    }

    /// Returns the bench that a cell is on and its position there.
    #[must_use]
    pub fn bench_of(&self, cell: u32) -> Option<(&SeatBench, usize)> {
        let (bench, position) = (*self.seated.get(cell as usize)?)?;
        Some((&self.benches[bench as usize], position as usize))
    }

    /// Returns whether a seat is the same in both plans: the same index has the same label and the
    /// same category.
    #[must_use]
    pub fn keeps(&self, other: &Self, seat: u32) -> bool {
        let label_and_category = |map: &Self| {
            let seat = map.seats.get(seat as usize)?;
            let category = map.categories.get(usize::from(seat.category))?;
            Some((seat.label.clone(), category.key.clone()))
        };
        label_and_category(self).is_some() && label_and_category(self) == label_and_category(other)
    }
}

/// Checks that every index points to something, and that each area's units are among the seats.
fn check_indices(parts: &SeatMapParts, count: u32) -> Result<(), SeatMapError> {
    let below = |at: Option<u32>, len: usize| at.is_none_or(|at| (at as usize) < len);
    let zone_ok = |zone: Option<u16>| below(zone.map(u32::from), parts.zones.len());
    for (at, seat) in parts.seats.iter().enumerate() {
        let sound = usize::from(seat.category) < parts.categories.len()
            && below(seat.section, parts.sections.len())
            && below(seat.row, parts.rows.len())
            && zone_ok(seat.zone);
        if !sound {
            return Err(SeatMapError::Dangling { what: "seat", at });
        }
    }
    for (at, row) in parts.rows.iter().enumerate() {
        if !below(row.section, parts.sections.len()) || row.cells.iter().any(|cell| *cell >= count)
        {
            return Err(SeatMapError::Dangling { what: "row", at });
        }
    }
    for (at, area) in parts.areas.iter().enumerate() {
        let fits = area
            .first
            .checked_add(area.capacity)
            .is_some_and(|end| end <= count);
        let sound = usize::from(area.category) < parts.categories.len()
            && below(area.section, parts.sections.len())
            && zone_ok(area.zone);
        if !fits || !sound {
            return Err(SeatMapError::Dangling { what: "area", at });
        }
    }
    for (at, outline) in parts.outlines.iter().enumerate() {
        if !below(Some(outline.section), parts.sections.len()) {
            return Err(SeatMapError::Dangling {
                what: "outline",
                at,
            });
        }
    }
    Ok(())
}
