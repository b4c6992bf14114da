//! Works out how far the gateway's forecast at half of the sale was off.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

/// Adds the figure: by what share of the sale's length the forecast was off that was the newest at
/// half of it. `report` is the promoter's report after the sale. Times are in milliseconds since
/// the epoch.
pub fn figures(
    report: &Value,
    draw_ms: f64,
    sold_ms: Option<f64>,
    into: &mut BTreeMap<String, f64>,
) {
    let Some(sold_ms) = sold_ms else {
        return;
    };
    let half_ms = f64::midpoint(draw_ms, sold_ms);
    let earlier = report["earlier_forecasts"].as_array();
    let told = earlier.into_iter().flatten().filter_map(|forecast| {
        let made_ms = at_ms(&forecast["made_at"])?;
        Some((made_ms, at_ms(&forecast["sold_out_at"]["p50"])?))
    });
    let newest = told.take_while(|(made_ms, _)| *made_ms <= half_ms).last();
    if let Some((_, told_ms)) = newest {
        let off = (told_ms - sold_ms).abs() / (sold_ms - draw_ms);
        into.insert("forecast_off_at_half".into(), off);
    }
}

fn at_ms(time: &Value) -> Option<f64> {
    let time: Timestamp = time.as_str()?.parse().ok()?;
    Some(time.as_millisecond() as f64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_newest_forecast_at_half_of_the_sale_counts() {
        let forecast =
            |made_at: &str, p50: &str| json!({"made_at": made_at, "sold_out_at": {"p50": p50}});
        let report = json!({"earlier_forecasts": [
            forecast("1970-01-01T00:00:20Z", "1970-01-01T00:09:00Z"),
            forecast("1970-01-01T00:00:40Z", "1970-01-01T00:02:00Z"),
            forecast("1970-01-01T00:01:10Z", "1970-01-01T00:01:50Z"),
        ]});
        let mut into = BTreeMap::new();
        figures(&report, 10_000.0, Some(110_000.0), &mut into);
        assert!((into["forecast_off_at_half"] - 0.1).abs() < 1e-9);
        let mut none = BTreeMap::new();
        figures(&report, 10_000.0, None, &mut none);
        figures(&json!({}), 10_000.0, Some(110_000.0), &mut none);
        assert!(none.is_empty());
    }
}
