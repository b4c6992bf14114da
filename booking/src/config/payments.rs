//! Who takes the money.

use super::Reader;

/// `FAIRGATE_PAYMENTS`: `none` or `sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payments {
    /// Nobody: orders are refused until a provider is set.
    None,
    /// The built-in test provider; pages and tickets carry TEST.
    Sandbox,
}

impl Payments {
    /// The knobs of this concern.
    pub const KNOBS: [&'static str; 1] = ["payments"];

    /// Takes it from what was set. Default `none`.
    pub fn read(reader: &mut Reader) -> Self {
        let what = "one of the payment settings: none, sandbox";
        reader.take("payments", Self::None, what, |text| match text {
            "none" => Some(Self::None),
            "sandbox" => Some(Self::Sandbox),
            _ => None,
        })
    }

    /// What `/readyz` warns of.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let told = match self {
            Self::None => {
                "no payment provider is set, so orders are refused: set FAIRGATE_PAYMENTS"
            }
            Self::Sandbox => "payments are the sandbox's: no money moves, and tickets carry TEST",
        };
        vec![told.to_owned()]
    }
}
