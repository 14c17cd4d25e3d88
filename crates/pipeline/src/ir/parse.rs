//! Reads the text form of programs: see [`text`](super::text).
//!
//! For tests and tools: messages and SQLSTATEs of `raise` are leaked, since programs refer to static ones.

mod instruction;
mod token;
mod window;

use std::sync::Arc;

use base::ids::Id;
use base::{IdMap, Result};
use functions::ScalarFunction;
use types::ops::like::Syntax;
use types::{Chunk, ColumnBuilder, Interval, SqlType, Value};

use super::{
    Distinct, Function, GroupState, JoinState, JoinWord, KeyFilter, KeyLookup, KeyPlace, LookupPart, Param, Pipeline,
    Program, RecursionState, RowField, RowLayout, RowSet, ScanOp, ScanPredicate, Site, SiteKind, SortField, SortState,
    Source, SourceColumn, State, StateId, Ty, Var,
};
use token::Tokens;

/// The program that a text describes. The error says where the text is wrong.
pub fn parse(text: &str) -> Result<Program> {
    let mut p = Parser { t: Tokens::new(text), vars: IdMap::new() };
    p.t.word("program")?;
    p.t.word("result")?;
    let result = p.t.id("s")?;
    let ordered = p.t.take("ordered");
    let mut program = Program {
        params: IdMap::new(),
        sites: IdMap::new(),
        states: IdMap::new(),
        pipelines: IdMap::new(),
        result,
        ordered,
        counters: Vec::new(),
        positions: Vec::new(),
    };
    while !p.t.at_end() {
        if p.t.take("param") {
            p.next_id("$", program.params.len())?;
            program.params.push(p.param()?);
        } else if p.t.take("state") {
            p.next_id("s", program.states.len())?;
            program.states.push(p.state()?);
        } else if p.t.take("positions") {
            program.positions = p.list(|p| p.t.number())?;
        } else if p.t.take("counter") {
            program.counters.push(p.t.text()?);
        } else if p.t.take("pipeline") {
            p.next_id("p", program.pipelines.len())?;
            program.pipelines.push(p.pipeline()?);
        } else {
            p.next_id("site", program.sites.len())?;
            program.sites.push(p.site()?);
        }
    }
    Ok(program)
}

struct Parser<'t> {
    t: Tokens<'t>,
    /// Types of the body that is being read.
    vars: IdMap<Var, Ty>,
}

/// The item that prints as `name`.
fn named<T: Copy>(all: &[T], name: &str, print: impl Fn(T) -> String) -> Option<T> {
    all.iter().copied().find(|&item| print(item) == name)
}

const TYPES: [Ty; 10] =
    [Ty::Bool, Ty::I16, Ty::I32, Ty::I64, Ty::I128, Ty::F32, Ty::F64, Ty::Str, Ty::Interval, Ty::Ptr];

