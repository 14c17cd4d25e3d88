//! Texts replaced by codes of symbols, four at a time: how far a step goes is what its look at the tables says, and the next
//! one waits for that, so that one text alone leaves the processor idle most of the time.
//!
//! After Boncz, Neumann and Leis, *FSST: Fast Random Access String Compression*, VLDB 2020, sections 5.1 and 5.2: symbols of
//! three bytes and more lie in a table by a hash of their first three, others in one by the first two bytes.

use std::hint::select_unpredictable;
use std::slice::from_raw_parts;

use super::layout::LONGEST;

/// The code of a byte that stands behind it as it is.
pub(super) const ESCAPE: u8 = 255;
/// Texts that are replaced side by side.
const LANES: usize = 4;
/// Places of symbols of three bytes and more.
const PLACES: usize = 1 << 11;
/// Bytes that are read from where a text goes on, and written ahead.
pub(super) const AHEAD: usize = 8;

/// What becomes of the begin of a text: the code, in the low byte, then the bytes that it stands for, and how many are written.
#[derive(Clone, Copy)]
struct Step(u16);

impl Step {
    const ESCAPED: Self = Self(ESCAPE as u16 | 1 << 8 | 2 << 12);

    fn new(code: u8, taken: usize, written: usize) -> Self {
        Self(u16::from(code) | (taken as u16) << 8 | (written as u16) << 12)
    }

    #[inline(always)]
    fn taken(self) -> usize {
        usize::from(self.0 >> 8 & 15)
    }

    #[inline(always)]
    fn written(self) -> usize {
        usize::from(self.0 >> 12)
    }
}

/// A symbol of three bytes or more.
#[derive(Clone, Copy)]
struct Long {
    symbol: u64,
    /// Bits behind the symbol, which are not compared.
    behind: u16,
    step: Step,
}

/// Symbols, and how they are found. None of them has a byte 0, so that none reaches beyond the end of a text behind which
/// such bytes seem to lie.
pub(super) struct Encoder {
    symbols: Vec<(u64, u8)>,
    long: Box<[Long; PLACES]>,
    /// By the first two bytes.
    short: Box<[Step; 1 << 16]>,
}

/// Texts that lie behind one another: their bytes, and where each begins and the last one ends.
#[derive(Clone, Copy)]
pub(super) struct Texts<'a> {
    pub bytes: *const u8,
    pub begins: &'a [u32],
}

/// Where a text is replaced.
struct Lane {
    /// Where it goes on, and in what is written.
    at: usize,
    to: usize,
    /// Which text it is, and before which to end.
    row: usize,
    end: usize,
}

impl Encoder {
    /// Symbols, as words of which so many bytes count; those with a byte 0, and those that others stand in the way of, are
    /// left out.
    pub(super) fn new(all: impl Iterator<Item = (u64, u8)>) -> Self {
        // One word equals it; that its first byte stands behind an escape is right, too.
        let none = Long { symbol: u64::MAX, behind: 0, step: Step::ESCAPED };
        let mut long: Box<[Long; PLACES]> = vec![none; PLACES].try_into().unwrap_or_else(|_| unreachable!());
        let mut symbols = Vec::new();
        let mut of_bytes = [Step::ESCAPED; 256];
        let mut of_pairs = Vec::new();
        for (symbol, len) in all {
            let (code, bytes) = (symbols.len(), &symbol.to_le_bytes()[..usize::from(len).min(LONGEST)]);
            if bytes.is_empty() || bytes.contains(&0) || code >= usize::from(ESCAPE) {
                continue;
            }
            let step = Step::new(code as u8, bytes.len(), 1);
            match bytes {
                [byte] => of_bytes[usize::from(*byte)] = step,
                [first, second] => of_pairs.push((u16::from_le_bytes([*first, *second]), step)),
                _ => {
                    let place = &mut long[place_of(symbol)];
                    if place.step.0 as u8 != ESCAPE {
                        continue;
                    }
                    *place = Long { symbol, behind: 64 - 8 * u16::from(len), step };
                }
            }
            symbols.push((symbol, len));
        }
        let mut short: Box<[Step; 1 << 16]> = (0..=u16::MAX)
            .map(|pair| of_bytes[usize::from(pair as u8)])
            .collect::<Vec<_>>()
            .try_into()
            .unwrap_or_else(|_| unreachable!());
        // Only zeros are left of a text that has ended.
        short[0] = Step(0);
        of_pairs.into_iter().for_each(|(pair, step)| short[usize::from(pair)] = step);
        Self { symbols, long, short }
    }

