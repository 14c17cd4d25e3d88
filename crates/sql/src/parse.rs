//! From text to syntax tree: the parser with its limits, and its errors in PostgreSQL's words.

mod aggregate;
mod atomic;
mod bare;
pub(crate) mod calls;
mod check_option;
mod command;
mod comment;
mod conflict;
mod cursor;
pub(crate) mod described;
mod domain;
mod error;
pub(crate) mod field_names;
mod from_first;
pub(crate) mod glob;
pub(crate) mod identity;
mod ignored;
mod insert;
pub(crate) mod joins;
mod kept;
mod kin;
pub(crate) mod lambda;
mod like;
mod locking;
mod macros;
mod maintenance;
pub(crate) mod merge;
mod number;
pub(crate) mod only;
pub(crate) mod pivot;
mod placeholders;
mod prepared;
mod privileges;
mod question;
pub(crate) mod recursive_view;
pub(crate) mod referential;
pub(crate) mod returning;
mod routine;
mod rule;
pub(crate) mod samples;
mod secret;
mod sequence;
mod session;
mod set_config;
pub(crate) mod sets;
pub(crate) mod shorthand;
mod spelled;
pub(crate) mod stars;
pub(crate) mod structs;
pub(crate) mod subscripts;
mod table;
mod traversal;
mod trigger;
mod user_types;

pub(crate) mod window;
mod words;

use std::ops::Range;

use base::{Error, Result, SqlState};
use sqlparser::ast::{
    ColumnOption, ColumnOptionDef, ConstraintCharacteristics, DeferrableInitial, ObjectType, OnCommit, Query, SetExpr,
    Statement, TableConstraint,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Tokenizer};

use crate::dialect::MorselDialect;
use crate::position::Positions;
use crate::split::{given_data, next_piece, split};
use crate::statement::ObjectKind;

pub(crate) use aggregate::{CreateAggregateAst, aggregate_options};
pub(crate) use bare::bare_expression;
pub(crate) use command::{Ast, CopyAst, CopySubject};
pub(crate) use comment::{CommentAst, CommentedAst};
pub(crate) use conflict::Arbiter;
pub(crate) use cursor::CursorAst;
pub(crate) use domain::{DomainAction, DomainAst, DomainPart};
pub(crate) use insert::{InsertForm, Or, Overriding};
pub(crate) use kept::kept_expression;
pub(crate) use kin::{DISTRIBUTION, KinAction, KinAst, PARTITION_KEY};
pub(crate) use like::LikeForm;
pub(crate) use locking::{LockAst, read as read_locks};
pub(crate) use macros::{CreateMacroAst, MacroAst};
pub(crate) use maintenance::MaintenanceAst;
pub(crate) use placeholders::Placeholders;
pub use placeholders::parameter_names;
pub(crate) use prepared::{ExecuteAst, PrepareAst, PreparedAst};
pub(crate) use routine::{CreateRoutineAst, ParameterAst, ReturnsAst, RoutineAst, RoutineNameAst, RoutineTypeAst};
pub(crate) use rule::{CreateRuleAst, RuleAst};
pub(crate) use secret::SecretAst;
pub(crate) use sequence::{SequenceAst, SequenceChangeAst, SequenceOptions, altered_options};
pub(crate) use session::{SessionAst, TableLockAst, is_built_in};
pub(crate) use set_config::{SetConfigAst, set_config};
pub(crate) use table::OF_EXPRESSION;
pub(crate) use trigger::{CreateTriggerAst, TriggerAst};
pub(crate) use user_types::{AttributeChange, TypeAction, TypeAst};

/// Where the next token is, for [`back_to`].
fn here(parser: &mut Parser<'_>) -> usize {
    // What is before it may be white space.
    parser.next_token();
    parser.prev_token();
    parser.index()
}

/// Goes back to a token.
fn back_to(parser: &mut Parser<'_>, begin: usize) {
    while parser.index() > begin {
        parser.prev_token();
    }
}

/// Longest text of a statement.
const MAX_TEXT: usize = 256 << 20;
/// Deepest nesting of parentheses and CASE.
const MAX_NESTING: usize = 200;
/// How deep the parser may recurse: a subquery takes three levels and a chain of prefix operators one each. Out of levels
/// inside of a CASE, the parser would take the word for a name.
const MAX_RECURSION: usize = 3 * MAX_NESTING + 20;
/// Most operators in a row without a parenthesis or comma: a chain is a tree as deep as it is long.
const MAX_CHAIN: usize = 5_000;

