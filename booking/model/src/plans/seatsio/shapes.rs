//! Reads the shapes of a chart that pages draw: the stage and the outlines of sections. A shape
//! that cannot be read is left out. This is not a fault, because no sale depends on a shape.

use std::f64::consts::TAU;

use serde_json::Value;

use super::SeatsioObject;
use crate::plans::foreign_json::drawn_corner;
use crate::plans::seatmap::{OUTLINE_POINTS_MAX, OutlinePoint, PlanStage};
use crate::plans::{COORDINATE_MAX, LABEL_CHARS_MAX};

/// The number of corners with which an ellipse is drawn.
const ELLIPSE_CORNERS: u32 = 48;

/// Returns the first shape that the chart marks as its stage and that can be drawn.
pub fn read_stage(drawing: &SeatsioObject) -> Option<PlanStage> {
    let shapes = drawing.get("shapes")?.as_array()?.iter();
    let mut stages = shapes.filter_map(Value::as_object).filter(|shape| {
        ["smartType", "icon"]
            .iter()
            .any(|key| shape.get(*key).and_then(Value::as_str) == Some("stage"))
    });
    stages.find_map(|shape| {
        let points = match shape.get("type").and_then(Value::as_str) {
            Some("rectangle") => rectangle(shape)?,
            Some("circle" | "ellipse") => ellipse(shape)?,
            _ => polygon_corners(shape.get("points")?)?,
        };
        let label = shape.get("label").and_then(Value::as_str).map(str::trim);
        let label = label.filter(|label| {
            !label.is_empty()
                && label.chars().count() <= LABEL_CHARS_MAX
                && !label.chars().any(char::is_control)
        });
        Some(PlanStage {
            label: label.map(str::to_owned),
            points,
        })
    })
}

/// Reads the polygon of a section from its list of points. In seats.io's charts these points are
/// relative to the whole chart, and not to the section's `topLeft`.
pub fn polygon_corners(points: &Value) -> Option<Vec<OutlinePoint>> {
    let points = points.as_array()?;
    if !(3..=OUTLINE_POINTS_MAX).contains(&points.len()) {
        return None;
    }
    points
        .iter()
        .map(|point| drawn_corner(number(point.get("x")?)?, number(point.get("y")?)?))
        .collect()
}

fn rectangle(shape: &SeatsioObject) -> Option<Vec<OutlinePoint>> {
    let (width, height) = (size(shape, "width")?, size(shape, "height")?);
    let corners = [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)];
    around_center(
        shape,
        corners.map(|(across, down)| (across * width, down * height)),
    )
}

fn ellipse(shape: &SeatsioObject) -> Option<Vec<OutlinePoint>> {
    let (across, down) = (size(shape, "radius1")?, size(shape, "radius2")?);
    let corners = (0..ELLIPSE_CORNERS).map(|corner| {
        let (sin, cos) = (TAU * f64::from(corner) / f64::from(ELLIPSE_CORNERS)).sin_cos();
        (across * cos, down * sin)
    });
    around_center(shape, corners)
}

/// Rotates corners by the shape's `rotationAngle` (degrees), and moves them to the shape's
/// `center`.
fn around_center(
    shape: &SeatsioObject,
    corners: impl IntoIterator<Item = (f64, f64)>,
) -> Option<Vec<OutlinePoint>> {
    let center = shape.get("center")?;
    let (x, y) = (number(center.get("x")?)?, number(center.get("y")?)?);
    let angle = shape.get("rotationAngle").and_then(number).unwrap_or(0.0);
    let (sin, cos) = angle.to_radians().sin_cos();
    corners
        .into_iter()
        .map(|(across, down)| {
            drawn_corner(x + across * cos - down * sin, y + across * sin + down * cos)
        })
        .collect()
}

fn size(shape: &SeatsioObject, key: &str) -> Option<f64> {
    shape.get(key).and_then(number).filter(|size| *size > 0.0)
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|number| number.abs() <= COORDINATE_MAX)
}
