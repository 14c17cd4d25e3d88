//! Files in FROM, and the column that tells them apart, which has a name though nobody asks for it.

use base::Result;
use sqlparser::ast::{self, ObjectNamePart, TableAlias};
use types::Value;

use super::from::FromItem;
use super::{Binder, fold};

/// The column that tells files apart, and the functions whose files have it; none is that of a name alone.
const FILE: &str = "filename";
const READING: [&str; 9] = [
    "",
    "read_csv",
    "read_csv_auto",
    "read_parquet",
    "parquet_scan",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
];

impl Binder<'_> {
    /// The rows of files. Where the query speaks of a column by the name of [`FILE`], which they do not have, it is the file of each
    /// row, as if that had been asked for, but no part of `*`.
    pub(super) fn scan_files(
        &mut self,
        function: &str,
        paths: &[String],
        mut options: Vec<(String, Value)>,
        alias: Option<&TableAlias>,
        position: Option<u32>,
    ) -> Result<FromItem> {
        let file = self.resolver.file(function, paths, &options).map_err(|e| e.at(position))?;
        let is_known = |name: &str| name == FILE;
        let has_files = READING.contains(&function);
        if !self.names.level().names_file
            || !has_files
            || options.iter().any(|(name, _)| is_known(name))
            || file.fields.iter().any(|field| is_known(&field.name))
        {
            return self.scan(file, None, alias);
        }
        options.push((FILE.to_owned(), Value::str("true")));
        let labelled = self.resolver.file(function, paths, &options).map_err(|e| e.at(position))?;
        let mut item = self.scan(labelled, None, alias)?;
        for relation in &mut item.scope.relations {
            if let Some(at) = relation.columns.iter().position(|column| is_known(&column.name)) {
                relation.hidden = Some(relation.columns.remove(at));
            }
        }
        item.scope.visible.retain(|column| !is_known(&column.name));
        Ok(item)
    }
}

/// Whether an item of FROM is a file, or a function that may read some.
pub(super) fn reads_files(from: &[ast::TableWithJoins]) -> bool {
    let is_file = |factor: &ast::TableFactor| match factor {
        ast::TableFactor::Table { args: Some(_), .. } => true,
        ast::TableFactor::Table { name, .. } => {
            matches!(name.0.as_slice(), [ObjectNamePart::Identifier(ident)] if ident.quote_style == Some('\''))
        }
        _ => false,
    };
    from.iter().any(|item| is_file(&item.relation) || item.joins.iter().any(|join| is_file(&join.relation)))
}

/// Whether it is the name of the column that tells files apart.
pub(super) fn is_file_name(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Identifier(ident) => fold(ident) == FILE,
        ast::Expr::CompoundIdentifier(parts) => parts.last().is_some_and(|ident| fold(ident) == FILE),
        _ => false,
    }
}
