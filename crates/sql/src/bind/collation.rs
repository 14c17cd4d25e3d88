//! COLLATE: how texts are ordered (decision 60).
//!
//! The binder leaves `x COLLATE c` as a call. When a plan is whole, [`Collations`] finds for each text by which collation it is
//! ordered, as PostgreSQL does: what is written counts more than what a column has. Comparisons and keys of sorting then get the
//! collation's key of the text, whose bytes are in its order, and the calls go: nothing behind the binder knows collations.

use std::collections::HashMap;
use std::sync::Arc;

use base::{Error, IdMap, Result, SqlState};
use functions::scalar::TOLD_APART;
use functions::{AggregateFunction, ScalarFunction as F, WindowFunction};
use plan::{ColumnId, ColumnInfo, Compare, Expr, ExprKind, Node, Op, Plan, SetOperation, SortKey, SubqueryKind};
use sqlparser::ast;
use types::{Collation, SqlType, Value};

use super::{Binder, Output, fold};
use crate::{Statement, Table};

const COLLATION_MISMATCH: SqlState = SqlState("42P21");
const INDETERMINATE_COLLATION: SqlState = SqlState("42P22");

impl Binder<'_> {
    /// `expr COLLATE name`.
    pub(super) fn collated(&mut self, expr: &ast::Expr, name: &ast::ObjectName) -> Result<Expr> {
        let collation = self.collation(name)?;
        let value = self.typed_expr(expr)?;
        let position = self.text.start(expr);
        if !value.sql_type.is_string() {
            let message = format!("collations are not supported by type {}", value.sql_type);
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
        }
        self.plan.says_collate = true;
        let sql_type = value.sql_type;
        let told = Expr::constant(Value::str(collation.to_text()), SqlType::Text);
        Ok(Expr::new(ExprKind::Call(F::COLLATE, vec![value, told]), sql_type).at(position))
    }

    /// The collation of that name: 42704 if there is none.
    pub(super) fn collation(&self, name: &ast::ObjectName) -> Result<Collation> {
        let last = match name.0.last() {
            Some(ast::ObjectNamePart::Identifier(ident)) => fold(ident),
            _ => String::new(),
        };
        let full = self.text.object_name(name)?;
        if let Some(found) = self.resolver.collation(&full) {
            return Ok(Collation::clone(&found));
        }
        // `nocase.noaccent` is a name, too.
        let parts = name.0.iter().filter_map(|part| part.as_ident().map(fold));
        let whole = parts.collect::<Vec<_>>().join(".");
        if let Some(found) = Collation::built_in(&whole).or_else(|| Collation::built_in(&last)) {
            return Ok(found);
        }
        let message = format!("collation \"{last}\" for encoding \"UTF8\" does not exist");
        Err(Error::new(SqlState::UNDEFINED_OBJECT, message)
            .hint("there are \"C\", those of languages such as \"de-x-icu\", and nocase and noaccent")
            .at(self.text.name_position(name)))
    }

    /// CREATE COLLATION.
    pub(super) fn create_collation(&mut self, create: &ast::CreateCollation) -> Result<Statement> {
        let name = self.resolver.new_name(self.text.object_name(&create.name)?)?;
        let position = name.position;
        let like = match &create.definition {
            ast::CreateCollationDefinition::From(from) => self.collation(from)?,
            ast::CreateCollationDefinition::Options(options) => of_options(options).map_err(|e| e.at(position))?,
        };
        let collation = Collation { name: name.name, schema: name.schema, ..like };
        Ok(Statement::CreateCollation { collation, if_not_exists: create.if_not_exists, position })
    }

    /// Writes out collations in an expression over a row that is written to a table, whose columns it has.
    pub(super) fn collate_written(&mut self, expr: &mut Expr, row: &[Output], table: &Table) -> Result<()> {
        let of_row = of_row(row, table);
        if of_row.is_empty() && !self.plan.says_collate {
            return Ok(());
        }
        Collations::new(&mut self.plan.columns, &of_row).expr(expr).map(drop)
    }

    /// What an index is of where its expression is a text with a collation: the collation's key. Columns have those of `of`.
    pub(super) fn index_key(&mut self, mut expr: Expr, of: &HashMap<ColumnId, Arc<Collation>>) -> Result<Expr> {
        let mut collations = Collations::new(&mut self.plan.columns, of);
        let own = matches!(expr.kind, ExprKind::Call(F::COLLATE, _));
        let found = collations.expr(&mut expr)?;
        Ok(if own { found.key(expr) } else { expr })
    }
}

