//! Sequences, tables, indexes and views as the SQL that makes them again.

use std::sync::Arc;

use catalog::{
    CatalogSnapshot, CheckOption, Domain, Event, Filling, ForeignKey, IndexPart, Kinship, Language, Mode, Returns,
    Routine, RoutineKind, RoutineParameter, Table, TableEntry, TableIndex, Trigger, Unique, View, Volatility,
};
use functions::sequence::Shape;
use storage::relation::Distribution;
use types::{SqlType, StructField};

use crate::Session;

/// What made a table or view.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Definition {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The statement, with a semicolon.
    pub sql: String,
}

impl Session {
    /// The definitions of all types, domains and sequences, then those of all tables and views, then those of functions and
    /// procedures, and of triggers, in the order of their names.
    pub fn definitions(&self) -> Vec<Definition> {
        Definitions::of(&self.database().0.catalog.snapshot()).all().collect()
    }
}

/// The definitions of all that a catalog has.
pub(crate) struct Definitions {
    /// Types, domains and sequences.
    pub types: Vec<Definition>,
    /// Tables and views, each behind what it is made of.
    pub tables: Vec<Definition>,
    /// Functions, procedures and macros.
    pub routines: Vec<Definition>,
    pub triggers: Vec<Definition>,
}

impl Definitions {
    /// In the order in which they are made, as far as that is known.
    pub fn all(self) -> impl Iterator<Item = Definition> {
        self.types.into_iter().chain(self.tables).chain(self.routines).chain(self.triggers)
    }

    pub fn of(catalog: &CatalogSnapshot) -> Self {
        let others = catalog.sequences().filter(|(_, _, entry)| !catalog.is_of_identity(&entry.sequence));
        let sequences = others.map(|(schema, name, entry)| {
            let shape = entry.sequence.shape();
            let (full, options) = (full_name(schema, name), options(&shape));
            let sql = format!("CREATE SEQUENCE {full} AS {} {options};", shape.sql_type);
            Definition { schema: schema.to_owned(), name: name.to_owned(), sql }
        });
        let entries = ordered(catalog).into_iter().map(|(schema, name, entry)| {
            let full = full_name(schema, name);
            let sql = match entry {
                TableEntry::Table(table) => {
                    let made = match &table.definition {
                        Some(view) => create_view("MATERIALIZED VIEW", &full, view),
                        None => create_table(&full, table, catalog.kinship(Some(schema), name), catalog),
                    };
                    let others = table.indexes.iter().filter(|index| !index.is_constraint);
                    let indexes = others.map(|index| format!("\n{}", create_index(&full, table, index)));
                    let kinship = catalog.kinship(Some(schema), name);
                    made + &indexes.collect::<String>() + &kinship.and_then(|k| attach(&full, k)).unwrap_or_default()
                }
                TableEntry::View(view) => create_view("VIEW", &full, view),
            };
            Definition { schema: schema.to_owned(), name: name.to_owned(), sql }
        });
        let routines = catalog.routines().filter_map(|routine| {
            let named = catalog.routines_named(Some(&routine.schema), &routine.name);
            let full = full_name(&routine.schema, &routine.name);
            let sql = match routine.language {
                // What a macro means for all numbers of arguments is one statement.
                Language::Macro if named[0].number != routine.number => return None,
                Language::Macro => create_macro(&full, named),
                Language::Aggregate => create_aggregate(&full, routine),
                _ => create_routine(&full, routine),
            };
            Some(Definition { schema: routine.schema.clone(), name: routine.name.clone(), sql })
        });
        let types = catalog.user_types().map(|(schema, name, of)| {
            let labels: Vec<String> =
                of.labels.iter().map(|(_, label)| format!("'{}'", label.replace('\'', "''"))).collect();
            let sql = format!("CREATE TYPE {} AS ENUM ({});", full_name(schema, name), labels.join(", "));
            Definition { schema: schema.to_owned(), name: name.to_owned(), sql }
        });
        let domains = domains_in_order(catalog).into_iter().map(|(schema, name, domain)| {
            let sql = create_domain(&full_name(schema, name), domain, catalog);
            Definition { schema: schema.to_owned(), name: name.to_owned(), sql }
        });
        let triggers = catalog.entries().flat_map(|(schema, table, entry)| {
            let made = move |trigger: &Arc<Trigger>| Definition {
                schema: schema.to_owned(),
                name: trigger.name.clone(),
                sql: trigger_definition(schema, table, trigger) + ";",
            };
            entry.triggers().iter().map(made).collect::<Vec<_>>()
        });
        Self {
            types: types.chain(domains).chain(sequences).collect(),
            tables: entries.collect(),
            routines: routines.collect(),
            triggers: triggers.collect(),
        }
    }
}

