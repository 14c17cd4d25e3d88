//! MERGE: the rows of a source joined with those of the table; for each the first WHEN that applies says what becomes of it.

use base::{Error, Result, SqlState};
use catalog::Event;
use functions::ScalarFunction;
use plan::{ColumnId, Expr, ExprKind, JoinKind, Node, Op};
use sqlparser::ast::{self, MergeAction, MergeClauseKind, MergeInsertKind, MergeUpdateKind, OutputClause};
use types::{SqlType, Value};

use super::Changed;
use super::assigned::Assigned;
use crate::bind::coerce::{assign, cast_to};
use crate::bind::expr::named::call;
use crate::bind::insert::Target;
use crate::bind::scope::{Clause, ScopeColumn};
use crate::bind::select::filtered;
use crate::bind::values::is_default;
use crate::bind::{Binder, Bound, Output, fold, unsupported};
use crate::parse::merge::{Told, told_by_insert, told_by_update, using};
use crate::{ChangeKind, ObjectName, Statement, Table, change_action};

/// What triggers are called for, in their order, and the actions that it is.
const EVENTS: [(Event, i64); 3] = [
    (Event::Insert, change_action::INSERT),
    (Event::Update, change_action::UPDATE),
    (Event::Delete, change_action::DELETE),
];

/// What a WHEN does with a row.
struct When {
    condition: Expr,
    action: i64,
    /// By attribute, if the row is inserted or updated.
    row: Option<Vec<Expr>>,
    /// What its values are of besides.
    assigned: Assigned,
    /// An error that it is.
    error: Option<Expr>,
}

