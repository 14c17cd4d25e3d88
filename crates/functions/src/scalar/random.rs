//! `random()`: each thread has a generator, seeded by the machine.

use std::cell::Cell;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use base::Random;

/// A random UUID. Its bits are hashes of nothing under keys that the machine has drawn.
pub(super) fn uuid() -> u128 {
    let half = || u128::from(RandomState::new().build_hasher().finish());
    types::ops::uuid::of_random(half() << 64 | half())
}

/// A number from 0 to below 1, uniform.
pub(super) fn random() -> f64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().build_hasher().finish());
    }
    let mut random = Random(STATE.get());
    let number = random.fraction();
    STATE.set(random.0);
    number
}
