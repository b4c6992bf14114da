//! A cache whose entries have a limit of bytes together.

use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

/// Entries by key. Cheap to clone.
pub type ByteCache<V, W> = Arc<Cache<String, V, W>>;

/// Makes an empty cache that keeps at most this many bytes, as `lengths` counts them. `bytes_mean`
/// is the expected length of an entry. It determines for how many entries space is reserved at
/// first.
pub fn byte_cache<V, W>(bytes: u64, bytes_mean: u64, lengths: W) -> ByteCache<V, W>
where
    V: Clone,
    W: Weighter<String, V> + Clone,
{
    let options = OptionsBuilder::new()
        .estimated_items_capacity((bytes / bytes_mean) as usize)
        .weight_capacity(bytes)
        // Each shard has its own share of the bytes, and an entry must fit into one shard.
        .shards(1)
        .build()
        .expect("both capacities are given");
    Arc::new(Cache::with_options(
        options,
        lengths,
        DefaultHashBuilder::default(),
        DefaultLifecycle::default(),
    ))
}
