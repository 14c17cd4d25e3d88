//! Reading numbers in the form of a pattern.

use super::{Anchor, Item, Pattern};

/// Reads a number in the form of a pattern.
#[derive(Debug, Default)]
pub(super) struct Reader {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) sign: Option<char>,
    pub(super) digits: String,
    before: usize,
    behind: usize,
    point: bool,
}

impl Reader {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.chars().collect(), ..Self::default() }
    }

    fn next(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    /// Steps over so many characters that are no part of a number.
    fn skip(&mut self, most: usize) {
        for _ in 0..most {
            match self.next() {
                Some(c) if !(c.is_ascii_digit() || matches!(c, '.' | ',' | '+' | '-')) => self.at += 1,
                _ => return,
            }
        }
    }

    pub(super) fn read(&mut self, item: Item, pattern: &Pattern) {
        match item {
            Item::Digit | Item::Zero | Item::Point => {
                self.place(item, pattern);
                self.at += 1;
            }
            Item::Group if !pattern.fill && self.next() == Some(',') => self.at += 1,
            Item::Currency => self.skip(1),
            Item::Ordinal { .. } => self.skip(2),
            Item::Minus | Item::Plus | Item::Sign => {
                let taken = self.next().filter(|c| match item {
                    Item::Minus => *c == '-',
                    Item::Plus => *c == '+',
                    _ => matches!(c, '-' | '+'),
                });
                match taken {
                    Some(sign) => {
                        self.sign = Some(sign);
                        self.at += 1;
                    }
                    None => self.skip(1),
                }
            }
            Item::Text(_) => self.at += 1,
            Item::Group | Item::Roman { .. } | Item::Mark => {}
        }
    }

    /// A digit, the point, or a sign beside them.
    fn place(&mut self, item: Item, pattern: &Pattern) {
        if self.next() == Some(' ') {
            self.at += 1;
        }
        if self.sign.is_none() && item != Item::Point && self.before + self.behind == 0 {
            match self.next() {
                Some('-') if pattern.anchor != Some(Anchor::Behind) => self.take_sign('-'),
                Some('+') if pattern.anchor != Some(Anchor::Behind) => self.take_sign('+'),
                Some('<') if pattern.bracket => self.take_sign('-'),
                _ => {}
            }
        }
        let mut read = false;
        match self.next() {
            Some(digit) if digit.is_ascii_digit() => {
                if self.point && self.behind == pattern.behind {
                    return;
                }
                self.digits.push(digit);
                *(if self.point { &mut self.behind } else { &mut self.before }) += 1;
                read = true;
            }
            Some('.') if pattern.point && !self.point => {
                self.digits.push('.');
                self.point = true;
                read = true;
            }
            None => return,
            _ => {}
        }
        if self.sign.is_some() || self.before + self.behind == 0 {
            return;
        }
        let following = self.text.get(self.at + 1).copied();
        if pattern.anchor.is_some() {
            if let Some(sign @ ('-' | '+')) = following.filter(|_| read) {
                self.at += 1;
                self.sign = Some(sign);
            }
        } else if !read && (pattern.plus || pattern.minus) {
            self.sign = self.next().filter(|c| matches!(c, '-' | '+'));
        }
    }

    fn take_sign(&mut self, sign: char) {
        self.sign = Some(sign);
        self.at += 1;
    }
}
