//! Regular expressions with PostgreSQL's meaning: the leftmost match, and of those the longest (or shortest, as the pattern's
//! first quantifier says).
//!
//! Whether a text matches, and where, automata find in time linear in the text (`regex-automata`): leftmost-first search
//! tells where the match begins, an automaton of all matches where the longest ends. Groups come from leftmost-first search
//! where that takes the same (`Node::captures_in_order`). Lookaround, back references and all other groups are the matter
//! of `dissect`, under a budget of steps. Decision 36 tells why.

mod class;
mod compiled;
mod dissect;
mod functions;
mod node;
mod options;
mod parse;

pub use compiled::{Place, Regex};
pub use functions::{
    Occurrence, count, each_match, extract, extract_all, first_match, instr, is_match, is_whole, replace, replace_to,
    split, substring, substring_of_group,
};
pub use options::Options;
