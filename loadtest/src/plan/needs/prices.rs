//! Reads the user's own prices: what machines and traffic cost where the sale will run.

use std::path::Path;

use serde::Deserialize;

/// The prices, in the user's currency.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The currency, such as `EUR`.
    pub currency: String,
    /// A machine for gateways and bookings.
    pub machine: PricedMachine,
    /// What the Redis machines cost, if Redis has machines of its own.
    #[serde(default)]
    pub redis: Option<PricedService>,
    /// What the database costs, if it has a machine of its own.
    #[serde(default)]
    pub ledger: Option<PricedService>,
    /// What a gigabyte (10^9 bytes) of traffic costs.
    #[serde(default)]
    pub traffic_per_gb: f64,
}

/// A machine and its price.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricedMachine {
    /// Its processors.
    pub cpus: usize,
    /// Its memory, in megabytes (10^6 bytes).
    pub memory_mb: f64,
    /// What an hour costs.
    pub per_hour: f64,
}

/// A service with a price of its own.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PricedService {
    /// What an hour costs.
    pub per_hour: f64,
}

impl Prices {
    /// Reads the file of prices.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let message = |fault: String| format!("{} has no prices: {fault}", path.display());
        let text = std::fs::read_to_string(path).map_err(|error| message(error.to_string()))?;
        Self::from_text(&text).map_err(message)
    }

    fn from_text(text: &str) -> Result<Self, String> {
        let prices: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        let services = [prices.redis, prices.ledger];
        let services = services.iter().flatten().map(|service| service.per_hour);
        let amounts = [prices.machine.per_hour, prices.traffic_per_gb];
        if let Some(bad) = services
            .chain(amounts)
            .find(|price| !(0.0..1e9).contains(price))
        {
            return Err(format!("{bad} is no price"));
        }
        if prices.machine.cpus == 0 || !(1.0..1e9).contains(&prices.machine.memory_mb) {
            return Err("machine: cpus and memory_mb are above 0".to_owned());
        }
        Ok(prices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "currency = \"EUR\"\ntraffic_per_gb = 0.02\n[machine]\ncpus = 4\nmemory_mb = 8000\nper_hour = 0.1\n[ledger]\nper_hour = 0.3\n";

    #[test]
    fn prices_are_read_and_what_is_no_price_is_refused() {
        let prices = Prices::from_text(TEXT).expect("prices");
        assert_eq!((prices.machine.cpus, prices.redis), (4, None));
        for (right, wrong, told) in [
            ("0.02", "-1.0", "-1 is no price"),
            ("cpus = 4", "cpus = 0", "above 0"),
            ("cpus = 4", "cores = 4", "cores"),
            ("currency = \"EUR\"\n", "", "currency"),
        ] {
            let fault = Prices::from_text(&TEXT.replace(right, wrong)).expect_err(wrong);
            assert!(fault.contains(told), "{wrong}: {fault}");
        }
    }
}
