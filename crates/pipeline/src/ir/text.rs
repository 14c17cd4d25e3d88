//! The text form of programs: what EXPLAIN (IR) shows and tests are written in. [`parse`](super::parse()) reads it back.
//!
//! A program is a list of parameters, sites, states and pipelines; one instruction a line:
//! ```text
//! %2: I64 = checked.add %0, %1 @14
//! %5: Ptr = match.inner s0 hash %4 where { ... yield %7 }
//! output s1 %2, %3 null %4
//! ```
//! A definition names the type of what it defines; `@14` is position number 14 in the SQL text, which the line `positions` gives.

mod instruction;
#[cfg(test)]
mod tests;
pub(super) mod window;

use std::fmt::{Display, Formatter, Result, Write};

use super::{
    Function, JoinWord, KeyPlace, LookupPart, Param, Pipeline, Program, RowLayout, RowSet, ScanOp, ScanPredicate, Site,
    SiteKind, SortField, Source, State,
};
use types::Value;
use types::ops::like::Syntax;

pub(super) use instruction::{body, snake};

/// Items with commas between them.
pub(super) fn list<T>(
    f: &mut Formatter<'_>,
    items: impl IntoIterator<Item = T>,
    mut print: impl FnMut(&mut Formatter<'_>, T) -> Result,
) -> Result {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            f.write_str(", ")?;
        }
        print(f, item)?;
    }
    Ok(())
}

/// Text in quotes, with backslashes before quotes and backslashes, and no line breaks.
pub(super) struct Quoted<'a>(pub &'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                '\n' => f.write_str("\\n")?,
                _ => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

/// A value that says of which kind it is.
struct Printed<'a>(&'a Value);

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Value::Null => f.write_str("null"),
            Value::Bool(x) => write!(f, "bool {x}"),
            Value::Int(x) => write!(f, "int {x}"),
            Value::Decimal(x) => write!(f, "decimal {x}"),
            Value::Float(x) => write!(f, "float {x:?}"),
            Value::Str(x) => write!(f, "str {}", Quoted(x)),
            Value::Date(x) => write!(f, "date {x}"),
            Value::Time(x) => write!(f, "time {x}"),
            Value::Timetz(x) => write!(f, "timetz {x}"),
            Value::Timestamp(x) => write!(f, "timestamp {x}"),
            Value::Uuid(x) => write!(f, "uuid {x}"),
            Value::Enum(x) => write!(f, "enum {x}"),
            Value::Interval(x) => write!(f, "interval {} {} {}", x.months, x.days, x.micros),
        }
    }
}

fn values(f: &mut Formatter<'_>, values: &[Value]) -> Result {
    f.write_char('(')?;
    list(f, values, |f, v| write!(f, "{}", Printed(v)))?;
    f.write_char(')')
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        writeln!(f, "program result {}{}", self.result, if self.ordered { " ordered" } else { "" })?;
        for (id, param) in self.params.iter() {
            writeln!(f, "param {id} {param}")?;
        }
        for (id, site) in self.sites.iter() {
            writeln!(f, "{id} {site}")?;
        }
        for (id, state) in self.states.iter() {
            writeln!(f, "state {id} {state}")?;
        }
        if !self.positions.is_empty() {
            f.write_str("positions (")?;
            list(f, &self.positions, |f, p| write!(f, "{p}"))?;
            f.write_str(")\n")?;
        }
        for counter in &self.counters {
            writeln!(f, "counter {}", Quoted(counter))?;
        }
        for (id, pipeline) in self.pipelines.iter() {
            write!(f, "pipeline {id} {pipeline}")?;
        }
        Ok(())
    }
}

impl Display for Param {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Value(value, sql_type) => write!(f, "value {} {}", Quoted(&sql_type.to_string()), Printed(value)),
            Self::Argument(argument, value, sql_type) => {
                write!(f, "argument {argument} {} {}", Quoted(&sql_type.to_string()), Printed(value))
            }
            Self::Like { pattern, syntax } => {
                write!(f, "like {}", Quoted(pattern))?;
                pattern_syntax(f, *syntax)
            }
            Self::Set(items, sql_type) => {
                write!(f, "set {} ", Quoted(&sql_type.to_string()))?;
                values(f, items)
            }
        }
    }
}

/// Nothing but the escape character for LIKE.
fn pattern_syntax(f: &mut Formatter<'_>, syntax: Syntax) -> Result {
    if let Syntax::Like { escape: Some(escape), .. } = syntax {
        write!(f, " escape {}", Quoted(escape.encode_utf8(&mut [0; 4])))?;
    }
    f.write_str(match syntax {
        Syntax::Like { fold: false, .. } => "",
        Syntax::Like { fold: true, .. } => " case_insensitive",
        Syntax::Regex { fold: false } => " regex",
        Syntax::Regex { fold: true } => " regex case_insensitive",
    })
}

