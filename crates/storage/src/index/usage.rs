//! Which indexes readers use: to compare plans with indexes and without (thesis 6.2.3).

/// Which indexes a reader may use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IndexUse {
    /// All that there are.
    #[default]
    All,
    /// Those of primary keys and unique constraints.
    Keys,
    /// None.
    Nothing,
}

impl IndexUse {
    /// All choices, with their names.
    pub const ALL: [(&str, Self); 3] = [("all", Self::All), ("keys", Self::Keys), ("none", Self::Nothing)];

    /// Whether that of a key is used, or of anything else.
    pub fn allows(self, is_unique: bool) -> bool {
        match self {
            Self::All => true,
            Self::Keys => is_unique,
            Self::Nothing => false,
        }
    }
}
