//! Dealing functions out to orders.

use plan::{ColumnId, Expr, SortKey, WindowCall};

use super::Sorted;

/// The keys of operators and their functions, lowest operator first.
type Operators = Vec<(Vec<SortKey>, Vec<(ColumnId, WindowCall)>)>;

/// Keys whose order is not settled yet: within a block any order will do.
#[derive(Clone, Default)]
struct Order {
    blocks: Vec<Vec<Key>>,
}

/// A key, by its number, with its direction if some function orders by it.
#[derive(Clone, Copy)]
struct Key {
    number: usize,
    direction: Option<(bool, bool)>,
}

impl Order {
    /// The order made narrower so that rows are also sorted for a function with this partition and these keys behind it; none
    /// if there is no such order.
    fn narrowed(&self, partition: &[usize], order: &[Key]) -> Option<Self> {
        let mut missing = partition.to_vec();
        let mut narrowed = Self::default();
        let mut rest = self.blocks.iter();
        let mut open: Option<Vec<Key>> = None;
        while !missing.is_empty() {
            let Some(block) = rest.next() else {
                let new = missing.drain(..).map(|number| Key { number, direction: None });
                narrowed.blocks.push(new.collect());
                break;
            };
            let (inside, outside): (Vec<Key>, Vec<Key>) = block.iter().partition(|k| missing.contains(&k.number));
            missing.retain(|n| !inside.iter().any(|k| k.number == *n));
            if inside.is_empty() || (!outside.is_empty() && !missing.is_empty()) {
                return None;
            }
            narrowed.blocks.push(inside);
            open = Some(outside).filter(|o| !o.is_empty());
        }
        for wanted in order {
            let block = open.take().or_else(|| rest.next().cloned());
            let Some(block) = block else {
                narrowed.blocks.push(vec![*wanted]);
                continue;
            };
            let (found, outside): (Vec<Key>, Vec<Key>) = block.into_iter().partition(|k| k.number == wanted.number);
            let [key] = found.as_slice() else { return None };
            if key.direction.is_some_and(|d| Some(d) != wanted.direction) {
                return None;
            }
            narrowed.blocks.push(vec![*wanted]);
            open = Some(outside).filter(|o| !o.is_empty());
        }
        narrowed.blocks.extend(open);
        narrowed.blocks.extend(rest.cloned());
        Some(narrowed)
    }
}

/// The operators that compute the functions.
pub(super) fn dealt(functions: Vec<Sorted>) -> Operators {
    let mut exprs: Vec<Expr> = Vec::new();
    let mut numbered: Vec<(Vec<Key>, Sorted)> = Vec::new();
    for function in functions {
        // Random keys are the same for the functions of one operator only.
        let keys = function.keys.iter().enumerate().map(|(i, key)| {
            let together =
                numbered.iter().find(|(_, f)| f.operator == function.operator).map(|(keys, _)| keys[i].number);
            let known = together.or_else(|| exprs.iter().position(|e| e.same(&key.expr)));
            let number = known.unwrap_or_else(|| {
                exprs.push(key.expr.clone());
                exprs.len() - 1
            });
            Key { number, direction: Some((key.descending, key.nulls_first)) }
        });
        numbered.push((keys.collect(), function));
    }
    // Long orders first: short ones fit into them.
    numbered.sort_by_key(|(_, f)| std::cmp::Reverse((f.call.peers, f.call.partition)));
    let mut operators: Vec<(Order, Vec<Sorted>)> = Vec::new();
    for (keys, function) in numbered {
        let partition: Vec<usize> = keys[..function.call.partition].iter().map(|k| k.number).collect();
        let order = &keys[function.call.partition..function.call.peers];
        let found = operators.iter_mut().find_map(|(known, functions)| {
            *known = known.narrowed(&partition, order)?;
            Some(functions)
        });
        match found {
            Some(functions) => functions.push(function),
            None => {
                let order = Order::default().narrowed(&partition, order).expect("nothing is settled yet");
                operators.push((order, vec![function]));
            }
        }
    }
    // A condition on a rank is next to what ranks.
    operators.sort_by_key(|(_, functions)| functions.iter().all(|f| super::limit::counts_rows_before(&f.call)));
    operators.into_iter().map(|(order, functions)| (keys_of(&order, &exprs), functions_of(functions))).collect()
}

fn keys_of(order: &Order, exprs: &[Expr]) -> Vec<SortKey> {
    let key = |key: &Key| {
        let (descending, nulls_first) = key.direction.unwrap_or((false, false));
        SortKey { expr: exprs[key.number].clone(), descending, nulls_first }
    };
    order.blocks.iter().flatten().map(key).collect()
}

fn functions_of(functions: Vec<Sorted>) -> Vec<(ColumnId, WindowCall)> {
    functions.into_iter().map(|f| (f.column, f.call)).collect()
}