/// The collations of a row that is written to a table.
pub(super) fn of_row(row: &[Output], table: &Table) -> HashMap<ColumnId, Arc<Collation>> {
    table.collations.iter().filter_map(|(at, of)| Some((row.get(*at)?.column, of.clone()))).collect()
}

/// The collation that the options of CREATE COLLATION describe, without a name.
fn of_options(options: &[ast::SqlOption]) -> Result<Collation> {
    let wrong = |message: String| Error::new(SqlState("42P17"), message);
    let (mut provider, mut locale, mut is_deterministic) = ("libc".to_owned(), None, true);
    for option in options {
        let ast::SqlOption::KeyValue { key, value } = option else {
            return Err(Error::new(SqlState::SYNTAX_ERROR, format!("collation attribute \"{option}\" needs a value")));
        };
        let text = match value {
            ast::Expr::Value(value) => value.value.clone().into_string().unwrap_or_else(|| value.to_string()),
            ast::Expr::Identifier(word) => word.value.clone(),
            other => other.to_string(),
        };
        match fold(key).as_str() {
            "provider" => provider = text.to_lowercase(),
            "locale" | "lc_collate" => locale = Some(text),
            "lc_ctype" | "version" => {}
            "deterministic" => is_deterministic = matches!(text.to_lowercase().as_str(), "true" | "on" | "yes" | "1"),
            "rules" => return Err(Error::unsupported("RULES of a collation")),
            other => {
                let message = format!("collation attribute \"{other}\" not recognized");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
        }
    }
    let locale = locale.ok_or_else(|| wrong("parameter \"locale\" must be specified".to_owned()))?;
    match provider.as_str() {
        "icu" => {
            let locale = language_tag(&locale);
            functions::scalar::check_locale(&locale)?;
            Ok(Collation { locale: Some(locale), is_deterministic, ..Collation::of_bytes("") })
        }
        "libc" | "builtin" if !is_deterministic => {
            Err(Error::unsupported("nondeterministic collations with this provider").hint("add provider = icu"))
        }
        "libc" | "builtin" => Collation::built_in(&locale).ok_or_else(|| {
            let message = format!("could not create locale \"{locale}\": No such file or directory");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        }),
        other => Err(wrong(format!("unrecognized collation provider: {other}"))),
    }
}

/// A locale as BCP 47 writes it; ICU's older form is `de_AT@colStrength=secondary;colNumeric=yes`.
fn language_tag(locale: &str) -> String {
    let (language, keywords) = locale.split_once('@').unwrap_or((locale, ""));
    let language = if language.is_empty() || language == "root" { "und" } else { language };
    let mut tag = language.replace('_', "-");
    let mut extension = String::new();
    for (key, value) in keywords.split(';').filter_map(|keyword| keyword.split_once('=')) {
        let value = value.to_lowercase();
        let value = match value.as_str() {
            "primary" => "level1",
            "secondary" => "level2",
            "tertiary" => "level3",
            "quaternary" => "level4",
            "identical" => "identic",
            "yes" => "true",
            "no" => "false",
            "non-ignorable" => "noignore",
            "phonebook" => "phonebk",
            "traditional" => "trad",
            other => other,
        };
        let key = match key.to_lowercase().as_str() {
            "colstrength" => "ks",
            "colnumeric" => "kn",
            "colcasefirst" => "kf",
            "colalternate" => "ka",
            "colcaselevel" => "kc",
            "collation" => "co",
            _ => continue,
        };
        extension.push_str(&format!("-{key}-{value}"));
    }
    if !extension.is_empty() {
        tag.push_str("-u");
        tag.push_str(&extension);
    }
    tag
}

/// By which collation a text is ordered, and who said so.
#[derive(Clone, Debug, PartialEq)]
enum Found {
    /// By its bytes, nobody said anything.
    Default,
    /// A column has it.
    Implicit(Arc<Collation>),
    /// The expression says so.
    Explicit(Arc<Collation>),
    /// Columns have several.
    Several(Arc<Collation>, Arc<Collation>),
}

impl Found {
    /// The collation of what is made of both.
    fn with(self, other: Self, position: Option<u32>) -> Result<Self> {
        Ok(match (self, other) {
            (Self::Explicit(a), Self::Explicit(b)) if a != b => {
                let message = format!("collation mismatch between explicit collations {a} and {b}");
                return Err(Error::new(COLLATION_MISMATCH, message).at(position));
            }
            (explicit @ Self::Explicit(_), _) | (_, explicit @ Self::Explicit(_)) => explicit,
            (Self::Default, other) | (other, Self::Default) => other,
            (Self::Implicit(a), Self::Implicit(b)) if a == b => Self::Implicit(a),
            (Self::Implicit(a), Self::Implicit(b)) => Self::Several(a, b),
            (several @ Self::Several(..), _) | (_, several) => several,
        })
    }

    /// As a column has it that holds the value.
    fn of_column(self) -> Self {
        if let Self::Explicit(collation) = self { Self::Implicit(collation) } else { self }
    }

    /// The collation, if it is not the order of bytes.
    fn collation(&self) -> Option<&Collation> {
        match self {
            Self::Implicit(collation) | Self::Explicit(collation) if !collation.is_of_bytes() => Some(collation),
            _ => None,
        }
    }

    /// Whether texts that differ may be the same.
    fn merges(&self) -> bool {
        self.collation().is_some_and(|collation| !collation.is_deterministic)
    }

    /// What stands for a text where it is compared.
    fn key(&self, expr: Expr) -> Expr {
        let Some(collation) = self.collation() else { return expr };
        let position = expr.position;
        let call = |function, arguments| Expr::new(ExprKind::Call(function, arguments), SqlType::Text).at(position);
        let mut key = expr;
        if collation.ignores_accents {
            key = call(F::STRIP_ACCENTS, vec![key]);
        }
        if collation.ignores_case {
            key = call(F::LOWER, vec![key]);
        }
        if let Some(locale) = &collation.locale {
            let which = if collation.is_deterministic { TOLD_APART } else { "" };
            let told = |text: &str| Expr::constant(Value::str(text), SqlType::Text);
            key = call(F::COLLATION_KEY, vec![key, told(locale), told(which)]);
        }
        key
    }

    /// Error 42P21 if it is open by what rows are ordered.
    fn check_key(&self, position: Option<u32>) -> Result<()> {
        let Self::Several(a, b) = self else { return Ok(()) };
        let message = format!("collation mismatch between implicit collations {a} and {b}");
        Err(Error::new(COLLATION_MISMATCH, message)
            .hint("You can choose the collation by applying the COLLATE clause to one or both expressions.")
            .at(position))
    }

    /// Error 42P22 if it is open by what texts are ordered.
    fn check(&self, position: Option<u32>) -> Result<()> {
        if !matches!(self, Self::Several(..)) {
            return Ok(());
        }
        let message = "could not determine which collation to use for string comparison";
        Err(Error::new(INDETERMINATE_COLLATION, message)
            .hint("Use the COLLATE clause to set the collation explicitly.")
            .at(position))
    }
}

/// Writes out in a plan what collations mean.
pub(super) struct Collations<'p> {
    found: HashMap<ColumnId, Found>,
    infos: &'p mut IdMap<ColumnId, ColumnInfo>,
}

