//! Copies of subplans.

use std::collections::HashMap;

use base::IdMap;

use crate::{ColumnId, ColumnInfo, Node, Op, TableId, TableInfo};

impl Node {
    /// A copy of a subplan under new columns and tables, and the new names of its columns.
    pub fn copied(
        &self,
        columns: &mut IdMap<ColumnId, ColumnInfo>,
        tables: &mut IdMap<TableId, TableInfo>,
    ) -> (Self, HashMap<ColumnId, ColumnId>) {
        let mut copy = self.clone();
        let mut made = Vec::new();
        self.walk(&mut |node| made.extend(node.produced()));
        let mut fresh = |like: ColumnId| {
            let info = columns[like].clone();
            columns.push(info)
        };
        let names: HashMap<ColumnId, ColumnId> = made.into_iter().map(|column| (column, fresh(column))).collect();
        copy.rename(&names);
        copy_tables(&mut copy, tables);
        (copy, names)
    }
}

fn copy_tables(node: &mut Node, tables: &mut IdMap<TableId, TableInfo>) {
    if let Op::Scan { table, .. } = &mut node.op {
        let info = tables[*table].clone();
        *table = tables.push(info);
    }
    for input in node.inputs_mut() {
        copy_tables(input, tables);
    }
}