fn create_view(what: &str, name: &str, view: &View) -> String {
    let columns: Vec<String> = view.columns.iter().map(|c| quoted(&c.name)).collect();
    let checked = match view.check_option {
        None => "",
        Some(CheckOption::Local) => "\n    WITH LOCAL CHECK OPTION",
        Some(CheckOption::Cascaded) => "\n    WITH CASCADED CHECK OPTION",
    };
    format!("CREATE {what} {name} ({}) AS\n    {}{checked};", columns.join(", "), view.sql)
}

/// What makes a trigger.
pub(crate) fn trigger_definition(schema: &str, table: &str, trigger: &Trigger) -> String {
    let event = |event: &Event| match trigger.columns.as_slice() {
        columns @ [_, ..] if *event == Event::Update => {
            let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
            format!("UPDATE OF {}", columns.join(", "))
        }
        _ => event.name().to_owned(),
    };
    let events: Vec<String> = trigger.events.iter().map(event).collect();
    let constraint = if trigger.is_constraint { "CONSTRAINT " } else { "" };
    let (timing, name) = (trigger.timing.name(), quoted(&trigger.name));
    let mut sql = format!("CREATE {constraint}TRIGGER {name} {timing} {}", events.join(" OR "));
    sql += &format!(" ON {}", full_name(schema, table));
    if trigger.old_table.is_some() || trigger.new_table.is_some() {
        sql += " REFERENCING";
    }
    for (version, name) in [("OLD", &trigger.old_table), ("NEW", &trigger.new_table)] {
        if let Some(name) = name {
            sql += &format!(" {version} TABLE AS {}", quoted(name));
        }
    }
    sql += if trigger.for_each_row { " FOR EACH ROW" } else { " FOR EACH STATEMENT" };
    if let Some(when) = &trigger.when {
        sql += &format!(" WHEN ({when})");
    }
    let arguments: Vec<String> =
        trigger.arguments.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
    let (schema, function) = &trigger.function;
    sql + &format!(" EXECUTE FUNCTION {}({})", full_name(schema, function), arguments.join(", "))
}

pub(crate) fn full_name(schema: &str, name: &str) -> String {
    match schema {
        catalog::DEFAULT_SCHEMA => quoted(name),
        schema => format!("{}.{}", quoted(schema), quoted(name)),
    }
}

/// A type by its name, with its schema if that is not the default one.
fn type_name(sql_type: SqlType, catalog: &CatalogSnapshot) -> String {
    match sql_type.enumeration().and_then(|of| catalog.name_of(of)) {
        Some((schema, name)) => full_name(schema, name) + &"[]".repeat(sql_type.dimensions()),
        None => sql_type.to_string(),
    }
}