/// Writes out what collations mean in all of a plan; `of_tables` are those that columns of its scans have.
pub(super) fn resolve(plan: &mut Plan, of_tables: &HashMap<ColumnId, Arc<Collation>>) -> Result<()> {
    let Plan { columns, ctes, root, .. } = plan;
    let mut collations = Collations::new(columns, of_tables);
    for (_, cte) in ctes.iter_mut() {
        collations.node(&mut cte.plan)?;
    }
    collations.node(root)
}

impl<'p> Collations<'p> {
    fn new(infos: &'p mut IdMap<ColumnId, ColumnInfo>, of_tables: &HashMap<ColumnId, Arc<Collation>>) -> Self {
        let found = of_tables.iter().map(|(&column, of)| (column, Found::Implicit(of.clone()))).collect();
        Self { found, infos }
    }

    fn of_column(&self, column: ColumnId) -> Found {
        self.found.get(&column).cloned().unwrap_or(Found::Default)
    }

    /// A column holds values of that collation.
    fn holds(&mut self, column: ColumnId, found: Found) {
        if found != Found::Default {
            self.found.insert(column, found.of_column());
        }
    }

    fn node(&mut self, node: &mut Node) -> Result<()> {
        if let Op::Recursion { inputs, columns, .. } | Op::SetOp { inputs, columns, .. } = &mut node.op {
            // Later terms of a recursion read what the first one has made.
            for (input, made) in inputs.iter_mut() {
                self.node(input)?;
                for (&column, &made) in columns.iter().zip(made.iter()) {
                    let both = self.of_column(column).with(self.of_column(made), None)?;
                    self.holds(column, both);
                }
            }
        } else {
            node.inputs_mut().try_for_each(|input| self.node(input))?;
        }
        match &mut node.op {
            Op::Map { columns, .. } => {
                for (column, expr) in columns {
                    let found = self.expr(expr)?;
                    self.holds(*column, found);
                }
            }
            Op::Values { columns, rows } => {
                for row in rows {
                    for (&column, expr) in columns.iter().zip(row) {
                        let found = self.expr(expr)?.with(self.of_column(column), expr.position)?;
                        self.holds(column, found);
                    }
                }
            }
            Op::CteScan { columns, .. } => {
                for &mut (from, to) in columns {
                    self.holds(to, self.of_column(from));
                }
            }
            Op::Sort { keys, .. } | Op::GroupLimit { keys, .. } => keys.iter_mut().try_for_each(|key| self.key(key))?,
            Op::Aggregate { .. } => self.aggregate(node)?,
            Op::Window { .. } => self.window(node)?,
            Op::Distinct { .. } => self.distinct(node),
            Op::SetOp { operation, all, columns, .. } => {
                let is_bag = *operation == SetOperation::Union && *all;
                if !is_bag && columns.iter().any(|&column| self.of_column(column).merges()) {
                    let what = "set operations over collations that take different texts for the same";
                    return Err(Error::unsupported(what).hint("add COLLATE \"C\""));
                }
            }
            _ => node.expressions_mut().try_for_each(|expr| self.expr(expr).map(drop))?,
        }
        Ok(())
    }

