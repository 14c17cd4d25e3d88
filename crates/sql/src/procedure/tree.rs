//! The tree of a body.

/// A piece of SQL: an expression, or a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    /// Its text.
    pub text: String,
    /// The line of the body in which it begins.
    pub line: u32,
}

/// `[<<label>>] [DECLARE ...] BEGIN ... [EXCEPTION ...] END`
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Block {
    /// What EXIT calls it, and what qualifies its variables.
    pub label: Option<String>,
    /// Its variables.
    pub declarations: Vec<Declaration>,
    /// What it does.
    pub body: Vec<Step>,
    /// What is done about errors, in order.
    pub handlers: Vec<Handler>,
    /// Whether it has EXCEPTION, so that it is undone as a whole.
    pub is_guarded: bool,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its name.
    pub name: String,
    /// Its type.
    pub shape: Shape,
    /// Whether nothing may be assigned to it.
    pub is_constant: bool,
    /// Whether it must not be NULL.
    pub not_null: bool,
    /// What it begins with.
    pub default: Option<Sql>,
    /// Where it stands.
    pub line: u32,
}

/// The type of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A type of SQL, as it is written.
    Type(String),
    /// `table.column%TYPE` or `variable%TYPE`: the parts of the name.
    Like(Vec<String>),
    /// `table%ROWTYPE`: the parts of the name.
    RowOf(Vec<String>),
    /// RECORD: whatever row it is given.
    Record,
    /// `ALIAS FOR name`
    Alias(String),
    /// A cursor with its query.
    Cursor(Box<BoundCursor>),
}

/// `[[NO] SCROLL] CURSOR [(name type, ...)] FOR query`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundCursor {
    /// Whether it goes back, if that is told.
    pub scrolls: Option<bool>,
    /// Names and types of what it is given.
    pub parameters: Vec<(String, String)>,
    /// What it goes through.
    pub query: Sql,
}

/// What a cursor is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// For which parameter, if that is told.
    pub name: Option<String>,
    /// The value.
    pub value: Sql,
}

/// What OPEN says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The query is the cursor's own.
    Bound(Vec<Argument>),
    /// `[[NO] SCROLL] FOR query`
    Query(Option<bool>, Query),
}

/// Where FETCH and MOVE go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Motion {
    /// So many rows on.
    Forward(Sql),
    /// So many rows back.
    Backward(Sql),
    /// To the end, or before the first.
    All {
        /// To the latter.
        backward: bool,
    },
    /// To the row of a number, from the end if it is negative.
    Absolute(Sql),
    /// To the row that is so far away.
    Relative(Sql),
}

/// `WHEN condition OR ... THEN ...`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handler {
    /// Names of conditions, or SQLSTATEs.
    pub conditions: Vec<Condition>,
    /// What is done.
    pub body: Vec<Step>,
}

/// What a handler catches, or RAISE raises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Any but those that must not be caught by accident: cancellation and failed ASSERTs.
    Others,
    /// One SQLSTATE, or a class of them if it ends with 000, and its name, if that is what is written.
    State(String, Option<String>),
}

/// A statement with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line of the body.
    pub line: u32,
    /// What it does.
    pub action: Action,
}

/// Where values go: variables, or fields of records, by the parts of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The parts of the name.
    pub name: Vec<String>,
    /// A subscript: the element of an array that is assigned to.
    pub subscript: Option<Sql>,
}

/// `INTO [STRICT] target, ...`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Into {
    /// Whether there must be one row.
    pub strict: bool,
    /// Where its values go.
    pub targets: Vec<Target>,
}

/// A query, written or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Query {
    /// As it stands.
    Written(Sql),
    /// `EXECUTE text USING ...`
    Made(Sql, Vec<Sql>),
}

/// What FOR goes through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    /// `[REVERSE] from .. to [BY step]`
    Integers {
        /// Whether it goes down.
        reverse: bool,
        /// The first.
        from: Sql,
        /// The last.
        to: Sql,
        /// The distance, 1 if not told.
        step: Option<Sql>,
    },
    /// The rows of a query.
    Rows(Query),
    /// FOREACH ... IN ARRAY: values, or with SLICE arrays of so many dimensions.
    Elements(Sql, usize),
}

/// What a step does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A block in a block.
    Block(Box<Block>),
    /// `target := expression`
    Assign(Target, Sql),
    /// A statement of SQL.
    Sql(Sql, Option<Into>),
    /// PERFORM: a query whose rows nobody wants.
    Perform(Sql),
    /// EXECUTE.
    Execute(Sql, Option<Into>, Vec<Sql>),
    /// IF, ELSIF, ELSE, and CASE without operand.
    If(Vec<(Sql, Vec<Step>)>, Vec<Step>),
    /// `CASE operand WHEN value, ... THEN ...`; whether there is an ELSE.
    Case(Option<Sql>, Vec<(Vec<Sql>, Vec<Step>)>, Option<Vec<Step>>),
    /// LOOP, and WHILE with its condition.
    Loop(Option<String>, Option<Sql>, Vec<Step>),
    /// FOR and FOREACH.
    For(Option<String>, Vec<Target>, Range, Vec<Step>),
    /// EXIT, or CONTINUE: the label, the condition.
    Leave {
        /// CONTINUE.
        goes_on: bool,
        /// Of which loop or block.
        label: Option<String>,
        /// WHEN.
        when: Option<Sql>,
    },
    /// RETURN.
    Return(Option<Sql>),
    /// RETURN NEXT.
    ReturnNext(Option<Sql>),
    /// RETURN QUERY.
    ReturnQuery(Query),
    /// RAISE.
    Raise(Raise),
    /// ASSERT.
    Assert(Sql, Option<Sql>),
    /// GET DIAGNOSTICS: of the error that is handled (STACKED) or of the last statement.
    Diagnostics(bool, Vec<(Target, String)>),
    /// `CALL name(argument, ...)`: the text of the whole, and of each argument.
    Call(Sql, Vec<Sql>),
    /// OPEN.
    Open(Target, Opening),
    /// FETCH, or MOVE, which has no INTO.
    Fetch(Target, Motion, Option<Into>),
    /// CLOSE.
    Close(Target),
    /// NULL.
    Nothing,
    /// COMMIT, or ROLLBACK.
    End {
        /// COMMIT.
        commits: bool,
    },
}

/// How loud RAISE is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// DEBUG
    Debug,
    /// LOG
    Log,
    /// INFO
    Info,
    /// NOTICE
    Notice,
    /// WARNING
    Warning,
    /// EXCEPTION
    Exception,
}

impl Level {
    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Log => "LOG",
            Self::Info => "INFO",
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Exception => "ERROR",
        }
    }
}

/// RAISE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raise {
    /// How loud.
    pub level: Level,
    /// What is raised, by its name or state.
    pub condition: Option<Condition>,
    /// The message, with a `%` in the place of each argument.
    pub format: Option<String>,
    /// The arguments.
    pub arguments: Vec<Sql>,
    /// USING: name in lower case, value.
    pub options: Vec<(String, Sql)>,
    /// Whether it says nothing: the error that is handled goes on.
    pub again: bool,
}
