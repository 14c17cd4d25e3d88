//! Expressions over columns.

use std::cmp::Ordering;

use catalog::Comparison;
use functions::{AggregateFunction, ScalarFunction};
use types::ops::like::Syntax;
use types::{SqlType, Value};

use crate::{ArgumentId, ColumnId, Node};

/// An expression with its type. The binder has inserted every implicit cast, so an operator's arguments have exactly the
/// types that it asks for.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// The type of its value.
    pub sql_type: SqlType,
    /// Byte offset in the SQL text, for run-time errors.
    pub position: Option<u32>,
}

/// What an expression computes.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A column of the input (or, in a subquery, of an outer query).
    Column(ColumnId),
    /// A constant.
    Const(Value),
    /// An argument of the statement. Its value is that of the run that the plan was made for, good for estimates and for
    /// evaluating the plan as it is; a plan that is kept runs with other values, so nothing may be concluded from it.
    Argument(ArgumentId, Value),
    /// A scalar function or operator.
    Call(ScalarFunction, Vec<Expr>),
    /// A comparison of two values of one type (decimals may differ in precision, not in scale; strings in length).
    Compare(Compare, Box<Expr>, Box<Expr>),
    /// Three-valued conjunction, left to right; an error right of a false operand does not happen.
    And(Vec<Expr>),
    /// Three-valued disjunction, left to right.
    Or(Vec<Expr>),
    /// Three-valued negation.
    Not(Box<Expr>),
    /// IS NULL; never NULL itself.
    IsNull(Box<Expr>),
    /// Searched CASE (the binder rewrites the simple form).
    Case {
        /// Condition and value, tried in order.
        branches: Vec<(Expr, Expr)>,
        /// ELSE; NULL if not written.
        otherwise: Box<Expr>,
    },
    /// The first argument that is not NULL; later ones are not evaluated.
    Coalesce(Vec<Expr>),
    /// A cast to `sql_type`.
    Cast(Box<Expr>),
    /// A cast that gives NULL where `Cast` would be an error (TRY_CAST).
    TryCast(Box<Expr>),
    /// `input IN (list)` with constants of the input's type, none NULL (the binder splits others off).
    InList(Box<Expr>, Vec<Value>),
    /// `input LIKE pattern`, `input ~ pattern` and their relatives.
    Like {
        /// Text.
        input: Box<Expr>,
        /// Text; constant in most queries.
        pattern: Box<Expr>,
        /// How it is written.
        syntax: Syntax,
    },
    /// `body`, in which `column` stands for the value of `value`: computed once, before it. No subquery in `body` reads the
    /// column.
    Let {
        /// A column of its own; nothing outside of `body` reads it.
        column: ColumnId,
        /// What it stands for.
        value: Box<Expr>,
        /// What is computed with it.
        body: Box<Expr>,
    },
    /// A lambda over the elements of a list: NULL where the list is.
    Each(Box<Each>),
    /// A subquery; unnesting turns each into a join.
    Subquery(Box<Subquery>),
}

/// What is computed of each element of a list, one after the other. No subquery inside reads its columns.
#[derive(Clone, Debug)]
pub struct Each {
    /// The list.
    pub list: Expr,
    /// The element, as a column of its own that nothing outside of `only` and `body` reads.
    pub element: ColumnId,
    /// Its number from 1, likewise.
    pub index: ColumnId,
    /// Elements for which this is not true are left out.
    pub only: Option<Expr>,
    /// What is computed: the list's type is that of the result, if nothing is reduced.
    pub body: Expr,
    /// If there is one, the result is the value after the last element.
    pub reduced: Option<Reduced>,
}

/// What is wrong with an empty list where the first element is the initial value.
pub const NOTHING_TO_REDUCE: &str = "cannot reduce an empty list without an initial value";

/// A value that each element changes.
#[derive(Clone, Debug)]
pub struct Reduced {
    /// The value before an element, as a column that `body` reads, which is the value behind it.
    pub accumulator: ColumnId,
    /// The value before the first element; none: that element itself, as the type, and an empty list is an error.
    pub initial: Option<Expr>,
}