    /// The symbols by their codes, as words, and how many bytes of each count.
    pub(super) fn symbols(&self) -> &[(u64, u8)] {
        &self.symbols
    }

    /// Adds the codes of texts to others, and where those of each end among all of them to `ends`.
    ///
    /// # Safety
    /// The texts are there, and [`AHEAD`] readable bytes behind the last one.
    pub(super) unsafe fn encode(&self, texts: Texts<'_>, codes: &mut Vec<u8>, ends: &mut Vec<u32>) {
        let begins = texts.begins;
        assert!(begins.is_sorted());
        let rows = begins.len() - 1;
        let bytes_before = |row: usize| (begins[row] - begins[0]) as usize;
        // Lanes have as many bytes as others.
        let share = bytes_before(rows) / LANES;
        let first = |lane: usize| match lane {
            LANES => rows,
            _ => begins[..rows].partition_point(|&begin| ((begin - begins[0]) as usize) < share * lane),
        };
        // And room of their own: for an escape a byte, and what is written ahead.
        let room = |lane: usize| bytes_before(first(lane)) * 2 + lane * AHEAD;
        let mut lanes: [Lane; LANES] = std::array::from_fn(|lane| Lane {
            at: begins[first(lane)] as usize,
            to: room(lane),
            row: first(lane),
            end: first(lane + 1),
        });
        let (before, known) = (codes.len(), ends.len());
        codes.reserve(room(LANES));
        ends.resize(known + rows, 0);
        let ends = &mut ends[known..];
        let to = codes.spare_capacity_mut().as_mut_ptr().cast::<u8>();
        // SAFETY: the texts are there; there is room for all lanes, and an end for each text.
        unsafe {
            let bytes = from_raw_parts(texts.bytes.add(begins[0] as usize), bytes_before(rows));
            if memchr::memchr(0, bytes).is_some() {
                self.run::<true>(texts, &mut lanes, to, ends);
            } else {
                self.run::<false>(texts, &mut lanes, to, ends);
            }
        }
        let mut written = 0;
        for (lane, done) in lanes.iter().enumerate() {
            let len = done.to - room(lane);
            // SAFETY: what the lane has written moves towards the begin.
            unsafe { to.add(room(lane)).copy_to(to.add(written), len) };
            let moved = (before + written).wrapping_sub(room(lane)) as u32;
            ends[first(lane)..done.end].iter_mut().for_each(|end| *end = end.wrapping_add(moved));
            written += len;
        }
        // SAFETY: so many have been written.
        unsafe { codes.set_len(before + written) };
    }

    /// Takes lanes to their ends. `ZEROS`: texts have bytes 0.
    ///
    /// # Safety
    /// As for [`encode`](Self::encode); `begins` are sorted; each lane has room from where it begins to write, for two bytes for
    /// each of its texts', and [`AHEAD`]; there is an end for each text.
    unsafe fn run<const ZEROS: bool>(
        &self,
        texts: Texts<'_>,
        lanes: &mut [Lane; LANES],
        to: *mut u8,
        ends: &mut [u32],
    ) {
        // SAFETY: as the caller promises; no step goes further than to the next text.
        unsafe {
            loop {
                let steps = lanes.iter().map(|lane| lane.end - lane.row).min().unwrap_or(0);
                if steps == 0 {
                    break;
                }
                for _ in 0..steps {
                    lanes.iter_mut().for_each(|lane| self.step::<ZEROS>(texts, lane, to, ends));
                }
            }
            for lane in lanes {
                while lane.row < lane.end {
                    self.step::<ZEROS>(texts, lane, to, ends);
                }
            }
        }
    }