    /// A key of ORDER BY.
    fn key(&mut self, key: &mut SortKey) -> Result<()> {
        let found = self.expr(&mut key.expr)?;
        if key.expr.sql_type.is_string() {
            found.check_key(key.expr.position)?;
            replace(&mut key.expr, |expr| found.key(expr));
        }
        Ok(())
    }

    /// A key of ORDER BY that the function also gives as its result.
    fn given_key(&mut self, key: &mut SortKey, function: WindowFunction) -> Result<()> {
        let found = self.expr(&mut key.expr)?;
        let is_exact = function == WindowFunction::Mode && !found.merges();
        if found.collation().is_some() && key.expr.sql_type.is_string() && !is_exact {
            let what = format!("{} of texts with a collation", function.name());
            return Err(Error::unsupported(what).hint("add COLLATE \"C\"").at(key.expr.position));
        }
        Ok(())
    }

    fn aggregate(&mut self, node: &mut Node) -> Result<()> {
        let Op::Aggregate { groups, aggregates, .. } = &mut node.op else { return Ok(()) };
        for (column, call) in aggregates.iter_mut() {
            let found = self.arguments(&mut call.arguments)?;
            if let Some(filter) = &mut call.filter {
                self.expr(filter)?;
            }
            if let Some(function) = extreme(call.function, &found, &mut call.arguments)? {
                call.function = function;
            } else if call.distinct && found.merges() {
                call.arguments.iter_mut().for_each(|argument| replace(argument, |argument| found.key(argument)));
            }
            if call.sql_type.is_string() {
                self.holds(*column, found);
            }
        }
        let mut shown = Vec::new();
        for (column, expr) in groups {
            let found = self.expr(expr)?;
            self.holds(*column, found.clone());
            if found.merges() {
                let any = AggregateFunction::find("any_value").ok_or_else(|| Error::internal("no any_value"))?;
                let call = plan::AggregateCall {
                    function: any,
                    arguments: vec![expr.clone()],
                    distinct: false,
                    filter: None,
                    sql_type: expr.sql_type,
                    position: expr.position,
                };
                replace(expr, |expr| found.key(expr));
                let info = ColumnInfo { sql_type: SqlType::Text, ..self.infos[*column].clone() };
                shown.push((std::mem::replace(column, self.infos.push(info)), call));
            }
        }
        aggregates.extend(shown);
        Ok(())
    }

