//! A filter keeps as many rows as its condition is true for (NoREC).

use super::{Reader, World};

impl World<'_> {
    /// The rows that a filter keeps are counted, and those for which its condition, as a value, is true.
    pub(super) fn check_filter(&mut self, reader: Reader) -> Option<()> {
        let source = self.source();
        let condition = self.condition(&source.sites, &source.scope);
        let from = &source.from;
        let kept = match self.random.one_in(3) {
            true => format!("SELECT sum(1) FROM (SELECT 1 FROM {from} WHERE {condition} OFFSET 0) AS q(x)"),
            false => format!("SELECT count(*) FROM {from} WHERE {condition}"),
        };
        let kept = if kept.contains("sum(1)") { kept.replace("sum(1)", "coalesce(sum(1), 0)") } else { kept };
        let (computed, rows) = match self.random.below(3) {
            0 if !source.is_large => {
                let sql = format!("SELECT {condition} FROM {from}");
                let values = self.answer(reader, &sql)?;
                let count = values.iter().filter(|row| row[0] == "true").count();
                (sql, vec![vec![count.to_string()]])
            }
            _ => {
                let sql = format!("SELECT coalesce(sum(CASE WHEN {condition} THEN 1 ELSE 0 END), 0) FROM {from}");
                let rows = self.answer(reader, &sql)?;
                (sql, rows)
            }
        };
        let counted = self.answer(reader, &kept)?;
        self.same(reader, [&kept, &computed], counted, rows);
        Some(())
    }
}
