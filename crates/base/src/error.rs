//! The one error type of MorselDB: an SQLSTATE, a message, and where possible a position in the SQL text and a hint.
//!
//! Users' mistakes and environmental faults are [`Error`]s; programmers' mistakes are assertions.

use std::fmt;

/// Result of anything that can fail because of the user's input, the data or the machine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A five-character SQLSTATE as in the SQL standard and PostgreSQL's Appendix A.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SqlState(pub &'static str);

impl SqlState {
    /// A feature that is recognised but not supported.
    pub const FEATURE_NOT_SUPPORTED: Self = Self("0A000");
    /// The connection is not one of this process.
    pub const CONNECTION_DOES_NOT_EXIST: Self = Self("08003");
    /// A client does not keep to the contract: too many parameters.
    pub const PROTOCOL_VIOLATION: Self = Self("08P01");
    /// A scalar subquery returned more than one row.
    pub const CARDINALITY_VIOLATION: Self = Self("21000");
    /// A string is longer than its `varchar(n)` or `char(n)`.
    pub const STRING_TOO_LONG: Self = Self("22001");
    /// A number does not fit its type.
    pub const NUMERIC_OUT_OF_RANGE: Self = Self("22003");
    /// A date, timestamp or interval does not fit its type.
    pub const DATETIME_OVERFLOW: Self = Self("22008");
    /// The start or length of a substring is negative, or the like.
    pub const SUBSTRING_ERROR: Self = Self("22011");
    /// Division by zero.
    pub const DIVISION_BY_ZERO: Self = Self("22012");
    /// A pattern has an invalid escape sequence.
    pub const INVALID_ESCAPE: Self = Self("22025");
    /// A regular expression that cannot be compiled.
    pub const INVALID_REGEX: Self = Self("2201B");
    /// A function was called with a value outside of its domain (`ln(0)`, `sqrt(-1)`).
    pub const INVALID_ARGUMENT: Self = Self("22023");
    /// Text that is not a value of the type that it is cast to.
    pub const INVALID_TEXT: Self = Self("22P02");
    /// Text that is not a valid date or timestamp.
    pub const INVALID_DATETIME: Self = Self("22007");
    /// Malformed input of COPY, `read_csv` or `read_parquet`.
    pub const BAD_COPY_FILE: Self = Self("22P04");
    /// Bytes that are not valid UTF-8.
    pub const INVALID_ENCODING: Self = Self("22021");
    /// A NULL in a NOT NULL column.
    pub const NOT_NULL_VIOLATION: Self = Self("23502");
    /// What a key references is not there, or what is referenced is to go.
    pub const FOREIGN_KEY_VIOLATION: Self = Self("23503");
    /// A duplicate key.
    pub const UNIQUE_VIOLATION: Self = Self("23505");
    /// A value for a column that nothing but its definition may fill.
    pub const GENERATED_ALWAYS: Self = Self("428C9");
    /// A row makes a CHECK constraint false.
    pub const CHECK_VIOLATION: Self = Self("23514");
    /// SQL text that does not parse.
    pub const SYNTAX_ERROR: Self = Self("42601");
    /// A column that does not exist.
    pub const UNDEFINED_COLUMN: Self = Self("42703");
    /// A function that does not exist, or not for these argument types.
    pub const UNDEFINED_FUNCTION: Self = Self("42883");
    /// A table or view that does not exist.
    pub const UNDEFINED_TABLE: Self = Self("42P01");
    /// A type, setting or other object that does not exist.
    pub const UNDEFINED_OBJECT: Self = Self("42704");
    /// A name that means more than one column.
    pub const AMBIGUOUS_COLUMN: Self = Self("42702");
    /// A function call that several functions match equally well.
    pub const AMBIGUOUS_FUNCTION: Self = Self("42725");
    /// A table that exists already.
    pub const DUPLICATE_TABLE: Self = Self("42P07");
    /// A column that is defined twice.
    pub const DUPLICATE_COLUMN: Self = Self("42701");
    /// A table alias that is used twice.
    pub const DUPLICATE_ALIAS: Self = Self("42712");
    /// A constraint or another thing of the name exists.
    pub const DUPLICATE_OBJECT: Self = Self("42710");
    /// A column outside GROUP BY, or an aggregate where none is allowed.
    pub const GROUPING_ERROR: Self = Self("42803");
    /// A window function where none is allowed.
    pub const WINDOWING_ERROR: Self = Self("42P20");
    /// Types that do not fit together.
    pub const DATATYPE_MISMATCH: Self = Self("42804");
    /// A value that cannot be converted to a type.
    pub const CANNOT_COERCE: Self = Self("42846");
    /// The wrong kind of object: a view where a table is needed.
    pub const WRONG_OBJECT_TYPE: Self = Self("42809");
    /// A table is not as its kind has to be.
    pub const INVALID_TABLE_DEFINITION: Self = Self("42P16");
    /// A query that reads itself where it must not.
    pub const INVALID_RECURSION: Self = Self("42P19");
    /// A column reference that is not allowed here.
    pub const INVALID_COLUMN_REFERENCE: Self = Self("42P10");
    /// A parameter that does not exist or has no type.
    pub const UNDEFINED_PARAMETER: Self = Self("42P02");
    /// Something else depends on the object.
    pub const DEPENDENT_OBJECTS: Self = Self("2BP01");
    /// A setting's value out of its range.
    pub const INVALID_PARAMETER_VALUE: Self = Self("22023");
    /// What is asked for is not allowed.
    pub const INSUFFICIENT_PRIVILEGE: Self = Self("42501");
    /// A setting that cannot be changed at this time.
    pub const CANNOT_CHANGE_PARAMETER: Self = Self("55P02");
    /// The system grants no thread, or the like.
    pub const INSUFFICIENT_RESOURCES: Self = Self("53000");
    /// The memory limit of the query or the database was reached.
    pub const OUT_OF_MEMORY: Self = Self("53200");
    /// The statement is too deeply nested or too large.
    pub const STATEMENT_TOO_COMPLEX: Self = Self("54001");
    /// A program limit, such as the number of columns.
    pub const PROGRAM_LIMIT: Self = Self("54000");
    /// A transaction would not be as if it had run alone; it may succeed if it is tried again.
    pub const SERIALIZATION_FAILURE: Self = Self("40001");
    /// Transactions wait for each other.
    pub const DEADLOCK: Self = Self("40P01");
    /// A transaction is in progress that should not be, or has had a query.
    pub const ACTIVE_TRANSACTION: Self = Self("25001");
    /// The query was cancelled by its user.
    pub const QUERY_CANCELED: Self = Self("57014");
    /// The file does not exist.
    pub const UNDEFINED_FILE: Self = Self("58P01");
    /// Reading or writing a file failed.
    pub const IO_ERROR: Self = Self("58030");
    /// A bug in MorselDB.
    pub const INTERNAL: Self = Self("XX000");
    /// A corrupt file.
    pub const DATA_CORRUPTED: Self = Self("XX001");
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An error that a user can act on. One pointer wide, so that `Result`s stay small.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Body>);

