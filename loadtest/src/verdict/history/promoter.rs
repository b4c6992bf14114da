//! Describes what the promoter did and read during the run.

use serde::Deserialize;

/// A show that the promoter cancelled.
#[derive(Debug, Deserialize)]
pub struct HistoryCancellation {
    pub show: String,
    /// The earliest time at which the show may have been cancelled.
    pub asked_ms: f64,
    /// The time from which the show was certainly cancelled.
    pub at_ms: f64,
}

/// A report on a show's refunds that the promoter read.
#[derive(Debug, Deserialize)]
pub struct HistoryRefundReport {
    /// The line of the history file.
    #[serde(skip)]
    pub line: u32,
    pub show: String,
    pub asked_ms: f64,
    pub at_ms: f64,
    pub told: RefundReportFigures,
}

/// The checked figures of a refund report.
#[derive(Debug, Deserialize)]
pub struct RefundReportFigures {
    pub fate: Option<String>,
    pub orders_left: u64,
    pub orders_refunded: u64,
    pub on_its_way: RefundReportSum,
    pub done: RefundReportSum,
    pub failed: RefundReportSum,
    pub fees: RefundReportAmount,
}

/// A number of refunds and their total amount.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct RefundReportSum {
    pub refunds: u64,
    pub amount: RefundReportAmount,
}

/// An amount of money, in minor units.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct RefundReportAmount {
    pub amount: i64,
}

/// A live change of the room's settings.
#[derive(Debug, Deserialize)]
pub struct HistoryRoomChange {
    /// The earliest time at which the change may have been made.
    pub asked_ms: f64,
    /// When the change was answered. All nodes know it soon after.
    pub at_ms: f64,
    /// The settings that changed.
    pub changes: HistoryRoomSettings,
}

/// The settings of a room that may change while it sells, as far as an invariant needs them.
#[derive(Debug, Default, Deserialize)]
pub struct HistoryRoomSettings {
    pub max_inside: Option<u64>,
    pub per_s: Option<f64>,
    pub paused: Option<bool>,
    /// `auto` or `fixed`.
    pub mode: Option<String>,
}

/// A visitor whose place the promoter ended.
#[derive(Debug, Deserialize)]
pub struct HistoryRevocation {
    pub visitor: u64,
    /// The earliest time at which the place may have ended.
    pub asked_ms: f64,
}
