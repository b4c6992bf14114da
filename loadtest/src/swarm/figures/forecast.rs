//! Works out the error of one forecast of the gateway: the newest one at half of the sale.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

/// A forecast of the promoter's report, in seconds after the draw.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct MadeForecast {
    /// When the forecast was made.
    pub made_s: f64,
    /// The three times by which everything would be sold with a probability of one in ten, of one
    /// half, and of nine in ten.
    pub sold_out_s: [f64; 3],
}

/// Returns the forecasts of the promoter's report, with the oldest first. `draw_ms` is the
/// beginning of the sale, in milliseconds since the epoch.
pub fn made(report: &Value, draw_ms: f64) -> Vec<MadeForecast> {
    let earlier = report["earlier_forecasts"].as_array();
    let made = earlier.into_iter().flatten().filter_map(|forecast| {
        let after_s = |time: &Value| Some((at_ms(time)? - draw_ms) / 1e3);
        let percentiles = &forecast["sold_out_at"];
        Some(MadeForecast {
            made_s: after_s(&forecast["made_at"])?,
            sold_out_s: [
                after_s(&percentiles["p10"])?,
                after_s(&percentiles["p50"])?,
                after_s(&percentiles["p90"])?,
            ],
        })
    });
    made.collect()
}

/// Adds the error of the forecast that was the newest at half of the sale. The error is a share of
/// the sale's length. `report` is the promoter's report after the sale. Times are in milliseconds
/// since the epoch.
pub fn figures(
    report: &Value,
    draw_ms: f64,
    sold_ms: Option<f64>,
    into: &mut BTreeMap<String, f64>,
) {
    let Some(sold_ms) = sold_ms else {
        return;
    };
    let length_s = (sold_ms - draw_ms) / 1e3;
    let forecasts = made(report, draw_ms).into_iter();
    let newest = forecasts
        .take_while(|one| one.made_s <= length_s / 2.0)
        .last();
    if let Some(newest) = newest {
        let off = (newest.sold_out_s[1] - length_s).abs() / length_s;
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
        let forecast = |made_at: &str, p50: &str| json!({"made_at": made_at, "sold_out_at": {"p10": p50, "p50": p50, "p90": p50}});
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