#[derive(Clone, PartialEq, Eq)]
struct Body {
    state: SqlState,
    message: String,
    position: Option<u32>,
    detail: Option<String>,
    hint: Option<String>,
    context: Option<String>,
    /// What it is about, by the items of GET STACKED DIAGNOSTICS, if somebody has said so.
    about: Vec<(&'static str, String)>,
    /// The number of the relation that it is about, for whoever knows what that is called now.
    relation: Option<u64>,
}

/// What an error can be about, as GET STACKED DIAGNOSTICS calls it.
pub const ABOUT: [&str; 5] = ["schema_name", "table_name", "column_name", "constraint_name", "pg_datatype_name"];

/// Between the items, and the names that they are, where they are one text.
const BETWEEN: char = '\u{1}';

/// What an error is about as one text, for [`Error::about_all`].
pub fn about_as_text(about: &[(&'static str, String)]) -> String {
    let parts = about.iter().flat_map(|(item, name)| [*item, name.as_str()]);
    parts.collect::<Vec<_>>().join(&BETWEEN.to_string())
}

/// The name that an item is, in a text of what an error is about.
pub fn about_in_text<'t>(text: &'t str, item: &str) -> Option<&'t str> {
    let mut parts = text.split(BETWEEN);
    while let (Some(known), Some(name)) = (parts.next(), parts.next()) {
        if known == item {
            return Some(name);
        }
    }
    None
}

impl Error {
    /// An error without position or hint.
    #[cold]
    pub fn new(state: SqlState, message: impl Into<String>) -> Self {
        Self(Box::new(Body {
            state,
            message: message.into(),
            position: None,
            detail: None,
            hint: None,
            context: None,
            about: Vec::new(),
            relation: None,
        }))
    }

    /// A bug in MorselDB that was noticed in time.
    #[cold]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(SqlState::INTERNAL, message).hint("this is a bug in MorselDB: please report it with the statement")
    }

    /// A known SQL feature that MorselDB does not have.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> Self {
        Self::new(SqlState::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// Names the byte offset in the SQL text that the error is about; the first (innermost) position stays.
    pub fn at(mut self, position: impl Into<Option<u32>>) -> Self {
        self.0.position = self.0.position.or(position.into());
        self
    }

    /// The error without its position, which is in a text that the client did not send.
    pub fn nowhere(mut self) -> Self {
        self.0.position = None;
        self
    }

    /// The error of a statement as one of the text in which the statement begins at byte `start`.
    pub fn shifted(mut self, start: usize) -> Self {
        let start = u32::try_from(start).unwrap_or(u32::MAX);
        self.0.position = self.0.position.map(|position| position.saturating_add(start));
        self
    }

    /// Adds what the user could do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Adds a second sentence with particulars.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.0.detail = Some(detail.into());
        self
    }