/// All domains and composite types, each behind those that its fields are of.
fn domains_in_order(catalog: &CatalogSnapshot) -> Vec<(&str, &str, &Arc<Domain>)> {
    let (mut done, mut left) = (Vec::new(), catalog.domains().collect::<Vec<_>>());
    while !left.is_empty() {
        let is_left = |name: &(String, String)| left.iter().any(|(s, n, _)| (*s, *n) == (&name.0, &name.1));
        let (ready, others): (Vec<_>, Vec<_>) =
            left.iter().copied().partition(|(_, _, of)| !of.fields.iter().flatten().any(is_left));
        // None is made of itself.
        done.extend(if ready.is_empty() { others.clone() } else { ready.clone() });
        left = if ready.is_empty() { Vec::new() } else { others };
    }
    done
}

/// A composite type, whose fields may be of domains.
fn create_composite(name: &str, domain: &Domain, catalog: &CatalogSnapshot) -> Option<String> {
    let structure = domain.sql_type.structure().filter(|of| of.is_row)?;
    let field = |(at, field): (usize, &StructField)| {
        let of = domain.fields.get(at).and_then(Option::as_ref);
        let typed =
            of.map_or_else(|| type_name(field.sql_type, catalog), |of| domain_name(of, field.sql_type, catalog));
        format!("{} {typed}", quoted(&field.name))
    };
    let fields: Vec<String> = structure.fields.iter().enumerate().map(field).collect();
    Some(format!("CREATE TYPE {name} AS ({});", fields.join(", ")))
}

/// A domain's name, or that of arrays of it.
fn domain_name((schema, name): &(String, String), sql_type: SqlType, catalog: &CatalogSnapshot) -> String {
    let depth = |of: SqlType| std::iter::successors(Some(of), |of| of.element()).count();
    let below = catalog.domain(Some(schema), name).map_or(sql_type, |(_, of)| of.sql_type);
    full_name(schema, name) + &"[]".repeat(depth(sql_type).saturating_sub(depth(below)))
}

fn create_domain(name: &str, domain: &Domain, catalog: &CatalogSnapshot) -> String {
    let is_bare = domain.checks.is_empty() && !domain.not_null;
    if let Some(composite) = create_composite(name, domain, catalog).filter(|_| is_bare) {
        return composite;
    }
    let mut sql = format!("CREATE DOMAIN {name} AS {}", type_name(domain.sql_type, catalog));
    if let Some(default) = domain.filling.sql(domain.sql_type) {
        sql += &format!(" DEFAULT {default}");
    }
    if domain.not_null {
        sql += " NOT NULL";
    }
    for check in &domain.checks {
        sql += &format!(" CONSTRAINT {} CHECK ({})", quoted(&check.name), check.sql);
    }
    sql + ";"
}

/// What a sequence is declared as, in the order in which PostgreSQL lists it.
fn options(shape: &Shape) -> String {
    let Shape { start, increment, min, max, cache, cycle, .. } = shape;
    let no = if *cycle { "" } else { "NO " };
    format!("START WITH {start} INCREMENT BY {increment} MINVALUE {min} MAXVALUE {max} CACHE {cache} {no}CYCLE")
}

