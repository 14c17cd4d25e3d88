//! Scalar functions and operators: rows of a table, in families, and ids that name rows.

mod angles;
mod arithmetic;
mod arrays;
mod bytes;
mod call;
mod collations;
mod comparisons;
mod counts;
mod dates;
mod forms;
mod json;
mod lists;
mod maps;
mod names;
mod numbers;
mod operators;
mod patterns;
mod periods;
mod processes;
mod quoting;
mod random;
mod ranges;
mod routines;
mod search;
mod sequences;
mod series;
mod special;
mod strings;
mod structs;
mod texts;
mod typed;
mod zones;

#[cfg(test)]
mod tests;

use std::fmt;

use base::Result;
use types::{SqlType, Value};

use crate::{Overload, Parameter, ResultType, SESSION_ZONE};

pub use call::Call;
pub use collations::{COLLATION_VERSION, TOLD_APART, check_locale};
pub use typed::{FloatFunction, Typed};

/// The families; where one more function belongs.
const FAMILIES: [&[Scalar]; 33] = [
    operators::ROWS,
    numbers::ROWS,
    special::ROWS,
    angles::ROWS,
    strings::ROWS,
    patterns::ROWS,
    quoting::ROWS,
    forms::ROWS,
    search::ROWS,
    texts::ROWS,
    processes::ROWS,
    dates::ROWS,
    periods::ROWS,
    zones::ROWS,
    series::ROWS,
    comparisons::ROWS,
    collations::ROWS,
    arrays::ROWS,
    lists::ROWS,
    counts::ROWS,
    structs::ROWS,
    maps::ROWS,
    ranges::ROWS,
    sequences::ROWS,
    routines::ROWS,
    bytes::ROWS,
    json::find::ROWS,
    json::ask::ROWS,
    json::parts::ROWS,
    json::change::ROWS,
    json::build::ROWS,
    json::edit::ROWS,
    json::paths::ROWS,
];

/// The rows of all families, by number: calls ask for them row by row.
static ROWS: [&Scalar; rows()] = {
    let mut all = [&FAMILIES[0][0]; rows()];
    let (mut family, mut number) = (0, 0);
    while family < FAMILIES.len() {
        let mut at = 0;
        while at < FAMILIES[family].len() {
            all[number] = &FAMILIES[family][at];
            (at, number) = (at + 1, number + 1);
        }
        family += 1;
    }
    all
};

const fn rows() -> usize {
    let (mut family, mut rows) = (0, 0);
    while family < FAMILIES.len() {
        rows += FAMILIES[family].len();
        family += 1;
    }
    rows
}

