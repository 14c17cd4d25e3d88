//! Compiled patterns: which search answers what.

#[cfg(test)]
mod tests;

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use base::Result;
use regex_automata::dfa::{Automaton, StartKind, dense};
use regex_automata::hybrid::{self, dfa::Cache, dfa::DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures, pikevm, pikevm::PikeVM};
use regex_automata::util::pool::Pool;
use regex_automata::util::primitives::NonMaxUsize;
use regex_automata::{Anchored, Input, MatchKind, meta};

use super::dissect::Search;
use super::node::{Node, Prefers};
use super::options::{Options, bad};
use super::parse;

/// Bytes that the automaton of a pattern may take.
const SIZE: usize = 32 << 20;

/// Bytes of states that a search keeps from one text to the next.
const STATES: usize = 1 << 20;

/// Most bytes of a table of all states: such are made in a millisecond, and stay in the cache.
const TABLE: usize = 256 << 10;
/// Making it pays from so many texts on.
const MANY_TEXTS: u32 = 256;

/// A compiled pattern. It may be kept and shared by threads.
#[derive(Debug)]
pub struct Regex {
    node: Node,
    groups: usize,
    fold: bool,
    /// None: no automaton knows the pattern.
    automata: Option<Automata>,
}

#[derive(Debug)]
struct Automata {
    /// Without groups.
    first: meta::Regex,
    whether: Whether,
    /// With groups, if they are what PostgreSQL takes.
    groups: OnceLock<Option<meta::Regex>>,
    /// Finds where a match ends; none if leftmost-first search finds just that.
    end: Option<End>,
}

/// Whether there is a match in a text of ASCII alone, which one table says a byte at a time once many texts were asked. Classes
/// have few characters there, so that the table is small.
#[derive(Debug, Default)]
struct Whether {
    /// Texts so far, about.
    asked: AtomicU32,
    /// None: it would be too large.
    table: OnceLock<Option<Box<dense::DFA<Vec<u32>>>>>,
}

/// All matches from one place.
#[derive(Debug)]
struct End {
    shortest: bool,
    dfa: DFA,
    states: Pool<Cache, MakeCache>,
    /// For texts that the other gives up: words of other letters than ASCII's, and too many states.
    slow: PikeVM,
}

type MakeCache = Box<dyn Fn() -> Cache + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// Where a match, or a group of it, begins and ends.
pub type Place = (usize, usize);

impl Regex {
    /// Compiles a pattern; 2201B if it is none.
    ///
    /// ```
    /// use types::ops::regex::{Options, Regex};
    /// let regex = Regex::new("foo|foobar", Options::default())?;
    /// assert_eq!(regex.find("a foobar", 0)?, Some((2, 8)));
    /// # Ok::<(), base::Error>(())
    /// ```
    pub fn new(pattern: &str, options: Options) -> Result<Self> {
        let parse::Parsed { node, groups, options } = parse::parse(pattern, options)?;
        let automata = if node.is_irregular() { None } else { Some(Automata::new(&node)?) };
        Ok(Self { node, groups, fold: options.fold, automata })
    }

    /// Groups that capture.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Whether no search fails, and each takes time in proportion to the text.
    pub fn never_fails(&self) -> bool {
        self.automata.is_some()
    }

    /// Whether the pattern matches anywhere in the text.
    pub fn is_match(&self, text: &str) -> Result<bool> {
        match &self.automata {
            Some(automata) => {
                let told = automata.whether.is_match(text, &self.node);
                Ok(told.unwrap_or_else(|| automata.first.is_match(text)))
            }
            None => Ok(self.search(text).find(0)?.is_some()),
        }
    }

    /// The match that begins first, at `from` or later.
    pub fn find(&self, text: &str, from: usize) -> Result<Option<Place>> {
        match &self.automata {
            Some(automata) => Ok(automata.find(text, from)),
            None => Ok(self.search(text).find(from)?.and_then(|places| places[0])),
        }
    }

    /// The same with its groups, which follow the match itself.
    pub fn captures(&self, text: &str, from: usize) -> Result<Option<Vec<Option<Place>>>> {
        let Some(automata) = &self.automata else { return self.search(text).find(from) };
        if self.groups > 0
            && automata.end.is_none()
            && let Some(groups) = automata.groups.get_or_init(|| grouped(&self.node))
        {
            // The first match is the one that is wanted.
            let mut slots = vec![None; 2 * (self.groups + 1)];
            let found = groups.search_slots(&Input::new(text).range(from..), &mut slots);
            let place = |pair: &[Option<NonMaxUsize>]| pair[0].zip(pair[1]).map(|(from, to)| (from.get(), to.get()));
            return Ok(found.map(|_| slots.chunks_exact(2).map(place).collect()));
        }
        let Some((start, end)) = automata.find(text, from) else { return Ok(None) };
        if self.groups == 0 {
            return Ok(Some(vec![Some((start, end))]));
        }
        if let Some(groups) = automata.groups.get_or_init(|| grouped(&self.node)) {
            let mut captures = groups.create_captures();
            groups.search_captures(&Input::new(text).range(start..).anchored(Anchored::Yes), &mut captures);
            // Of two matches from one place, the other one may have come first.
            if captures.get_match().is_some_and(|m| m.end() == end) {
                let place = |i| captures.get_group(i).map(|span| (span.start, span.end));
                return Ok(Some((0..=self.groups).map(place).collect()));
            }
        }
        self.search(text).groups(start, end)
    }

