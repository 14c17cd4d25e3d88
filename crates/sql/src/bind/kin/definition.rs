//! CREATE TABLE ... INHERITS, PARTITION BY and PARTITION OF: what a table has of its parents, and which rows are a partition's.

use std::cmp::Ordering;

use base::{Error, Result, SqlState};
use catalog::{Bound as PartitionBound, Kinship, Limit, Partitioning, Strategy};
use plan::{Expr, ExprKind, Node, Op, Plan, eval};
use sqlparser::ast::{self, ForValues, PartitionBoundValue};
use types::{SqlType, Value};

use super::change::keys_of;
use super::{quoted, written};
use crate::bind::coerce::{assign, boolean, cast_to};
use crate::bind::parts::PlanBuilder;
use crate::bind::refusal::Refusal;
use crate::bind::scope::{Clause, Scope};
use crate::bind::{Binder, Bound, fold, unsupported};
use crate::{CreateTable, ObjectName, Resolved, Statement, Table};

const INVALID_OBJECT_DEFINITION: SqlState = SqlState("42P17");

impl Binder<'_> {
    /// What PARTITION BY says of a table whose columns are known.
    pub(in crate::bind) fn partitioning(&mut self, by: &ast::Expr, table: &CreateTable) -> Result<Partitioning> {
        let position = table.name.position;
        let wrong =
            || Error::new(SqlState::SYNTAX_ERROR, "PARTITION BY needs RANGE, LIST or HASH, and keys").at(position);
        let ast::Expr::Function(call) = by else { return Err(wrong()) };
        let name = call.name.to_string().to_lowercase();
        let strategy = match name.as_str() {
            "range" => Strategy::Range,
            "list" => Strategy::List,
            "hash" => Strategy::Hash,
            other => {
                let message = format!("unrecognized partitioning strategy \"{other}\"");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(position));
            }
        };
        let ast::FunctionArguments::List(list) = &call.args else { return Err(wrong()) };
        let scope = self.new_row(table);
        let (mut keys, mut types) = (Vec::new(), Vec::new());
        for argument in &list.args {
            let ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) = argument else { return Err(wrong()) };
            if let ast::Expr::Identifier(ident) = expr {
                let wanted = fold(ident);
                let Some(column) = table.columns.iter().find(|column| column.name == wanted) else {
                    let message = format!("column \"{wanted}\" named in partition key does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.text.at(ident)));
                };
                if column.filling.is_generated() {
                    let message = format!("cannot use generated column \"{wanted}\" in partition key");
                    return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(self.text.at(ident)));
                }
                types.push(column.sql_type.to_string());
                keys.push(quoted(&wanted));
                continue;
            }
            let value = self.expr_in(expr, Clause::IndexKey, scope.clone())?;
            if value.is_volatile() {
                let message = "functions in partition key expression must be marked IMMUTABLE";
                return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(self.text.start(expr)));
            }
            types.push(value.sql_type.to_string());
            keys.push(expr.to_string());
        }
        if keys.is_empty() {
            return Err(wrong());
        }
        if strategy == Strategy::List && keys.len() > 1 {
            let message = "cannot use \"list\" partition strategy with more than one column";
            return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(position));
        }
        let partitioning = Partitioning { strategy, keys, types };
        self.check_keys(&partitioning, table)?;
        Ok(partitioning)
    }

    /// 0A000 for a key of a table that does not say which partition its rows are of: it could not be asked whether it is unique.
    fn check_keys(&self, partitioned: &Partitioning, table: &CreateTable) -> Result<()> {
        if table.indexes.iter().any(|index| index.deferrable.is_some()) {
            return unsupported("keys of partitioned tables that can be deferred", table.name.position);
        }
        let named = keys_of(partitioned)?;
        let unique = table.indexes.iter().filter(|index| index.unique != catalog::Unique::No);
        let of_indexes = unique.map(|index| index.parts.iter().map(|part| part.attribute).collect::<Vec<_>>());
        let primary = (!table.primary_key.is_empty()).then(|| table.primary_key.clone());
        for key in of_indexes.chain(primary) {
            let has = |name: &String| key.iter().any(|&at| table.columns.get(at).is_some_and(|c| c.name == *name));
            if let Some(missing) = named.iter().find(|name| !has(name)) {
                let message = "unique constraint on partitioned table must include all partitioning columns";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .detail(format!(
                        "A key of table \"{}\" lacks column \"{missing}\" which is part of the partition key.",
                        table.name.name
                    ))
                    .at(table.name.position));
            }
        }
        Ok(())
    }

    /// The parents of a new table, whose columns and constraints `table` gets.
    pub(in crate::bind) fn inherit(&mut self, parents: &[ast::ObjectName], table: &mut CreateTable) -> Result<()> {
        for parent in parents {
            let shown = self.text.object_name(parent)?;
            let of = self.stored_table(&shown)?;
            if of.is_partitioned() || of.condition().is_some() {
                let kind = if of.is_partitioned() { "partitioned table" } else { "partition" };
                let message = format!("cannot inherit from {kind} \"{}\"", shown.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(shown.position));
            }
            let name = self.placed_name(&shown);
            if table.kinship.parents.contains(&name) {
                let message = format!("relation \"{}\" would be inherited from more than once", name.1);
                return Err(Error::new(SqlState::DUPLICATE_TABLE, message).at(shown.position));
            }
            let copied = self.all_of(parent, table.name.clone())?;
            for column in copied.columns {
                match table.columns.iter_mut().find(|known| known.name == column.name) {
                    Some(known) if known.sql_type != column.sql_type => {
                        let message = format!("inherited column \"{}\" has a type conflict", column.name);
                        return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                            .detail(format!("{} versus {}", known.sql_type, column.sql_type))
                            .at(shown.position));
                    }
                    Some(known) => known.nullable &= column.nullable,
                    None => table.columns.push(column),
                }
            }
            for check in copied.checks {
                if !table.checks.iter().any(|known| known.name == check.name) {
                    table.checks.push(check);
                }
            }
            table.kinship.parents.push(name);
        }
        table.checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(())
    }

    /// A column that a table has of a parent already: what is written holds besides.
    pub(in crate::bind) fn merge_inherited(&self, inherited: usize, table: &mut CreateTable) -> Result<()> {
        let Some(own) = table.columns.last() else { return Ok(()) };
        let Some(at) = table.columns[..inherited].iter().position(|column| column.name == own.name) else {
            return Ok(());
        };
        let Some(own) = table.columns.pop() else { return Ok(()) };
        let known = &mut table.columns[at];
        if known.sql_type != own.sql_type {
            let message = format!("column \"{}\" has a type conflict", own.name);
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                .detail(format!("{} versus {}", known.sql_type, own.sql_type))
                .at(table.name.position));
        }
        known.nullable &= own.nullable;
        if own.filling != catalog::Filling::NULL {
            known.filling = own.filling;
        }
        let last = table.columns.len();
        table.primary_key.iter_mut().filter(|key| **key == last).for_each(|key| *key = at);
        for part in table.indexes.iter_mut().flat_map(|index| &mut index.parts).filter(|part| part.attribute == last) {
            part.attribute = at;
        }
        Ok(())
    }

    /// A table like another one with its defaults and conditions.
    fn all_of(&mut self, from: &ast::ObjectName, name: ObjectName) -> Result<CreateTable> {
        let like = ast::CreateTableLikeKind::Plain(ast::CreateTableLike { name: from.clone(), defaults: None });
        let form = std::mem::take(&mut self.like);
        (self.like.defaults, self.like.constraints, self.like.generated) = (true, true, true);
        let copied = self.table_like(&like, name, (false, false));
        self.like = form;
        copied
    }

    /// CREATE TABLE ... PARTITION OF.
    pub(in crate::bind) fn partition_of(
        &mut self,
        create: &ast::CreateTable,
        parent: &ast::ObjectName,
        name: ObjectName,
    ) -> Result<Statement> {
        let position = name.position;
        let Some(values) = &create.for_values else {
            let message = "a partition needs FOR VALUES or DEFAULT";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        };
        if !create.columns.is_empty() {
            return unsupported("options of columns of a partition", position);
        }
        if create.if_not_exists && self.resolver.is_taken(&name) {
            return Ok(Statement::Nothing("CREATE TABLE"));
        }
        let (shown, of) = self.partitioned(parent)?;
        let form = std::mem::take(&mut self.like);
        (self.like.defaults, self.like.constraints) = (true, true);
        (self.like.generated, self.like.indexes) = (true, true);
        let like = ast::CreateTableLikeKind::Plain(ast::CreateTableLike { name: parent.clone(), defaults: None });
        let copied = self.table_like(&like, name, (create.if_not_exists, create.or_replace));
        self.like = form;
        let mut table = copied?;
        // What fills an identity column of the parent is its own.
        for constraint in &create.constraints {
            self.text.constraint(constraint, &mut table)?;
        }
        for &key in &table.primary_key {
            table.columns[key].nullable = false;
        }
        table.foreign_keys.clone_from(&of.foreign_keys);
        self.constrain(create, &mut table)?;
        table.checks.sort_by(|a, b| a.name.cmp(&b.name));
        let by = create.partition_by.as_ref().map(|by| self.partitioning(by, &table)).transpose()?;
        let (kinship, asked) = self.as_partition(values, &shown, &of, &table.name)?;
        table.kinship = Kinship { partitioned: by, ..kinship };
        table.asked = asked;
        Ok(Statement::CreateTable(table))
    }

    /// A table that is partitioned.
    pub(super) fn partitioned(&mut self, name: &ast::ObjectName) -> Result<(ObjectName, Table)> {
        let shown = self.text.object_name(name)?;
        let of = self.stored_table(&shown)?;
        if of.is_partitioned() {
            return Ok((shown, of));
        }
        let message = format!("\"{}\" is not partitioned", shown.name);
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(shown.position))
    }

    /// What a partition with these values is, and what must not find rows: those of the default partition that would be its.
    pub(super) fn as_partition(
        &mut self,
        values: &ForValues,
        parent: &ObjectName,
        of: &Table,
        name: &ObjectName,
    ) -> Result<(Kinship, Vec<Plan>)> {
        let Some(by) = of.kin.as_ref().and_then(|kin| kin.own.partitioned.clone()) else {
            return Err(Error::internal("a table that is partitioned by nothing"));
        };
        let bound = self.bound(values, &by, name.position)?;
        let parent = self.placed_name(parent);
        let mut asked = Vec::new();
        for child in of.children().unwrap_or_default() {
            let Resolved::Table(table) = self.resolver.table(&child)? else { continue };
            let Some(other) = table.kin.as_ref().and_then(|kin| kin.own.bound.clone()) else { continue };
            if self.overlap(&bound, &other, &by)? {
                let message = match bound {
                    PartitionBound::Default => format!(
                        "partition \"{}\" conflicts with existing default partition \"{}\"",
                        name.name, child.name
                    ),
                    _ => format!("partition \"{}\" would overlap partition \"{}\"", name.name, child.name),
                };
                return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(name.position));
            }
            if other == PartitionBound::Default {
                let message = format!(
                    "updated partition constraint for default partition \"{}\" would be violated by some row",
                    child.name
                );
                let condition = format!("NOT ({})", by.condition(&bound, &[]));
                asked.push(self.refusing(&child, &condition, message)?);
            }
        }
        Ok((Kinship { parents: vec![parent], bound: Some(bound), partitioned: None }, asked))
    }

    /// A query of a table, and all below it, that fails for a row for which a condition does not hold.
    pub(super) fn refusing(&mut self, table: &ObjectName, condition: &str, message: String) -> Result<Plan> {
        self.plan = PlanBuilder::default();
        let factor = crate::bind::from::table_factor(&written(table));
        let condition = crate::parse::kept_expression(condition)?;
        let plan = self.at_level(|b| {
            let item = b.factor(&factor, &Scope::default())?;
            let holds = b.expr_in(&condition, Clause::Check, item.scope)?;
            let refused = Refusal::default().about_table(table).saying(message).with(SqlState::CHECK_VIOLATION);
            let is_none = Expr::new(ExprKind::Not(Box::new(boolean(holds, "CHECK")?)), SqlType::Bool);
            let otherwise = Box::new(Expr::bool(true));
            let case = Expr::new(ExprKind::Case { branches: vec![(is_none, refused)], otherwise }, SqlType::Bool);
            let node = Node::new(Op::Filter { input: Box::new(item.node), predicates: vec![case] });
            b.plan.finish(Bound { node, output: Vec::new() })
        });
        self.plan = PlanBuilder::default();
        plan
    }

    fn bound(&mut self, values: &ForValues, by: &Partitioning, position: Option<u32>) -> Result<PartitionBound> {
        let wrong = |what: &str| {
            let message = format!("invalid bound specification for a {what} partition");
            Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position)
        };
        let strategy = by.strategy.name().to_lowercase();
        Ok(match (values, by.strategy) {
            (ForValues::Default, Strategy::Hash) => {
                let message = "a hash-partitioned table may not have a default partition";
                return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position));
            }
            (ForValues::Default, _) => PartitionBound::Default,
            (ForValues::In(values), Strategy::List) => {
                let mut all = Vec::new();
                for value in values {
                    let value = self.literal_of(value, &by.types[0], position)?;
                    if !all.contains(&value) {
                        all.push(value);
                    }
                }
                PartitionBound::List(all)
            }
            (ForValues::With { modulus, remainder }, Strategy::Hash) => {
                if *modulus == 0 || remainder >= modulus {
                    let message = match modulus {
                        0 => "modulus for hash partition must be an integer value greater than zero",
                        _ => "remainder for hash partition must be less than modulus",
                    };
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position));
                }
                PartitionBound::Hash { modulus: *modulus, remainder: *remainder }
            }
            (ForValues::From { from, to }, Strategy::Range) => {
                for (what, limits) in [("FROM", from), ("TO", to)] {
                    if limits.len() != by.keys.len() {
                        let message = format!("{what} must specify exactly one value per partitioning column");
                        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position));
                    }
                }
                let (from, to) = (self.limits(from, by, position)?, self.limits(to, by, position)?);
                if self.compare(&from, &to, by)? != Ordering::Less {
                    let message = "empty range bound specified for partition";
                    return Err(Error::new(INVALID_OBJECT_DEFINITION, message).at(position));
                }
                PartitionBound::Range { from, to }
            }
            _ => return Err(wrong(&strategy)),
        })
    }

    fn limits(
        &mut self,
        values: &[PartitionBoundValue],
        by: &Partitioning,
        position: Option<u32>,
    ) -> Result<Vec<Limit>> {
        let mut all = Vec::with_capacity(values.len());
        for (value, sql_type) in values.iter().zip(&by.types) {
            all.push(match value {
                PartitionBoundValue::MinValue => Limit::Min,
                PartitionBoundValue::MaxValue => Limit::Max,
                PartitionBoundValue::Expr(expr) => match self.literal_of(expr, sql_type, position)? {
                    Some(value) => Limit::Value(value),
                    None => {
                        let message = "cannot specify NULL in range bound";
                        return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position));
                    }
                },
            });
        }
        Ok(all)
    }

    /// A value of a bound as the catalog has it; none: NULL.
    fn literal_of(&mut self, value: &ast::Expr, sql_type: &str, position: Option<u32>) -> Result<Option<String>> {
        let to = crate::type_named(sql_type, self.resolver)?;
        let bound = self.expr_in(value, Clause::Default, Scope::default()).map_err(|error| match error.state() {
            SqlState::UNDEFINED_COLUMN => {
                Error::new(SqlState::UNDEFINED_COLUMN, "cannot use column reference in partition bound expression")
                    .at(error.position())
            }
            _ => error,
        })?;
        if bound.has_subquery() {
            let message = "cannot use subquery in partition bound";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(bound.position.or(position)));
        }
        let typed = assign(bound, to, "partition key").map_err(|e| e.at(position))?;
        let text = eval::constant(&cast_to(typed, SqlType::Text)?).map_err(|e| e.at(position))?;
        Ok(match text {
            // Not NaN and the infinities.
            Value::Str(text) if to.is_numeric() && text.ends_with(|c: char| c.is_ascii_digit()) => {
                Some(text.to_string())
            }
            Value::Str(text) => Some(format!("'{}'", text.replace('\'', "''"))),
            _ => None,
        })
    }

    /// Which of two limits comes first.
    fn compare(&mut self, one: &[Limit], other: &[Limit], by: &Partitioning) -> Result<Ordering> {
        let place = |limit: &Limit| match limit {
            Limit::Min => 0,
            Limit::Value(_) => 1,
            Limit::Max => 2,
        };
        for ((a, b), sql_type) in one.iter().zip(other).zip(&by.types) {
            let order = match (a, b) {
                (Limit::Value(a), Limit::Value(b)) if a == b => Ordering::Equal,
                (Limit::Value(a), Limit::Value(b)) => {
                    let cast = |value: &str| format!("CAST({value} AS {sql_type})");
                    match (
                        self.holds(&format!("{} < {}", cast(a), cast(b)))?,
                        self.holds(&format!("{} = {}", cast(a), cast(b)))?,
                    ) {
                        (true, _) => Ordering::Less,
                        (false, true) => Ordering::Equal,
                        (false, false) => Ordering::Greater,
                    }
                }
                _ => place(a).cmp(&place(b)),
            };
            // Behind MINVALUE and MAXVALUE nothing is told apart.
            if order != Ordering::Equal || !matches!(a, Limit::Value(_)) {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    fn holds(&mut self, sql: &str) -> Result<bool> {
        let condition = self.kept_text(sql, Clause::Default, Scope::default(), |_, c| boolean(c, "CHECK"))?;
        Ok(eval::constant(&condition)? == Value::Bool(true))
    }

    /// Whether a row could belong to both.
    fn overlap(&mut self, one: &PartitionBound, other: &PartitionBound, by: &Partitioning) -> Result<bool> {
        use PartitionBound::{Default, Hash, List, Range};
        Ok(match (one, other) {
            (Default, Default) => true,
            (List(one), List(other)) => one.iter().any(|value| other.contains(value)),
            (Hash { modulus: a, remainder: r }, Hash { modulus: b, remainder: s }) => {
                let (mut x, mut y) = (*a, *b);
                while y != 0 {
                    (x, y) = (y, x % y);
                }
                r % x == s % x
            }
            (Range { from, to }, Range { from: other_from, to: other_to }) => {
                self.compare(from, other_to, by)? == Ordering::Less
                    && self.compare(other_from, to, by)? == Ordering::Less
            }
            _ => false,
        })
    }
}
