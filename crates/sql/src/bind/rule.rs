//! Rules: what CREATE RULE says is a trigger for each row and its function (decision 61), which is called before the change that it
//! takes the place of, or behind an INSERT beside which it is done.

use base::{Error, Result, SqlState};
use catalog::{DEFAULT_SCHEMA, Event};

use super::kin::quoted;
use super::{Binder, fold, unsupported};
use crate::parse::{CreateRuleAst, RuleAst};
use crate::{ObjectName, Resolved, Statement};

impl Binder<'_> {
    /// CREATE and DROP RULE.
    pub(super) fn rule_statement(&mut self, rule: &RuleAst) -> Result<Statement> {
        match rule {
            RuleAst::Create(create) => self.create_rule(create),
            RuleAst::Drop { name, table, if_exists } => {
                let table = self.text.object_name(table)?;
                let (rule, exists) = (fold(name), if *if_exists { "IF EXISTS " } else { "" });
                if *if_exists && self.resolver.table(&table).is_err() {
                    return Ok(Statement::Nothing("DROP RULE"));
                }
                let statements = vec![
                    format!("DROP TRIGGER {exists}{} ON {}", quoted(&rule), self.full(&table)),
                    format!("DROP FUNCTION IF EXISTS {}()", self.function_of_rule(&rule, &table)),
                ];
                Ok(Statement::Script { tag: "DROP RULE", statements })
            }
        }
    }

    fn create_rule(&mut self, create: &CreateRuleAst) -> Result<Statement> {
        let CreateRuleAst { name, table, event, condition, is_instead, actions, or_replace } = create;
        let (rule, table) = (fold(name), self.text.object_name(table)?);
        let is_view = matches!(self.resolver.table(&table)?, Resolved::View { .. });
        let Some(event) = *event else { return unsupported("a rule ON SELECT", self.text.at(name)) };
        if is_view && !is_instead {
            return unsupported("a rule of a view that is not INSTEAD", self.text.at(name));
        }
        let row = if event == Event::Delete { "OLD" } else { "NEW" };
        let timing = match () {
            () if is_view => "INSTEAD OF",
            () if *is_instead || event != Event::Insert => "BEFORE",
            () => "AFTER",
        };
        let mut body = String::from("BEGIN\n");
        if let Some(condition) = condition {
            body += &format!("IF {condition} THEN\n");
        }
        for action in actions {
            body += &format!("{};\n", done(action, create)?);
        }
        // What it is done instead of does not happen.
        if *is_instead && !is_view {
            body += "RETURN NULL;\n";
        }
        if condition.is_some() {
            body += "END IF;\n";
        }
        body += &format!("RETURN {row};\nEND");
        let mut tag = "$rule$".to_owned();
        while body.contains(&tag) {
            tag.insert(1, 'a');
        }
        let (function, full) = (self.function_of_rule(&rule, &table), self.full(&table));
        let replace = if *or_replace { "OR REPLACE " } else { "" };
        let event = event.name().to_uppercase();
        let statements = vec![
            format!("CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS {tag}{body}{tag}"),
            format!(
                "CREATE {replace}TRIGGER {} {timing} {event} ON {full} FOR EACH ROW EXECUTE FUNCTION {function}()",
                quoted(&rule)
            ),
        ];
        Ok(Statement::Script { tag: "CREATE RULE", statements })
    }

    fn full(&self, table: &ObjectName) -> String {
        let placed = self.resolver.placed(table);
        format!("{}.{}", quoted(placed.schema.as_deref().unwrap_or(DEFAULT_SCHEMA)), quoted(&placed.name))
    }

    /// The function that does what a rule of a table says.
    fn function_of_rule(&self, rule: &str, table: &ObjectName) -> String {
        let placed = self.resolver.placed(table);
        let schema = placed.schema.as_deref().unwrap_or(DEFAULT_SCHEMA);
        format!("{}.{}", quoted(schema), quoted(&format!("rule {rule} of {}", placed.name)))
    }
}

/// An action as a statement of the procedural language: rows of a query are nobody's.
fn done(action: &str, create: &CreateRuleAst) -> Result<String> {
    let action = action.trim();
    let begins = |word: &str| action.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    match action {
        _ if begins("select") => Ok(format!("PERFORM{}", &action["select".len()..])),
        _ if ["insert", "update", "delete", "with"].iter().any(|word| begins(word)) => Ok(action.to_owned()),
        _ if begins("notify") => Err(Error::unsupported("NOTIFY in a rule")),
        _ => {
            let first = action.split_whitespace().next().unwrap_or_default();
            let message = format!("syntax error at or near \"{first}\"");
            let hint = format!("rule {} may SELECT, INSERT, UPDATE, DELETE", create.name);
            Err(Error::new(SqlState::SYNTAX_ERROR, message).hint(hint))
        }
    }
}
