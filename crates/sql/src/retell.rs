//! The text of a view in which a table has another name: where the text names it, it is that table under the old name, so that all
//! else stays as it is written.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart, TableFactor};
use types::ops::string::quote_ident;

use crate::bind::fold;
use crate::parse::{Ast, Parsed};
use crate::{parse, walk};

/// The text with the table under another name; none if that cannot be said in its place.
pub fn with_table_renamed(text: &str, (schema, name): (&str, &str), to: &str) -> Option<String> {
    let parsed = parse(text).ok()?;
    let Ast::Library(statement) = &parsed.ast else { return None };
    let is_it = |written: &ObjectName| is_named(written, schema, name);
    let (mut places, mut named) = (Vec::new(), 0);
    walk::has_node(&**statement, |node| {
        match node {
            walk::Node::Relation(written) if is_it(written) => named += 1,
            walk::Node::Factor(TableFactor::Table { name: written, alias, args: None, .. }) if is_it(written) => {
                places.extend(last(written).and_then(|ident| place(&parsed, ident)).map(|at| (at, alias.is_none())));
            }
            _ => {}
        }
        false
    });
    if places.len() != named || gives_name(statement, name) {
        return None;
    }
    places.sort_unstable();
    let (to, name) = (quote_ident(to).ok()?, quote_ident(name).ok()?);
    let mut retold = text.to_owned();
    for ((begin, end), wants_alias) in places.into_iter().rev() {
        let with = if wants_alias { format!("{to} AS {name}") } else { to.to_string() };
        retold.replace_range(begin..end, &with);
    }
    parse(&retold).ok().map(|_| retold)
}

/// Where a name stands in the text.
fn place(parsed: &Parsed, ident: &Ident) -> Option<(usize, usize)> {
    let offset = |location| parsed.positions.offset(location).map(|at| at as usize);
    let (begin, end) = (offset(ident.span.start)?, offset(ident.span.end)?);
    (begin < end && end <= parsed.text.len()).then_some((begin, end))
}

fn last(name: &ObjectName) -> Option<&Ident> {
    match name.0.last()? {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    }
}

/// Whether a name means a table, if it has no schema the one that is looked for first.
fn is_named(written: &ObjectName, schema: &str, name: &str) -> bool {
    let part = |part: &ObjectNamePart| match part {
        ObjectNamePart::Identifier(ident) => fold(ident),
        ObjectNamePart::Function(_) => String::new(),
    };
    match written.0.as_slice() {
        [own] => part(own) == name,
        [.., of, own] => part(own) == name && part(of) == schema,
        [] => false,
    }
}

/// Whether a WITH gives something that name.
fn gives_name(statement: &sqlparser::ast::Statement, name: &str) -> bool {
    let mut gives = false;
    walk::change_each_node(&mut statement.clone(), |node| {
        if let walk::NodeMut::Query(query) = node {
            let ctes = query.with.iter().flat_map(|with| &with.cte_tables);
            gives |= ctes.into_iter().any(|cte| fold(&cte.alias.name) == name);
        }
    });
    gives
}