impl Display for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match &self.kind {
            SiteKind::Scalar(function) => write!(f, "scalar {}", function.name())?,
            SiteKind::Cast(or_null) => f.write_str(if *or_null { "try_cast" } else { "cast" })?,
            SiteKind::Like { syntax } => {
                f.write_str("like")?;
                pattern_syntax(f, *syntax)?;
            }
            SiteKind::Elements => f.write_str("elements")?,
        }
        f.write_str(" (")?;
        list(f, &self.arguments, |f, t| write!(f, "{}", Quoted(&t.to_string())))?;
        write!(f, ") {}", Quoted(&self.result.to_string()))
    }
}

impl Display for RowLayout {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "size {} (", self.size)?;
        list(f, &self.fields, |f, field| {
            write!(f, "{} {:?}", field.offset, field.ty)?;
            f.write_str(if field.kept { " kept" } else { "" })?;
            field.null.map_or(Ok(()), |null| write!(f, " null {null}"))
        })?;
        f.write_char(')')
    }
}

impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Join(j) => {
                write!(f, "join {}{}", j.layout, if j.unique { " unique" } else { "" })?;
                match j.word {
                    JoinWord::Hash => {}
                    JoinWord::Key { .. } => f.write_str(" key")?,
                    JoinWord::Range { until: None, .. } => f.write_str(" range")?,
                    JoinWord::Range { until: Some(until), .. } => write!(f, " range until {until}")?,
                }
                if let Some(null) = j.word.null() {
                    write!(f, " null {null}")?;
                }
                f.write_str(if j.filters { " filters" } else { "" })
            }
            Self::Group(g) => {
                write!(f, "group {}{}", g.layout, if g.has_keys { " keys" } else { "" })?;
                if let Some(slots) = g.slots {
                    write!(f, " slots {slots}")?;
                }
                if let Some(enough) = g.enough {
                    write!(f, " enough {enough}")?;
                }
                if let Some(equal) = &g.equal {
                    write!(f, " equal {equal}")?;
                }
                write!(f, " combine {}", g.combine)
            }
            Self::Recursion(r) => {
                write!(f, "recursion {}{}", r.layout, if r.kept { " kept" } else { "" })?;
                if let Some(distinct) = &r.distinct {
                    f.write_str(" distinct")?;
                    if let Some(equal) = &distinct.equal {
                        write!(f, " equal {equal}")?;
                    }
                    write!(f, " combine {}", distinct.combine)?;
                }
                f.write_str(" domains (")?;
                list(f, &r.domains, |f, (low, high)| write!(f, "{low} to {high}"))?;
                f.write_str(") renewed (")?;
                list(f, &r.renewed, |f, s| write!(f, "{s}"))?;
                f.write_char(')')
            }
            Self::Sort(s) => {
                write!(f, "sort {} by (", s.layout)?;
                list(f, &s.keys, |f, key| write!(f, "{key}"))?;
                f.write_char(')')?;
                if s.partition > 0 {
                    write!(f, " partition {}", s.partition)?;
                }
                if let Some(limit) = s.limit {
                    write!(f, " limit {limit}")?;
                }
                write!(f, " offset {}", s.offset)
            }
            Self::Window(window) => write!(f, "{window}"),
            Self::Rows(layout) => write!(f, "rows {layout}"),
            Self::Limit { offset, limit } => write!(f, "limit {limit} offset {offset}"),
            Self::Result(types) | Self::Table(types) => {
                f.write_str(if matches!(self, Self::Table(_)) { "table (" } else { "result (" })?;
                list(f, types, |f, t| write!(f, "{}", Quoted(&t.to_string())))?;
                f.write_char(')')
            }
        }
    }
}

impl Display for SortField {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} {:?}", self.offset, self.ty)?;
        if let Some(null) = self.null {
            write!(f, " null {null}")?;
        }
        f.write_str(if self.descending { " descending" } else { "" })?;
        f.write_str(if self.nulls_first { " nulls_first" } else { "" })
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "({}, {}) ", self.rows[0], self.rows[1])?;
        body(f, &self.body, &self.vars, &self.rows, self.result, 0)
    }
}