fn create_table(name: &str, table: &Table, kinship: Option<&Kinship>, catalog: &CatalogSnapshot) -> String {
    let schema = table.relation.schema();
    let mut lines: Vec<String> = Vec::with_capacity(schema.attributes().len() + 1);
    for (index, (attribute, filling)) in schema.columns().iter().zip(&table.fillings).enumerate() {
        let typed = match table.domains.get(index).and_then(Option::as_ref) {
            Some(domain) => domain_name(domain, attribute.sql_type, catalog),
            None => type_name(attribute.sql_type, catalog),
        };
        let mut line = format!("    {} {typed}", quoted(&attribute.name));
        if let Filling::Identity { always, sequence } = filling {
            let when = if *always { "ALWAYS" } else { "BY DEFAULT" };
            line += &format!(" GENERATED {when} AS IDENTITY ({})", options(&sequence.shape()));
        }
        match filling.sql(attribute.sql_type) {
            Some(sql) if filling.is_generated() => line += &format!(" GENERATED ALWAYS AS ({sql}) STORED"),
            Some(sql) => line += &format!(" DEFAULT {sql}"),
            None => {}
        }
        // The key's columns are NOT NULL anyway.
        if attribute.not_null && !schema.primary_key().contains(&index) {
            line += " NOT NULL";
        }
        lines.push(line);
    }
    let key: Vec<String> = schema.primary_key().iter().map(|&a| quoted(&schema.attributes()[a].name)).collect();
    if !key.is_empty() {
        lines.push(format!("    PRIMARY KEY ({})", key.join(", ")));
    }
    for index in table.indexes.iter().filter(|index| index.is_constraint) {
        let definition = index.index.definition();
        let nulls = if definition.unique == Unique::Yes { " NULLS NOT DISTINCT" } else { "" };
        let columns = parts(table, &definition.parts);
        let (what, nulls) = if definition.is_primary() { ("PRIMARY KEY", "") } else { ("UNIQUE", nulls) };
        let deferrable = deferrable(definition.deferrable.map(|deferrable| deferrable.initially));
        lines.push(format!("    CONSTRAINT {} {what}{nulls} ({columns}){deferrable}", quoted(&definition.name)));
    }
    // The others come once rows are there.
    for key in table.foreign_keys.iter().filter(|key| key.is_valid) {
        lines.push(format!("    CONSTRAINT {} {}", quoted(&key.name), references(table, key, catalog)));
    }
    for check in &table.checks {
        lines.push(format!("    CONSTRAINT {} CHECK ({})", quoted(&check.name), check.sql));
    }
    let parents = |kinship: &Kinship| {
        kinship.parents.iter().map(|(schema, name)| full_name(schema, name)).collect::<Vec<_>>().join(", ")
    };
    let mut sql = format!("CREATE TABLE {name} (\n{}\n)", lines.join(",\n"));
    match kinship {
        Some(Kinship { partitioned: Some(by), .. }) => sql += &format!(" PARTITION BY {}", by.shown()),
        Some(kinship) if kinship.bound.is_none() => sql += &format!(" INHERITS ({})", parents(kinship)),
        _ => {}
    }
    if table.relation.distribution() != Distribution::Local {
        sql += " WITH (distribution = hashed)";
    }
    sql.push(';');
    if let Some(key) = table.relation.partition_key() {
        sql += &format!("\nALTER TABLE {name} SET (partition_key = {});", quoted(&schema.attributes()[key].name));
    }
    sql
}

/// What makes a table a partition.
fn attach(name: &str, kinship: &Kinship) -> Option<String> {
    let ((schema, parent), bound) = (kinship.parents.first()?, kinship.bound.as_ref()?);
    Some(format!("\nALTER TABLE {} ATTACH PARTITION {name} {bound};", full_name(schema, parent)))
}

/// Tables and views in the order of their names, but for tables that others reference, and for what views read: these come
/// before them.
fn ordered(catalog: &CatalogSnapshot) -> Vec<Entry<'_>> {
    fn push<'c>(
        entry: Entry<'c>,
        catalog: &'c CatalogSnapshot,
        ordered: &mut Vec<Entry<'c>>,
        seen: &mut Vec<Seen<'c>>,
    ) {
        if seen.contains(&(entry.0, entry.1)) {
            return;
        }
        seen.push((entry.0, entry.1));
        if let TableEntry::Table(table) = entry.2 {
            for (schema, name) in table.foreign_keys.iter().map(|key| &key.references) {
                let other = catalog.entries().find(|(s, n, _)| s == schema && n == name);
                other.into_iter().for_each(|other| push(other, catalog, ordered, seen));
            }
        }
        for (schema, name) in catalog.kinship(Some(entry.0), entry.1).iter().flat_map(|kinship| &kinship.parents) {
            let other = catalog.entries().find(|(s, n, _)| s == schema && n == name);
            other.into_iter().for_each(|other| push(other, catalog, ordered, seen));
        }
        let view = match entry.2 {
            TableEntry::Table(table) => table.definition.as_ref(),
            TableEntry::View(view) => Some(view),
        };
        for (schema, name) in view.iter().flat_map(|view| &view.reads) {
            let schema = catalog.schema_of(schema.as_deref(), name);
            let other = catalog.entries().find(|(s, n, _)| *s == schema && n == name);
            other.into_iter().for_each(|other| push(other, catalog, ordered, seen));
        }
        ordered.push(entry);
    }
    let (mut ordered, mut seen) = (Vec::new(), Vec::new());
    catalog.entries().for_each(|entry| push(entry, catalog, &mut ordered, &mut seen));
    ordered
}

