//! Checks of the repository itself: the directions between crates, and the habits of STYLE.md that a program can see.

pub mod directions;
pub mod imports;
pub mod places;
pub mod shared;
pub mod tidy;

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the crate lies in crates/xtask")
}
