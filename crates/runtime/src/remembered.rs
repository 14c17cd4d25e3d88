//! What workers remember of calls through boxed values.

use pipeline::ir::{Site, SiteKind};
use types::{Physical, SqlType, Value};

use crate::slot::{Slot, value_of};

/// Results that are remembered of a site; a power of two.
const REMEMBERED: usize = 4096;
/// So often other arguments may change before nothing is remembered any more.
const MOST_CHANGES: u8 = 8;

/// What a worker remembers of a site: the arguments of its last call, so that a text that is the same each time is made once; and
/// of calls in which one argument of 32 bits (a date, an integer, an enum) is all that differs, some results.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    values: Vec<Value>,
    /// The argument that differs, if that is one of 32 bits.
    varying: Option<usize>,
    results: Vec<Option<(i32, (Slot, bool))>>,
    /// How often other arguments have changed.
    changes: u8,
}

/// Whether it is worth to remember anything of a site: a text that may be the same each time beside something else, or an argument
/// of 32 bits.
pub(crate) fn is_worth_it(site: &Site) -> bool {
    let is_small = |of: &SqlType| of.physical() == Physical::I32;
    let is_text = |of: &SqlType| of.physical() == Physical::Str;
    site.arguments.iter().any(is_small) || site.arguments.len() != 1 && site.arguments.iter().any(is_text)
}

impl Memory {
    /// The arguments.
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// Takes over the arguments of a call but for the one that differs, and says what that is.
    ///
    /// # Safety
    /// There must be an argument of each of the site's types, strings alive.
    pub unsafe fn refresh(&mut self, site: &Site, args: *const Slot) -> Option<i32> {
        if self.values.len() != site.arguments.len() {
            self.values = vec![Value::Null; site.arguments.len()];
            let is_pure = !matches!(&site.kind, SiteKind::Scalar(function) if function.is_volatile());
            self.varying = site.arguments.iter().position(|of| is_pure && of.physical() == Physical::I32);
        }
        let mut is_same = true;
        for (at, (value, sql_type)) in self.values.iter_mut().zip(&site.arguments).enumerate() {
            if self.varying != Some(at) {
                // SAFETY: as the caller promises.
                is_same &= !unsafe { refresh(value, *args.add(at), *sql_type) };
            }
        }
        if !is_same {
            self.results = Vec::new();
            self.changes = self.changes.saturating_add(1);
        }
        // SAFETY: as the caller promises.
        let key = |at| unsafe { (*args.add(at)).0[0] as i32 };
        self.varying.filter(|_| self.changes <= MOST_CHANGES).map(key)
    }

    /// Takes over that one.
    ///
    /// # Safety
    /// There must be an argument of each of the site's types, strings alive.
    pub unsafe fn refresh_varying(&mut self, site: &Site, args: *const Slot) {
        if let Some(at) = self.varying {
            // SAFETY: as the caller promises.
            self.values[at] = unsafe { value_of(*args.add(at), site.arguments[at]) };
        }
    }

    /// The result of a call with that argument, if it is remembered.
    pub fn known(&self, key: i32) -> Option<(Slot, bool)> {
        let (known, found) = self.results.get(key as usize % REMEMBERED).copied().flatten()?;
        (known == key).then_some(found)
    }

    /// Remembers it.
    pub fn keep(&mut self, key: i32, found: (Slot, bool)) {
        if self.results.is_empty() {
            self.results = vec![None; REMEMBERED];
        }
        self.results[key as usize % REMEMBERED] = Some((key, found));
    }
}

/// Takes over the value in a slot, and says whether it is another one. A text that is the same as it was, as constants are, stays
/// where it is.
///
/// # Safety
/// As of [`value_of`].
unsafe fn refresh(value: &mut Value, slot: Slot, sql_type: SqlType) -> bool {
    if sql_type.physical() != Physical::Str {
        // SAFETY: as the caller promises.
        let new = unsafe { value_of(slot, sql_type) };
        let is_other = !new.is_identical(value);
        *value = new;
        return is_other;
    }
    let text = slot.as_str();
    // SAFETY: the caller vouches for the payload.
    let is_same = matches!(value, Value::Str(known) if unsafe { text.bytes() } == known.as_bytes());
    if !is_same {
        // SAFETY: as the caller promises.
        *value = unsafe { value_of(slot, sql_type) };
    }
    !is_same
}