/// Schema, name and what it is of.
type Entry<'c> = (&'c str, &'c str, &'c TableEntry);
type Seen<'c> = (&'c str, &'c str);

/// A foreign key without its name.
pub(crate) fn references(table: &Table, key: &ForeignKey, catalog: &CatalogSnapshot) -> String {
    let names = |table: &Table, attributes: &[usize]| {
        let name = |&at: &usize| quoted(&table.relation.schema().attributes()[at].name);
        attributes.iter().map(name).collect::<Vec<_>>().join(", ")
    };
    let referred = match catalog.find(Some(&key.references.0), &key.references.1) {
        Some(TableEntry::Table(to)) => format!("({})", names(to, &key.referred)),
        _ => String::new(),
    };
    let (to, full) = (full_name(&key.references.0, &key.references.1), if key.is_full { " MATCH FULL" } else { "" });
    let attributes = table.relation.schema().attributes();
    let own: Vec<String> = key.columns.iter().map(|&at| quoted(&attributes[at].name)).collect();
    let actions = key.clauses(&own);
    let (deferrable, valid) = (deferrable(key.deferrable), if key.is_valid { "" } else { " NOT VALID" });
    format!("FOREIGN KEY ({}) REFERENCES {to}{referred}{full}{actions}{deferrable}{valid}", own.join(", "))
}

/// What a constraint says about when it is checked.
pub(crate) fn deferrable(deferrable: Option<bool>) -> &'static str {
    match deferrable {
        None => "",
        Some(false) => " DEFERRABLE",
        Some(true) => " DEFERRABLE INITIALLY DEFERRED",
    }
}

/// The statement that makes an index of a table.
pub(crate) fn create_index(name: &str, table: &Table, index: &TableIndex) -> String {
    let definition = index.index.definition();
    let unique = if definition.unique == Unique::No { "" } else { "UNIQUE " };
    let nulls = if definition.unique == Unique::Yes { " NULLS NOT DISTINCT" } else { "" };
    let columns = parts(table, &definition.parts);
    let only = match definition.only.map(|only| computed(table, only)) {
        Some(Some(rows)) => format!(" WHERE {}", in_parentheses(rows)),
        _ => String::new(),
    };
    let using = if index.index.is_ordered() { "" } else { "USING hash " };
    let name_of = |at: &usize| quoted(&table.relation.schema().attributes()[*at].name);
    let included: Vec<String> = definition.included.iter().map(name_of).collect();
    let included = if included.is_empty() { String::new() } else { format!(" INCLUDE ({})", included.join(", ")) };
    format!("CREATE {unique}INDEX {} ON {name} {using}({columns}){included}{nulls}{only};", quoted(&definition.name))
}

/// The expression that an attribute is.
fn computed(table: &Table, attribute: usize) -> Option<&str> {
    let at = attribute.checked_sub(table.fillings.len())?;
    table.computed.get(at)?.sql.as_deref()
}

/// An expression in parentheses, unless it is a name or has them.
fn in_parentheses(sql: &str) -> String {
    let is_name = sql.chars().all(|c| c.is_alphanumeric() || c == '_');
    let inner = sql.strip_prefix('(').and_then(|sql| sql.strip_suffix(')'));
    let is_whole = |inner: &str| {
        let mut depth = 0_i32;
        inner.chars().all(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth >= 0
        })
    };
    if is_name || inner.is_some_and(is_whole) { sql.to_owned() } else { format!("({sql})") }
}

