//! SELECT ... FOR UPDATE and its kin.

use plan::{Plan, TableSource};

/// A query that locks the rows of tables which its rows are of. Behind its columns its plan has the ids of these rows, one
/// column for each of `tables`.
#[derive(Clone, Debug)]
pub struct Locking {
    /// The query.
    pub plan: Plan,
    /// Whose rows are locked.
    pub tables: Vec<LockedTable>,
    /// How many rows are given, and after how many: where those that are locked are passed over, the plan does not know.
    pub limit: Option<u64>,
    /// See `limit`.
    pub offset: u64,
}

/// A table whose rows are locked.
#[derive(Clone, Debug)]
pub struct LockedTable {
    /// Its name.
    pub name: String,
    /// The table.
    pub source: TableSource,
    /// How.
    pub strength: LockStrength,
    /// What becomes of rows that others have locked.
    pub wait: LockWait,
}

/// How strongly rows are locked, from weak to strong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs)]
pub enum LockStrength {
    KeyShare,
    Share,
    NoKeyUpdate,
    Update,
}

impl LockStrength {
    /// From weak to strong.
    pub const ALL: [Self; 4] = [Self::KeyShare, Self::Share, Self::NoKeyUpdate, Self::Update];

    /// As SQL has it.
    pub fn clause(self) -> &'static str {
        match self {
            Self::KeyShare => "FOR KEY SHARE",
            Self::Share => "FOR SHARE",
            Self::NoKeyUpdate => "FOR NO KEY UPDATE",
            Self::Update => "FOR UPDATE",
        }
    }
}

/// What becomes of rows that others have locked.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockWait {
    /// The statement waits for them.
    Wait,
    /// SKIP LOCKED: they are passed over.
    Skip,
    /// NOWAIT: error 55P03.
    Fail,
}