    fn window(&mut self, node: &mut Node) -> Result<()> {
        let Op::Window { keys, functions, .. } = &mut node.op else { return Ok(()) };
        // Keys that only partition are compared for equality.
        let partition = functions.iter().map(|(_, call)| call.partition).min().unwrap_or(0);
        for (at, key) in keys.iter_mut().enumerate() {
            let found = self.expr(&mut key.expr)?;
            if key.expr.sql_type.is_string() && (at >= partition || found.merges()) {
                found.check_key(key.expr.position)?;
                replace(&mut key.expr, |expr| found.key(expr));
            }
        }
        for (column, call) in functions {
            let found = self.arguments(&mut call.arguments)?;
            call.filter.iter_mut().try_for_each(|filter| self.expr(filter).map(drop))?;
            // What is found by the order is one of its values, not a key.
            let gives_key = matches!(call.function, WindowFunction::PercentileDisc | WindowFunction::Mode);
            for key in &mut call.order {
                if gives_key {
                    self.given_key(key, call.function)?;
                } else {
                    self.key(key)?;
                }
            }
            if let WindowFunction::Aggregate(function) = call.function
                && let Some(function) = extreme(function, &found, &mut call.arguments)?
            {
                call.function = WindowFunction::Aggregate(function);
            }
            if call.sql_type.is_string() {
                self.holds(*column, found);
            }
        }
        Ok(())
    }

    /// Of rows that are the same one is kept: any.
    fn distinct(&mut self, node: &mut Node) {
        let Op::Distinct { input, columns } = &mut node.op else { return };
        if !columns.iter().any(|&column| self.of_column(column).merges()) {
            return;
        }
        let mut keys = Vec::new();
        for column in columns.iter_mut() {
            let found = self.of_column(*column);
            if found.merges() {
                let info = self.infos[*column].clone();
                let key = found.key(Expr::column(*column, info.sql_type));
                *column = self.infos.push(ColumnInfo { sql_type: SqlType::Text, ..info });
                keys.push((*column, key));
            }
        }
        let nothing = Op::Values { columns: Vec::new(), rows: Vec::new() };
        let input = std::mem::replace(input.as_mut(), Node::new(nothing));
        node.op = Op::GroupLimit {
            input: Box::new(Node::new(Op::Map { input: Box::new(input), columns: keys })),
            partition: std::mem::take(columns),
            keys: Vec::new(),
            limit: Some(1),
            offset: 0,
        };
    }

    /// What is made of all arguments that are texts.
    fn arguments(&mut self, arguments: &mut [Expr]) -> Result<Found> {
        let mut all = Found::Default;
        for argument in arguments {
            let found = self.expr(argument)?;
            if argument.sql_type.is_string() {
                all = all.with(found, argument.position)?;
            }
        }
        Ok(all)
    }