    fn search<'t>(&'t self, text: &'t str) -> Search<'t> {
        Search::new(&self.node, self.groups, self.fold, text)
    }
}

impl Automata {
    fn new(node: &Node) -> Result<Self> {
        let hir = node.to_hir(false);
        let first = meta::Builder::new().configure(config()).build_from_hir(&hir).map_err(|_| too_complex())?;
        let end = if node.is_ordered() || node.ends_with_text() { None } else { Some(End::new(node)?) };
        Ok(Self { first, whether: Whether::default(), groups: OnceLock::new(), end })
    }

    fn find(&self, text: &str, from: usize) -> Option<Place> {
        let found = self.first.search(&Input::new(text).range(from..))?;
        let end = match &self.end {
            Some(end) => end.find(text, found.start()).unwrap_or(found.end()),
            None => found.end(),
        };
        Some((found.start(), end))
    }
}

impl Whether {
    /// None: the table does not tell.
    fn is_match(&self, text: &str, node: &Node) -> Option<bool> {
        let table = match self.table.get() {
            Some(table) => table,
            None => {
                // Threads that count at once may miss some.
                let asked = self.asked.load(Ordering::Relaxed) + 1;
                self.asked.store(asked, Ordering::Relaxed);
                if asked < MANY_TEXTS {
                    return None;
                }
                self.table.get_or_init(|| Self::table(node))
            }
        };
        let found = table.as_ref()?.try_search_fwd(&Input::new(text).earliest(true));
        found.ok().map(|found| found.is_some())
    }

    fn table(node: &Node) -> Option<Box<dense::DFA<Vec<u32>>>> {
        let config = dense::Config::new()
            .match_kind(MatchKind::All)
            .start_kind(StartKind::Unanchored)
            .unicode_word_boundary(true)
            .dfa_size_limit(Some(TABLE))
            .determinize_size_limit(Some(4 * TABLE));
        let config = (0x80..=0xff).fold(config, |config, byte| config.quit(byte, true));
        let nfa = thompson::Config::new().nfa_size_limit(Some(TABLE)).which_captures(WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(nfa).build_from_hir(&node.in_ascii().to_hir(false)).ok()?;
        dense::Builder::new().configure(config).build_from_nfa(&nfa).ok().map(Box::new)
    }
}

impl End {
    fn new(node: &Node) -> Result<Self> {
        let config = thompson::Config::new().nfa_size_limit(Some(SIZE)).which_captures(WhichCaptures::Implicit);
        let nfa = thompson::Compiler::new().configure(config).build_from_hir(&node.to_hir(false));
        let nfa = nfa.map_err(|_| too_complex())?;
        let config = hybrid::dfa::Config::new()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .cache_capacity(STATES)
            .skip_cache_capacity_check(true);
        let dfa = hybrid::dfa::Builder::new().configure(config).build_from_nfa(nfa.clone());
        let dfa = dfa.map_err(|_| too_complex())?;
        let config = pikevm::Config::new().match_kind(MatchKind::All);
        let slow = pikevm::Builder::new().configure(config).build_from_nfa(nfa).map_err(|_| too_complex())?;
        let template = dfa.clone();
        let states: MakeCache = Box::new(move || template.create_cache());
        let shortest = node.prefers() == Some(Prefers::Shortest);
        Ok(Self { shortest, dfa, states: Pool::new(states), slow })
    }

    /// Where the match ends that begins at `start`.
    fn find(&self, text: &str, start: usize) -> Option<usize> {
        let input = Input::new(text).range(start..).anchored(Anchored::Yes).earliest(self.shortest);
        match self.dfa.try_search_fwd(&mut self.states.get(), &input) {
            Ok(found) => found.map(|half| half.offset()),
            Err(_) => {
                let mut slots = [None; 2];
                self.slow.search_slots(&mut self.slow.create_cache(), &input, &mut slots);
                slots[1].map(|end| end.get())
            }
        }
    }
}

/// Leftmost-first search with groups, if these are what PostgreSQL takes.
fn grouped(node: &Node) -> Option<meta::Regex> {
    let regular = node.captures_in_order();
    let build = || meta::Builder::new().configure(config()).build_from_hir(&node.to_hir(true)).ok();
    regular.then(build).flatten()
}

fn config() -> meta::Config {
    meta::Config::new().nfa_size_limit(Some(SIZE)).hybrid_cache_capacity(STATES).dfa(false)
}

#[cold]
fn too_complex() -> base::Error {
    bad("regular expression is too complex")
}
