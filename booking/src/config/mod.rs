//! Settings: each concern reads its own knobs from what was set, for booking as a process of its
//! own and for the gateway.

mod drain;
mod internal;
mod keys;
mod payments;
mod service;
mod stores;

pub use fairgate_base::config::{BadConfig, Key, Reader, Sources};

pub use drain::Drain;
pub use internal::Internal;
pub use keys::Keys;
pub use payments::Payments;
pub use service::Config;
pub use stores::Stores;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers_carry_passwords_and_are_never_shown() {
        let bad = Sources {
            env: [
                ("FAIRGATE_DATABASE_URL", "mysql://root:hunter2@db/x"),
                ("FAIRGATE_REDIS_URL", "redis+cluster://"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            ..Sources::default()
        };
        let mut reader = bad.read(&Stores::KNOBS);
        let stores = Stores::read(&mut reader);
        let told = reader.finish(stores).expect_err("both are bad").to_string();
        assert!(
            told.contains("FAIRGATE_DATABASE_URL: the value is not an address")
                && told.contains("FAIRGATE_REDIS_URL: the value is not an address"),
            "{told}"
        );
        assert!(!told.contains("hunter2"), "{told}");
        let good = Stores {
            database_url: Some(Key("postgres://fairgate:hunter2@db/fairgate".to_owned())),
            redis_url: None,
        };
        assert!(!format!("{good:?}").contains("hunter2"), "{good:?}");
    }
}
