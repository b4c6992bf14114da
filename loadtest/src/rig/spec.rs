//! What `--rig` and `--kill` may say. What is not built yet is refused by name.

use std::str::FromStr;

/// Which processes the rig has. Only the embedded default is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec;

/// One kill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kill {
    /// When, as a share of the planned duration.
    pub share: f64,
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let (name, value) = part
                .split_once('=')
                .ok_or_else(|| format!("\"{part}\" is not NAME=VALUE"))?;
            let built: &[&str] = match name {
                "gateways" => &["1"],
                "bookings" => &["0"],
                "redis" => &["none"],
                "ledger" => &["sqlite"],
                _ => {
                    return Err(format!(
                        "\"{name}\" is none of gateways, bookings, redis, ledger"
                    ));
                }
            };
            if built.contains(&value) {
                continue;
            }
            let is_count = value.parse::<u32>().is_ok();
            let named = match name {
                "redis" => ["single", "replica", "sentinel", "cluster"].contains(&value),
                "ledger" => value == "postgres",
                _ => is_count,
            };
            return Err(if named {
                format!(
                    "{part} is not built yet: the rig has one gateway with booking inside (gateways=1,bookings=0,redis=none,ledger=sqlite)"
                )
            } else {
                format!("\"{value}\" is no value of {name}")
            });
        }
        Ok(Self)
    }
}

impl FromStr for Kill {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, when) = text
            .split_once('@')
            .ok_or_else(|| format!("\"{text}\" is not such as gateway@30%"))?;
        if what != "gateway" {
            return Err(format!(
                "\"{what}\" cannot be killed: the rig has a gateway"
            ));
        }
        let share = when
            .strip_suffix('%')
            .and_then(|share| share.parse::<f64>().ok())
            .filter(|share| (0.0..=100.0).contains(share));
        share
            .map(|share| Self {
                share: share / 100.0,
            })
            .ok_or_else(|| format!("\"{when}\" is not a share such as 30%"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_built_is_taken() {
        for (text, good) in [
            ("", true),
            ("gateways=1,bookings=0,redis=none,ledger=sqlite", true),
            ("gateways=3", false),
            ("redis=cluster", false),
            ("ledger=postgres", false),
            ("ledger=mysql", false),
            ("gateway=1", false),
        ] {
            assert_eq!(text.parse::<Spec>().is_ok(), good, "{text}");
        }
        let told = "redis=single".parse::<Spec>().expect_err("refused");
        assert!(told.contains("not built yet"), "{told}");
    }

    #[test]
    fn a_kill_has_a_target_and_a_share() {
        let kill: Kill = "gateway@30%".parse().expect("good");
        assert!((kill.share - 0.3).abs() < 1e-9);
        for bad in ["gateway", "redis@30%", "gateway@130%", "gateway@30"] {
            assert!(bad.parse::<Kill>().is_err(), "{bad}");
        }
    }
}
