//! What a transaction has put off to its end: checks of keys that are deferred, and which are.

use std::collections::HashMap;
use std::sync::Arc;

use storage::Relation;
use storage::transaction::Effect;

/// Which rows a check asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Those that reference others.
    Referencing,
    /// Those that others reference.
    Referenced,
    /// Those that must not have the same key.
    Unique,
}

/// A key: the table that has it, by its number, and its name.
pub(crate) type KeyName = (u64, String);

/// A check of a key that is put off.
#[derive(Clone, Debug)]
pub(crate) struct Pending {
    /// The statement that has changed the rows.
    pub statement: u32,
    pub key: KeyName,
    /// The table that has the key.
    pub referencing: Arc<Relation>,
    pub side: Side,
    pub effect: Arc<Effect>,
}

/// What SET CONSTRAINTS has said.
#[derive(Clone, Default, Debug)]
pub(crate) struct Modes {
    all: Option<bool>,
    keys: HashMap<KeyName, bool>,
}

impl Modes {
    /// Whether a key that can be deferred is, if it is from the beginning as told.
    pub fn is_deferred(&self, key: &KeyName, initially: bool) -> bool {
        self.keys.get(key).copied().or(self.all).unwrap_or(initially)
    }

    /// SET CONSTRAINTS ALL.
    pub fn set_all(&mut self, deferred: bool) {
        *self = Self { all: Some(deferred), keys: HashMap::new() };
    }

    /// SET CONSTRAINTS of one.
    pub fn set(&mut self, key: KeyName, deferred: bool) {
        self.keys.insert(key, deferred);
    }
}

/// See the module.
#[derive(Default, Debug)]
pub(crate) struct Deferred {
    pub modes: Modes,
    pub pending: Vec<Pending>,
}

impl Deferred {
    /// What statements from number `first` on have done has not happened.
    pub fn forget_from(&mut self, first: u32) {
        self.pending.retain(|pending| pending.statement < first);
    }

    /// The checks that are not put off any more.
    pub fn take(&mut self, is_due: impl Fn(&Modes, &Pending) -> bool) -> Vec<Pending> {
        let Self { modes, pending } = self;
        pending.extract_if(.., |pending| is_due(modes, pending)).collect()
    }
}