/// A statement that parses; names and types are still to be bound.
#[derive(Debug)]
pub struct Parsed {
    pub(crate) ast: Ast,
    pub(crate) positions: Positions,
    /// The statement's text.
    pub(crate) text: String,
    /// The placeholders in it.
    pub(crate) placeholders: Placeholders,
    /// What it says as an INSERT that the parser does not know.
    pub(crate) insert: InsertForm,
    /// What it copies as a CREATE TABLE (LIKE ...).
    pub(crate) like: LikeForm,
    /// How it locks the rows that it gives.
    pub(crate) locks: Vec<LockAst>,
    /// Whether queries within it lock theirs.
    pub(crate) locks_within: bool,
    /// The subscripts of columns that SET names.
    pub(crate) subscripts: subscripts::Subscripts,
}

impl Parsed {
    /// The highest number of a parameter in it.
    pub fn parameters(&self) -> usize {
        self.placeholders.count
    }

    /// A statement that nothing travels beside.
    fn of(ast: Ast, positions: Positions, text: &str) -> Self {
        let (placeholders, insert, like, locks, subscripts) = Default::default();
        Self {
            ast,
            positions,
            text: text.to_owned(),
            placeholders,
            insert,
            like,
            locks,
            locks_within: false,
            subscripts,
        }
    }

    /// The names of its parameters, in the order of their numbers, if they have names.
    pub fn parameter_names(&self) -> &[String] {
        &self.placeholders.names
    }

    /// Whether it is a query: SELECT, VALUES, WITH, TABLE.
    pub fn is_query(&self) -> bool {
        matches!(&self.ast, Ast::Library(statement) if matches!(**statement, Statement::Query(_)))
            && !self.changes_rows()
    }

    /// Whether a plan of it may be of use for others of its kind.
    pub fn may_be_kept(&self) -> bool {
        let Ast::Library(statement) = &self.ast else { return false };
        self.is_query() || matches!(**statement, Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_))
    }

    /// Whether it locks the rows that it gives, or all rows of tables, and waits for who has them.
    pub fn locks_rows(&self) -> bool {
        let waits = |lock: &TableLockAst| lock.refuses_writers && lock.waits;
        self.locks_within || !self.locks.is_empty() || self.table_lock().is_some_and(waits)
    }

    /// Whether it is LOCK TABLE, which is for blocks.
    pub fn locks_tables(&self) -> bool {
        self.table_lock().is_some()
    }

    fn table_lock(&self) -> Option<&TableLockAst> {
        if let Ast::Maintenance(MaintenanceAst::Lock(lock)) = &self.ast { Some(lock) } else { None }
    }

    /// Whether it is CALL.
    pub fn is_call(&self) -> bool {
        matches!(self.ast, Ast::Routine(RoutineAst::Call { .. }))
    }

    /// Whether names in it may mean variables of a procedure: it is a query or a change of rows, or has one.
    pub fn takes_variables(&self) -> bool {
        let Ast::Library(statement) = &self.ast else { return false };
        let with_query = matches!(&**statement, Statement::CreateTable(create) if create.query.is_some());
        self.is_query() || self.changes_rows() && !matches!(**statement, Statement::CreateTable(_)) || with_query
    }

    /// The temporary table that it makes, if that goes when the transaction commits.
    pub fn makes_for_transaction(&self) -> Option<String> {
        self.makes_temporary(OnCommit::Drop)
    }

    /// The temporary table that it makes, if its rows go when a transaction commits.
    pub fn makes_for_rows(&self) -> Option<String> {
        self.makes_temporary(OnCommit::DeleteRows)
    }

    fn makes_temporary(&self, on_commit: OnCommit) -> Option<String> {
        let Ast::Library(statement) = &self.ast else { return None };
        let Statement::CreateTable(create) = &**statement else { return None };
        let goes = create.temporary && create.on_commit == Some(on_commit);
        let name = create.name.0.last().filter(|_| goes)?;
        name.as_ident().map(crate::bind::fold)
    }

    /// Whether it changes rows: INSERT, UPDATE, DELETE, MERGE, TRUNCATE; or makes indexes of them.
    pub fn changes_rows(&self) -> bool {
        self.like.indexes || changes_rows(&self.ast)
    }

    /// Whether it changes what a table is, which happens wholly or not at all.
    pub fn alters_tables(&self) -> bool {
        if let Ast::Domain(domain) = &self.ast {
            return !matches!(**domain, DomainAst::Create { .. });
        }
        if let Ast::Trigger(_) | Ast::Kin(_) | Ast::Rule(_) = &self.ast {
            return true;
        }
        let Ast::Library(statement) = &self.ast else { return false };
        matches!(**statement, Statement::AlterTable(_) | Statement::Drop { object_type: ObjectType::Type, .. })
    }

    /// Whether it begins or ends a transaction, or a part of one.
    pub fn controls_transactions(&self) -> bool {
        let Ast::Library(statement) = &self.ast else { return false };
        matches!(
            **statement,
            Statement::StartTransaction { .. }
                | Statement::Commit { .. }
                | Statement::Rollback { .. }
                | Statement::Savepoint { .. }
                | Statement::ReleaseSavepoint { .. }
        )
    }

    /// Whether it is COMMIT.
    pub fn commits(&self) -> bool {
        matches!(&self.ast, Ast::Library(statement) if matches!(**statement, Statement::Commit { .. }))
    }

    /// Whether it can end a transaction that has failed, or take it back to where it had not.
    pub fn ends_transaction(&self) -> bool {
        let Ast::Library(statement) = &self.ast else { return false };
        matches!(**statement, Statement::Commit { .. } | Statement::Rollback { .. })
    }
}

