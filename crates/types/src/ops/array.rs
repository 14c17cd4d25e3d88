//! Arrays as texts (decision 40): elements one behind the other in a form whose bytes compare as the arrays do, and are equal
//! exactly if the arrays are. So whatever stores, hashes, sorts or compares texts does that with arrays, too.
//!
//! - An element begins with a marker: [`VALUE`], or [`NULL`], which is above all values. Nothing stands behind the last one.
//! - Of a type of fixed width, the marker is the two highest bits of a number of 7 bits a byte, the highest byte first,
//!   whose other bits are the value, so changed that they order it. NULL is as long, so that elements are found by counting.
//! - A text or an array follows its marker, and [`END`] follows it. Within a text, the characters 0 and 1 are written as 1
//!   and a digit, so that the end is below all that could follow.
//!
//! All bytes but those of texts are below 128: the whole is valid UTF-8, whatever takes it for a text.
//!
//! Values that are equal must have one form: -0 becomes 0, NaNs become one. Intervals are the exception, of which equal ones
//! differ by how they are made up (`1 month` and `30 days`); in arrays they are ordered by that, too.

mod code;
pub mod found;
mod functions;
pub mod numbers;
pub mod pairs;
mod reading;
mod text;
mod words;

pub use code::{
    Elements, encode, finish, fixed, has_words, inner, is_null, length, part_of, push, push_str, stride, stride_of,
    word_of, word_of_float, write_word,
};
pub use found::Found;
pub use functions::*;
pub use reading::no_numbers;
pub use text::{parse, write};
pub use words::{Raw, decode, element_word, gather, is_read_as_words};

/// What begins an element that is a value.
pub const VALUE: u8 = 0x20;
/// What begins an element that is NULL.
pub const NULL: u8 = 0x40;
/// What ends a text or an array within an array.
pub const END: u8 = 0;

#[cfg(test)]
mod tests;
