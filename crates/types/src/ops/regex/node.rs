//! Patterns as trees, what a tree says about preferences and lengths, and its form for automata.

use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};

/// Longest run that a pattern may ask for by number, as in PostgreSQL.
pub(super) const MOST: u32 = 255;

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One character after the other, each of a class: a literal, mostly.
    Run(Vec<ClassUnicode>),
    /// Something about a place.
    Look(Look),
    Concat(Vec<Node>),
    /// Two or more.
    Alternate(Vec<Node>),
    /// Parentheses that capture, by their number from 1.
    Group(usize, Box<Node>),
    Repeat(Repeat),
    /// Lookahead or lookbehind.
    Around(Around),
    /// What a group captured.
    Back(usize),
}

/// `node{min,max}`.
#[derive(Clone, Debug)]
pub(super) struct Repeat {
    pub node: Box<Node>,
    pub min: u32,
    /// None: any number.
    pub max: Option<u32>,
    /// What the quantifier says of its own; `{m}` says nothing.
    pub prefers: Option<Prefers>,
}

/// `(?=re)` and its relatives.
#[derive(Clone, Debug)]
pub(super) struct Around {
    pub node: Box<Node>,
    pub behind: bool,
    pub negated: bool,
}

/// Which of several matches from one place is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prefers {
    Longest,
    Shortest,
}

impl Node {
    pub fn empty() -> Self {
        Self::Concat(Vec::new())
    }

    /// PostgreSQL's rules of greediness (its manual, 9.7.3.5).
    pub fn prefers(&self) -> Option<Prefers> {
        match self {
            Self::Run(_) | Self::Look(_) | Self::Around(_) | Self::Back(_) => None,
            Self::Concat(parts) => parts.iter().find_map(Self::prefers),
            Self::Alternate(_) => Some(Prefers::Longest),
            Self::Group(_, node) => node.prefers(),
            Self::Repeat(repeat) => repeat.prefers.or_else(|| repeat.node.prefers()),
        }
    }

    /// Whether any part is as `asked`.
    pub fn has(&self, asked: &dyn Fn(&Self) -> bool) -> bool {
        asked(self)
            || match self {
                Self::Run(_) | Self::Look(_) | Self::Back(_) => false,
                Self::Concat(parts) | Self::Alternate(parts) => parts.iter().any(|p| p.has(asked)),
                Self::Group(_, node) => node.has(asked),
                Self::Repeat(repeat) => repeat.node.has(asked),
                Self::Around(around) => around.node.has(asked),
            }
    }

    pub fn has_groups(&self) -> bool {
        self.has(&|n| matches!(n, Self::Group(..)))
    }

    pub fn has_back_references(&self) -> bool {
        self.has(&|n| matches!(n, Self::Back(_)))
    }

    /// Whether no automaton knows it.
    pub fn is_irregular(&self) -> bool {
        self.has(&|n| matches!(n, Self::Back(_) | Self::Around(_)))
    }

    /// Fewest and most characters of a match, if there is a most.
    pub fn length(&self) -> (usize, Option<usize>) {
        match self {
            Self::Run(classes) => (classes.len(), Some(classes.len())),
            Self::Look(_) | Self::Around(_) => (0, Some(0)),
            Self::Back(_) => (0, None),
            Self::Concat(parts) => parts.iter().map(Self::length).fold((0, Some(0)), |(low, high), (l, h)| {
                (low.saturating_add(l), high.zip(h).map(|(a, b)| a.saturating_add(b)))
            }),
            Self::Alternate(parts) => {
                let all = || parts.iter().map(Self::length);
                let high = all().map(|(_, h)| h).try_fold(0, |most, h| Some(most.max(h?)));
                (all().map(|(l, _)| l).min().unwrap_or(0), high)
            }
            Self::Group(_, node) => node.length(),
            Self::Repeat(Repeat { node, min, max, .. }) => {
                let (low, high) = node.length();
                let most = max.zip(high).map(|(max, high)| high.saturating_mul(max as usize));
                (low.saturating_mul(*min as usize), most)
            }
        }
    }

