//! ALTER TABLE of fields of structs: the column gets another type, and its values are put together anew.

use base::{Error, Result, SqlState};
use sqlparser::ast::{self, AlterColumnOperation, AlterTableOperation as Action, ColumnOption, Ident};
use types::{SqlType, StructField};

use crate::bind::Binder;
use crate::parse::field_names::path;
use crate::parse::kept_expression;
use crate::{ObjectName, Table};

/// What becomes of a field.
enum Change {
    /// A new one, with the text of its default.
    Add(SqlType, Option<String>, bool),
    Drop(bool),
    Rename(String),
}

impl Binder<'_> {
    /// The action as one on the whole column, if it is one on a field; none if there is nothing to do.
    pub(super) fn whole_column(&self, action: &Action, table: &Table, name: &ObjectName) -> Result<Option<Action>> {
        let (ident, change) = match action {
            Action::AddColumn { column_def, if_not_exists, .. } => {
                let default = column_def.options.iter().find_map(|option| match &option.option {
                    ColumnOption::Default(default) => Some(default.to_string()),
                    _ => None,
                });
                if path(&column_def.name).is_none() {
                    return Ok(Some(action.clone()));
                }
                let sql_type = self.sql_type(&column_def.data_type)?;
                (&column_def.name, Change::Add(sql_type, default, *if_not_exists))
            }
            Action::DropColumn { column_names, if_exists, .. } if let [ident] = column_names.as_slice() => {
                (ident, Change::Drop(*if_exists))
            }
            Action::RenameColumn { old_column_name, new_column_name } => {
                (old_column_name, Change::Rename(crate::bind::fold(new_column_name)))
            }
            other => return Ok(Some(other.clone())),
        };
        let Some(path) = path(ident) else { return Ok(Some(action.clone())) };
        let (column, fields) = (&path[0], &path[1..]);
        let Some(field) = table.fields.iter().find(|field| field.name == *column) else {
            let message = format!("column \"{column}\" of relation \"{name}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.text.at(ident)));
        };
        let value = quoted(column);
        let changed =
            changed(field.sql_type, fields, &value, &change, column).map_err(|e| e.at(self.text.at(ident)))?;
        let Some((sql_type, using)) = changed else { return Ok(None) };
        let ast::Expr::Cast { data_type, .. } = kept_expression(&format!("CAST(NULL AS {sql_type})"))? else {
            return Err(Error::internal("a cast that is none"));
        };
        let using = Some(kept_expression(&using)?);
        let op = AlterColumnOperation::SetDataType { data_type, using, had_set: false };
        let column_name = Ident { span: ident.span, ..Ident::with_quote('"', column.clone()) };
        Ok(Some(Action::AlterColumn { column_name, op }))
    }
}

/// The type of a struct in which a field has changed, and the expression that makes it; none if it stays as it is.
fn changed(
    sql_type: SqlType,
    fields: &[String],
    value: &str,
    change: &Change,
    column: &str,
) -> Result<Option<(SqlType, String)>> {
    let (Some(of), [name, rest @ ..]) = (sql_type.structure(), fields) else {
        let message = format!("column \"{column}\" is of type {sql_type}, which has no fields");
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
    };
    let missing = || {
        let message = format!("field \"{name}\" not found in data type {sql_type}");
        Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
    };
    let taken = |name: &str| {
        let message = format!("field \"{name}\" of data type {sql_type} already exists");
        Err(Error::new(SqlState::DUPLICATE_COLUMN, message))
    };
    let extract = |name: &str| format!("struct_extract({value}, {})", literal(name));
    let place = of.position(name);
    let is_last = rest.is_empty();
    match (change, place) {
        (Change::Add(_, _, true), Some(_)) if is_last => return Ok(None),
        (Change::Add(..), Some(_)) if is_last => return taken(name),
        (Change::Drop(true), None) => return Ok(None),
        (Change::Add(..), None) if is_last => {}
        (_, None) => return missing(),
        (Change::Rename(to), _) if is_last && of.position(to).is_some() => return taken(to),
        (Change::Drop(_), _) if is_last && of.fields.len() == 1 => {
            let message = format!("field \"{name}\" is the only one of its struct");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).hint("drop the column"));
        }
        _ => {}
    }
    let mut all: Vec<(StructField, String)> = Vec::with_capacity(of.fields.len() + 1);
    for field in &of.fields {
        let (mut new, mut made) = (field.clone(), extract(&field.name));
        if field.name == *name {
            match change {
                Change::Drop(_) if is_last => continue,
                Change::Rename(to) if is_last => new.name.clone_from(to),
                _ => match changed(field.sql_type, rest, &made, change, column)? {
                    None => return Ok(None),
                    Some(inner) => (new.sql_type, made) = inner,
                },
            }
        }
        all.push((new, made));
    }
    if let (Change::Add(sql_type, default, _), true, None) = (change, is_last, place) {
        let default = default.as_deref().unwrap_or("NULL");
        let field = StructField { name: name.clone(), sql_type: *sql_type };
        all.push((field, format!("CAST({default} AS {sql_type})")));
    }
    let members: Vec<String> = all.iter().map(|(field, made)| format!("{}: {made}", literal(&field.name))).collect();
    let made = format!("CASE WHEN {value} IS NOT DISTINCT FROM NULL THEN NULL ELSE {{{}}} END", members.join(", "));
    Ok(Some((SqlType::struct_of(all.into_iter().map(|(field, _)| field).collect()), made)))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn quoted(name: &str) -> String {
    ast::Ident::with_quote('"', name).to_string()
}
