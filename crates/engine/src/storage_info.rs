//! `storage_info('t')`: how a table lies in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use io::MemorySource;
use storage::Snapshot;
use types::{SqlType, Value};

use crate::views::small_table;

/// A row for each column, form that it has and NUMA node that it is on: in how many chunks, over how many rows, in how many
/// bytes; once all is frozen that is to be. Nodes are where the system says that pages are; those of a description, and of what
/// is less than a page, where chunks were written.
pub(crate) fn storage_info(snapshot: &Snapshot, is_machine: bool) -> Arc<MemorySource> {
    snapshot.freeze_rest();
    let schema = [
        ("column_name", SqlType::Text),
        ("type", SqlType::Text),
        ("form", SqlType::Text),
        ("chunks", SqlType::BigInt),
        ("rows", SqlType::BigInt),
        ("bytes", SqlType::BigInt),
        ("node", SqlType::Integer),
    ];
    let mut forms: BTreeMap<(usize, &str, u16), [i64; 3]> = BTreeMap::new();
    for chunk in snapshot.chunks().filter(|chunk| chunk.rows() > 0) {
        let reader = chunk.read();
        for attribute in 0..snapshot.schema().attributes().len() {
            let (form, bytes) = reader.form(attribute);
            let node = if is_machine { reader.machine_node(attribute) } else { None };
            let sums = forms.entry((attribute, form, node.unwrap_or(chunk.node()))).or_default();
            let more = [1, reader.rows() as i64, bytes as i64];
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }
    let row = |((attribute, form, node), sums): (&(usize, &str, u16), &[i64; 3])| {
        let attribute = &snapshot.schema().attributes()[*attribute];
        let texts = [attribute.name.clone(), attribute.sql_type.to_string(), (*form).to_owned()];
        texts.into_iter().map(Value::str).chain(sums.map(Value::Int)).chain([Value::Int(i64::from(*node))]).collect()
    };
    small_table(&schema, forms.iter().map(row).collect())
}
