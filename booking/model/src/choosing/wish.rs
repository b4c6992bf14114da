//! What a party wants, in two forms: the request that a client sends, with names (`best` of the
//! contract), and the wish that is resolved on one map, with indices. If the map does not have a
//! name, the request is refused here, and the refusal names the field. Otherwise the client would
//! only learn that nothing was found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::plans::seatmap::{PlanPoint, SeatMap};

/// How many characters of an unknown name the refusal repeats, at most.
const NAME_SHOWN_MAX: usize = 80;

/// A set of cells, one bit each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CellSet(Vec<u64>);

impl CellSet {
    /// Adds a cell.
    pub fn insert(&mut self, cell: u32) {
        let word = cell as usize / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (cell % 64);
    }

    /// Returns whether the cell is in the set.
    #[must_use]
    pub fn contains(&self, cell: u32) -> bool {
        self.0
            .get(cell as usize / 64)
            .is_some_and(|word| word & (1 << (cell % 64)) != 0)
    }

    fn add_all(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (word, added) in self.0.iter_mut().zip(&other.0) {
            *word |= added;
        }
    }
}

impl FromIterator<u32> for CellSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cells: I) -> Self {
        let mut set = Self::default();
        cells.into_iter().for_each(|cell| set.insert(cell));
        set
    }
}

/// `best` of `POST /v1/shows/{show}/holds`, as a client sends it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestSeatsRequest {
    /// How many seats.
    pub quantity: u32,
    /// The class, if the show is a train: a category's key or label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The categories that the party accepts, by key or label. If absent, it accepts all
    /// categories.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
    /// The sections that the party accepts, by label. If absent, it accepts all sections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sections: Option<Vec<String>>,
    /// A zone's key or label. Only seats of this zone are chosen, and distances are measured to its
    /// focal point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// Only seats of these channels are chosen. If absent, only seats that belong to no channel are
    /// chosen, unless `ignore_channels` is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<String>>,
    /// Allows all seats, whether they belong to a channel or not.
    #[serde(default)]
    pub ignore_channels: bool,
    /// How many of the seats are for wheelchairs.
    #[serde(default)]
    pub accessible: u32,
    /// Whether a block that leaves no single empty seat is preferred.
    #[serde(default = "default_true")]
    pub avoid_orphans: bool,
}

fn default_true() -> bool {
    true
}

/// Why a wish makes no sense on a map. The message names the field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BestSeatsWishFault {
    /// A name that the map does not have.
    #[error(
        "`best.{field}` names {name:?}, which this show does not have; nothing was held; choose one that it has"
    )]
    Unknown {
        /// `categories`, `sections`, `zone` or `channels`.
        field: &'static str,
        /// The name as it was sent, shortened.
        name: String,
    },
    /// A value out of its range.
    #[error("`best.{field}` {problem}; nothing was held")]
    Invalid {
        /// The field at fault, without `best.`.
        field: &'static str,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
}

impl BestSeatsWishFault {
    /// Returns the field at fault, without `best.`.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Unknown { field, .. } | Self::Invalid { field, .. } => field,
        }
    }
}

/// A party's wish, resolved on one map.
#[derive(Debug, Clone, PartialEq)]
pub struct BestSeatsWish {
    /// How many seats, 1 or more.
    pub quantity: u32,
    /// Category indices; all when `None`.
    pub categories: Option<Vec<u16>>,
    /// Section indices; all when `None`.
    pub sections: Option<Vec<u32>>,
    /// Zone index; all when `None`.
    pub zone: Option<u16>,
    /// Only these cells may be chosen: the cells of the channels that the request names.
    pub only: Option<CellSet>,
    /// These cells are never chosen: the cells of all channels, if the request neither names nor
    /// ignores channels.
    pub blocked: Option<CellSet>,
    /// How many of the seats are accessible ones, at most `quantity`.
    pub accessible: u32,
    /// Whether blocks that leave no single seat are preferred.
    pub avoid_orphans: bool,
    /// The point that distances are measured to, instead of the focal point.
    pub near: Option<PlanPoint>,
}

impl BestSeatsWish {
    /// Makes a wish for `quantity` seats anywhere.
    #[must_use]
    pub fn party(quantity: u32) -> Self {
        Self {
            quantity,
            categories: None,
            sections: None,
            zone: None,
            only: None,
            blocked: None,
            accessible: 0,
            avoid_orphans: true,
            near: None,
        }
    }
}

impl BestSeatsRequest {
    /// Looks up every name on the map. `channels` has the cells of each of the show's channels. For
    /// a show without channels it is empty, so that every channel that the request names is refused
    /// as unknown.
    ///
    /// # Errors
    /// [`BestSeatsWishFault`] for the first field that the map or the contract does not allow.
    pub fn resolve(
        &self,
        map: &SeatMap,
        channels: &BTreeMap<String, CellSet>,
    ) -> Result<BestSeatsWish, BestSeatsWishFault> {
        let invalid = |field, problem| Err(BestSeatsWishFault::Invalid { field, problem });
        if self.quantity == 0 {
            return invalid("quantity", "must be 1 or more");
        }
        if self.accessible > self.quantity {
            return invalid("accessible", "must not be more than `best.quantity`");
        }
        if self.ignore_channels && self.channels.is_some() {
            return invalid(
                "ignore_channels",
                "cannot be sent together with `best.channels`; send one of them",
            );
        }
        let (only, blocked) = self.by_channel(channels)?;
        Ok(BestSeatsWish {
            quantity: self.quantity,
            categories: resolve_names("categories", self.categories.as_deref(), |name| {
                map.category_index(name)
            })?,
            sections: resolve_names("sections", self.sections.as_deref(), |name| {
                map.section_index(name)
            })?,
            zone: match &self.zone {
                None => None,
                Some(name) => Some(map.zone_index(name).ok_or_else(|| unknown("zone", name))?),
            },
            only,
            blocked,
            accessible: self.accessible,
            avoid_orphans: self.avoid_orphans,
            near: None,
        })
    }

    fn by_channel(
        &self,
        channels: &BTreeMap<String, CellSet>,
    ) -> Result<(Option<CellSet>, Option<CellSet>), BestSeatsWishFault> {
        let mut cells = CellSet::default();
        if let Some(names) = &self.channels {
            if names.is_empty() {
                return Err(BestSeatsWishFault::Invalid {
                    field: "channels",
                    problem: "must name at least one, or be left out",
                });
            }
            for name in names {
                cells.add_all(
                    channels
                        .get(name)
                        .ok_or_else(|| unknown("channels", name))?,
                );
            }
            return Ok((Some(cells), None));
        }
        if self.ignore_channels || channels.is_empty() {
            return Ok((None, None));
        }
        channels.values().for_each(|channel| cells.add_all(channel));
        Ok((None, Some(cells)))
    }
}

fn unknown(field: &'static str, name: &str) -> BestSeatsWishFault {
    BestSeatsWishFault::Unknown {
        field,
        name: name.chars().take(NAME_SHOWN_MAX).collect(),
    }
}

fn resolve_names<T>(
    field: &'static str,
    names: Option<&[String]>,
    index: impl Fn(&str) -> Option<T>,
) -> Result<Option<Vec<T>>, BestSeatsWishFault> {
    let Some(names) = names else { return Ok(None) };
    if names.is_empty() {
        return Err(BestSeatsWishFault::Invalid {
            field,
            problem: "must name at least one, or be left out",
        });
    }
    names
        .iter()
        .map(|name| index(name).ok_or_else(|| unknown(field, name)))
        .collect::<Result<_, _>>()
        .map(Some)
}