/// Whether what a query is made of is a change: INSERT, UPDATE, DELETE, MERGE.
pub(crate) fn changes(body: &SetExpr) -> bool {
    matches!(body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_))
}

/// See [`Parsed::changes_rows`].
fn changes_rows(ast: &Ast) -> bool {
    if let Ast::Explain { analyze, statement, .. } = ast {
        return *analyze && changes_rows(statement);
    }
    let Ast::Library(statement) = ast else {
        let is_index = matches!(ast, Ast::Rename { kind: ObjectKind::Index, .. });
        let is_anew = |ast: &MaintenanceAst| matches!(ast, MaintenanceAst::Reindex(..) | MaintenanceAst::Refresh(..));
        return is_index || matches!(ast, Ast::Maintenance(ast) if is_anew(ast));
    };
    match &**statement {
        Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_)
        | Statement::Truncate(_)
        | Statement::CreateIndex(_) => true,
        Statement::CreateTable(create) => {
            let is_looked_after = |option: &ColumnOptionDef| match &option.option {
                ColumnOption::ForeignKey(_) => true,
                ColumnOption::PrimaryKey(key) => can_wait(key.characteristics.as_ref()),
                ColumnOption::Unique(key) => can_wait(key.characteristics.as_ref()),
                _ => false,
            };
            let is_asked_later = |constraint: &TableConstraint| match constraint {
                TableConstraint::ForeignKey(_) => true,
                TableConstraint::PrimaryKey(key) => can_wait(key.characteristics.as_ref()),
                TableConstraint::Unique(key) => can_wait(key.characteristics.as_ref()),
                _ => false,
            };
            create.columns.iter().flat_map(|column| &column.options).any(is_looked_after)
                || create.constraints.iter().any(is_asked_later)
                || create.partition_of.is_some()
                || create.partition_by.is_some()
                || create.inherits.is_some()
        }
        Statement::Query(query) => changes(&query.body) || changes_in_with(query),
        _ => false,
    }
}

/// Whether its own WITH has such.
pub(crate) fn changes_in_with(query: &Query) -> bool {
    query.with.as_ref().is_some_and(|with| with.cte_tables.iter().any(|cte| changes(&cte.query.body)))
}

/// How deep recursion over the syntax tree of a text can go, at most.
pub fn parse_depth(text: &str) -> usize {
    // A nesting takes several levels. An operator takes one, and at least a byte for itself and one for its operand.
    (text.len() / 2).min(10 * MAX_RECURSION + MAX_CHAIN)
}

/// Parses one statement, which a semicolon may end. Positions of errors, also of later ones, refer to `sql`.
///
/// ```
/// assert!(sql::parse("select 1;").is_ok());
/// let error = sql::parse("select 1 frm t where x").unwrap_err();
/// assert_eq!((error.state().0, error.position()), ("42601", Some(13)));
/// ```
pub fn parse(sql: &str) -> Result<Parsed> {
    match split(sql).as_slice() {
        [] => Err(Error::new(SqlState::SYNTAX_ERROR, "the statement is empty")),
        [piece] => parse_at(&sql[piece.range.clone()], piece.range.start),
        [_, second, ..] => Err(Error::new(SqlState::SYNTAX_ERROR, "cannot run several statements at once here")
            .at(u32::try_from(second.range.start).ok())),
    }
}

