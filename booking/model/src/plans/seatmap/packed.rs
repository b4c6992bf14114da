//! The compact form of a map's geometry, for phones. It has a tenth of the JSON's size before
//! compression, and is also smaller after compression. `waitroom-ui/wire/seatmap.md` describes it
//! for clients.
//!
//! Layout (little-endian, media type [`PACKED_MEDIA_TYPE`]):
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | `FGSM` |
//! | 4 | u8 version, 1; three zero bytes |
//! | 4 | u32 N, number of seats |
//! | 4 | u32 L, length of the text |
//! | L | UTF-8 JSON, below |
//! | 0–1 | a zero byte, so that the numbers after it begin at an even offset |
//! | 2 N | i16 x of each seat minus x of the seat before it (the first: minus `origin`), in steps |
//! | 2 N | i16 y likewise |
//! | N | u8 flags: 1 accessible, 2 companion, 4 restricted view |
//!
//! A seat's position in the plan is `origin + step × sum`, where `sum` is the sum of the
//! differences of all seats up to this one. Sums are from 0 to 32,766, so no difference overflows.
//! The error is at most half a step, which is 1/65,532 of the plan's longer side.
//!
//! The JSON is `{name, origin:{x,y}, step, focal, categories, sections, zones, areas, stage?,
//! outlines?, rows:[{label,section}], runs}`, where `areas` name their category, section and zone
//! by index. `stage` is `{label?, points:[[x,y],…]}`, and `outlines` are `{section, points}` with
//! the section's index. Both are absent if the plan has none.
//! `runs` cuts the list of seats into runs of `n` seats that share category, section, zone, row,
//! kind and prefix: `{n, category, section?, zone?, row?, kind?, prefix, from | numbers}`. A seat's
//! label is `prefix` + number. The numbers count up from `from`, or are in the list `numbers`. If a
//! label does not end in its seat's number, `prefix` is the whole label and the number is empty.

use serde::Serialize;

use super::{
    AdmissionArea, PlanPoint, PlanStage, PriceCategory, Seat, SeatKind, SeatMap, SeatingRow,
    SectionOutline, VenueZone,
};

/// The media type of the packed form.
pub const PACKED_MEDIA_TYPE: &str = "application/vnd.fairgate.seatmap";

/// The largest sum of differences. It is one less than `i16::MAX`, so that rounding up cannot leave
/// the range.
const SUM_MAX: f64 = 32_766.0;

#[derive(Serialize)]
struct PackedHeader<'a> {
    name: &'a str,
    origin: PlanPoint,
    step: f64,
    focal: Option<PlanPoint>,
    categories: &'a [PriceCategory],
    sections: &'a [String],
    zones: &'a [VenueZone],
    areas: &'a [AdmissionArea],
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a PlanStage>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    outlines: &'a [SectionOutline],
    rows: Vec<PackedRow<'a>>,
    runs: Vec<PackedSeatRun<'a>>,
}

#[derive(Serialize)]
struct PackedRow<'a> {
    label: &'a str,
    section: Option<u32>,
}

#[derive(Serialize)]
struct PackedSeatRun<'a> {
    n: usize,
    category: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<u32>,
    #[serde(skip_serializing_if = "SeatKind::is_seat")]
    kind: SeatKind,
    prefix: &'a str,
    #[serde(flatten)]
    numbers: PackedNumbers<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum PackedNumbers<'a> {
    From(u32),
    Numbers(Vec<&'a str>),
}

impl SeatMap {
    /// Returns the packed form, which the module's documentation describes. The same map always
    /// gives the same bytes.
    #[must_use]
    pub fn geometry_packed(&self) -> Vec<u8> {
        let bounds = self.bounds();
        let extent =
            f64::from(bounds.max_x - bounds.min_x).max(f64::from(bounds.max_y - bounds.min_y));
        let step = if extent > 0.0 { extent / SUM_MAX } else { 1.0 };
        let head = PackedHeader {
            name: &self.name,
            origin: PlanPoint {
                x: bounds.min_x,
                y: bounds.min_y,
            },
            step,
            focal: self.focal,
            categories: &self.categories,
            sections: &self.sections,
            zones: &self.zones,
            areas: &self.areas,
            stage: self.stage.as_ref(),
            outlines: &self.outlines,
            rows: self
                .rows
                .iter()
                .map(|SeatingRow { label, section, .. }| PackedRow {
                    label,
                    section: *section,
                })
                .collect(),
            runs: seat_runs(&self.seats),
        };
        let text =
            serde_json::to_vec(&head).expect("plain data with text keys always becomes JSON");
        let text_len = u32::try_from(text.len())
            .expect("an imported plan is at most 16 MiB, so its names fit 32 bits");

        let mut out = Vec::with_capacity(17 + text.len() + self.seats.len() * 5);
        out.extend_from_slice(b"FGSM");
        out.extend_from_slice(&[1, 0, 0, 0]);
        out.extend_from_slice(&self.cell_count().to_le_bytes());
        out.extend_from_slice(&text_len.to_le_bytes());
        out.extend_from_slice(&text);
        if out.len() % 2 == 1 {
            out.push(0);
        }
        push_differences(
            &mut out,
            self.seats.iter().map(|seat| seat.x),
            bounds.min_x,
            step,
        );
        push_differences(
            &mut out,
            self.seats.iter().map(|seat| seat.y),
            bounds.min_y,
            step,
        );
        out.extend(self.seats.iter().map(|seat| {
            u8::from(seat.accessible)
                | u8::from(seat.companion) << 1
                | u8::from(seat.restricted_view) << 2
        }));
        out
    }
}

fn push_differences(out: &mut Vec<u8>, values: impl Iterator<Item = f32>, origin: f32, step: f64) {
    let mut before = 0_i16;
    for value in values {
        let steps = ((f64::from(value) - f64::from(origin)) / step)
            .round()
            .clamp(0.0, SUM_MAX);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "clamped to 0..=32,766 on the line above"
        )]
        let now = steps as i16;
        out.extend_from_slice(&(now - before).to_le_bytes());
        before = now;
    }
}

/// Returns the part of a label before the seat's number, or the whole label if it does not end in
/// the number.
fn prefix(seat: &Seat) -> &str {
    seat.label
        .strip_suffix(seat.number.as_str())
        .unwrap_or(&seat.label)
}

fn seat_runs(seats: &[Seat]) -> Vec<PackedSeatRun<'_>> {
    let alike = |a: &Seat, b: &Seat| {
        (a.category, a.section, a.zone, a.row, a.kind)
            == (b.category, b.section, b.zone, b.row, b.kind)
            && prefix(a) == prefix(b)
    };
    seats
        .chunk_by(alike)
        .map(|run| {
            let first = &run[0];
            PackedSeatRun {
                n: run.len(),
                category: first.category,
                section: first.section,
                zone: first.zone,
                row: first.row,
                kind: first.kind,
                prefix: prefix(first),
                numbers: seat_numbers(run),
            }
        })
        .collect()
}

fn seat_numbers(run: &[Seat]) -> PackedNumbers<'_> {
    if let Ok(from) = label_number(&run[0]).parse::<u32>()
        && (from..)
            .zip(run)
            .all(|(expected, seat)| label_number(seat) == expected.to_string())
    {
        return PackedNumbers::From(from);
    }
    PackedNumbers::Numbers(run.iter().map(label_number).collect())
}

/// Returns the seat's number if the label ends in it, otherwise an empty text.
fn label_number(seat: &Seat) -> &str {
    if seat.label.ends_with(seat.number.as_str()) {
        &seat.number
    } else {
        ""
    }
}