impl Each {
    /// The columns that it makes.
    pub fn columns(&self) -> impl Iterator<Item = ColumnId> + Clone {
        [self.element, self.index].into_iter().chain(self.reduced.as_ref().map(|reduced| reduced.accumulator))
    }

    /// What is computed for each element.
    pub fn inside(&self) -> impl Iterator<Item = &Expr> {
        self.only.iter().chain([&self.body])
    }

    /// What is computed once.
    pub fn outside(&self) -> impl Iterator<Item = &Expr> {
        [&self.list].into_iter().chain(self.reduced.iter().flat_map(|reduced| &reduced.initial))
    }

    fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.outside().chain(self.inside())
    }

    fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        let initial = self.reduced.iter_mut().flat_map(|reduced| &mut reduced.initial);
        [&mut self.list].into_iter().chain(initial).chain(&mut self.only).chain([&mut self.body])
    }
}

/// Comparison operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// IS DISTINCT FROM: never NULL.
    Distinct,
    /// IS NOT DISTINCT FROM: never NULL.
    NotDistinct,
}

impl Compare {
    /// Whether it holds of two values, neither of them NULL, that are in this order.
    #[inline]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Eq | Self::NotDistinct => order.is_eq(),
            Self::Ne | Self::Distinct => order.is_ne(),
            Self::Lt => order.is_lt(),
            Self::Le => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Ge => order.is_ge(),
        }
    }
}

/// A subquery inside an expression.
#[derive(Clone, Debug)]
pub struct Subquery {
    /// What is asked of it.
    pub kind: SubqueryKind,
    /// Its plan; columns that it does not produce are correlated references.
    pub plan: Node,
}

/// What is asked of a subquery.
#[derive(Clone, Debug)]
pub enum SubqueryKind {
    /// The only row's `column`, NULL without a row, error 21000 with several.
    Scalar {
        /// A column of the subplan.
        column: ColumnId,
    },
    /// Whether there is a row.
    Exists,
    /// `left compare ANY/ALL (subquery)`, row-wise for several pairs; IN is `= ANY`, NOT IN is NOT of it.
    Quantified {
        /// ANY or ALL.
        quantifier: Quantifier,
        /// (expression outside, comparison, column of the subplan); types agree.
        comparisons: Vec<(Expr, Compare, ColumnId)>,
    },
}

/// ANY (SOME) or ALL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Quantifier {
    Any,
    All,
}

/// A call of an aggregate function.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Which.
    pub function: AggregateFunction,
    /// Its arguments; none for `count(*)`.
    pub arguments: Vec<Expr>,
    /// Over distinct values only.
    pub distinct: bool,
    /// FILTER (WHERE ...).
    pub filter: Option<Expr>,
    /// The result's type.
    pub sql_type: SqlType,
    /// Byte offset in the SQL text.
    pub position: Option<u32>,
}

impl AggregateCall {
    /// All that it computes of a row: arguments and filter.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.arguments.iter().chain(&self.filter)
    }

    /// The same, to be changed.
    pub fn expressions_mut(&mut self) -> impl Iterator<Item = &mut Expr> {
        self.arguments.iter_mut().chain(&mut self.filter)
    }

    /// Whether it computes the same as another one, of the same rows.
    pub fn same(&self, other: &Self) -> bool {
        let all_same = |a: &[Expr], b: &[Expr]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b));
        (self.function, self.distinct, self.sql_type) == (other.function, other.distinct, other.sql_type)
            && all_same(&self.arguments, &other.arguments)
            && all_same(self.filter.as_slice(), other.filter.as_slice())
    }

    /// The type of its first argument; [`SqlType::Null`] for `count(*)`.
    pub fn argument_type(&self) -> SqlType {
        self.arguments.first().map_or(SqlType::Null, |a| a.sql_type)
    }
}