/// Parses the statements of a script that begin at byte `from` or later; each comes with the byte range of its text.
/// Positions of errors refer to the script.
pub fn parse_script(script: &str, mut from: usize) -> Result<Vec<(Parsed, Range<usize>)>> {
    let mut all = Vec::new();
    while let Some(piece) = next_piece(script, from) {
        all.push((parse_at(&script[piece.range.clone()], piece.range.start)?, piece.range));
        from = piece.next;
    }
    Ok(all)
}

/// Parses a statement that was not written where it stands: nothing of it has a place.
pub(crate) fn parse_placeless(text: &str) -> Result<Parsed> {
    parse_tokens(text, 0, |token| token.span = Span::empty())
}

/// Parses the statement `text` that starts at byte `base` of the script that positions shall refer to.
fn parse_at(text: &str, base: usize) -> Result<Parsed> {
    parse_tokens(text, base, |_| {})
}

/// Parses a statement; `place` changes the places of its tokens before they are read.
fn parse_tokens(text: &str, base: usize, place: impl FnMut(&mut TokenWithSpan)) -> Result<Parsed> {
    let (text, _) = given_data(text);
    if base + text.len() > MAX_TEXT {
        return Err(Error::new(SqlState::PROGRAM_LIMIT, "the SQL text is longer than 256 MiB")
            .hint("load data with COPY instead of INSERT"));
    }
    let positions = Positions::new(text, base as u32);
    let mut tokens = Tokenizer::new(&MorselDialect, text)
        .tokenize_with_location()
        .map_err(|e| error::tokenizer(&e, text, &positions))?;
    let first = |token: &TokenWithSpan| text.as_bytes().get((positions.start(token.span)? as usize).checked_sub(base)?);
    number::in_decimal(&mut tokens, |token| first(token) == Some(&b'0'));
    limit_nesting(&tokens, &positions)?;
    limit_chains(&tokens, &positions)?;
    refuse_junk(&tokens, &positions)?;
    refuse_current_of(&tokens, &positions)?;
    atomic::carry(&mut tokens, (text, base), &positions);
    if let Some(rule) = rule::rule(&tokens, text, &positions)? {
        return Ok(Parsed::of(Ast::Rule(rule), positions, text));
    }
    question::operators(&mut tokens);
    let placeholders = placeholders::number(&mut tokens, &positions)?;
    let tokens = table::stored(table::named_columns(from_first::carry(recursive_view::carry(calls::trims(
        calls::variadic(spelled::carry(tokens)),
    )))));
    let tokens = only::carry(check_option::carry(identity::carry(referential::carry(field_names::carry(
        ignored::without(tokens),
    )))));
    let tokens = stars::carry(structs::types(user_types::composites(shorthand::carry(tokens))));
    let tokens = merge::carry(pivot::carry(described::carry(tokens)));
    let (tokens, insert) = insert::form(tokens, &MorselDialect);
    let (tokens, like) = like::form(tokens);
    let tokens = lambda::arrows(tokens);
    let (tokens, locks) = locking::take(tokens);
    let (tokens, locks_within) = locking::within(tokens);
    let (tokens, subscripts) = subscripts::take(tokens).map_err(|e| error::parser(&e, text, &positions))?;
    let (tokens, traversals) = traversal::take(tokens);
    let mut tokens = sequence::ordered(returning::carry(sets::carry(window::carry(table::as_select(joins::carry(
        joins::aliases(tokens),
    ))))));
    tokens.iter_mut().for_each(place);
    let mut parser = Parser::new(&MorselDialect).with_recursion_limit(MAX_RECURSION).with_tokens_with_locations(tokens);
    let mut ast = command::statement(&mut parser)
        .and_then(|ast| match parser.peek_token().token {
            Token::EOF => Ok(ast),
            _ => parser.expected("end of statement", parser.peek_token()),
        })
        .map_err(|e| error::parser(&e, text, &positions))?;
    if let Some(statement) = ast.library() {
        table::of_into(statement);
    }
    if !traversals.is_empty() {
        match ast.library() {
            Some(statement) => traversal::put(statement, traversals, &positions)?,
            None => return Err(Error::unsupported("SEARCH or CYCLE in this statement").at(positions.begin())),
        }
    }
    Ok(Parsed { ast, positions, text: text.to_owned(), placeholders, insert, like, locks, locks_within, subscripts })
}

