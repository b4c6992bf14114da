//! Decides when the sockets of a room must get its prices again. This is when the prices have
//! changed, or when a category has sold out. Pure.

use crate::upstream::PriceTier;

/// The shortest time (ms) between two announcements that a category has sold out. In between, seats
/// may come back from baskets for a moment. The `line` frames still show them.
const SOLD_OUT_AGAIN_MS: i64 = 30_000;

/// The tiers that a room's sockets know.
#[derive(Debug, Default)]
pub struct AnnouncedTiers {
    /// The tiers, with their free seats at the last update.
    announced: Vec<PriceTier>,
    /// When each tier was last announced as sold out, milliseconds since the epoch.
    sold_out_at: Vec<Option<i64>>,
}

impl AnnouncedTiers {
    /// Stores the newest tiers. Returns whether they must be sent at once.
    pub fn update(&mut self, tiers: &[PriceTier], now: i64) -> bool {
        let is_same = self.announced.len() == tiers.len()
            && self
                .announced
                .iter()
                .zip(tiers)
                .all(|(a, b)| is_priced_alike(a, b));
        if !is_same {
            self.sold_out_at = tiers
                .iter()
                .map(|tier| (tier.free == 0).then_some(now))
                .collect();
            self.announced = tiers.to_vec();
            return true;
        }
        let mut is_news = false;
        for ((announced, tier), at) in self
            .announced
            .iter_mut()
            .zip(tiers)
            .zip(&mut self.sold_out_at)
        {
            let has_sold_out = announced.free > 0 && tier.free == 0;
            if has_sold_out && at.is_none_or(|at| now - at >= SOLD_OUT_AGAIN_MS) {
                *at = Some(now);
                is_news = true;
            }
            announced.free = tier.free;
        }
        is_news
    }
}

fn is_priced_alike(a: &PriceTier, b: &PriceTier) -> bool {
    (&a.label, &a.currency, a.from, a.to) == (&b.label, &b.currency, b.from, b.to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tiers(free: [u64; 2], price: i64) -> Vec<PriceTier> {
        let tier = |label: &str, free| PriceTier {
            label: label.to_owned(),
            from: price,
            to: price,
            currency: "EUR".to_owned(),
            free,
        };
        vec![tier("Stalls", free[0]), tier("Balcony", free[1])]
    }

    #[test]
    fn a_category_that_sells_out_is_told_once_and_not_at_every_basket_that_lapses() {
        let mut announced = AnnouncedTiers::default();
        assert!(announced.update(&tiers([2, 5], 100), 0), "the first prices");
        assert!(!announced.update(&tiers([1, 5], 100), 1_000));
        assert!(
            announced.update(&tiers([0, 5], 100), 2_000),
            "Stalls are sold out"
        );
        assert!(!announced.update(&tiers([1, 5], 100), 3_000));
        assert!(
            !announced.update(&tiers([0, 5], 100), 4_000),
            "told a moment ago"
        );
        assert!(
            announced.update(&tiers([0, 0], 100), 5_000),
            "so is the Balcony"
        );
        assert!(!announced.update(&tiers([1, 0], 100), 40_000));
        assert!(announced.update(&tiers([0, 0], 100), 41_000));
    }

    #[test]
    fn new_prices_are_told_at_once() {
        let mut announced = AnnouncedTiers::default();
        assert!(
            !announced.update(&[], 0),
            "a room without prices has no news"
        );
        assert!(announced.update(&tiers([0, 5], 100), 1_000));
        assert!(!announced.update(&tiers([0, 5], 100), 2_000));
        assert!(announced.update(&tiers([0, 5], 90), 3_000));
    }
}