/// A scalar function or operator: what its row says.
#[derive(Clone, Copy, Debug)]
pub struct Scalar {
    /// What the text forms of plans and IR call it.
    pub name: &'static str,
    /// What SQL calls it, aliases included, in lower case; nothing if only the grammar reaches it.
    pub names: &'static [&'static str],
    /// The sign of an operator between two operands, and how tightly it binds in the text form of plans.
    pub infix: Option<(&'static str, u8)>,
    /// In order of preference; none if the binder has rules of its own.
    pub overloads: &'static [Overload],
    /// NULL in, NULL out.
    pub strict: bool,
    /// Whether it may be NULL although no argument is.
    pub nullable: bool,
    /// Whether two calls with the same arguments may differ, so that calls are neither folded nor merged.
    pub volatile: bool,
    /// Its value. A strict function sees no NULL.
    pub evaluate: fn(&Call<'_>) -> Result<Value>,
    /// What generated code uses instead, if there is that.
    pub typed: Option<Typed>,
    /// One line for the reference.
    pub documentation: &'static str,
    /// A call in SQL and its result as text.
    pub example: (&'static str, &'static str),
}

impl Scalar {
    /// A strict function that is not volatile.
    const fn new(
        name: &'static str,
        names: &'static [&'static str],
        overloads: &'static [Overload],
        evaluate: fn(&Call<'_>) -> Result<Value>,
        documentation: &'static str,
        example: (&'static str, &'static str),
    ) -> Self {
        Self {
            name,
            names,
            infix: None,
            overloads,
            strict: true,
            nullable: false,
            volatile: false,
            evaluate,
            typed: None,
            documentation,
            example,
        }
    }

    /// The row with a form for generated code.
    const fn typed(self, typed: Typed) -> Self {
        Self { typed: Some(typed), ..self }
    }

    /// The row of a function that may be NULL although no argument is.
    const fn or_null(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// A strict operator.
    const fn operator(
        name: &'static str,
        infix: Option<(&'static str, u8)>,
        evaluate: fn(&Call<'_>) -> Result<Value>,
        documentation: &'static str,
        example: (&'static str, &'static str),
    ) -> Self {
        Self { infix, ..Self::new(name, &[], &[], evaluate, documentation, example) }
    }
}

/// A scalar function or operator whose arguments have the types that its resolution asked for: the number of its row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScalarFunction(u16);

impl ScalarFunction {
    /// All, in the order of their rows.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..ROWS.len() as u16).map(Self)
    }

    /// Its row.
    pub fn definition(self) -> &'static Scalar {
        ROWS[usize::from(self.0)]
    }

    /// The number of its row.
    pub fn number(self) -> u16 {
        self.0
    }

    /// The function whose row has that number.
    pub fn numbered(number: u16) -> Self {
        Self(number)
    }

    /// The function that text forms call `name`.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|f| f.definition().name == name)
    }

    /// The function that SQL calls `name`, in lower case.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|f| f.definition().names.contains(&name))
    }

    /// What the text forms of plans and IR call it.
    pub fn name(self) -> &'static str {
        self.definition().name
    }

    /// Whether two calls with the same arguments may differ, so that calls are neither folded nor merged.
    pub fn is_volatile(self) -> bool {
        self.definition().volatile
    }

    /// Whether any NULL among the arguments makes the result NULL; else it is NULL only if all are.
    pub fn is_strict(self) -> bool {
        self.definition().strict
    }

    /// Whether it may be NULL although no argument is.
    pub fn may_be_null(self) -> bool {
        self.definition().nullable
    }

    /// The value of a call.
    ///
    /// ```
    /// use functions::{Call, ScalarFunction};
    /// use types::{SqlType, Value};
    /// let length = ScalarFunction::find("length").unwrap();
    /// let call = Call { values: &[Value::str("abc")], types: &[SqlType::Text], result: SqlType::Integer };
    /// assert_eq!(length.evaluate(&call), Ok(Value::Int(3)));
    /// ```
    pub fn evaluate(self, call: &Call<'_>) -> Result<Value> {
        let row = self.definition();
        if row.strict && call.values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (row.evaluate)(call)
    }
}

/// Ids are for the process; their names are for ever.
impl fmt::Debug for ScalarFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An overload whose result has always that type.
const fn over(parameters: &'static [Parameter], result: SqlType) -> Overload {
    Overload { parameters, defaults: &[], result: ResultType::Fixed(result) }
}
/// An overload whose result has the first argument's type.
const fn first(parameters: &'static [Parameter]) -> Overload {
    Overload { parameters, defaults: &[], result: ResultType::First }
}
/// An overload whose result's type follows from the arguments.
const fn rule(parameters: &'static [Parameter], rule: fn(&[SqlType], &[Option<i64>]) -> SqlType) -> Overload {
    Overload { parameters, defaults: &[], result: ResultType::Rule(rule) }
}
/// An overload that takes the name of the session's time zone besides.
const fn in_session(parameters: &'static [Parameter], result: SqlType) -> Overload {
    Overload { parameters, defaults: &[SESSION_ZONE], result: ResultType::Fixed(result) }
}
const fn text(parameters: &'static [Parameter]) -> Overload {
    over(parameters, SqlType::Text)
}
const fn with_default(parameters: &'static [Parameter], defaults: &'static [&'static str]) -> Overload {
    Overload { parameters, defaults, result: ResultType::Fixed(SqlType::Text) }
}