/// Whether a key may be looked at later than its rows come.
fn can_wait(said: Option<&ConstraintCharacteristics>) -> bool {
    said.is_some_and(|said| said.deferrable == Some(true) || said.initially == Some(DeferrableInitial::Deferred))
}

/// Refuses what the parser and the binder could not follow.
fn limit_nesting(tokens: &[TokenWithSpan], positions: &Positions) -> Result<()> {
    let mut depth = 0usize;
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            Token::Word(word) if word.keyword == Keyword::CASE && word.quote_style.is_none() => depth += 1,
            Token::Word(word) if word.keyword == Keyword::END && word.quote_style.is_none() => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(too_deep().at(positions.start(token.span)));
        }
    }
    Ok(())
}

/// 54001.
pub(crate) fn too_deep() -> Error {
    Error::new(SqlState::STATEMENT_TOO_COMPLEX, "the statement is too deeply nested")
        .hint("split it with common table expressions or views")
}

/// Refuses numbers that a word follows at once: `0b1` is not 0 by the name of b1.
fn refuse_junk(tokens: &[TokenWithSpan], positions: &Positions) -> Result<()> {
    for pair in tokens.windows(2) {
        if let [TokenWithSpan { token: Token::Number(number, _), span }, TokenWithSpan { token: Token::Word(word), .. }] =
            pair
            && word.quote_style.is_none()
        {
            let message = format!("trailing junk after numeric literal at or near \"{number}{}\"", word.value);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(positions.start(*span)));
        }
    }
    Ok(())
}

/// 0A000 for UPDATE and DELETE ... WHERE CURRENT OF: a cursor does not know which rows of tables its rows are of.
fn refuse_current_of(tokens: &[TokenWithSpan], positions: &Positions) -> Result<()> {
    let is = |token: &TokenWithSpan, wanted: &str| {
        window::as_word(&token.token).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    };
    let words: Vec<&TokenWithSpan> = tokens.iter().filter(|t| !matches!(t.token, Token::Whitespace(_))).collect();
    let begins = |words: &&[&TokenWithSpan]| {
        is(words[0], "where")
            && is(words[1], "current")
            && is(words[2], "of")
            && matches!(words[3].token, Token::Word(_))
    };
    match words.windows(4).find(begins) {
        None => Ok(()),
        Some(found) => Err(Error::unsupported("WHERE CURRENT OF")
            .hint("fetch the row's key, and change the row by that")
            .at(positions.start(found[1].span))),
    }
}

/// Refuses chains of operators whose syntax tree would be too deep to walk and to drop.
fn limit_chains(tokens: &[TokenWithSpan], positions: &Positions) -> Result<()> {
    let mut counts = vec![0usize];
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                *counts.last_mut().expect("never empty") += 1;
                counts.push(0);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                if counts.len() > 1 {
                    counts.pop();
                }
            }
            Token::Comma => *counts.last_mut().expect("never empty") = 0,
            Token::Number(..)
            | Token::SingleQuotedString(_)
            | Token::Whitespace(_)
            | Token::Period
            | Token::Placeholder(_)
            | Token::EOF => {}
            Token::Word(word) if word.quote_style.is_some() || !is_operator_word(&word.value) => {}
            _ => *counts.last_mut().expect("never empty") += 1,
        }
        if *counts.last().expect("never empty") > MAX_CHAIN {
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "the statement is too complex")
                .detail(format!("more than {MAX_CHAIN} operators follow each other"))
                .hint("write long OR chains as IN (...), and many rows as VALUES")
                .at(positions.start(token.span)));
        }
    }
    Ok(())
}

fn is_operator_word(word: &str) -> bool {
    const WORDS: [&str; 17] = [
        "and",
        "or",
        "not",
        "union",
        "except",
        "intersect",
        "join",
        "is",
        "in",
        "like",
        "ilike",
        "between",
        "at",
        "collate",
        "isnull",
        "notnull",
        "similar",
    ];
    word.len() <= 9 && WORDS.iter().any(|w| w.eq_ignore_ascii_case(word))
}
