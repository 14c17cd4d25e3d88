//! What no automaton answers: lookaround, back references, and which part of a text each group took where parts compete.
//!
//! The ends of a part's matches from a place are computed once; then the match is taken apart from above, each part taking
//! the longest (or shortest) that leaves a match to the rest, as PostgreSQL's (Henry Spencer's) matcher does. Without back
//! references the first choice holds, and time is bounded by the product of the pattern and the square of the text; with
//! them, choices are tried one after the other. A budget of steps bounds both.

use std::collections::HashMap;
use std::rc::Rc;

use base::{Error, Result, SqlState, statement};
use regex_automata::util::look::LookMatcher;
use regex_syntax::hir::{ClassUnicode, Look};

use super::class;
use super::node::{Around, Node, Prefers, Repeat};

/// Places that are looked at for one text before it is an error.
const BUDGET: usize = 4_000_000;

/// Steps before the statement is asked whether to go on.
const ASKED: usize = 1 << 16;

/// Where groups begin and end, by their number; number 0 is the match.
pub(super) type Places = Vec<Option<(usize, usize)>>;

/// Ends of matches, in order.
type Ends = Rc<[usize]>;

/// A search in one text.
pub(super) struct Search<'t> {
    text: &'t str,
    root: &'t Node,
    /// Contents of the groups, by their number.
    groups: Vec<Option<&'t Node>>,
    fold: bool,
    /// By the node's address and where its matches begin.
    known: HashMap<(usize, usize), Ends>,
    captured: Places,
    steps: usize,
}

impl<'t> Search<'t> {
    pub fn new(root: &'t Node, groups: usize, fold: bool, text: &'t str) -> Self {
        let mut contents = vec![None; groups + 1];
        contents_of_groups(root, &mut |number, content| contents[number] = Some(content));
        let captured = vec![None; groups + 1];
        Self { text, root, groups: contents, fold, known: HashMap::new(), captured, steps: 0 }
    }

    /// The leftmost match that begins at `from` or later.
    pub fn find(&mut self, from: usize) -> Result<Option<Places>> {
        let root = self.root;
        let starts = self.text[from..].char_indices().map(|(at, _)| from + at).chain([self.text.len()]);
        for start in starts {
            let ends = self.ends(root, start)?;
            if self.take_apart_any(root, start, &ends)? {
                return Ok(Some(self.captured.clone()));
            }
            // What begins before the next place is of use to nobody, but for what looks behind.
            if self.known.len() > 1 << 16 {
                self.known.clear();
            }
        }
        Ok(None)
    }

    /// The groups of a match whose place is known.
    pub fn groups(&mut self, start: usize, end: usize) -> Result<Option<Places>> {
        Ok(self.take_apart_any(self.root, start, &[end])?.then(|| self.captured.clone()))
    }