impl Parser<'_> {
    fn next_id(&mut self, prefix: &str, expected: usize) -> Result<()> {
        let found: Var = self.t.id(prefix)?;
        if found.index() == expected { Ok(()) } else { Err(self.t.error(format!("{prefix}{expected}"))) }
    }

    fn ty(&mut self) -> Result<Ty> {
        let name = self.t.name()?;
        named(&TYPES, name, |t| format!("{t:?}")).ok_or_else(|| self.t.error("a type"))
    }

    fn sql_type(&mut self) -> Result<SqlType> {
        let text = self.t.text()?;
        text.parse()
    }

    fn value(&mut self) -> Result<Value> {
        Ok(match self.t.name()? {
            "null" => Value::Null,
            "bool" => Value::Bool(self.t.boolean()?),
            "int" => Value::Int(self.t.number()?),
            "decimal" => Value::Decimal(self.t.number()?),
            "float" => Value::Float(self.t.number()?),
            "str" => Value::str(self.t.text()?),
            "date" => Value::Date(self.t.number()?),
            "time" => Value::Time(self.t.number()?),
            "timetz" => Value::Timetz(self.t.number()?),
            "timestamp" => Value::Timestamp(self.t.number()?),
            "uuid" => Value::Uuid(self.t.number()?),
            "enum" => Value::Enum(self.t.number()?),
            "interval" => {
                Value::Interval(Interval { months: self.t.number()?, days: self.t.number()?, micros: self.t.number()? })
            }
            _ => return Err(self.t.error("a value")),
        })
    }

    /// Items in parentheses.
    fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.t.word("(")?;
        let mut items = Vec::new();
        while !self.t.take(")") {
            if !items.is_empty() {
                self.t.word(",")?;
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// At least one item, with commas between them.
    fn some<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.t.take(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn param(&mut self) -> Result<Param> {
        Ok(match self.t.name()? {
            "value" => {
                let sql_type = self.sql_type()?;
                Param::Value(self.value()?, sql_type)
            }
            "argument" => {
                let (argument, sql_type) = (self.t.id("arg")?, self.sql_type()?);
                Param::Argument(argument, self.value()?, sql_type)
            }
            "like" => {
                let pattern = self.t.text()?.into();
                Param::Like { pattern, syntax: self.pattern_syntax()? }
            }
            "set" => {
                let sql_type = self.sql_type()?;
                Param::Set(self.list(Self::value)?, sql_type)
            }
            _ => return Err(self.t.error("value, like or set")),
        })
    }

    fn pattern_syntax(&mut self) -> Result<Syntax> {
        let escape = if self.t.take("escape") { self.t.text()?.chars().next() } else { None };
        let (regex, fold) = (self.t.take("regex"), self.t.take("case_insensitive"));
        Ok(if regex { Syntax::Regex { fold } } else { Syntax::Like { escape, fold } })
    }

    fn site(&mut self) -> Result<Site> {
        let kind = match self.t.name()? {
            "scalar" => {
                let name = self.t.name()?;
                let function = ScalarFunction::named(name);
                SiteKind::Scalar(function.ok_or_else(|| self.t.error("a scalar function"))?)
            }
            "cast" => SiteKind::Cast(false),
            "try_cast" => SiteKind::Cast(true),
            "like" => SiteKind::Like { syntax: self.pattern_syntax()? },
            "elements" => SiteKind::Elements,
            _ => return Err(self.t.error("scalar, cast, try_cast, like or elements")),
        };
        Ok(Site { kind, arguments: self.list(Self::sql_type)?, result: self.sql_type()? })
    }

    fn layout(&mut self) -> Result<RowLayout> {
        self.t.word("size")?;
        let size = self.t.number()?;
        let fields = self.list(|p| {
            let (offset, ty, kept) = (p.t.number()?, p.ty()?, p.t.take("kept"));
            Ok(RowField { offset, ty, kept, null: if p.t.take("null") { Some(p.t.number()?) } else { None } })
        })?;
        Ok(RowLayout { fields, size })
    }

    /// The number behind a word, if the word is there.
    fn numbered(&mut self, word: &str) -> Result<Option<u32>> {
        if self.t.take(word) { self.t.number().map(Some) } else { Ok(None) }
    }

    fn state(&mut self) -> Result<State> {
        Ok(match self.t.name()? {
            "join" => {
                let (layout, unique) = (self.layout()?, self.t.take("unique"));
                let word = if self.t.take("key") {
                    JoinWord::Key { null: self.numbered("null")? }
                } else if self.t.take("range") {
                    let until = self.numbered("until")?;
                    JoinWord::Range { null: self.numbered("null")?, until }
                } else {
                    JoinWord::Hash
                };
                State::Join(JoinState { layout, unique, word, filters: self.t.take("filters") })
            }
            "group" => {
                let layout = self.layout()?;
                let has_keys = self.t.take("keys");
                let slots = if self.t.take("slots") { Some(self.t.number()?) } else { None };
                let enough = if self.t.take("enough") { Some(self.t.number()?) } else { None };
                let equal = if self.t.take("equal") { Some(self.function()?) } else { None };
                self.t.word("combine")?;
                State::Group(GroupState { layout, has_keys, slots, enough, equal, combine: self.function()? })
            }
            "recursion" => {
                let (layout, kept) = (self.layout()?, self.t.take("kept"));
                let mut distinct = None;
                if self.t.take("distinct") {
                    let equal = if self.t.take("equal") { Some(self.function()?) } else { None };
                    self.t.word("combine")?;
                    distinct = Some(Distinct { equal, combine: self.function()? });
                }
                self.t.word("domains")?;
                let domains = self.list(|p| {
                    let low = p.t.number()?;
                    p.t.word("to")?;
                    Ok((low, p.t.number()?))
                })?;
                self.t.word("renewed")?;
                let renewed = self.list(|p| p.t.id("s"))?;
                State::Recursion(RecursionState { layout, distinct, domains, kept, renewed })
            }
            "sort" => {
                let layout = self.layout()?;
                self.t.word("by")?;
                let keys = self.list(Self::sort_field)?;
                let partition = if self.t.take("partition") { self.t.number()? } else { 0 };
                let limit = if self.t.take("limit") { Some(self.t.number()?) } else { None };
                self.t.word("offset")?;
                State::Sort(SortState { layout, keys, partition, limit, offset: self.t.number()? })
            }
            "window" => State::Window(self.window()?),
            "rows" => State::Rows(self.layout()?),
            "limit" => {
                let limit = self.t.number()?;
                self.t.word("offset")?;
                State::Limit { offset: self.t.number()?, limit }
            }
            "result" => State::Result(self.list(Self::sql_type)?),
            "table" => State::Table(self.list(Self::sql_type)?),
            _ => return Err(self.t.error("a kind of state")),
        })
    }

    fn sort_field(&mut self) -> Result<SortField> {
        Ok(SortField {
            offset: self.t.number()?,
            ty: self.ty()?,
            null: if self.t.take("null") { Some(self.t.number()?) } else { None },
            descending: self.t.take("descending"),
            nulls_first: self.t.take("nulls_first"),
        })
    }

    fn function(&mut self) -> Result<Function> {
        let rows: Vec<Var> = self.list(|p| p.t.id("%"))?;
        let &[a, b] = rows.as_slice() else { return Err(self.t.error("two rows")) };
        self.vars = IdMap::new();
        for v in [a, b] {
            self.declare(v, Ty::Ptr);
        }
        let (body, yields) = self.block()?;
        Ok(Function { rows: [a, b], body, result: yields.first().copied(), vars: std::mem::take(&mut self.vars) })
    }

    fn declare(&mut self, v: Var, ty: Ty) {
        // Later definitions overwrite the filling.
        while self.vars.len() <= v.index() {
            self.vars.push(ty);
        }
        self.vars[v] = ty;
    }

    fn pipeline(&mut self) -> Result<Pipeline> {
        let name = self.t.text()?;
        let after = if self.t.take("after") { self.some(|p| p.t.id("p"))? } else { Vec::new() };
        let fills = if self.t.take("fills") { self.some(|p| p.t.id("s"))? } else { Vec::new() };
        let rounds = if self.t.take("rounds") { Some(self.t.id("s")?) } else { None };
        let operator = if self.t.take("operator") { Some(self.t.number()?) } else { None };
        self.t.word("from")?;
        let source = self.source()?;
        let vectors = if self.t.take("vectors") { Some(self.vectors()?) } else { None };
        self.vars = IdMap::new();
        let (body, _) = self.block()?;
        let vars = std::mem::take(&mut self.vars);
        Ok(Pipeline { name, source, vectors, body, vars, after, fills, rounds, operator })
    }

    fn source_column(&mut self) -> Result<SourceColumn> {
        let (attribute, sql_type) = (self.t.number()?, self.sql_type()?);
        let (is_length, nullable) = (self.t.take("length"), self.t.take("null"));
        let mut bounds = None;
        if self.t.take("within") {
            let low = self.t.number()?;
            self.t.word("to")?;
            bounds = Some((low, self.t.number()?));
        }
        Ok(SourceColumn { attribute, sql_type, nullable, bounds, is_length })
    }

    fn key_filter(&mut self) -> Result<KeyFilter> {
        let attribute = self.t.number()?;
        self.t.word("of")?;
        Ok(KeyFilter { attribute, state: self.t.id("s")? })
    }

    fn key_lookup(&mut self) -> Result<KeyLookup> {
        let state = self.t.id("s")?;
        let parts = self.list(|p| {
            let attribute = p.t.number()?;
            let place = match p.t.take("word") {
                true => KeyPlace::Word,
                false => {
                    p.t.word("at")?;
                    KeyPlace::Field { offset: p.t.number()?, ty: p.ty()?, null: p.numbered("null")? }
                }
            };
            Ok(LookupPart { attribute, place })
        })?;
        Ok(KeyLookup { state, parts })
    }

    fn source(&mut self) -> Result<Source> {
        Ok(match self.t.name()? {
            "table" => {
                let table = self.t.id("t")?;
                let columns = self.list(Self::source_column)?;
                self.t.word("where")?;
                let predicates = self.list(Self::predicate)?;
                let filters = if self.t.take("keys") { self.list(Self::key_filter)? } else { Vec::new() };
                let lookups = if self.t.take("lookups") { self.list(Self::key_lookup)? } else { Vec::new() };
                let codes = if self.t.take("codes") { self.list(|p| p.t.number())? } else { Vec::new() };
                Source::Table { table, columns, predicates, filters, lookups, codes }
            }
            "values" => {
                let rows: usize = self.t.number()?;
                let types = self.list(Self::sql_type)?;
                let mut columns: Vec<_> = types.iter().map(|&t| ColumnBuilder::new(t, rows)).collect();
                for _ in 0..if types.is_empty() { 0 } else { rows } {
                    let row = self.list(Self::value)?;
                    if row.len() != columns.len() {
                        return Err(self.t.error(format!("a row of {} values", columns.len())));
                    }
                    columns.iter_mut().zip(&row).for_each(|(c, v)| c.push_value(v));
                }
                let columns = columns.into_iter().map(ColumnBuilder::finish).collect();
                Source::Values(Arc::new(Chunk::new(rows, columns)))
            }
            "rows" => {
                let state: StateId = self.t.id("s")?;
                let rows = match self.t.name()? {
                    "all" => RowSet::All,
                    "marked" => RowSet::Marked(self.t.number()?),
                    "unmarked" => RowSet::Unmarked(self.t.number()?),
                    "round" => RowSet::Round,
                    _ => return Err(self.t.error("all, marked, unmarked or round")),
                };
                Source::Rows { state, rows }
            }
            _ => return Err(self.t.error("table, values or rows")),
        })
    }

    fn predicate(&mut self) -> Result<ScanPredicate> {
        let attribute = self.t.number()?;
        let name = self.t.name()?;
        let op = match name {
            "eq" => ScanOp::Eq(self.value()?),
            "ne" => ScanOp::Ne(self.value()?),
            "lt" => ScanOp::Lt(self.value()?),
            "le" => ScanOp::Le(self.value()?),
            "gt" => ScanOp::Gt(self.value()?),
            "ge" => ScanOp::Ge(self.value()?),
            "in" => ScanOp::In(self.list(Self::value)?),
            "prefix" => ScanOp::Prefix(self.t.text()?.into()),
            "like" | "not_like" => {
                let pattern = self.t.text()?.into();
                let syntax = self.pattern_syntax()?;
                ScanOp::Like { pattern, syntax, negated: name == "not_like" }
            }
            "is_null" => ScanOp::IsNull,
            "is_not_null" => ScanOp::IsNotNull,
            _ => return Err(self.t.error("a predicate")),
        };
        let arguments = if self.t.take("arguments") { self.list(|p| p.t.id("arg"))? } else { Vec::new() };
        Ok(ScanPredicate { attribute, op, arguments })
    }
}