    /// Adds where it happened, to where it is known to have happened inside of that.
    pub fn context(mut self, place: impl Into<String>) -> Self {
        let place = place.into();
        self.0.context = Some(self.0.context.map_or(place.clone(), |inner| format!("{inner}\n{place}")));
        self
    }

    /// Says what it is about: the name of a constraint, a table, a column or a type.
    pub fn about(mut self, item: &'static str, name: impl Into<String>) -> Self {
        self.0.about.push((item, name.into()));
        self
    }

    /// Says all that it is about, from one text.
    pub fn about_all(mut self, text: &str) -> Self {
        for item in ABOUT {
            if let Some(name) = about_in_text(text, item) {
                self = self.about(item, name);
            }
        }
        self
    }

    /// Says which relation it is about, by its number.
    pub fn about_relation(mut self, number: u64) -> Self {
        self.0.relation = Some(number);
        self
    }

    /// The number of the relation that it is about, if its name is not said yet.
    pub fn relation(&self) -> Option<u64> {
        self.0.relation
    }

    /// What a relation that it is about is called; so far, its message has had another name for it.
    pub fn called(mut self, schema: &str, table: &str, before: &str) -> Self {
        let relation = |name: &str| format!("of relation \"{name}\"");
        self.0.relation = None;
        self.0.message = self.0.message.replacen(&relation(before), &relation(table), 1);
        self.about("schema_name", schema).about("table_name", table)
    }

    /// The SQLSTATE.
    pub fn state(&self) -> SqlState {
        self.0.state
    }
    /// The message without position, detail or hint.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// Byte offset into the SQL text, from 0.
    pub fn position(&self) -> Option<u32> {
        self.0.position
    }
    /// Particulars, if any.
    pub fn get_detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }
    /// What somebody has said of what it is about.
    pub fn get_about(&self, item: &str) -> Option<&str> {
        self.0.about.iter().find(|(known, _)| *known == item).map(|(_, name)| name.as_str())
    }
    /// Advice, if any.
    pub fn get_hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Where it happened, the innermost place first: lines of functions and procedures.
    pub fn get_context(&self) -> Option<&str> {
        self.0.context.as_deref()
    }

    /// The error as a person reads it, with the line of `sql` that it points at.
    ///
    /// ```
    /// use base::{Error, SqlState};
    /// let e = Error::new(SqlState::UNDEFINED_COLUMN, "column \"x\" does not exist").at(7);
    /// assert_eq!(e.render("select x"), "ERROR 42703: column \"x\" does not exist\nLINE 1: select x\n               ^");
    /// ```
    pub fn render(&self, sql: &str) -> String {
        let mut out = format!("ERROR {}: {}", self.0.state, self.0.message);
        if let Some(position) = self.0.position {
            let at = floor_char_boundary(sql, position as usize);
            let start = sql[..at].rfind('\n').map_or(0, |i| i + 1);
            let end = sql[at..].find('\n').map_or(sql.len(), |i| at + i);
            let head = format!("LINE {}: ", sql[..start].matches('\n').count() + 1);
            // Long lines are cut around the position so that the caret stays on the screen.
            let from = floor_char_boundary(sql, start.max(at.saturating_sub(60)));
            let to = floor_char_boundary(sql, end.min(at + 60));
            let line: String = sql[from..to].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let column = head.len() + sql[from..at].chars().count();
            out += &format!("\n{head}{line}\n{:column$}^", "");
        }
        if let Some(detail) = &self.0.detail {
            out += &format!("\nDETAIL: {detail}");
        }
        if let Some(hint) = &self.0.hint {
            out += &format!("\nHINT: {hint}");
        }
        if let Some(context) = &self.0.context {
            out += &format!("\nCONTEXT: {context}");
        }
        out
    }
}

fn floor_char_boundary(s: &str, mut at: usize) -> usize {
    at = at.min(s.len());
    while !s.is_char_boundary(at) {
        at -= 1;
    }
    at
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.state, self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        for (name, value) in [("detail", &self.0.detail), ("hint", &self.0.hint)] {
            if let Some(value) = value {
                write!(f, " ({name}: {value})")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn render_points_into_the_right_line() {
        let sql = "select a,\n  bäd\nfrom t";
        let text = Error::new(SqlState::UNDEFINED_COLUMN, "no").at(12).hint("try a").render(sql);
        assert_eq!(text, "ERROR 42703: no\nLINE 2:   bäd\n          ^\nHINT: try a");
    }

    #[test]
    fn render_survives_positions_outside_of_the_text() {
        assert!(Error::internal("x").at(99).render("ä").contains("LINE 1"));
        assert!(Error::internal("x").at(1).render("ä").contains('^'));
    }

    #[test]
    fn the_innermost_position_wins() {
        assert_eq!(Error::internal("x").at(3).at(9).position(), Some(3));
    }
}
