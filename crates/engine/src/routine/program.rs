//! A program: a body with its variables in numbered slots, and its loops and blocks numbered.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use catalog::{CatalogSnapshot, Field, Routine};
use types::SqlType;

use super::embedded::Embedded;
use super::scope::{Kind, Variable};

/// A function, procedure or anonymous block, ready to run.
pub(super) struct Program {
    /// How errors name it.
    pub(super) place: String,
    /// The definitions as they were when it was compiled.
    pub catalogs: [Weak<CatalogSnapshot>; 2],
    /// What it is, unless it is anonymous.
    pub(super) routine: Option<Arc<Routine>>,
    /// All variables.
    pub(super) variables: Vec<Variable>,
    /// By slot: the type of which values are assigned as they are.
    pub plain: Vec<Option<SqlType>>,
    /// Of those whose type is a domain, by slot: the value as one of that.
    pub domains: HashMap<usize, Embedded>,
    /// Of rows with fields of domains, by slot: the places of these, and the values as ones of that.
    pub domains_of_fields: HashMap<usize, Vec<(usize, Embedded)>>,
    /// Cursors with their queries, by slot.
    pub(super) cursors: HashMap<usize, BoundCursor>,
    /// Those that what is given goes to.
    pub(super) given: Vec<usize>,
    /// Of a trigger's function: NEW and OLD.
    pub(super) rows: Vec<usize>,
    /// Those that come out.
    pub(super) results: Vec<usize>,
    /// FOUND.
    pub(super) found: usize,
    /// The columns of a row of the result.
    pub(super) columns: Arc<[Field]>,
    pub(super) body: Code,
    /// Whether the last query among the steps is the result: of a function in SQL.
    pub(super) is_sql: bool,
}

/// The types of which values need nothing to be assigned to variables.
pub(super) fn plain_types(variables: &[Variable], domains: &HashMap<usize, Embedded>) -> Vec<Option<SqlType>> {
    let plain = |(slot, variable): (usize, &Variable)| match variable.kind {
        Kind::Scalar(sql_type) if !variable.not_null && !domains.contains_key(&slot) => Some(sql_type),
        _ => None,
    };
    variables.iter().enumerate().map(plain).collect()
}

/// Steps.
pub(super) type Code = Vec<Step>;

/// A step and its line.
pub(super) struct Step {
    pub line: u32,
    pub action: Action,
}

/// Where a value goes.
pub(super) struct Place {
    pub slot: usize,
    /// A field of a record, by its name.
    pub field: Option<String>,
    pub subscript: Option<Embedded>,
    pub shown: String,
}

/// `INTO`
pub(super) struct Into {
    pub strict: bool,
    pub places: Vec<Place>,
}

/// A query, written or made.
pub(super) enum Query {
    Written(Embedded),
    Made(Embedded, Vec<Embedded>),
}

/// A block.
pub(super) struct BlockCode {
    pub number: usize,
    /// Variables that begin anew, and with what.
    pub begins: Vec<(usize, Option<Embedded>, u32)>,
    pub body: Code,
    /// If it has EXCEPTION.
    pub guard: Option<Guard>,
}

/// EXCEPTION.
pub(super) struct Guard {
    /// SQLSTATE and SQLERRM.
    pub state: usize,
    pub message: usize,
    pub handlers: Vec<(Vec<sql::procedure::Condition>, Code)>,
}

/// What FOR goes through.
pub(super) enum Range {
    Integers {
        reverse: bool,
        from: Embedded,
        to: Embedded,
        step: Option<Embedded>,
    },
    Rows(Query),
    Elements(Embedded, usize),
    /// The rows of a bound cursor.
    Cursor(Place, Opening),
}

/// A cursor with its query.
pub(super) struct BoundCursor {
    pub scrolls: Option<bool>,
    /// The variables for what it is given.
    pub parameters: Vec<usize>,
    pub query: Embedded,
}

/// What OPEN says: what the parameters of a bound cursor get, or whether one scrolls, and its query.
pub(super) enum Opening {
    Bound(Vec<(usize, Embedded)>),
    Query(Option<bool>, Query),
}

/// Where FETCH and MOVE go; see [`sql::procedure::Motion`].
pub(super) enum Motion {
    Forward(Embedded),
    Backward(Embedded),
    All { backward: bool },
    Absolute(Embedded),
    Relative(Embedded),
}

/// What a step does; see [`sql::procedure::Action`].
pub(super) enum Action {
    Block(Box<BlockCode>),
    Assign(Place, Embedded),
    Sql(Embedded, Option<Into>),
    Perform(Embedded),
    Execute(Embedded, Option<Into>, Vec<Embedded>),
    If(Vec<(Embedded, Code)>, Code),
    /// The slot of the operand's value, the operand, and for each branch the conditions; ELSE.
    Case(Option<(usize, Embedded)>, Vec<(Vec<Embedded>, Code)>, Option<Code>),
    Loop(usize, Option<Embedded>, Code),
    For(usize, Vec<Place>, Range, Code),
    Leave {
        goes_on: bool,
        number: usize,
        when: Option<Embedded>,
    },
    Return(Option<Embedded>),
    ReturnNext(Option<Embedded>),
    ReturnQuery(Query),
    Raise(Box<Raise>),
    Assert(Embedded, Option<Embedded>),
    Diagnostics(bool, Vec<(Place, String)>),
    /// CALL: the statement, and where what comes out goes, by the arguments' places.
    Call(Embedded, Vec<Option<Place>>),
    Open(Place, Opening),
    Fetch(Place, Motion, Option<Into>),
    Close(Place),
    Nothing,
    End {
        commits: bool,
    },
}

/// RAISE.
pub(super) struct Raise {
    pub level: sql::procedure::Level,
    pub condition: Option<sql::procedure::Condition>,
    pub format: Option<String>,
    pub arguments: Vec<Embedded>,
    pub options: Vec<(String, Embedded)>,
    pub again: bool,
}
