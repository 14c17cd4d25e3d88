//! UNION, INTERSECT, EXCEPT.

use base::{Error, Result, SqlState};
use plan::{ColumnId, ColumnInfo, Expr, Node, Op, SetOperation};
use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier};
use types::{SqlType, Value};

use super::coerce::literal_type;
use super::from::one_row;
use super::input_order::is_one_row;
use super::scope::SelfReference;
use super::{Binder, Bound, Output, unsupported};
use crate::bind::parts::PlanBuilder;
use functions::common_type;

/// Most operands of one chain.
const MAX_OPERANDS: usize = 2_000;

impl Binder<'_> {
    /// A set operation. Chains of one operation lean to the left; they become one n-ary operator, without recursion along
    /// the chain.
    pub(super) fn set_operation(&mut self, body: &SetExpr) -> Result<Bound> {
        let mut chain: Vec<Link<'_>> = Vec::new();
        let mut first = body;
        while let SetExpr::SetOperation { left, op, set_quantifier, right } = first {
            let operation = match op {
                SetOperator::Union => SetOperation::Union,
                SetOperator::Intersect => SetOperation::Intersect,
                SetOperator::Except | SetOperator::Minus => SetOperation::Except,
            };
            let (all, by_name) = match set_quantifier {
                SetQuantifier::All => (true, false),
                SetQuantifier::Distinct | SetQuantifier::None => (false, false),
                SetQuantifier::AllByName => (true, true),
                SetQuantifier::DistinctByName | SetQuantifier::ByName => (false, true),
            };
            if by_name && operation != SetOperation::Union {
                return unsupported("BY NAME of anything but UNION", None);
            }
            chain.push(Link { operation, all, by_name, right });
            first = left;
        }
        if chain.len() > MAX_OPERANDS {
            let message = format!("more than {MAX_OPERANDS} set operations in a row");
            return Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, message).hint("write many rows as VALUES"));
        }
        let refuses = chain.iter().find(|link| link.all && link.operation != SetOperation::Union);
        let place = refuses.map_or(SelfReference::Allowed, |link| refused_in(link.operation, true));
        let mut result = self.not_recursive(place, |b| b.set_expr(first))?;
        let mut rest = chain.into_iter().rev().peekable();
        while let Some(link) = rest.next() {
            let place = refused_in(link.operation, link.all);
            let mut inputs = vec![result, self.not_recursive(place, |b| b.set_expr(link.right))?];
            while let Some(next) = rest.next_if(|next| next.kind() == link.kind()) {
                inputs.push(self.not_recursive(place, |b| b.set_expr(next.right))?);
            }
            if link.by_name {
                inputs = self.plan.by_name(inputs)?;
            }
            result = self.plan.combine(link.operation, link.all, inputs)?;
        }
        Ok(result)
    }
}

/// An operation of a chain and its right operand.
struct Link<'q> {
    operation: SetOperation,
    all: bool,
    by_name: bool,
    right: &'q SetExpr,
}

impl Link<'_> {
    fn kind(&self) -> (SetOperation, bool, bool) {
        (self.operation, self.all, self.by_name)
    }
}

/// Whether a recursive query may read itself in a later operand.
fn refused_in(operation: SetOperation, all: bool) -> SelfReference {
    match operation {
        SetOperation::Except => SelfReference::Except,
        SetOperation::Intersect if all => SelfReference::Intersect,
        _ => SelfReference::Allowed,
    }
}

impl PlanBuilder {
    /// The operator over inputs whose columns are cast to common types.
    pub(super) fn combine(&mut self, operation: SetOperation, all: bool, inputs: Vec<Bound>) -> Result<Bound> {
        let name = match operation {
            SetOperation::Union => "UNION",
            SetOperation::Intersect => "INTERSECT",
            SetOperation::Except => "EXCEPT",
        };
        let width = inputs[0].output.len();
        if inputs.iter().any(|i| i.output.len() != width) {
            let message = format!("each {name} query must have the same number of columns");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let mut types = vec![SqlType::Null; width];
        let mut unify = |inputs: &[Bound], own: &dyn Fn(&Output, SqlType) -> SqlType| -> Result<()> {
            for (common, output) in inputs.iter().flat_map(|i| i.output.iter().enumerate()) {
                let common = &mut types[common];
                let own = own(output, *common);
                *common = common_type(*common, own).ok_or_else(|| {
                    let message = format!("{name} types {common} and {own} cannot be matched");
                    Error::new(SqlState::DATATYPE_MISMATCH, message)
                        .detail(format!("in the column \"{}\"", output.name))
                        .hint("add explicit casts")
                })?;
            }
            Ok(())
        };
        // Literals take what the others agree on.
        unify(&inputs, &|output, _| match &output.literal {
            Some(_) => SqlType::Null,
            None => self.columns[output.column].sql_type,
        })?;
        unify(&inputs, &|output, common| output.literal.as_ref().map_or(common, |e| literal_type(e, common)))?;
        for t in &mut types {
            *t = if *t == SqlType::Null { SqlType::Text } else { t.closed() };
        }
        let names: Vec<String> = inputs[0].output.iter().map(|o| o.name.clone()).collect();
        let mut nullable = vec![false; width];
        let mut operands: Vec<(Node, Vec<ColumnId>)> = Vec::with_capacity(inputs.len());
        for input in inputs {
            let input = self.with_types(input, &types)?;
            let columns: Vec<ColumnId> = input.output.iter().map(|o| o.column).collect();
            for (nullable, &column) in nullable.iter_mut().zip(&columns) {
                *nullable |= self.is_nullable_column(column);
            }
            operands.push((input.node, columns));
        }
        let mut output = Vec::with_capacity(width);
        for ((name, sql_type), nullable) in names.into_iter().zip(types).zip(nullable) {
            let column = self.columns.push(ColumnInfo { name: name.clone(), sql_type, nullable });
            let at = output.len();
            let kind = |(_, from): &(Node, Vec<ColumnId>)| self.registered.get(&from[at]).copied();
            if let Some(kind) =
                operands.first().and_then(kind).filter(|of| operands.iter().all(|o| kind(o) == Some(*of)))
            {
                self.registered.insert(column, kind);
            }
            output.push(Output { name, column, literal: None });
        }
        let mut columns: Vec<ColumnId> = output.iter().map(|o| o.column).collect();
        if operation == SetOperation::Union && all && operands.iter().all(|(node, _)| is_one_row(node)) {
            // Rows that are written one by one have an order.
            for (number, (node, columns)) in (1..).zip(&mut operands) {
                let expr = Expr::constant(Value::Int(number), SqlType::BigInt);
                let column = self.column_for("number", &expr);
                columns.push(column);
                let input = Box::new(std::mem::replace(node, one_row()));
                *node = Node::new(Op::Map { input, columns: vec![(column, expr)] });
            }
            let info = ColumnInfo { name: "number".to_owned(), sql_type: SqlType::BigInt, nullable: false };
            let column = self.columns.push(info);
            self.numbers.insert(column);
            columns.push(column);
        }
        let node = Node::new(Op::SetOp { operation, all, inputs: operands, columns });
        Ok(Bound { node, output })
    }
}
