//! Expressions as text.

use std::collections::HashSet;

use base::IdMap;
use types::SqlType;
use types::ops::like::Syntax;

use super::lexer::quote;
use super::values::literal;
use crate::{ColumnId, ColumnInfo, Compare, Each, Expr, ExprKind, Node, Quantifier, SortKey, SubqueryKind};

/// An expression in the text form, for messages; subqueries' plans are left out.
pub fn expr_to_string(expr: &Expr, columns: &IdMap<ColumnId, ColumnInfo>) -> String {
    let mut subqueries = Vec::new();
    ExprPrinter { columns, subqueries: &mut subqueries, positions: false, names: &Names::Numbered }.print(expr)
}

/// Prints expressions and gathers the subqueries in them, which are numbered from 1.
pub(super) struct ExprPrinter<'a, 'b> {
    pub columns: &'a IdMap<ColumnId, ColumnInfo>,
    pub subqueries: &'b mut Vec<&'a Node>,
    /// Whether to print where expressions stand in the SQL text.
    pub positions: bool,
    pub names: &'b Names<'a>,
}

/// How columns are named.
#[derive(Debug)]
pub(super) enum Names<'a> {
    /// `name#id`, with `:type` where it is made.
    Numbered,
    /// `name`, but for these, which several columns have.
    Plain(HashSet<&'a str>),
}

/// A name, quoted unless it is a plain identifier.
pub(super) fn identifier(name: &str) -> String {
    let plain = !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { quote(name, '"') }
}

/// `name = from`, or the name alone if it says the same.
pub(super) fn renamed(name: String, from: String) -> String {
    if name == from { name } else { format!("{name} = {from}") }
}

/// The type that follows from the operands, without an annotation.
pub(super) fn implied_type(expr: &Expr) -> SqlType {
    match &expr.kind {
        ExprKind::Column(_) | ExprKind::Cast(_) | ExprKind::TryCast(_) | ExprKind::Argument(..) => expr.sql_type,
        ExprKind::Const(v) => literal(v, expr.sql_type).1,
        ExprKind::Call(_, a) => a.first().map_or(SqlType::Double, |e| e.sql_type),
        ExprKind::Coalesce(a) => a.first().map_or(SqlType::Null, |e| e.sql_type),
        ExprKind::Case { branches, otherwise } => branches.first().map_or(otherwise.sql_type, |(_, v)| v.sql_type),
        ExprKind::Let { body, .. } => body.sql_type,
        ExprKind::Each(each) => match each.reduced {
            Some(_) => each.body.sql_type,
            None => SqlType::array_of(each.body.sql_type),
        },
        ExprKind::Subquery(s) if matches!(s.kind, SubqueryKind::Scalar { .. }) => expr.sql_type,
        _ => SqlType::Bool,
    }
}

pub(super) fn compare_sign(op: Compare) -> &'static str {
    match op {
        Compare::Eq => "=",
        Compare::Ne => "<>",
        Compare::Lt => "<",
        Compare::Le => "<=",
        Compare::Gt => ">",
        Compare::Ge => ">=",
        Compare::Distinct => "is distinct from",
        Compare::NotDistinct => "is not distinct from",
    }
}

const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const COMPARE: u8 = 4;
const ATOM: u8 = 9;

