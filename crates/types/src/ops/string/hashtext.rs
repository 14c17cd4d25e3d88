//! `hashtext`: PostgreSQL's hash of a text, by which it and those who shard its tables deal texts out.
//!
//! B. Jenkins, *A Hash Function for Hash Table Lookup* (2006), his third one, with PostgreSQL's first values; words are little-endian.

/// Adds three words to a state, with a rotation for each step.
fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    for (x, turns) in [(0, 4), (1, 6), (2, 8), (0, 16), (1, 19), (2, 4)] {
        // Each step takes the next of the three words, in turn.
        let (p, q, r): (&mut u32, &mut u32, &mut u32) = match x {
            0 => (&mut *a, &mut *b, &mut *c),
            1 => (&mut *b, &mut *c, &mut *a),
            _ => (&mut *c, &mut *a, &mut *b),
        };
        *p = p.wrapping_sub(*r) ^ r.rotate_left(turns);
        *r = r.wrapping_add(*q);
    }
}

/// The state after the last words.
fn finish(mut a: u32, mut b: u32, mut c: u32) -> u32 {
    let step = |p: u32, q: u32, turns: u32| (p ^ q).wrapping_sub(q.rotate_left(turns));
    c = step(c, b, 14);
    a = step(a, c, 11);
    b = step(b, a, 25);
    c = step(c, b, 16);
    a = step(a, c, 4);
    b = step(b, a, 14);
    step(c, b, 24)
}

/// The hash of a text.
///
/// ```
/// use types::ops::string::hashtext;
/// assert_eq!(hashtext("abc"), -785_388_649);
/// ```
pub fn hashtext(text: &str) -> i32 {
    let start = 0x9e37_79b9u32.wrapping_add(text.len() as u32).wrapping_add(3_923_095);
    let (mut a, mut b, mut c) = (start, start, start);
    let mut blocks = text.as_bytes().chunks_exact(12);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0u32, |word, byte| word << 8 | u32::from(*byte));
    for block in &mut blocks {
        a = a.wrapping_add(word(&block[..4]));
        b = b.wrapping_add(word(&block[4..8]));
        c = c.wrapping_add(word(&block[8..]));
        mix(&mut a, &mut b, &mut c);
    }
    let rest = blocks.remainder();
    let part = |from: usize, to: usize| word(&rest[from.min(rest.len())..to.min(rest.len())]);
    a = a.wrapping_add(part(0, 4));
    b = b.wrapping_add(part(4, 8));
    // The lowest byte of the last word is for the length.
    c = c.wrapping_add(part(8, 11) << 8);
    finish(a, b, c) as i32
}