impl Binder<'_> {
    pub(in crate::bind) fn merge(&mut self, merge: &ast::Merge) -> Result<Statement> {
        let position = self.text.span(merge.merge_token.0.span);
        if matches!(merge.output, Some(OutputClause::Output { .. })) {
            return unsupported("MERGE with OUTPUT", position);
        }
        self.at_level(|b| {
            let Changed { name, table, item, columns, id } = b.changed(&merge.table)?;
            let source = b.factor(&merge.source, &Default::default())?;
            let from_source: Vec<ColumnId> = source.node.columns();
            let given = source.scope.visible.clone();
            let on = match using(&merge.on) {
                Some(names) => Some(b.equal_columns(&names, &item.scope, &source.scope)?),
                None => None,
            };
            let keeps = |kind: MergeClauseKind| merge.clauses.iter().any(|clause| clause.clause_kind == kind);
            let keeps_table = keeps(MergeClauseKind::NotMatchedBySource);
            // Whether a row has a partner is told by columns that are never NULL: the id, and one for the source.
            let marked = Expr::bool(true);
            let mark = b.plan.column_for("in source", &marked);
            let right = Node::new(Op::Map { input: Box::new(source.node), columns: vec![(mark, marked)] });
            b.names.level().scope = item.scope.join(source.scope);
            b.names.level().scope.check_aliases(position)?;
            b.names.level().clause = Clause::JoinCondition;
            let conjuncts = match on {
                Some(on) => on,
                None => {
                    let mut conjuncts = Vec::new();
                    plan::split_conjuncts(b.condition(&merge.on, "JOIN/ON")?, &mut conjuncts);
                    conjuncts
                }
            };
            let kind = if keeps_table { JoinKind::Full } else { JoinKind::Right };
            if keeps_table {
                b.plan.padded.extend(from_source.iter().copied().chain([mark]));
            }
            b.plan.padded.extend(columns.iter().copied().chain([id]));
            let (left, right) = (Box::new(item.node), Box::new(right));
            let node = Node::new(Op::Join { kind, left, right, condition: conjuncts, build: Default::default() });
            let mut whens = Vec::new();
            // What USING names is there once: as the source has it for rows that the table has not, otherwise as the table has it.
            let named: Vec<String> = using(&merge.on).iter().flatten().map(|ident| fold(ident)).collect();
            let visible = b.names.level().scope.visible.clone();
            let once = |inserts: bool| {
                let is_given = |c: &ScopeColumn| given.iter().any(|given| given.column == c.column);
                let stays = |c: &&ScopeColumn| !named.contains(&c.name) || is_given(c) == inserts;
                visible.iter().filter(stays).cloned().collect::<Vec<_>>()
            };
            for clause in &merge.clauses {
                let inserts =
                    matches!(clause.clause_kind, MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget);
                b.names.level().scope.visible = once(inserts);
                whens.push(b.when(clause, (&columns, id, mark), (&table, &name), &given)?);
            }
            b.names.level().scope.visible = once(false);
            let node = b.decided(node, &mut whens);
            let node = b.asked_where_taken(node, &mut whens);
            let returning = merge.output.as_ref().map(returned_items);
            b.merged(node, whens, (columns, id), name, table, returning)
        })
    }

    /// The rows with the number of the WHEN that applies, which is what conditions ask from there on: they are evaluated once.
    fn decided(&mut self, node: Node, whens: &mut [When]) -> Node {
        let number = |at: usize| Expr::constant(Value::Int(at as i64), SqlType::BigInt);
        let errors: Vec<Option<Expr>> = whens.iter_mut().map(|when| when.error.take()).collect();
        let conditions = whens.iter_mut().map(|when| std::mem::replace(&mut when.condition, Expr::bool(false)));
        let branches: Vec<(Expr, Expr)> = conditions
            .zip(errors)
            .enumerate()
            .map(|(at, (condition, error))| (condition, error.unwrap_or(number(at))))
            .collect();
        let otherwise = Box::new(number(branches.len()));
        let which = Expr::new(ExprKind::Case { branches, otherwise }, SqlType::BigInt);
        let column = self.plan.column_for("when", &which);
        for (at, when) in whens.iter_mut().enumerate() {
            when.condition = Expr::compare(plan::Compare::Eq, self.plan.reference(column), number(at));
        }
        Node::new(Op::Map { input: Box::new(node), columns: vec![(column, which)] })
    }

    /// The rows with what the queries of SET give them, each where its WHEN applies.
    fn asked_where_taken(&mut self, mut node: Node, whens: &mut [When]) -> Node {
        for at in 0..whens.len() {
            let assigned = std::mem::take(&mut whens[at].assigned);
            if assigned.has_queries() {
                let taken = |(i, when): (usize, &When)| (when.condition.clone(), Expr::bool(i == at));
                let branches = whens[..=at].iter().enumerate().map(taken).collect();
                let case = ExprKind::Case { branches, otherwise: Box::new(Expr::bool(false)) };
                node = self.guarded(assigned, node, Some(Expr::new(case, SqlType::Bool))).0;
            }
        }
        node
    }

    fn has_no(&self, column: ColumnId) -> Expr {
        Expr::new(ExprKind::IsNull(Box::new(self.plan.reference(column))), SqlType::Bool)
    }

    fn when(
        &mut self,
        clause: &ast::MergeClause,
        (columns, id, mark): (&[ColumnId], ColumnId, ColumnId),
        (table, name): (&Table, &ObjectName),
        given: &[ScopeColumn],
    ) -> Result<When> {
        let position = self.text.span(clause.when_token.0.span);
        let not = |expr: Expr| Expr::new(ExprKind::Not(Box::new(expr)), SqlType::Bool);
        let mut conditions = match clause.clause_kind {
            MergeClauseKind::Matched => vec![not(self.has_no(id)), not(self.has_no(mark))],
            MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => vec![self.has_no(id)],
            MergeClauseKind::NotMatchedBySource => vec![self.has_no(mark)],
        };
        if let Some(predicate) = &clause.predicate {
            self.names.level().clause = Clause::Where;
            conditions.push(self.condition(predicate, "WHEN")?);
        }
        let condition = Expr::new(ExprKind::And(conditions), SqlType::Bool);
        let inserts = matches!(clause.clause_kind, MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget);
        let mut queries = Assigned::default();
        let told = match &clause.action {
            MergeAction::Update(ast::MergeUpdateExpr { kind: MergeUpdateKind::Set(assignments), .. }) => {
                told_by_update(assignments)
            }
            MergeAction::Insert(insert) => told_by_insert(insert),
            _ => None,
        };
        if let Some((Told::Error, message)) = told {
            let error = Some(self.merge_error(&clause.clause_kind, message)?.at(position));
            return Ok(When { condition, action: change_action::NOTHING, row: None, assigned: queries, error });
        }
        let (action, row) = match &clause.action {
            MergeAction::Update(_) if let (false, Some((told, _))) = (inserts, told) => {
                let mut row: Vec<Expr> = columns.iter().map(|&column| self.plan.reference(column)).collect();
                for (target, value) in self.given_values(told, (table, name), given, position)? {
                    row[target.attribute] = value;
                }
                (change_action::UPDATE, Some(row))
            }
            MergeAction::Insert(_) if let (true, Some((told, _))) = (inserts, told) => {
                let mut row: Vec<Option<Expr>> = vec![None; table.fields.len()];
                for (target, value) in self.given_values(told, (table, name), given, position)? {
                    row[target.attribute] = Some(value);
                }
                (change_action::INSERT, Some(self.with_defaults(row, table)?))
            }
            MergeAction::Delete { .. } if !inserts => (change_action::DELETE, None),
            MergeAction::Update(update) if !inserts => {
                let MergeUpdateKind::Set(assignments) = &update.kind else {
                    return unsupported("UPDATE * in MERGE", position);
                };
                if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                    return unsupported("WHERE in an action of MERGE", position);
                }
                queries = self.assigned(assignments, (table, name), columns)?;
                let assigned = std::mem::take(&mut queries.values);
                let mut row: Vec<Expr> = columns.iter().map(|&column| self.plan.reference(column)).collect();
                assigned.into_iter().for_each(|(attribute, value)| row[attribute] = value);
                (change_action::UPDATE, Some(row))
            }
            MergeAction::Insert(insert) if inserts => {
                (change_action::INSERT, Some(self.merge_insert(insert, table, name)?))
            }
            MergeAction::DoNothing { .. } => (change_action::NOTHING, None),
            _ => {
                let message = "this action is not allowed with this kind of WHEN";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
        };
        Ok(When { condition, action, row, assigned: queries, error: None })
    }

    fn merge_insert(&mut self, insert: &ast::MergeInsertExpr, table: &Table, name: &ObjectName) -> Result<Vec<Expr>> {
        self.names.level().clause = Clause::Values;
        let position = self.text.span(insert.insert_token.0.span);
        let values: &[ast::Expr] = match &insert.kind {
            MergeInsertKind::Values(values) => match values.rows.as_slice() {
                [row] => &row.content,
                _ => return unsupported("several rows in an INSERT of MERGE", position),
            },
            _ => return unsupported("INSERT ROW or INSERT * in MERGE", position),
        };
        let idents: Vec<&ast::Ident> = insert
            .columns
            .iter()
            .map(|c| match c.0.as_slice() {
                [ast::ObjectNamePart::Identifier(ident)] => Ok(ident),
                _ => unsupported("a qualified name among the columns of INSERT", self.text.name_position(c)),
            })
            .collect::<Result<_>>()?;
        let targets = self.text.targets(table, name, &idents)?;
        if values.len() > targets.len() || !idents.is_empty() && values.len() < targets.len() {
            let message = if values.len() > targets.len() {
                "INSERT has more expressions than target columns"
            } else {
                "INSERT has more target columns than expressions"
            };
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
        }
        let mut row: Vec<Option<Expr>> = vec![None; table.fields.len()];
        for (target, value) in targets.iter().zip(values) {
            row[target.attribute] = Some(if is_default(value) {
                self.filling(&target.filling, &target.name, target.sql_type)?
            } else {
                target.check_given(None)?;
                let value = self.expr(value)?;
                assign(value, target.sql_type, &target.name)?
            });
        }
        self.with_defaults(row, table)
    }

    /// What `ERROR message` is: a message that is NULL says nothing.
    fn merge_error(&mut self, kind: &MergeClauseKind, message: &ast::Expr) -> Result<Expr> {
        self.names.level().clause = Clause::Where;
        let message = cast_to(self.expr(message)?, SqlType::Text)?;
        let text = |text: String| Expr::constant(Value::Str(text.as_str().into()), SqlType::Text);
        let begin = format!("merge error condition WHEN {kind}");
        let all = vec![text(format!("{begin}: ")), message.clone()];
        let own = Expr::new(ExprKind::Call(ScalarFunction::CONCAT, all), SqlType::Text);
        let is_null = Expr::new(ExprKind::IsNull(Box::new(message)), SqlType::Bool);
        let branches = vec![(is_null, text(begin))];
        let all = Expr::new(ExprKind::Case { branches, otherwise: Box::new(own) }, SqlType::Text);
        cast_to(call("error", vec![all], None)?, SqlType::BigInt)
    }

    /// What all columns of the source give those of the table.
    fn given_values(
        &mut self,
        told: Told,
        (table, name): (&Table, &ObjectName),
        given: &[ScopeColumn],
        position: Option<u32>,
    ) -> Result<Vec<(Target, Expr)>> {
        let idents: Vec<ast::Ident> = given.iter().map(|column| ast::Ident::with_quote('"', &column.name)).collect();
        let named: Vec<&ast::Ident> = if told == Told::ByName { idents.iter().collect() } else { Vec::new() };
        let targets = self.text.targets(table, name, &named).map_err(|e| e.at(position))?;
        if targets.len() != given.len() {
            let message =
                format!("table \"{name}\" has {} columns, and the source of MERGE {}", targets.len(), given.len());
            let hint = "write BY NAME, or name the columns";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).hint(hint).at(position));
        }
        let value = |(target, column): (Target, &ScopeColumn)| {
            target.check_given(None).map_err(|e| e.at(position))?;
            let value = assign(self.plan.reference(column.column), target.sql_type, &target.name)?;
            Ok((target, value))
        };
        targets.into_iter().zip(given).map(value).collect()
    }

    /// A row with what is not given.
    fn with_defaults(&mut self, row: Vec<Option<Expr>>, table: &Table) -> Result<Vec<Expr>> {
        let mut filled = Vec::with_capacity(row.len());
        for (attribute, value) in row.into_iter().enumerate() {
            let field = &table.fields[attribute];
            filled.push(match (value, table.fillings.get(attribute)) {
                (Some(value), _) => value,
                (None, Some(filling)) => self.filling(filling, &field.name, field.sql_type)?,
                (None, None) => Expr::constant(Value::Null, field.sql_type),
            });
        }
        Ok(filled)
    }

    /// The rows with what triggers make of them.
    fn before_merged(
        &mut self,
        bound: Bound,
        (table, name): (&Table, &ObjectName),
        action: ColumnId,
        old: &[ColumnId],
        updated: &[usize],
    ) -> Result<Bound> {
        let new: Vec<ColumnId> = bound.output.iter().map(|output| output.column).collect();
        let set = table.names_of(updated.iter().copied());
        let mut branches = Vec::new();
        for (event, of) in EVENTS {
            let rows = match event {
                Event::Insert => (None, Some(new.as_slice())),
                Event::Delete => (Some(new.as_slice()), None),
                _ => (Some(old), Some(new.as_slice())),
            };
            if let Some(call) = self.before_row((table, name), event, rows, &set)? {
                let (own, of) = (self.plan.reference(action), Expr::constant(Value::Int(of), SqlType::BigInt));
                let is_it = ExprKind::Compare(plan::Compare::Eq, Box::new(own), Box::new(of));
                branches.push((Expr::new(is_it, SqlType::Bool), call));
            }
        }
        let Some((_, call)) = branches.first() else { return Ok(bound) };
        let sql_type = call.sql_type;
        let otherwise = Box::new(self.row_struct(table, &new)?);
        self.rows_of_calls(bound, table, Expr::new(ExprKind::Case { branches, otherwise }, sql_type), true)
    }

    fn merged(
        &mut self,
        node: Node,
        whens: Vec<When>,
        (columns, id): (Vec<ColumnId>, ColumnId),
        name: ObjectName,
        table: Table,
        returning: Option<&[ast::SelectItem]>,
    ) -> Result<Statement> {
        let constant = |action: i64| Expr::constant(Value::Int(action), SqlType::BigInt);
        let branches = whens.iter().map(|when| (when.condition.clone(), constant(when.action))).collect();
        let otherwise = Box::new(constant(change_action::NOTHING));
        let action = Expr::new(ExprKind::Case { branches, otherwise }, SqlType::BigInt);
        let action_column = self.plan.column_for("action", &action);
        let mut computed = vec![(action_column, action)];
        let mut row = Vec::new();
        let mut updated = Vec::new();
        for (attribute, field) in table.fields.iter().enumerate() {
            let own = self.plan.reference(columns[attribute]);
            let sql_type = own.sql_type;
            let mut branches = Vec::new();
            for when in &whens {
                let value = when.row.as_ref().map_or_else(|| own.clone(), |row| row[attribute].clone());
                let is_own = value.as_column() == Some(columns[attribute]);
                if when.action == change_action::UPDATE && !is_own && !updated.contains(&attribute) {
                    updated.push(attribute);
                }
                let value = if value.sql_type == sql_type { value } else { cast_to(value, sql_type)? };
                branches.push((when.condition.clone(), value));
            }
            let value = Expr::new(ExprKind::Case { branches, otherwise: Box::new(own) }, sql_type);
            let column = self.plan.column_for(&field.name, &value);
            computed.push((column, value));
            row.push(Output { name: field.name.clone(), column, literal: None });
        }
        let node = Node::new(Op::Map { input: Box::new(node), columns: computed });
        let is_something = ExprKind::Compare(
            plan::Compare::Ne,
            Box::new(self.plan.reference(action_column)),
            Box::new(constant(change_action::NOTHING)),
        );
        let node = filtered(node, Expr::new(is_something, SqlType::Bool));
        let before: Vec<ColumnId> = row.iter().map(|o| o.column).collect();
        // Rows that are deleted satisfy what they are asked: they stand in the table.
        let bound =
            self.before_merged(Bound { node, output: row }, (&table, &name), action_column, &columns, &updated)?;
        let set = table.names_of(updated.iter().copied());
        let bound = self.written(bound, &table, &name)?;
        let Bound { mut node, mut output } = self.with_computed(bound, (&table, &name), &[])?;
        updated.extend((0..output.len()).filter(|&at| before.get(at) != Some(&output[at].column)));
        updated.sort_unstable();
        updated.dedup();
        let moves = table.has_key_among(&updated);
        let mut all = vec![
            Output { name: "action".to_owned(), column: action_column, literal: None },
            Output { name: "row id".to_owned(), column: id, literal: None },
        ];
        let attributes: Vec<usize> = (0..output.len()).collect();
        let mut fields = None;
        let mut returned = Vec::new();
        if let Some(items) = returning {
            let action = self.plan.reference(action_column);
            let declared = self.as_declared(node, &output, &table)?;
            let bound = self.returning_merged(declared.node, action, &declared.output, &columns, items)?;
            fields = Some(bound.output.iter().map(|o| self.field_of(o)).collect());
            (node, returned) = (bound.node, bound.output);
        }
        all.append(&mut output);
        all.append(&mut returned);
        let source = self.plan.finish(Bound { node, output: all })?;
        let kind = ChangeKind::Merge { updated, moves };
        let does = |event: &&(Event, i64)| whens.iter().any(|when| when.action == event.1);
        let events: Vec<Event> = EVENTS.iter().filter(does).map(|(event, _)| *event).collect();
        let fires = table.fires(self.resolver.placed(&name), &events, set);
        let (table, returning) = (table.source, fields);
        let change = crate::Change { name, table, kind, attributes, source, returning, truncate: None, fires };
        Ok(Statement::Change(Box::new(change)))
    }
}

fn returned_items(output: &OutputClause) -> &[ast::SelectItem] {
    match output {
        OutputClause::Output { select_items, .. } | OutputClause::Returning { select_items, .. } => select_items,
    }
}