impl<'a> ExprPrinter<'a, '_> {
    pub fn reference(&self, column: ColumnId) -> String {
        let name = self.columns.get(column).map_or("", |c| c.name.as_str());
        match self.names {
            Names::Plain(shared) if !shared.contains(name) => identifier(name),
            _ => format!("{}#{}", identifier(name), column.0),
        }
    }

    pub fn definition(&self, column: ColumnId) -> String {
        match self.columns.get(column) {
            Some(c) if matches!(self.names, Names::Numbered) => {
                format!("{}:{}{}", self.reference(column), c.sql_type, if c.nullable { "?" } else { "" })
            }
            _ => self.reference(column),
        }
    }

    pub fn made_of(&mut self, column: ColumnId, from: &'a Expr) -> String {
        renamed(self.definition(column), self.print(from))
    }

    pub fn list(&mut self, exprs: &'a [Expr]) -> String {
        exprs.iter().map(|e| self.print(e)).collect::<Vec<_>>().join(", ")
    }

    pub fn print(&mut self, expr: &'a Expr) -> String {
        self.at(expr, 0)
    }

    /// The expression, in parentheses if it binds less tightly than `outer`.
    fn at(&mut self, expr: &'a Expr, outer: u8) -> String {
        let (mut text, mut level) = self.bare(expr);
        if implied_type(expr) != expr.sql_type {
            text = format!("{}::{}", if level < ATOM { format!("({text})") } else { text }, expr.sql_type);
            level = ATOM;
        }
        if let (Some(position), true) = (expr.position, self.positions) {
            text = format!("{}@{position}", if level < ATOM { format!("({text})") } else { text });
            level = ATOM;
        }
        if level < outer { format!("({text})") } else { text }
    }

    fn joined(&mut self, parts: &'a [Expr], sign: &str, level: u8) -> (String, u8) {
        match parts {
            // Such lists have no form in SQL; the functions do.
            [] | [_] => (format!("{}({})", sign.trim(), self.list(parts)), ATOM),
            _ => (parts.iter().map(|p| self.at(p, level + 1)).collect::<Vec<_>>().join(sign), level),
        }
    }

    fn bare(&mut self, expr: &'a Expr) -> (String, u8) {
        match &expr.kind {
            ExprKind::Column(c) => (self.reference(*c), ATOM),
            ExprKind::Const(v) => (literal(v, expr.sql_type).0, ATOM),
            ExprKind::Argument(id, v) => {
                (format!("argument({}, {}::{})", id.0, literal(v, expr.sql_type).0, expr.sql_type), ATOM)
            }
            ExprKind::Call(f, args) => match (f.definition().infix, args.as_slice()) {
                (Some((sign, level)), [a, b]) => {
                    (format!("{} {sign} {}", self.at(a, level), self.at(b, level + 1)), level)
                }
                _ => (format!("{}({})", f.name(), self.list(args)), ATOM),
            },
            ExprKind::Compare(op, a, b) => {
                (format!("{} {} {}", self.at(a, COMPARE + 1), compare_sign(*op), self.at(b, COMPARE + 1)), COMPARE)
            }
            ExprKind::And(parts) => self.joined(parts, " and ", AND),
            ExprKind::Or(parts) => self.joined(parts, " or ", OR),
            ExprKind::Not(a) => match &a.kind {
                ExprKind::IsNull(b) if !self.positions || a.position.is_none() => {
                    (format!("{} is not null", self.at(b, COMPARE + 1)), COMPARE)
                }
                _ => (format!("not {}", self.at(a, NOT)), NOT),
            },
            ExprKind::IsNull(a) => (format!("{} is null", self.at(a, COMPARE + 1)), COMPARE),
            ExprKind::Case { branches, otherwise } => {
                let mut text = "case".to_owned();
                for (condition, value) in branches {
                    text += &format!(" when {} then {}", self.print(condition), self.print(value));
                }
                (format!("{text} else {} end", self.print(otherwise)), ATOM)
            }
            ExprKind::Coalesce(args) => (format!("coalesce({})", self.list(args)), ATOM),
            ExprKind::Cast(a) => (format!("cast({} as {})", self.print(a), expr.sql_type), ATOM),
            ExprKind::TryCast(a) => (format!("try_cast({} as {})", self.print(a), expr.sql_type), ATOM),
            ExprKind::InList(a, values) => {
                let values: Vec<String> = values.iter().map(|v| literal(v, a.sql_type).0).collect();
                (format!("{} in ({})", self.at(a, COMPARE + 1), values.join(", ")), COMPARE)
            }
            ExprKind::Like { input, pattern, syntax } => {
                let word = syntax.word();
                let escape = match syntax {
                    Syntax::Regex { .. } | Syntax::Like { escape: Some('\\'), .. } => String::new(),
                    Syntax::Like { escape: Some(c), .. } => {
                        format!(" escape {}", quote(c.encode_utf8(&mut [0; 4]), '\''))
                    }
                    Syntax::Like { escape: None, .. } => " escape ''".to_owned(),
                };
                let (input, pattern) = (self.at(input, COMPARE + 1), self.at(pattern, COMPARE + 1));
                (format!("{input} {word} {pattern}{escape}"), COMPARE)
            }
            ExprKind::Let { column, value, body } => {
                let column = self.definition(*column);
                (format!("(let {column} = {}: {})", self.print(value), self.print(body)), ATOM)
            }
            ExprKind::Each(each) => (self.each(each), ATOM),
            ExprKind::Subquery(subquery) => {
                self.subqueries.push(&subquery.plan);
                let label = format!("${}", self.subqueries.len());
                let text = match &subquery.kind {
                    SubqueryKind::Scalar { column } => format!("scalar({label}, {})", self.reference(*column)),
                    SubqueryKind::Exists => format!("exists({label})"),
                    SubqueryKind::Quantified { quantifier, comparisons } => {
                        let word = if *quantifier == Quantifier::Any { "any" } else { "all" };
                        let mut parts = String::new();
                        for (left, op, column) in comparisons {
                            let left = self.at(left, COMPARE + 1);
                            parts += &format!(", {left} {} {}", compare_sign(*op), self.reference(*column));
                        }
                        format!("{word}({label}{parts})")
                    }
                };
                (text, ATOM)
            }
        }
    }
}

impl<'a> ExprPrinter<'a, '_> {
    /// `(each x#1:integer?, i#2:bigint in list where condition: body)`, `(reduce sum#3:integer? = 0, x#1:integer?, ...)`
    fn each(&mut self, each: &'a Each) -> String {
        let mut text = match &each.reduced {
            None => "(each ".to_owned(),
            Some(reduced) => {
                let initial = reduced.initial.as_ref().map(|e| format!(" = {}", self.print(e)));
                format!("(reduce {}{}, ", self.definition(reduced.accumulator), initial.unwrap_or_default())
            }
        };
        let (element, index) = (self.definition(each.element), self.definition(each.index));
        text += &format!("{element}, {index} in {}", self.print(&each.list));
        if let Some(only) = &each.only {
            text += &format!(" where {}", self.print(only));
        }
        format!("{text}: {})", self.print(&each.body))
    }
}

pub(super) fn sort_keys<'a>(p: &mut ExprPrinter<'a, '_>, keys: &'a [SortKey]) -> String {
    let key = |k: &'a SortKey| {
        let order = if k.descending { " desc" } else { "" };
        let nulls = match (k.nulls_first, k.descending) {
            (true, false) => " nulls first",
            (false, true) => " nulls last",
            _ => "",
        };
        format!("{}{order}{nulls}", p.print(&k.expr))
    };
    keys.iter().map(key).collect::<Vec<_>>().join(", ")
}
