//! Varies one setting of a sale: `--sweep per_s=50..500`.

use std::str::FromStr;

use fairgate_rules::faults::micros_per_s;
use fairgate_simulation::sale::PlannedSale;

/// How many values of the setting are planned.
const STEPS: i32 = 6;

/// The settings that can be varied.
const FIELDS: [&str; 9] = [
    "per_s",
    "max_inside",
    "visitors",
    "hold_s",
    "pay_s",
    "claim_s",
    "pass_s",
    "away_s",
    "calls_per_s",
];

/// The settings whose values need not be whole numbers.
const FRACTIONS: [&str; 2] = ["per_s", "calls_per_s"];

/// A setting, and the range of its values.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSweep {
    field: &'static str,
    from: f64,
    to: f64,
}

impl FromStr for PlanSweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || format!("\"{text}\" is not of the form per_s=50..500");
        let (name, range) = text.split_once('=').ok_or_else(form)?;
        let (from, to) = range.split_once("..").ok_or_else(form)?;
        let number = |text: &str| text.parse::<f64>().map_err(|_| form());
        let (from, to) = (number(from)?, number(to)?);
        let known = FIELDS.iter().find(|field| **field == name);
        let field = known.ok_or_else(|| {
            format!(
                "\"{name}\" cannot be varied; these can: {}",
                FIELDS.join(", ")
            )
        })?;
        if !(from > 0.0 && to > from && to.is_finite()) {
            return Err(format!("{from}..{to} is no range above 0 that grows"));
        }
        if !(FRACTIONS.contains(field) || from >= 1.0 && to <= 1e9) {
            return Err(format!("{from}..{to} is not within 1..1000000000"));
        }
        if *field == "per_s" && !(from >= 0.001 && to <= 1e6) {
            return Err(format!("{from}..{to} is not within 0.001..1000000"));
        }
        Ok(Self { field, from, to })
    }
}

impl PlanSweep {
    /// Returns the name of the setting.
    pub fn field(&self) -> &'static str {
        self.field
    }

    /// Returns whether the setting is one of the crowd. It then changes nothing in a sale with
    /// arrivals of the past.
    pub fn is_of_crowd(&self) -> bool {
        self.field == "visitors"
    }

    /// Returns the sale with each value of the setting.
    pub fn vary(&self, sale: &PlannedSale) -> Vec<(f64, PlannedSale)> {
        let varied = |value| {
            let mut sale = sale.clone();
            self.set(&mut sale, value);
            (value, sale)
        };
        self.values().into_iter().map(varied).collect()
    }

    /// Returns the values of the setting. Each value is about the same multiple of the value
    /// before. Values are rounded, and values that are then the same occur once.
    fn values(&self) -> Vec<f64> {
        let factor = (self.to / self.from).powf(1.0 / f64::from(STEPS - 1));
        let values = (0..STEPS).map(|step| self.rounded(self.from * factor.powi(step)));
        let mut values: Vec<f64> = values.collect();
        values.dedup();
        values
    }

    /// Rounds a value to three digits, or to a whole number if the setting is one or the value is
    /// at least 10.
    fn rounded(&self, value: f64) -> f64 {
        let is_whole = !FRACTIONS.contains(&self.field) || value.round() >= 10.0;
        let digits = if is_whole {
            0
        } else {
            2 - value.log10().floor() as i32
        };
        let unit = 10_f64.powi(digits);
        (value * unit).round() / unit
    }

    fn set(&self, sale: &mut PlannedSale, value: f64) {
        let whole = value.round() as u32;
        match self.field {
            "per_s" => sale.room.pace.per_s_u = micros_per_s(value),
            "max_inside" => sale.room.pace.max_inside = u64::from(whole),
            "visitors" => {
                // Bots are among these visitors, so there cannot be more bots than visitors.
                sale.crowd.visitors = whole as usize;
                sale.bots.placed = sale.bots.placed.min(whole as usize);
                sale.bots.refused = sale.bots.refused.min(whole as usize);
            }
            "hold_s" => sale.shows.iter_mut().for_each(|show| show.hold_s = whole),
            "pay_s" => sale.shows.iter_mut().for_each(|show| show.pay_s = whole),
            "claim_s" => sale.room.claim_s = whole,
            "pass_s" => sale.room.pace.pass_s = whole,
            "away_s" => sale.room.away_s = whole,
            _ => sale.server.calls_per_s = Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_a_known_setting_is_read_and_everything_else_is_told() {
        let sweep: PlanSweep = "per_s=50..500".parse().expect("a sweep");
        assert_eq!(sweep.field(), "per_s");
        for (text, told) in [
            ("per_s", "form"),
            ("per_s=50", "form"),
            ("per_s=a..b", "form"),
            ("speed=1..2", "max_inside"),
            ("per_s=5..5", "grows"),
            ("per_s=0..5", "above 0"),
            ("hold_s=0.5..5", "within"),
        ] {
            let fault = PlanSweep::from_str(text).expect_err(text);
            assert!(fault.contains(told), "{text}: {fault}");
        }
    }

    #[test]
    fn values_are_rounded_and_occur_once() {
        let values = |text: &str| text.parse::<PlanSweep>().expect("a sweep").values();
        assert_eq!(values("per_s=0.5..50"), [0.5, 1.26, 3.15, 7.92, 20.0, 50.0]);
        assert_eq!(values("hold_s=1..4"), [1.0, 2.0, 3.0, 4.0]);
    }
}
