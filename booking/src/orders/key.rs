//! The key that opens an order on any device. The key is derived from the installation's secret and
//! the order's id. So it is not stored, and a retry gets the same key.

use fairgate_model::ids::OrderId;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

/// The prefix of every order key, so that no key is mistaken for a pass.
pub const PREFIX: &str = "orderkey_";

/// Makes and checks order keys.
#[derive(Clone)]
pub struct OrderKeys {
    secret: [u8; 32],
}

impl OrderKeys {
    /// Makes order keys from the installation's secret.
    #[must_use]
    pub fn new(secret: [u8; 32]) -> Self {
        Self { secret }
    }

    /// Returns the order's key.
    #[must_use]
    pub fn for_order(&self, order: &OrderId) -> String {
        let mut mac =
            <Hmac<Sha256>>::new_from_slice(&self.secret).expect("HMAC takes a key of any length");
        mac.update(b"fairgate/order-key/v1/");
        mac.update(order.as_str().as_bytes());
        format!("{PREFIX}{}", hex::encode(mac.finalize().into_bytes()))
    }

    /// Returns whether `key` is the order's key, in constant time.
    #[must_use]
    pub fn opens(&self, order: &OrderId, key: &str) -> bool {
        self.for_order(order)
            .as_bytes()
            .ct_eq(key.as_bytes())
            .into()
    }
}
