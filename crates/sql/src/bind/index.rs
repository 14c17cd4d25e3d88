//! CREATE INDEX and UNIQUE: which columns a key is of.

use base::{Error, Result, SqlState};
use catalog::{Field, IndexMethod, IndexPart, Unique};
use sqlparser::ast::{self, Ident, IndexColumn, IndexType, NullsDistinctOption, OrderBySort};

use super::alter::Altered;
use super::computed::label_of;
use super::foreign_key::deferrable_key;
use super::parts::Text;
use super::scope::{Clause, Scope};
use super::{Binder, fold, unsupported};
use crate::{ComputedColumn, CreateIndex, CreateTable, IndexShape, ObjectName, Statement};

/// Most columns of a key, as in PostgreSQL.
const MAX_KEY: usize = 32;

impl Binder<'_> {
    pub(super) fn create_index(&mut self, create: &ast::CreateIndex) -> Result<Statement> {
        let table = self.text.object_name(&create.table_name)?;
        let position = table.position;
        let resolved = self.stored_table(&table)?;
        let kind = create.using.as_ref().or_else(|| {
            create.index_options.iter().find_map(|option| match option {
                ast::IndexOption::Using(kind) => Some(kind),
                _ => None,
            })
        });
        if let Some(told) = left_out(kind) {
            return Ok(Statement::Told("CREATE INDEX", told));
        }
        let method = self.text.index_method(kind, position)?;
        if method == IndexMethod::Hash {
            check_hash(create).map_err(|error| error.at(position))?;
        }
        let included = create.include.iter().map(|ident| self.text.attribute(ident, &resolved.fields, ""));
        let included = included.collect::<Result<Vec<usize>>>()?;
        let mut altered = Altered::new(resolved.clone(), table.clone());
        let scope = self.new_row(&altered.table);
        let parts = self.keys(&create.columns, &resolved.fields, &scope, &mut altered.table.computed)?;
        let first = resolved.fields.len();
        let only = match &create.predicate {
            None => None,
            Some(rows) => {
                let at = self.computed(rows, Clause::IndexPredicate, &scope, &mut altered.table.computed)?;
                Some(first + at)
            }
        };
        let unique = match (create.unique, create.nulls_distinct) {
            (false, _) => Unique::No,
            (true, Some(false)) => Unique::Yes,
            (true, _) => Unique::ButNull,
        };
        let name = match &create.name {
            Some(name) => {
                let named = self.text.object_name(name)?;
                if named.schema.is_some() {
                    let message = "an index is in the schema of its table: its name has none";
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(named.position));
                }
                Some(named.name)
            }
            None if create.if_not_exists => {
                let message = "CREATE INDEX IF NOT EXISTS needs the name of the index";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
            None => None,
        };
        let is_named = name.is_some();
        let name = name.unwrap_or_else(|| {
            let named = create.columns.iter().map(|column| label_of(&column.column.expr));
            let named = named.chain(create.include.iter().map(fold)).collect();
            format!("{}_{}_idx", table.name, distinct(named).join("_"))
        });
        let (is_constraint, deferrable) = (false, None);
        let shape = IndexShape { name, is_named, parts, unique, only, is_constraint, deferrable, method, included };
        let mut altering = None;
        if altered.table.computed.len() > resolved.computed.len() {
            altered.table.indexes.push(shape.clone());
            altering = Some(Box::new(self.end_of_alter(altered)?));
        }
        let (of, if_not_exists, concurrently) = (resolved.source, create.if_not_exists, create.concurrently);
        Ok(Statement::CreateIndex(CreateIndex { table, of, shape, altering, if_not_exists, concurrently }))
    }

    /// The attributes that keys are: columns, or what is computed of these.
    fn keys(
        &mut self,
        columns: &[IndexColumn],
        fields: &[Field],
        scope: &Scope,
        computed: &mut Vec<ComputedColumn>,
    ) -> Result<Vec<IndexPart>> {
        let mut parts = Vec::with_capacity(columns.len());
        for column in columns {
            let mut expr = &column.column.expr;
            while let ast::Expr::Nested(inner) = expr {
                expr = inner;
            }
            let attribute = match expr {
                ast::Expr::Identifier(ident) => self.text.attribute(ident, fields, "")?,
                expr => fields.len() + self.computed(expr, Clause::IndexKey, scope, computed)?,
            };
            parts.push(self.text.index_part(attribute, column)?);
        }
        check_length(parts)
    }
}

/// What is told of an index that would be of no use here: what it answers is found by reading the table.
fn left_out(kind: Option<&IndexType>) -> Option<String> {
    let kind = kind?.to_string().to_lowercase();
    let known = ["gin", "gist", "spgist", "brin"].contains(&kind.as_str());
    known.then(|| format!("there are no indexes by {kind}: the table is read instead"))
}

