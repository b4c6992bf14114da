//! Makes the JSON answer of `GET /v1/shows/{show}/seatmap`. The answer has names instead of
//! indices, so that a client needs no other table to read a seat. These fields go beyond the
//! contract: `areas`, `categories`, `sections`, `zones`, `focal`, `bounds`, `name`, and a seat's
//! `kind` if it is not an ordinary seat. `stage` and `outlines` are absent if the plan has none.

use serde::Serialize;

use super::{OutlinePoint, PlanPoint, PlanStage, PriceCategory, SeatKind, SeatMap, VenueZone};

/// The smallest rectangle that contains the position of every seat. It is all zero for an empty
/// map. All units of an area have the same position.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SeatMapBounds {
    /// Left edge.
    pub min_x: f32,
    /// Upper edge.
    pub min_y: f32,
    /// Right edge.
    pub max_x: f32,
    /// Lower edge.
    pub max_y: f32,
}

#[derive(Serialize)]
struct GeometryDocument<'a> {
    name: &'a str,
    focal: Option<PlanPoint>,
    bounds: SeatMapBounds,
    categories: &'a [PriceCategory],
    sections: &'a [String],
    zones: &'a [VenueZone],
    areas: Vec<GeometryArea<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a PlanStage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    outlines: Vec<GeometryOutline<'a>>,
    seats: Vec<GeometrySeat<'a>>,
}

#[derive(Serialize)]
struct GeometryOutline<'a> {
    section: &'a str,
    points: &'a [OutlinePoint],
}

#[derive(Serialize)]
struct GeometryArea<'a> {
    label: &'a str,
    category: &'a str,
    first: u32,
    capacity: u32,
    section: Option<&'a str>,
    zone: Option<&'a str>,
    center: PlanPoint,
}

#[derive(Serialize)]
struct GeometrySeat<'a> {
    label: &'a str,
    x: f32,
    y: f32,
    category: &'a str,
    section: Option<&'a str>,
    row: Option<&'a str>,
    number: &'a str,
    accessible: bool,
    companion: bool,
    restricted_view: bool,
    #[serde(skip_serializing_if = "SeatKind::is_seat")]
    kind: SeatKind,
}

impl SeatMap {
    /// Returns the smallest rectangle that contains the position of every seat.
    #[must_use]
    pub fn bounds(&self) -> SeatMapBounds {
        let mut points = self.seats.iter().map(|seat| (seat.x, seat.y));
        let Some((x, y)) = points.next() else {
            return SeatMapBounds {
                min_x: 0.0,
                min_y: 0.0,
                max_x: 0.0,
                max_y: 0.0,
            };
        };
        points.fold(
            SeatMapBounds {
                min_x: x,
                min_y: y,
                max_x: x,
                max_y: y,
            },
            |b, (x, y)| SeatMapBounds {
                min_x: b.min_x.min(x),
                min_y: b.min_y.min(y),
                max_x: b.max_x.max(x),
                max_y: b.max_y.max(y),
            },
        )
    }

    /// Returns the map with its focal point in the middle of its width, at the given share of its
    /// depth: 0 is the front, where y is smallest, and 1 is the back.
    #[must_use]
    pub fn with_focal_depth(mut self, depth: f32) -> Self {
        let bounds = self.bounds();
        self.parts.focal = Some(PlanPoint {
            x: f32::midpoint(bounds.min_x, bounds.max_x),
            y: bounds.min_y + (bounds.max_y - bounds.min_y) * depth,
        });
        self
    }

    /// Returns the geometry, to be written as JSON: `{name, focal, bounds, categories, sections,
    /// zones, areas, stage?, outlines?, seats}`. The same map always gives the same bytes, so their
    /// hash serves as an `ETag`. A table's chair has the table's label as `section` and no `row`.
    #[must_use]
    pub fn geometry_json(&self) -> impl Serialize {
        let section = |at: Option<u32>| at.map(|at| self.sections[at as usize].as_str());
        let category = |at: u16| self.categories[usize::from(at)].key.as_str();
        GeometryDocument {
            name: &self.name,
            focal: self.focal,
            bounds: self.bounds(),
            categories: &self.categories,
            sections: &self.sections,
            zones: &self.zones,
            areas: self
                .areas
                .iter()
                .map(|area| GeometryArea {
                    label: &area.label,
                    category: category(area.category),
                    first: area.first,
                    capacity: area.capacity,
                    section: section(area.section),
                    zone: area.zone.map(|at| self.zones[usize::from(at)].key.as_str()),
                    center: area.center,
                })
                .collect(),
            stage: self.stage.as_ref(),
            outlines: self
                .outlines
                .iter()
                .map(|outline| GeometryOutline {
                    section: &self.sections[outline.section as usize],
                    points: &outline.points,
                })
                .collect(),
            seats: self
                .seats
                .iter()
                .map(|seat| GeometrySeat {
                    label: &seat.label,
                    x: seat.x,
                    y: seat.y,
                    category: category(seat.category),
                    section: section(seat.section),
                    row: self.row_label(seat.row, seat.kind),
                    number: &seat.number,
                    accessible: seat.accessible,
                    companion: seat.companion,
                    restricted_view: seat.restricted_view,
                    kind: seat.kind,
                })
                .collect(),
        }
    }

    /// Returns the label of a seat's row as people read it. A chair at a table has no row label:
    /// the table counts as a row only when seats are chosen.
    #[must_use]
    pub fn row_label(&self, row: Option<u32>, kind: SeatKind) -> Option<&str> {
        row.filter(|_| kind != SeatKind::Table)
            .map(|at| self.rows[at as usize].label.as_str())
    }
}