    fn take_apart_any(&mut self, root: &'t Node, start: usize, ends: &[usize]) -> Result<bool> {
        for &end in preferred(ends, root.prefers()) {
            self.captured.fill(None);
            if self.take_apart(root, start, end)? {
                self.captured[0] = Some((start, end));
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn step(&mut self, steps: usize) -> Result<()> {
        let before = self.steps / ASKED;
        self.steps += steps + 1;
        if self.steps > BUDGET {
            return Err(Error::new(
                SqlState::STATEMENT_TOO_COMPLEX,
                "matching a regular expression takes too many steps",
            )
            .hint("lookaround, back references and groups whose parts compete take time on long texts"));
        }
        if self.steps / ASKED != before { statement::check() } else { Ok(()) }
    }

    /// Where matches of the node end that begin at `start`; of one with back references, at least these.
    fn ends(&mut self, node: &'t Node, start: usize) -> Result<Ends> {
        if let Node::Run(classes) = node {
            self.step(0)?;
            return Ok(self.run(classes, start).into_iter().collect());
        }
        let key = (std::ptr::from_ref(node).addr(), start);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let ends: Ends = match node {
            Node::Run(_) => Ends::default(),
            Node::Look(look) => self.look(*look, start).then_some(start).into_iter().collect(),
            Node::Concat(parts) => {
                let mut places: Ends = Rc::new([start]);
                for part in parts {
                    places = self.after(part, &places)?;
                }
                places
            }
            Node::Alternate(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend_from_slice(&self.ends(part, start)?);
                }
                in_order(all)
            }
            Node::Group(_, node) => self.ends(node, start)?,
            Node::Repeat(repeat) => self.repeated(repeat, repeat.min, repeat.max, start)?,
            Node::Around(around) => (self.around(around, start)?).then_some(start).into_iter().collect(),
            Node::Back(number) => self.ends_of_back_reference(*number, start)?,
        };
        self.step(ends.len())?;
        self.known.insert(key, ends.clone());
        Ok(ends)
    }

    /// Where matches end that begin at any of these places.
    fn after(&mut self, node: &'t Node, places: &[usize]) -> Result<Ends> {
        let mut all = Vec::new();
        for &place in places {
            all.extend_from_slice(&self.ends(node, place)?);
        }
        self.step(all.len())?;
        Ok(in_order(all))
    }

    fn run(&self, classes: &[ClassUnicode], start: usize) -> Option<usize> {
        let mut chars = self.text[start..].chars();
        let mut end = start;
        for class in classes {
            let c = chars.next().filter(|&c| class::contains(class, c))?;
            end += c.len_utf8();
        }
        Some(end)
    }

    fn look(&self, look: Look, at: usize) -> bool {
        // The unicode tables of words are there.
        LookMatcher::new().matches(as_automata(look), self.text.as_bytes(), at)
    }

    fn repeated(&mut self, repeat: &'t Repeat, min: u32, max: Option<u32>, start: usize) -> Result<Ends> {
        let mut places: Ends = Rc::new([start]);
        for _ in 0..min {
            places = self.after(&repeat.node, &places)?;
        }
        let mut all: Vec<usize> = places.to_vec();
        let mut count = min;
        while !places.is_empty() && max.is_none_or(|max| count < max) {
            let next = self.after(&repeat.node, &places)?;
            let new: Vec<usize> = next.iter().copied().filter(|end| all.binary_search(end).is_err()).collect();
            all.extend_from_slice(&new);
            all.sort_unstable();
            self.step(all.len())?;
            (places, count) = (new.into(), count + 1);
        }
        Ok(all.into())
    }

    fn around(&mut self, around: &'t Around, at: usize) -> Result<bool> {
        if !around.behind {
            return Ok(self.ends(&around.node, at)?.is_empty() == around.negated);
        }
        let (least, most) = around.node.length();
        let mut found = false;
        let starts = self.text[..at].char_indices().rev().map(|(start, _)| start);
        for (back, start) in [at].into_iter().chain(starts).enumerate() {
            if found || most.is_some_and(|most| back > most) {
                break;
            }
            self.step(0)?;
            found = back >= least && self.ends(&around.node, start)?.binary_search(&at).is_ok();
        }
        Ok(found != around.negated)
    }

    /// As far as the group's content reaches; anywhere, if that depends on its place.
    fn ends_of_back_reference(&mut self, number: usize, start: usize) -> Result<Ends> {
        let content = self.groups[number].filter(|node| !node.has(&|n| matches!(n, Node::Look(_) | Node::Around(_))));
        match content {
            Some(node) => self.ends(node, start),
            None => Ok(self.text[start..].char_indices().map(|(at, _)| start + at).chain([self.text.len()]).collect()),
        }
    }

    /// Whether the node matches just from `start` to `end`, which its [ends](Self::ends) say unless there are back
    /// references; notes what its groups take.
    fn take_apart(&mut self, node: &'t Node, start: usize, end: usize) -> Result<bool> {
        self.step(0)?;
        Ok(match node {
            Node::Run(_) | Node::Look(_) | Node::Around(_) => true,
            Node::Group(number, content) => {
                let fits = self.take_apart(content, start, end)?;
                if fits {
                    self.captured[*number] = Some((start, end));
                }
                fits
            }
            Node::Alternate(parts) => {
                for part in parts {
                    if self.ends(part, start)?.binary_search(&end).is_ok() && self.take_apart(part, start, end)? {
                        return Ok(true);
                    }
                }
                false
            }
            Node::Concat(parts) => {
                let behind = self.places_behind(parts, start, end)?;
                self.take_apart_parts(parts, &behind, start, end)?
            }
            Node::Repeat(repeat) => self.take_apart_repeat(repeat, start, end)?,
            Node::Back(number) => self.captured[*number].is_some_and(|(from, to)| {
                let (a, b) = (&self.text[from..to], &self.text[start..end]);
                a == b || self.fold && a.chars().flat_map(char::to_lowercase).eq(b.chars().flat_map(char::to_lowercase))
            }),
        })
    }

    /// By the number of a part: where it may begin so that it and all behind it match up to `end`.
    fn places_behind(&mut self, parts: &'t [Node], start: usize, end: usize) -> Result<Vec<Ends>> {
        let mut forward: Vec<Ends> = vec![Rc::new([start])];
        for part in parts {
            let next = self.after(part, &forward[forward.len() - 1])?;
            forward.push(next);
        }
        let mut behind: Vec<Ends> = vec![Rc::new([end])];
        for (part, places) in parts.iter().zip(&forward).rev() {
            let next = behind[behind.len() - 1].clone();
            let mut fit = Vec::new();
            for &place in places.iter() {
                if self.ends(part, place)?.iter().any(|end| next.binary_search(end).is_ok()) {
                    fit.push(place);
                }
            }
            self.step(places.len())?;
            behind.push(fit.into());
        }
        behind.reverse();
        Ok(behind)
    }

    fn take_apart_parts(&mut self, parts: &'t [Node], behind: &[Ends], start: usize, end: usize) -> Result<bool> {
        let Some((part, rest)) = parts.split_first() else { return Ok(start == end) };
        let ends = self.ends(part, start)?;
        for &middle in preferred(&ends, part.prefers()) {
            if behind[1].binary_search(&middle).is_ok()
                && self.take_apart(part, start, middle)?
                && self.take_apart_parts(rest, &behind[1..], middle, end)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn take_apart_repeat(&mut self, repeat: &'t Repeat, start: usize, end: usize) -> Result<bool> {
        let Repeat { node, min, max, prefers } = repeat;
        let back = node.has_back_references();
        if !back && !node.has_groups() {
            return Ok(true);
        }
        if (*min, *max) == (1, Some(1)) {
            return self.take_apart(node, start, end);
        }
        if *min > 0 && !back {
            // All but the last, which alone captures, take what they can.
            let before = self.repeated(repeat, min - 1, max.map(|max| max - 1), start)?;
            for &middle in preferred(&before, prefers.or_else(|| node.prefers())) {
                if self.ends(node, middle)?.binary_search(&end).is_ok() {
                    return self.take_apart(node, middle, end);
                }
            }
            return Ok(false);
        }
        let most = max.unwrap_or(u32::MAX) as usize;
        let least = (*min).max(1) as usize;
        let places = if most == 0 { false } else { self.iterate(repeat, 1, (least, most), start, end)? };
        Ok(places || *min == 0 && start == end)
    }

    /// The `k`-th time and those behind it, from `start` to `end`. One that takes nothing counts only where the least number
    /// asks for it.
    fn iterate(
        &mut self,
        repeat: &'t Repeat,
        k: usize,
        (least, most): (usize, usize),
        start: usize,
        end: usize,
    ) -> Result<bool> {
        let node = &*repeat.node;
        let ends = self.ends(node, start)?;
        for &middle in preferred(&ends, node.prefers()) {
            let nothing = middle == start && (k > least || least - k < end - start) && start != end;
            if middle > end || nothing || (middle == end && k < least && start != end) {
                continue;
            }
            self.forget(node);
            if !self.take_apart(node, start, middle)? {
                continue;
            }
            if middle == end && k >= least {
                return Ok(true);
            }
            let deeper =
                k < most && base::stack::with_room(4, || self.iterate(repeat, k + 1, (least, most), middle, end))??;
            if deeper {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What groups took the time before is forgotten.
    fn forget(&mut self, node: &'t Node) {
        contents_of_groups(node, &mut |number, _| self.captured[number] = None);
    }
}

/// Ends in the order in which they are tried.
fn preferred(ends: &[usize], prefers: Option<Prefers>) -> impl Iterator<Item = &usize> {
    let shortest = prefers == Some(Prefers::Shortest);
    let count = ends.len();
    (0..count).map(move |i| if shortest { &ends[i] } else { &ends[count - 1 - i] })
}

fn in_order(mut all: Vec<usize>) -> Ends {
    all.sort_unstable();
    all.dedup();
    all.into()
}

/// Notes what each group has inside.
fn contents_of_groups<'t>(node: &'t Node, note: &mut dyn FnMut(usize, &'t Node)) {
    match node {
        Node::Run(_) | Node::Look(_) | Node::Back(_) => {}
        Node::Concat(parts) | Node::Alternate(parts) => parts.iter().for_each(|p| contents_of_groups(p, note)),
        Node::Group(number, node) => {
            note(*number, node);
            contents_of_groups(node, note);
        }
        Node::Repeat(repeat) => contents_of_groups(&repeat.node, note),
        Node::Around(around) => contents_of_groups(&around.node, note),
    }
}

fn as_automata(look: Look) -> regex_automata::util::look::Look {
    use regex_automata::util::look::Look as Automata;
    match look {
        Look::Start => Automata::Start,
        Look::End => Automata::End,
        Look::StartLF => Automata::StartLF,
        Look::EndLF => Automata::EndLF,
        Look::WordUnicodeNegate => Automata::WordUnicodeNegate,
        Look::WordStartUnicode => Automata::WordStartUnicode,
        Look::WordEndUnicode => Automata::WordEndUnicode,
        // The parser makes no others.
        _ => Automata::WordUnicode,
    }
}