/// Error 0A000 for what PostgreSQL's hash indexes do not have.
fn check_hash(create: &ast::CreateIndex) -> Result<()> {
    let options = || create.columns.iter().map(|column| &column.column.options);
    let lacking = [
        (create.unique, "unique indexes"),
        (!create.include.is_empty(), "included columns"),
        (create.columns.len() > 1, "multicolumn indexes"),
        (options().any(|options| options.sort.is_some()), "ASC/DESC options"),
        (options().any(|options| options.nulls_first.is_some()), "NULLS FIRST/LAST options"),
    ];
    match lacking.into_iter().find(|(is_asked, _)| *is_asked) {
        None => Ok(()),
        Some((_, what)) => {
            let message = format!("access method \"hash\" does not support {what}");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    }
}

impl Text<'_> {
    /// What USING says. Error 42704 for kinds of indexes that are neither trees nor hash tables.
    fn index_method(&self, kind: Option<&IndexType>, position: Option<u32>) -> Result<IndexMethod> {
        let name = kind.map_or_else(|| "btree".to_owned(), |kind| kind.to_string().to_lowercase());
        match name.as_str() {
            "art" | "btree" => Ok(IndexMethod::Tree),
            "hash" => Ok(IndexMethod::Hash),
            _ => {
                let error = Error::new(SqlState::UNDEFINED_OBJECT, format!("access method \"{name}\" does not exist"));
                Err(error.hint("USING btree is what there is without USING; the other one is USING hash").at(position))
            }
        }
    }

    /// The attribute that a column's name in a key means.
    fn attribute(&self, ident: &Ident, fields: &[Field], what: &str) -> Result<usize> {
        let wanted = fold(ident);
        fields.iter().position(|field| field.name == wanted).ok_or_else(|| {
            let message = format!("column \"{wanted}\"{what} does not exist");
            Error::new(SqlState::UNDEFINED_COLUMN, message).at(self.at(ident))
        })
    }

    fn index_parts(&self, columns: &[IndexColumn], fields: &[Field], what: &str) -> Result<Vec<IndexPart>> {
        let mut parts = Vec::with_capacity(columns.len());
        for column in columns {
            let position = self.start(&column.column.expr);
            let ast::Expr::Identifier(ident) = &column.column.expr else {
                return unsupported("a key over an expression", position);
            };
            parts.push(self.index_part(self.attribute(ident, fields, what)?, column)?);
        }
        check_length(parts)
    }

    fn index_part(&self, attribute: usize, column: &IndexColumn) -> Result<IndexPart> {
        let descending = match column.column.options.sort {
            None | Some(OrderBySort::Asc) => false,
            Some(OrderBySort::Desc) => true,
            Some(OrderBySort::Using(_)) => return unsupported("USING in a key", self.start(&column.column.expr)),
        };
        let nulls_first = column.column.options.nulls_first.unwrap_or(descending);
        Ok(IndexPart { attribute, descending, nulls_first })
    }

    /// UNIQUE (...) of CREATE TABLE.
    pub(super) fn unique_constraint(&self, unique: &ast::UniqueConstraint, table: &CreateTable) -> Result<IndexShape> {
        let fields: Vec<Field> = table.columns.iter().map(|c| c.field()).collect();
        let parts = self.index_parts(&unique.columns, &fields, " named in key")?;
        for (at, part) in parts.iter().enumerate() {
            if parts[..at].iter().any(|other| other.attribute == part.attribute) {
                let name = &fields[part.attribute].name;
                let message = format!("column \"{name}\" appears twice in unique constraint");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(table.name.position));
            }
        }
        let nulls = match unique.nulls_distinct {
            NullsDistinctOption::NotDistinct => Unique::Yes,
            NullsDistinctOption::None | NullsDistinctOption::Distinct => Unique::ButNull,
        };
        self.index_method(unique.index_type.as_ref(), table.name.position)?;
        let name = unique.name.as_ref().or(unique.index_name.as_ref());
        let deferrable =
            deferrable_key(unique.characteristics.as_ref(), false).map_err(|e| e.at(table.name.position))?;
        Ok(IndexShape { deferrable, ..unique_shape(&table.name, parts, &fields, name, nulls) })
    }
}

/// The index of a UNIQUE constraint.
pub(super) fn unique_shape(
    table: &ObjectName,
    parts: Vec<IndexPart>,
    fields: &[Field],
    name: Option<&Ident>,
    unique: Unique,
) -> IndexShape {
    let is_named = name.is_some();
    let name = name.map_or_else(|| label(table, &parts, fields, "key"), fold);
    let (only, is_constraint, deferrable) = (None, true, None);
    let (method, included) = (IndexMethod::Tree, Vec::new());
    IndexShape { name, is_named, parts, unique, only, is_constraint, deferrable, method, included }
}

fn check_length(parts: Vec<IndexPart>) -> Result<Vec<IndexPart>> {
    if parts.len() <= MAX_KEY {
        return Ok(parts);
    }
    let message = format!("cannot use more than {MAX_KEY} columns in an index");
    Err(Error::new(SqlState("54011"), message))
}

/// The same names, with numbers where one is there already.
fn distinct(names: Vec<String>) -> Vec<String> {
    let mut distinct: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        let numbered = (1..).map(|number| format!("{name}{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !distinct.contains(name));
        distinct.extend(free);
    }
    distinct
}

/// What PostgreSQL calls an index that has no name.
pub(super) fn label(table: &ObjectName, parts: &[IndexPart], fields: &[Field], label: &str) -> String {
    let columns: Vec<&str> = parts.iter().map(|part| fields[part.attribute].name.as_str()).collect();
    format!("{}_{}_{label}", table.name, columns.join("_"))
}
