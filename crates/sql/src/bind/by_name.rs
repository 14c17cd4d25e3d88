//! UNION BY NAME: columns are matched by their names; one that an operand lacks is NULL there.

use base::{Error, Result, SqlState};
use plan::{Expr, Node, Op};
use types::{SqlType, Value};

use super::parts::PlanBuilder;
use super::{Bound, Output};

impl PlanBuilder {
    /// The operands with all columns that any of them has, in the order in which they come.
    pub(super) fn by_name(&mut self, operands: Vec<Bound>) -> Result<Vec<Bound>> {
        let mut names: Vec<String> = Vec::new();
        for operand in &operands {
            for (at, output) in operand.output.iter().enumerate() {
                if operand.output[..at].iter().any(|other| other.name == output.name) {
                    let message = format!(
                        "column name \"{}\" appears more than once in an operand of UNION BY NAME",
                        output.name
                    );
                    return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).hint("give one an alias"));
                }
                if !names.contains(&output.name) {
                    names.push(output.name.clone());
                }
            }
        }
        Ok(operands.into_iter().map(|operand| self.with_columns(operand, &names)).collect())
    }

    fn with_columns(&mut self, operand: Bound, names: &[String]) -> Bound {
        let Bound { mut node, output } = operand;
        let (mut all, mut missing) = (Vec::with_capacity(names.len()), Vec::new());
        for name in names {
            match output.iter().find(|output| output.name == *name) {
                Some(output) => all.push(output.clone()),
                None => {
                    let null = Expr::constant(Value::Null, SqlType::Null);
                    let column = self.column_for(name, &null);
                    all.push(Output { name: name.clone(), column, literal: Some(null.clone()) });
                    missing.push((column, null));
                }
            }
        }
        if !missing.is_empty() {
            node = Node::new(Op::Map { input: Box::new(node), columns: missing });
        }
        Bound { node, output: all }
    }
}