    /// Replaces what a text goes on with, without a branch: where it has ended already, nothing. Goes to the next text where
    /// it ends.
    ///
    /// # Safety
    /// As for [`run`](Self::run); the lane has not ended.
    #[inline(always)]
    unsafe fn step<const ZEROS: bool>(&self, texts: Texts<'_>, lane: &mut Lane, to: *mut u8, ends: &mut [u32]) {
        // SAFETY: as the caller promises; masks and tables have a place for each index.
        unsafe {
            let left = *texts.begins.get_unchecked(lane.row + 1) as usize - lane.at;
            let word = texts.bytes.add(lane.at).cast::<u64>().read_unaligned().to_le();
            let word = word & KEPT.get_unchecked(left.min(LONGEST));
            let (long, short) =
                (self.long.get_unchecked(place_of(word)), self.short.get_unchecked(word as u16 as usize));
            let is_long = (word ^ long.symbol) << long.behind == 0;
            // Nobody could guess which: both are read, whatever the compiler thinks of it.
            let (of_long, mut of_short) = (long.step.0, (&raw const *short).cast::<u16>().read_volatile());
            if ZEROS && word as u16 == 0 && left > 0 {
                of_short = Step::ESCAPED.0;
            }
            let step = Step(select_unpredictable(is_long, of_long, of_short));
            let to = to.add(lane.to);
            // The byte itself stands behind an escape.
            to.write(step.0 as u8);
            to.add(1).write(word as u8);
            let (taken, written) = (step.taken(), step.written());
            lane.at += taken;
            lane.to += written;
            *ends.get_unchecked_mut(lane.row) = lane.to as u32;
            lane.row += usize::from(taken == left);
        }
    }
}

/// Masks of the first bytes of a word.
const KEPT: [u64; LONGEST + 1] =
    [0, 0xff, 0xffff, 0xff_ffff, 0xffff_ffff, 0xff_ffff_ffff, 0xffff_ffff_ffff, 0xff_ffff_ffff_ffff, u64::MAX];

/// Where a symbol of at least three bytes lies. The hash is that of the library which finds symbols, so that none of those that
/// it finds stands in another one's way.
#[inline(always)]
fn place_of(word: u64) -> usize {
    let first = word & 0xff_ffff;
    (first.wrapping_mul(2_971_215_073) ^ first >> 15) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use base::Random;

    use super::*;

    #[test]
    fn codes_stand_for_the_bytes_of_each_text() {
        let random = &mut Random(5);
        for _ in 0..if cfg!(miri) { 5 } else { 500 } {
            let letters = random.pick(&[&b"ab"[..], b"abc\0", b"\xff\xfe\0a"]);
            let piece = |random: &mut Random, most: usize| -> Vec<u8> {
                (0..random.index(most + 1)).map(|_| random.pick(letters)).collect()
            };
            let symbols: Vec<(u64, u8)> = (0..random.index(300))
                .map(|_| {
                    let mut word = [0; LONGEST];
                    let bytes = piece(random, LONGEST);
                    word[..bytes.len()].copy_from_slice(&bytes);
                    (u64::from_le_bytes(word), bytes.len() as u8)
                })
                .collect();
            let encoder = Encoder::new(symbols.into_iter());
            let most = random.pick(&[0, 1, 5, 40]);
            let texts: Vec<Vec<u8>> = (0..random.index(200)).map(|_| piece(random, most)).collect();
            // Some bytes and some codes are there before.
            let (mut bytes, mut begins) = (vec![7; 3], vec![3]);
            for text in &texts {
                bytes.extend(text);
                begins.push(bytes.len() as u32);
            }
            bytes.extend([letters[0]; AHEAD]);
            let (mut codes, mut ends) = (vec![1, 2], vec![2]);
            // SAFETY: the texts are there, and bytes behind them.
            unsafe { encoder.encode(Texts { bytes: bytes.as_ptr(), begins: &begins }, &mut codes, &mut ends) };
            assert_eq!(
                (codes[..2].to_vec(), ends.len(), ends[texts.len()] as usize),
                (vec![1, 2], texts.len() + 1, codes.len())
            );
            for (text, ends) in texts.iter().zip(ends.windows(2)) {
                let mut codes = codes[ends[0] as usize..ends[1] as usize].iter();
                let mut expanded = Vec::new();
                while let Some(&code) = codes.next() {
                    if code == ESCAPE {
                        expanded.push(*codes.next().unwrap());
                    } else {
                        let (symbol, len) = encoder.symbols()[usize::from(code)];
                        expanded.extend(&symbol.to_le_bytes()[..usize::from(len)]);
                    }
                }
                assert_eq!(&expanded, text);
            }
        }
    }
}