fn parts(table: &Table, parts: &[IndexPart]) -> String {
    let part = |part: &IndexPart| {
        let attribute = &table.relation.schema().attributes()[part.attribute];
        let name = match computed(table, part.attribute) {
            Some(_) if attribute.name.starts_with('(') => format!("({})", attribute.name),
            Some(_) => attribute.name.clone(),
            None => quoted(&attribute.name),
        };
        let order = match (part.descending, part.nulls_first) {
            (false, false) => "",
            (true, true) => " DESC",
            (false, true) => " NULLS FIRST",
            (true, false) => " DESC NULLS LAST",
        };
        name + order
    };
    parts.iter().map(part).collect::<Vec<_>>().join(", ")
}

/// The statement that makes an aggregate.
fn create_aggregate(name: &str, routine: &Routine) -> String {
    let types: Vec<String> = routine.parameters.iter().map(|p| p.sql_type.to_string()).collect();
    let types = if types.is_empty() { "*".to_owned() } else { types.join(", ") };
    format!("CREATE AGGREGATE {name} ({types}) ({});", routine.body)
}

/// The statement that makes a macro.
fn create_macro(name: &str, overloads: &[Arc<Routine>]) -> String {
    let parameter = |p: &RoutineParameter| {
        let name = quoted(p.name.as_deref().unwrap_or_default());
        p.default.as_ref().map_or_else(|| name.clone(), |default| format!("{name} := {default}"))
    };
    let overload = |routine: &Arc<Routine>| {
        let parameters: Vec<String> = routine.parameters.iter().map(parameter).collect();
        let table = if routine.is_set { "TABLE " } else { "" };
        format!("({}) AS {table}{}", parameters.join(", "), routine.body)
    };
    format!("CREATE MACRO {name}{};", overloads.iter().map(overload).collect::<Vec<_>>().join(", "))
}

/// The type of what a function takes or gives.
fn type_of(domain: Option<&(String, String)>, sql_type: SqlType) -> String {
    domain.map_or_else(|| sql_type.to_string(), |(schema, name)| full_name(schema, name))
}

/// The statement that makes a function or procedure.
fn create_routine(name: &str, routine: &Routine) -> String {
    let parameter = |p: &RoutineParameter| {
        let mut words: Vec<String> = Vec::with_capacity(4);
        if matches!(p.mode, Mode::Out | Mode::InOut) {
            words.push(p.mode.name().to_owned());
        }
        if p.is_variadic {
            words.push("VARIADIC".to_owned());
        }
        words.extend(p.name.as_deref().map(quoted));
        words.push(type_of(p.domain.as_ref(), p.sql_type));
        words.extend(p.default.as_ref().map(|default| format!("DEFAULT {default}")));
        words.join(" ")
    };
    let of = |is_table: bool| {
        let these = routine.parameters.iter().filter(|p| (p.mode == Mode::Table) == is_table);
        these.map(parameter).collect::<Vec<_>>().join(", ")
    };
    let set = if routine.is_set { "SETOF " } else { "" };
    let has_columns = routine.parameters.iter().any(|p| p.mode == Mode::Table);
    let has_outs = routine.parameters.iter().any(|p| matches!(p.mode, Mode::Out | Mode::InOut));
    let returns = match routine.returns {
        _ if has_columns => format!(" RETURNS TABLE ({})", of(true)),
        _ if routine.kind == RoutineKind::Procedure || has_outs && !routine.is_set => String::new(),
        Returns::Nothing => " RETURNS void".to_owned(),
        Returns::Trigger => " RETURNS trigger".to_owned(),
        Returns::Value(sql_type) => format!(" RETURNS {set}{}", type_of(routine.domain.as_ref(), sql_type)),
        Returns::Row | Returns::Record => format!(" RETURNS {set}record"),
    };
    let mut tag = "$$".to_owned();
    while routine.body.contains(&tag) {
        tag.insert(1, 'b');
    }
    let (kind, language) = (routine.kind.name().to_uppercase(), routine.language.name());
    let strict = if routine.is_strict { " STRICT" } else { "" };
    let volatility = match routine.volatility {
        Volatility::Volatile => String::new(),
        other => format!(" {}", other.name()),
    };
    let (body, settings) = (&routine.body, settings_of(routine));
    format!(
        "CREATE {kind} {name}({}){returns} LANGUAGE {language}{volatility}{strict}{settings} AS {tag}{body}{tag};",
        of(false)
    )
}