    /// Whether the leftmost-first order of its matches from one place, which automata follow, is the order of their lengths,
    /// beginning with the preferred one, and the groups follow from where a match ends.
    pub fn is_ordered(&self) -> bool {
        let fixed = |(low, high): (usize, Option<usize>)| high == Some(low);
        match self {
            Self::Run(_) | Self::Look(_) => true,
            Self::Around(_) | Self::Back(_) => false,
            Self::Group(_, node) => node.is_ordered(),
            Self::Alternate(parts) => fixed(self.length()) && parts.iter().all(Self::is_ordered),
            Self::Concat(parts) => {
                let mut open = parts.iter().filter(|p| !fixed(p.length()));
                let (one, more) = (open.next(), open.next().is_some());
                !more && parts.iter().all(Self::is_ordered) && one.is_none_or(|p| p.prefers() == self.prefers())
            }
            Self::Repeat(Repeat { node, .. }) => {
                let length = node.length();
                let groups = node.has(&|n| matches!(n, Self::Alternate(_) | Self::Repeat(_))) && node.has_groups();
                fixed(length) && length.0 > 0 && node.is_ordered() && !groups
            }
        }
    }

    /// Whether all matches from one place end at the same place, that of the text.
    pub fn ends_with_text(&self) -> bool {
        match self {
            Self::Look(Look::End) => true,
            Self::Concat(parts) => parts.last().is_some_and(Self::ends_with_text),
            Self::Group(_, node) => node.ends_with_text(),
            _ => false,
        }
    }

    /// Whether leftmost-first search, given where a match ends, captures what PostgreSQL captures: each part takes what it
    /// prefers, from left to right.
    pub fn captures_in_order(&self) -> bool {
        match self {
            Self::Concat(parts) => parts.iter().all(Self::is_ordered),
            Self::Group(_, node) => node.captures_in_order(),
            _ => self.is_ordered(),
        }
    }

    /// The same of texts that are ASCII alone.
    pub fn in_ascii(&self) -> Self {
        let all = |parts: &[Self]| parts.iter().map(Self::in_ascii).collect();
        match self {
            Self::Run(classes) => {
                let ascii = ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]);
                let mut classes = classes.clone();
                classes.iter_mut().for_each(|class| class.intersect(&ascii));
                Self::Run(classes)
            }
            Self::Look(_) | Self::Back(_) => self.clone(),
            Self::Concat(parts) => Self::Concat(all(parts)),
            Self::Alternate(parts) => Self::Alternate(all(parts)),
            Self::Group(number, node) => Self::Group(*number, node.in_ascii().into()),
            Self::Repeat(repeat) => Self::Repeat(Repeat { node: repeat.node.in_ascii().into(), ..repeat.clone() }),
            Self::Around(around) => Self::Around(Around { node: around.node.in_ascii().into(), ..around.clone() }),
        }
    }

    /// The form for automata, of a pattern that is regular.
    pub fn to_hir(&self, groups: bool) -> Hir {
        match self {
            Self::Run(classes) => {
                Hir::concat(classes.iter().map(|class| Hir::class(Class::Unicode(class.clone()))).collect())
            }
            Self::Look(look) => Hir::look(*look),
            Self::Concat(parts) => Hir::concat(parts.iter().map(|p| p.to_hir(groups)).collect()),
            Self::Alternate(parts) => Hir::alternation(parts.iter().map(|p| p.to_hir(groups)).collect()),
            Self::Group(index, node) if groups => {
                Hir::capture(Capture { index: *index as u32, name: None, sub: Box::new(node.to_hir(groups)) })
            }
            Self::Group(_, node) => node.to_hir(groups),
            Self::Repeat(Repeat { node, min, max, .. }) => Hir::repetition(Repetition {
                min: *min,
                max: *max,
                greedy: self.prefers() != Some(Prefers::Shortest),
                sub: Box::new(node.to_hir(groups)),
            }),
            Self::Around(_) | Self::Back(_) => Hir::fail(),
        }
    }
}
