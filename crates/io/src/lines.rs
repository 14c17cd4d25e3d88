//! Lines of text files, for errors that name them.

use std::sync::OnceLock;

use crate::input::Input;

/// Longest value or record that an error shows, in bytes.
const SHOWN: usize = 100;
/// Bytes between two offsets whose lines are known.
const STEP: u64 = 1 << 20;

/// Line ends before every mebibyte of a file, counted when the first error asks for a line.
#[derive(Default)]
pub struct Lines(OnceLock<Vec<u64>>);

impl Lines {
    /// The number of the line, from 1, that the offset is in.
    pub fn line(&self, input: &Input, name: &str, eol: u8, offset: u64) -> u64 {
        let count = |from: u64, to: u64| {
            // The line is an extra: what cannot be read any more is not counted.
            input.read(name, from, to).map_or(0, |text| memchr::memchr_iter(eol, &text).count() as u64)
        };
        let known = self.0.get_or_init(|| {
            let steps = input.len() / STEP;
            let mut sums = vec![0];
            (0..steps).for_each(|i| sums.push(sums[i as usize] + count(i * STEP, (i + 1) * STEP)));
            sums
        });
        let step = offset / STEP;
        1 + known[step as usize] + count(step * STEP, offset)
    }
}

/// As much of a text as an error shows.
pub fn shown(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(SHOWN)];
    let mut text = String::from_utf8_lossy(cut).trim_end_matches(['\r', '\n']).to_owned();
    if bytes.len() > SHOWN {
        text.push('…');
    }
    text
}