/// The SET clauses of a routine, each with a blank before it.
pub(crate) fn settings_of(routine: &Routine) -> String {
    let value = |value: &str| {
        // What is in quotes is one name of several.
        let is_list = value.contains(['"', ',']);
        if is_list { value.to_owned() } else { format!("'{}'", value.replace('\'', "''")) }
    };
    routine.settings.iter().map(|(name, text)| format!(" SET {name} TO {}", value(text))).collect()
}

/// The name as SQL needs it: in quotes unless it is a word in lower case that could be no keyword.
pub(crate) fn quoted(name: &str) -> String {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_')
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let parses = || sql::parse(&format!("select {name} from {name}")).is_ok();
    if plain && parses() { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Database, QueryResult};

    #[test]
    fn definitions_make_the_same_again() {
        let statements = [
            "create table t (a integer default 7, \"B\" text default 'it''s' not null, c decimal(5,2) default 1.5, \
             \"select\" date default '2024-01-01', d double precision default random(), \
             e integer generated always as (a * 2) stored, check (a > 0), constraint \"C\" check (c < 9), primary key (c, a))",
            "create sequence s start 5 increment by -5 minvalue -10 maxvalue 5 cycle",
            "create table u as select 1 as x",
            "create table x (a integer unique, b text, c date, constraint k unique nulls not distinct (b, a))",
            "create unique index on x (c desc, b nulls first)",
            "create index \"X\" on x (b desc nulls last)",
            "create table w (a integer default nextval('s'), b bigint generated by default as identity (start 3))",
            "create view v (y) as select x from u",
            "create materialized view y as select x from u",
            "create view z as select c from x where c is not null with local check option",
            "create function f() returns trigger language plpgsql as $$ begin return new; end $$",
            "create trigger t1 before update of a or insert on x for each row when (new.a > 0) execute function f('a', 2)",
            "create trigger t2 after delete on x referencing old table as o for each statement execute function f()",
        ];
        let made = |statements: &[String]| {
            let mut session = Database::new(Config::default()).unwrap().connect();
            for sql in statements {
                session.execute(sql, &[]).and_then(QueryResult::collect).unwrap_or_else(|e| panic!("{sql}: {e}"));
            }
            session.definitions().into_iter().map(|d| d.sql).collect::<Vec<_>>()
        };
        let first = made(&statements.map(str::to_owned));
        assert!(first[1].contains("PRIMARY KEY (c, a)") && first[1].contains("\"B\" text DEFAULT 'it''s' NOT NULL"));
        assert!(first[5].contains("CONSTRAINT k UNIQUE NULLS NOT DISTINCT (b, a)"), "{first:?}");
        assert!(first[5].contains("CREATE UNIQUE INDEX x_c_b_idx ON x (c DESC, b NULLS FIRST);"), "{first:?}");
        let pieces =
            |sql: &String| sql::split(sql).into_iter().map(|piece| sql[piece.range].to_owned()).collect::<Vec<_>>();
        let again: Vec<String> = first.iter().flat_map(pieces).collect();
        assert_eq!(first, made(&again));
    }
}
