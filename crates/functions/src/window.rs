//! Window functions: a row each (thesis 5.2.4). Aggregates are window functions, too; they have their rows in
//! [`aggregate`](crate::aggregate).

use crate::AggregateFunction;

/// What a window function looks at besides the current row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The rows of the partition, in their order: a frame means nothing.
    Partition,
    /// The rows of the frame.
    Frame,
    /// The rows of the frame in an order of the call's own (`WITHIN GROUP`).
    OwnOrder,
}

/// A window function: what its row says.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its id.
    pub function: WindowFunction,
    /// What SQL and the text form of plans call it, in lower case.
    pub name: &'static str,
    /// What it looks at.
    pub scope: Scope,
    /// How many arguments it takes, at least and at most.
    pub arguments: (usize, usize),
    /// One line for the reference.
    pub documentation: &'static str,
    /// A call, and its results as text over rows whose x is 1, 2, 4 and NULL, in the order of x.
    pub example: (&'static str, [&'static str; 4]),
}

macro_rules! windows {
    ($($id:ident, $name:literal, $scope:ident, $arguments:expr, $documentation:literal, $example:expr;)*) => {
        /// A window function.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
        pub enum WindowFunction {
            $(#[doc = $documentation] $id,)*
            /// An aggregate over the frame.
            Aggregate(AggregateFunction),
        }

        /// Every window function that is no aggregate.
        pub const WINDOWS: &[Window] = &[$(Window {
            function: WindowFunction::$id,
            name: $name,
            scope: Scope::$scope,
            arguments: $arguments,
            documentation: $documentation,
            example: $example,
        }),*];
    };
}

windows! {
    RowNumber, "row_number", Partition, (0, 0), "The number of the row in its partition, from 1.",
        ("row_number() OVER (ORDER BY x)", ["1", "2", "3", "4"]);
    Rank, "rank", Partition, (0, 0), "One more than the rows before the row's peers.",
        ("rank() OVER (ORDER BY x > 1)", ["1", "2", "2", "4"]);
    DenseRank, "dense_rank", Partition, (0, 0), "One more than the groups of peers before the row's.",
        ("dense_rank() OVER (ORDER BY x > 1)", ["1", "2", "2", "3"]);
    PercentRank, "percent_rank", Partition, (0, 0), "(rank - 1) / (rows of the partition - 1); 0 for a single row.",
        ("percent_rank() OVER (ORDER BY x > 1 NULLS FIRST)", ["0.3333333333333333", "0.6666666666666666", "0.6666666666666666", "0"]);
    CumeDist, "cume_dist", Partition, (0, 0), "The share of the partition's rows that are not behind the row's peers.",
        ("cume_dist() OVER (ORDER BY x > 1)", ["0.25", "0.75", "0.75", "1"]);
    Ntile, "ntile", Partition, (1, 1), "The number of the row's bucket if the partition is dealt out to so many, from 1.",
        ("ntile(3) OVER (ORDER BY x)", ["1", "1", "2", "3"]);
    Lead, "lead", Partition, (1, 3), "The value so many rows on (1 if not said), or the default where there is no such row.",
        ("lead(x, 2, 0) OVER (ORDER BY x)", ["4", "NULL", "0", "0"]);
    Lag, "lag", Partition, (1, 3), "The value so many rows back (1 if not said), or the default where there is no such row.",
        ("lag(x) OVER (ORDER BY x)", ["NULL", "1", "2", "4"]);
    FirstValue, "first_value", Frame, (1, 1), "The value in the frame's first row.",
        ("first_value(x) OVER (ORDER BY x)", ["1", "1", "1", "1"]);
    LastValue, "last_value", Frame, (1, 1), "The value in the frame's last row.",
        ("last_value(x) OVER (ORDER BY x)", ["1", "2", "4", "NULL"]);
    NthValue, "nth_value", Frame, (2, 2), "The value in the frame's row of that number, from 1; NULL if it has fewer.",
        ("nth_value(x, 2) OVER (ORDER BY x)", ["NULL", "2", "2", "2"]);
    StringAgg, "string_agg", Frame, (2, 2), "The texts one behind the other, each behind its separator but for the first.",
        ("string_agg(CAST(x AS text), ',') OVER (ORDER BY x)", ["1", "1,2", "1,2,4", "1,2,4"]);
    ArrayAgg, "array_agg", Frame, (2, 2), "The values one behind the other, NULLs too, as an array.",
        ("array_agg(x) OVER (ORDER BY x)", ["{1}", "{1,2}", "{1,2,4}", "{1,2,4,NULL}"]);
    Mode, "mode", OwnOrder, (0, 0), "The most frequent value, the first of several.",
        ("mode() WITHIN GROUP (ORDER BY x / 2) OVER ()", ["0", "0", "0", "0"]);
    PercentileDisc, "percentile_disc", OwnOrder, (1, 1), "The first value at or behind that fraction of the values.",
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY x) OVER ()", ["2", "2", "2", "2"]);
    PercentileCont, "percentile_cont", OwnOrder, (1, 1), "The value at that fraction, between two values if need be.",
        ("percentile_cont(0.75) WITHIN GROUP (ORDER BY x) OVER ()", ["3", "3", "3", "3"]);
}

impl WindowFunction {
    /// Its row, if it is no aggregate.
    pub fn definition(self) -> Option<&'static Window> {
        WINDOWS.iter().find(|w| w.function == self)
    }

    /// The function that SQL calls `name`, in lower case; aggregates are found as such.
    pub fn find(name: &str) -> Option<Self> {
        let name = match name {
            "list" => "array_agg",
            "rank_dense" => "dense_rank",
            name => name,
        };
        WINDOWS.iter().find(|w| w.name == name).map(|w| w.function)
    }

    /// What the text form of plans calls it.
    pub fn name(self) -> &'static str {
        match (self, self.definition()) {
            (Self::Aggregate(aggregate), _) => aggregate.name(),
            (_, definition) => definition.map_or("", |w| w.name),
        }
    }

    /// The function that the text form of plans calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::find(name).or_else(|| AggregateFunction::named(name).map(Self::Aggregate))
    }

    /// What it looks at.
    pub fn scope(self) -> Scope {
        self.definition().map_or(Scope::Frame, |w| w.scope)
    }

    /// Whether the result is never NULL.
    pub fn is_never_null(self) -> bool {
        match self {
            Self::RowNumber | Self::Rank | Self::DenseRank | Self::PercentRank | Self::CumeDist => true,
            Self::Aggregate(aggregate) => aggregate.counts(),
            _ => false,
        }
    }
}