    /// Writes out collations in an expression, and finds its own.
    fn expr(&mut self, expr: &mut Expr) -> Result<Found> {
        let position = expr.position;
        match &mut expr.kind {
            ExprKind::Column(column) => return Ok(self.of_column(*column)),
            ExprKind::Const(_) | ExprKind::Argument(..) => return Ok(Found::Default),
            ExprKind::Call(F::COLLATE, arguments) => {
                let told = arguments.pop().and_then(|told| told.as_constant().cloned());
                let text = arguments.pop();
                let (Some(Value::Str(told)), Some(mut text)) = (told, text) else {
                    return Err(Error::internal("COLLATE of nothing"));
                };
                let collation = told.parse().map_err(|()| Error::internal("no collation"))?;
                self.expr(&mut text)?;
                *expr = text;
                return Ok(Found::Explicit(Arc::new(collation)));
            }
            ExprKind::Call(F::COLLATION_KEY, _) => return Ok(Found::Default),
            ExprKind::Compare(op, a, b) => {
                let (left, right) = (self.expr(a)?, self.expr(b)?);
                if a.sql_type.is_string() && b.sql_type.is_string() {
                    let found = left.with(right, position)?;
                    found.check(position)?;
                    if found.merges() || is_order(*op) {
                        replace(a, |a| found.key(a));
                        replace(b, |b| found.key(b));
                    }
                }
                return Ok(Found::Default);
            }
            ExprKind::InList(input, values) => {
                let found = self.expr(input)?;
                if found.merges() && input.sql_type.is_string() {
                    for value in values.iter_mut() {
                        let key = found.key(Expr::constant(value.clone(), SqlType::Text));
                        *value = plan::eval::constant(&key)?;
                    }
                    replace(input, |input| found.key(input));
                }
                return Ok(Found::Default);
            }
            ExprKind::Let { column, value, body } => {
                let found = self.expr(value)?;
                self.found.insert(*column, found);
                return self.expr(body);
            }
            ExprKind::Subquery(subquery) => return self.subquery(subquery),
            _ => {}
        }
        let chooses = matches!(expr.kind, ExprKind::Call(F::GREATEST | F::LEAST, _));
        let mut all = Found::Default;
        for child in expr.children_mut() {
            let found = self.expr(child)?;
            if child.sql_type.is_string() {
                all = all.with(found, child.position)?;
            }
        }
        if chooses && all.collation().is_some() {
            return Err(Error::unsupported("GREATEST and LEAST of texts with a collation").at(position));
        }
        Ok(if expr.sql_type.is_string() { all } else { Found::Default })
    }

    fn subquery(&mut self, subquery: &mut plan::Subquery) -> Result<Found> {
        self.node(&mut subquery.plan)?;
        match &mut subquery.kind {
            SubqueryKind::Exists => Ok(Found::Default),
            SubqueryKind::Scalar { column } => Ok(self.of_column(*column)),
            SubqueryKind::Quantified { comparisons, .. } => {
                let mut keys = Vec::new();
                for (outer, op, column) in comparisons {
                    let found = self.expr(outer)?;
                    let info = self.infos[*column].clone();
                    if !outer.sql_type.is_string() || !info.sql_type.is_string() {
                        continue;
                    }
                    let found = found.with(self.of_column(*column), outer.position)?;
                    found.check(outer.position)?;
                    if found.collation().is_some() && (found.merges() || is_order(*op)) {
                        replace(outer, |outer| found.key(outer));
                        let key = found.key(Expr::column(*column, info.sql_type));
                        *column = self.infos.push(ColumnInfo { sql_type: SqlType::Text, ..info });
                        keys.push((*column, key));
                    }
                }
                if !keys.is_empty() {
                    let nothing = Node::new(Op::Values { columns: Vec::new(), rows: Vec::new() });
                    let input = Box::new(std::mem::replace(&mut subquery.plan, nothing));
                    subquery.plan = Node::new(Op::Map { input, columns: keys });
                }
                Ok(Found::Default)
            }
        }
    }
}

/// What stands for `min` and `max` of texts that are not ordered by their bytes: the value whose key is the least or greatest.
fn extreme(function: AggregateFunction, found: &Found, arguments: &mut Vec<Expr>) -> Result<Option<AggregateFunction>> {
    let name = match function.definition().names.first() {
        Some(&"min") => "arg_min",
        Some(&"max") => "arg_max",
        _ => return Ok(None),
    };
    let [text] = arguments.as_slice() else { return Ok(None) };
    if text.sql_type.is_string() {
        found.check(text.position)?;
    }
    if found.collation().is_none() {
        return Ok(None);
    }
    let key = found.key(text.clone());
    arguments.push(key);
    AggregateFunction::find(name).map(Some).ok_or_else(|| Error::internal("no arg_min"))
}

fn is_order(op: Compare) -> bool {
    matches!(op, Compare::Lt | Compare::Le | Compare::Gt | Compare::Ge)
}

fn replace(expr: &mut Expr, by: impl FnOnce(Expr) -> Expr) {
    let taken = std::mem::replace(expr, Expr::bool(true));
    *expr = by(taken);
}
