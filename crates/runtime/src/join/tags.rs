//! Tags: the upper 16 bits of a directory slot are a small Bloom filter of the hashes in its chain.
//!
//! Each hash sets up to 4 bits (measured: 2.07 ns a probe against 2.75 with one bit, where 1% match). They are taken
//! from the hash's lower 16 bits; the slot is chosen by the upper ones.

/// Bits of a slot that are an address.
pub(super) const ADDRESS: u64 = (1 << 48) - 1;

/// The tag of a hash, in the upper 16 bits.
#[inline(always)]
pub(super) const fn tag(hash: u64) -> u64 {
    const ONE: u64 = 1 << 48;
    (ONE << (hash & 15)) | (ONE << ((hash >> 4) & 15)) | (ONE << ((hash >> 8) & 15)) | (ONE << ((hash >> 12) & 15))
}

/// Whether a chain may hold the hash.
#[inline(always)]
pub(super) const fn admits(slot: u64, hash: u64) -> bool {
    tag(hash) & !slot == 0
}