impl Display for Pipeline {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", Quoted(&self.name))?;
        if !self.after.is_empty() {
            f.write_str(" after ")?;
            list(f, &self.after, |f, p| write!(f, "{p}"))?;
        }
        if !self.fills.is_empty() {
            f.write_str(" fills ")?;
            list(f, &self.fills, |f, s| write!(f, "{s}"))?;
        }
        if let Some(rounds) = self.rounds {
            write!(f, " rounds {rounds}")?;
        }
        if let Some(operator) = self.operator {
            write!(f, " operator {operator}")?;
        }
        write!(f, "\n  from {}\n  ", self.source)?;
        if let Some(vectors) = &self.vectors {
            instruction::vectors(f, vectors)?;
        }
        body(f, &self.body, &self.vars, &[], None, 1)?;
        f.write_char('\n')
    }
}

impl Display for LookupPart {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.place {
            KeyPlace::Word => write!(f, "{} word", self.attribute),
            KeyPlace::Field { offset, ty, null } => {
                write!(f, "{} at {offset} {ty:?}", self.attribute)?;
                null.map_or(Ok(()), |null| write!(f, " null {null}"))
            }
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Table { table, columns, predicates, filters, lookups, codes } => {
                write!(f, "table {table} (")?;
                list(f, columns, |f, c| {
                    let (length, null) =
                        (if c.is_length { " length" } else { "" }, if c.nullable { " null" } else { "" });
                    write!(f, "{} {}{length}{null}", c.attribute, Quoted(&c.sql_type.to_string()))?;
                    c.bounds.map_or(Ok(()), |(low, high)| write!(f, " within {low} to {high}"))
                })?;
                f.write_str(") where (")?;
                list(f, predicates, |f, p| write!(f, "{p}"))?;
                f.write_char(')')?;
                if !filters.is_empty() {
                    f.write_str(" keys (")?;
                    list(f, filters, |f, k| write!(f, "{} of {}", k.attribute, k.state))?;
                    f.write_char(')')?;
                }
                if !lookups.is_empty() {
                    f.write_str(" lookups (")?;
                    list(f, lookups, |f, lookup| {
                        write!(f, "{} (", lookup.state)?;
                        list(f, &lookup.parts, |f, part| write!(f, "{part}"))?;
                        f.write_char(')')
                    })?;
                    f.write_char(')')?;
                }
                if !codes.is_empty() {
                    f.write_str(" codes (")?;
                    list(f, codes, |f, attribute| write!(f, "{attribute}"))?;
                    f.write_char(')')?;
                }
                Ok(())
            }
            Self::Values(chunk) => {
                write!(f, "values {} (", chunk.rows())?;
                list(f, chunk.columns(), |f, c| write!(f, "{}", Quoted(&c.sql_type().to_string())))?;
                f.write_char(')')?;
                if !chunk.columns().is_empty() {
                    for row in 0..chunk.rows() {
                        f.write_str("\n    ")?;
                        values(f, &chunk.row(row))?;
                    }
                }
                Ok(())
            }
            Self::Rows { state, rows } => match rows {
                RowSet::All => write!(f, "rows {state} all"),
                RowSet::Marked(at) => write!(f, "rows {state} marked {at}"),
                RowSet::Unmarked(at) => write!(f, "rows {state} unmarked {at}"),
                RowSet::Round => write!(f, "rows {state} round"),
            },
        }
    }
}

impl Display for ScanPredicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{} ", self.attribute)?;
        match &self.op {
            ScanOp::Eq(v) => write!(f, "eq {}", Printed(v)),
            ScanOp::Ne(v) => write!(f, "ne {}", Printed(v)),
            ScanOp::Lt(v) => write!(f, "lt {}", Printed(v)),
            ScanOp::Le(v) => write!(f, "le {}", Printed(v)),
            ScanOp::Gt(v) => write!(f, "gt {}", Printed(v)),
            ScanOp::Ge(v) => write!(f, "ge {}", Printed(v)),
            ScanOp::In(items) => {
                f.write_str("in ")?;
                values(f, items)
            }
            ScanOp::Prefix(text) => write!(f, "prefix {}", Quoted(text)),
            ScanOp::Like { pattern, syntax, negated } => {
                write!(f, "{} {}", if *negated { "not_like" } else { "like" }, Quoted(pattern))?;
                pattern_syntax(f, *syntax)
            }
            ScanOp::IsNull => f.write_str("is_null"),
            ScanOp::IsNotNull => f.write_str("is_not_null"),
        }?;
        if self.arguments.is_empty() {
            return Ok(());
        }
        f.write_str(" arguments (")?;
        list(f, &self.arguments, |f, argument| write!(f, "{argument}"))?;
        f.write_char(')')
    }
}