impl Compare {
    /// The comparison with its sides exchanged.
    pub fn swapped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            other => other,
        }
    }
    /// The one that scans can be asked for; none of those that are never NULL.
    pub fn of_scan(self) -> Option<Comparison> {
        Some(match self {
            Self::Eq => Comparison::Eq,
            Self::Ne => Comparison::Ne,
            Self::Lt => Comparison::Lt,
            Self::Le => Comparison::Le,
            Self::Gt => Comparison::Gt,
            Self::Ge => Comparison::Ge,
            Self::Distinct | Self::NotDistinct => return None,
        })
    }
    /// The comparison that is true exactly where this one is false.
    pub fn negated(self) -> Self {
        match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Le => Self::Gt,
            Self::Gt => Self::Le,
            Self::Ge => Self::Lt,
            Self::Distinct => Self::NotDistinct,
            Self::NotDistinct => Self::Distinct,
        }
    }
}

/// The accessors of operands, to read and to change.
macro_rules! operands {
    ($name:ident, $of:ident $(, $mut:tt)?) => {
        /// The direct operands (the plan of a subquery is not one; its outer expressions are). Nothing is allocated.
        pub fn $name(&$($mut)? self) -> impl Iterator<Item = &$($mut)? Expr> {
            let (mut first, mut second, mut list) = (None, None, <&$($mut)? [Expr]>::default());
            let mut pairs = <&$($mut)? [(Expr, Expr)]>::default();
            let mut compared = <&$($mut)? [(Expr, Compare, ColumnId)]>::default();
            let mut each = None;
            match &$($mut)? self.kind {
                ExprKind::Column(_) | ExprKind::Const(_) | ExprKind::Argument(..) => {}
                ExprKind::Call(_, a) | ExprKind::And(a) | ExprKind::Or(a) | ExprKind::Coalesce(a) => list = a,
                ExprKind::Compare(_, a, b)
                | ExprKind::Like { input: a, pattern: b, .. }
                | ExprKind::Let { value: a, body: b, .. } => {
                    (first, second) = (Some(&$($mut)? **a), Some(&$($mut)? **b));
                }
                ExprKind::Not(a)
                | ExprKind::IsNull(a)
                | ExprKind::Cast(a)
                | ExprKind::TryCast(a)
                | ExprKind::InList(a, _) => first = Some(&$($mut)? **a),
                ExprKind::Case { branches, otherwise } => (pairs, second) = (branches, Some(&$($mut)? **otherwise)),
                ExprKind::Each(of) => each = Some(&$($mut)? **of),
                ExprKind::Subquery(subquery) => {
                    if let SubqueryKind::Quantified { comparisons, .. } = &$($mut)? subquery.kind {
                        compared = comparisons;
                    }
                }
            }
            list.into_iter()
                .chain(first)
                .chain(pairs.into_iter().flat_map(|(condition, value)| [condition, value]))
                .chain(second)
                .chain(compared.into_iter().map(|(outer, ..)| outer))
                .chain(each.into_iter().flat_map(|each| each.$of()))
        }
    };
}

impl Expr {
    /// An expression without a position.
    pub fn new(kind: ExprKind, sql_type: SqlType) -> Self {
        Self { kind, sql_type, position: None }
    }
    /// A column reference.
    pub fn column(column: ColumnId, sql_type: SqlType) -> Self {
        Self::new(ExprKind::Column(column), sql_type)
    }
    /// A constant.
    pub fn constant(value: Value, sql_type: SqlType) -> Self {
        Self::new(ExprKind::Const(value), sql_type)
    }
    /// A boolean constant.
    pub fn bool(value: bool) -> Self {
        Self::constant(Value::Bool(value), SqlType::Bool)
    }
    /// A comparison.
    pub fn compare(op: Compare, left: Expr, right: Expr) -> Self {
        Self::new(ExprKind::Compare(op, Box::new(left), Box::new(right)), SqlType::Bool)
    }
    /// The expression with a position.
    pub fn at(mut self, position: impl Into<Option<u32>>) -> Self {
        self.position = position.into();
        self
    }

    operands!(children, expressions);
    operands!(children_mut, expressions_mut, mut);

    /// Calls `visit` on this expression and all below it, parents first; subqueries' plans are not entered.
    pub fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Expr)) {
        visit(self);
        self.children().for_each(|child| child.walk(visit));
    }
}
