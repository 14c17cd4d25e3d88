//! Writing digits in the form of a pattern.

use super::{Anchor, Item, Pattern};

/// Writes a number's digits in the form of a pattern.
pub(super) struct Writer {
    pattern: Pattern,
    negative: bool,
    /// Digits and perhaps a point.
    number: Vec<char>,
    /// The digit that comes next.
    at: usize,
    /// Places for digits that the number has not.
    pub(super) spaces: usize,
    /// Places so far, and all of them.
    place: usize,
    places: isize,
    /// The last digit behind the point that is not a zero to be left out.
    last: Option<usize>,
    sign_written: bool,
    /// Whether the last place was a digit.
    in_number: bool,
    /// Where a place had no digit any more: PostgreSQL's text ends there, whatever follows in the pattern.
    ended: Option<usize>,
    out: String,
}

impl Writer {
    pub(super) fn new(pattern: Pattern, negative: bool, number: String) -> Self {
        let number = number.chars().collect();
        let out = String::new();
        Self {
            pattern,
            negative,
            number,
            at: 0,
            spaces: 0,
            place: 0,
            places: 0,
            last: None,
            sign_written: false,
            in_number: false,
            ended: None,
            out,
        }
    }

    pub(super) fn written(mut self) -> String {
        self.prepare();
        for item in std::mem::take(&mut self.pattern.items) {
            self.write(item);
        }
        self.out.truncate(self.ended.unwrap_or(self.out.len()));
        self.out
    }

    fn prepare(&mut self) {
        let pattern = &mut self.pattern;
        if pattern.plus || pattern.minus {
            self.sign_written = pattern.minus;
        } else {
            if !self.negative && pattern.fill {
                pattern.bracket = false;
            }
            self.sign_written = !self.negative && pattern.fill && pattern.anchor.is_none();
            if pattern.anchor == Some(Anchor::Before) && pattern.before == pattern.anchored_at {
                pattern.anchor = Some(Anchor::Behind);
            }
        }
        self.places = (pattern.behind + pattern.before) as isize - 1;
        if pattern.fill && pattern.point {
            self.last = self.last_relevant();
            if let Some(last) = self.last.filter(|_| self.pattern.zero_end > self.spaces) {
                let zero = (self.number.len() - 1).min(self.pattern.zero_end - self.spaces);
                self.last = Some(last.max(zero));
            }
        }
        if !self.sign_written && self.spaces == 0 {
            self.places += 1;
        }
    }

    /// The last digit behind the point that is no zero, or the point.
    fn last_relevant(&self) -> Option<usize> {
        let point = self.number.iter().position(|c| *c == '.')?;
        let behind = self.number[point + 1..].iter().rposition(|c| *c != '0');
        Some(behind.map_or(point, |at| point + 1 + at))
    }

    /// Whether the last relevant character is the point.
    fn ends_at_point(&self) -> bool {
        self.last.is_some_and(|last| self.number[last] == '.')
    }

    /// Whether the number is a 0 before its point that is not written.
    fn is_hidden_zero(&self) -> bool {
        !self.pattern.zero && self.at == 0 && self.number.first() == Some(&'0') && self.pattern.behind != 0
    }

    fn write(&mut self, item: Item) {
        let fill = self.pattern.fill;
        match item {
            Item::Digit | Item::Zero | Item::Point => self.digit(item),
            Item::Group if self.in_number => self.out.push(','),
            Item::Group if !fill => self.out.push(' '),
            Item::Currency => self.out.push(' '),
            Item::Minus if self.negative => self.out.push('-'),
            Item::Plus if !self.negative => self.out.push('+'),
            Item::Minus | Item::Plus if !fill => self.out.push(' '),
            Item::Sign => self.out.push(if self.negative { '-' } else { '+' }),
            Item::Roman { lower } => {
                let digits: String = self.number.iter().collect();
                let digits = if lower { digits.to_lowercase() } else { digits };
                self.out.push_str(&if fill { digits } else { format!("{digits:>15}") });
            }
            Item::Ordinal { lower } => {
                let none = self.pattern.roman || self.number.first() == Some(&'#') || self.negative;
                if !none && !self.pattern.point {
                    let ending = ordinal(&self.number);
                    self.out.push_str(&if lower { ending.to_owned() } else { ending.to_uppercase() });
                }
            }
            Item::Text(c) => self.out.push(c),
            Item::Group | Item::Minus | Item::Plus | Item::Mark => {}
        }
    }

    fn digit(&mut self, item: Item) {
        if self.pattern.roman {
            return;
        }
        self.in_number = false;
        let starts = self.place >= self.spaces || (self.pattern.zero && self.pattern.zero_start == self.place);
        if !self.sign_written && starts && (!self.is_hidden_zero() || self.ends_at_point()) {
            self.sign();
        }
        let padded = self.place < self.spaces;
        if padded && (self.pattern.zero_start > self.place || !self.pattern.zero) {
            if !self.pattern.fill {
                self.out.push(' ');
            }
        } else if padded {
            self.out.push('0');
            self.in_number = true;
        } else {
            self.own_digit(item);
        }
        let mut end = self.places + isize::from(self.spaces > 0) + isize::from(self.pattern.point);
        if self.last == Some(self.at) {
            end = self.place as isize;
        }
        if self.place as isize + 1 == end {
            if self.sign_written && self.pattern.bracket {
                self.out.push(if self.negative { '>' } else { ' ' });
            } else if self.pattern.anchor == Some(Anchor::Behind) {
                self.out.push(if self.negative { '-' } else { '+' });
            }
        }
        self.place += 1;
    }

    fn sign(&mut self) {
        let (fill, negative) = (self.pattern.fill, self.negative);
        match (self.pattern.anchor, self.pattern.bracket) {
            (Some(Anchor::Before), _) => self.out.push(if negative { '-' } else { '+' }),
            (Some(Anchor::Behind), _) => return,
            (None, true) => self.out.push(if negative { '<' } else { ' ' }),
            (None, false) if negative => self.out.push('-'),
            (None, false) if !fill => self.out.push(' '),
            (None, false) => {}
        }
        self.sign_written = true;
    }

    /// The number's next character.
    fn own_digit(&mut self, item: Item) {
        match self.number.get(self.at) {
            Some('.') => {
                if !self.ends_at_point() || self.pattern.fill {
                    self.out.push('.');
                }
            }
            _ if self.last.is_some_and(|last| self.at > last) && item != Item::Zero => {}
            _ if self.is_hidden_zero() => {
                if !self.pattern.fill {
                    self.out.push(' ');
                } else if self.ends_at_point() {
                    self.out.push('0');
                }
            }
            Some(&digit) => {
                self.out.push(digit);
                self.in_number = true;
            }
            None => self.ended = self.ended.or(Some(self.out.len())),
        }
        self.at = (self.at + 1).min(self.number.len());
    }
}

/// The ending of an ordinal number.
fn ordinal(digits: &[char]) -> &'static str {
    match digits {
        [.., '1', _] => "th",
        [.., '1'] => "st",
        [.., '2'] => "nd",
        [.., '3'] => "rd",
        _ => "th",
    }
}
