//! Names of columns that the query does not name.

use sqlparser::ast::{self, Expr as E, ObjectNamePart, SelectItem};

use super::fold;

/// The name of a select item without alias, as PostgreSQL chooses it.
pub(super) fn output_name(expr: &ast::Expr) -> String {
    named(expr).map_or_else(|| "?column?".to_owned(), |(name, _)| name)
}

/// Whether a name says what is computed; those of types and of CASE give way to it.
type IsStrong = bool;

fn named(expr: &E) -> Option<(String, IsStrong)> {
    let own = |name: &str| Some((name.to_owned(), true));
    match expr {
        E::Identifier(ident) => Some((fold(ident), true)),
        E::CompoundIdentifier(parts) => parts.last().map(|ident| (fold(ident), true)),
        E::Function(function) => match function.name.0.last()? {
            ObjectNamePart::Identifier(ident) => Some((fold(ident), true)),
            ObjectNamePart::Function(_) => None,
        },
        E::Nested(inner) | E::Collate { expr: inner, .. } => named(inner),
        E::CompoundFieldAccess { root, .. } => named(root),
        E::Cast { expr: inner, data_type, .. } => or_weak(named(inner), || type_name(data_type)),
        E::TypedString(typed) => Some((type_name(&typed.data_type), false)),
        E::Interval(_) => Some(("interval".to_owned(), false)),
        E::Case { else_result, .. } => or_weak(else_result.as_deref().and_then(named), || "case".to_owned()),
        E::Array(_) => own("array"),
        E::Extract { .. } => own("extract"),
        E::Substring { .. } => own("substring"),
        E::Trim { .. } => own("btrim"),
        E::Position { .. } => own("position"),
        E::Ceil { .. } => own("ceil"),
        E::Floor { .. } => own("floor"),
        E::Overlay { .. } => own("overlay"),
        E::Exists { .. } => own("exists"),
        E::Subquery(query) => match query.body.as_ref() {
            ast::SetExpr::Select(select) => match select.projection.first()? {
                SelectItem::UnnamedExpr(inner) => named(inner),
                SelectItem::ExprWithAlias { alias, .. } => Some((fold(alias), true)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn or_weak(inner: Option<(String, IsStrong)>, weak: impl FnOnce() -> String) -> Option<(String, IsStrong)> {
    inner.filter(|(_, is_strong)| *is_strong).or_else(|| Some((weak(), false)))
}

/// A type's name in PostgreSQL's catalog, which is not always what one writes.
fn type_name(data_type: &ast::DataType) -> String {
    let written = data_type.to_string().to_lowercase();
    // Without length, and without what says that it is an array.
    let (before, behind) = written.split_once('(').unwrap_or((&written, ""));
    let behind = behind.split_once(')').map_or("", |(_, behind)| behind);
    let name = format!("{before}{behind}");
    match name.trim_end_matches("[]").trim() {
        "smallint" => "int2",
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "real" => "float4",
        "double precision" | "double" | "float" => "float8",
        "decimal" => "numeric",
        "boolean" => "bool",
        "char" | "character" => "bpchar",
        "character varying" | "char varying" => "varchar",
        "timestamp without time zone" => "timestamp",
        "timestamp with time zone" => "timestamptz",
        "time without time zone" => "time",
        "time with time zone" => "timetz",
        other => return other.to_owned(),
    }
    .to_owned()
}
