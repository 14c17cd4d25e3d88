//! Steps.

use base::Result;
use sql::procedure as tree;

use super::super::program::{Action, Code, Raise, Step};
use super::Compiler;

impl Compiler<'_> {
    pub(super) fn steps(&mut self, steps: &[tree::Step]) -> Result<Code> {
        steps.iter().map(|step| Ok(Step { line: step.line, action: self.action(&step.action)? })).collect()
    }

    pub(super) fn action(&mut self, action: &tree::Action) -> Result<Action> {
        use tree::Action as A;
        Ok(match action {
            A::Block(block) => Action::Block(Box::new(self.block(block)?)),
            A::Assign(target, value) => Action::Assign(self.place(target)?, self.expression(value)),
            A::Sql(sql, into) => Action::Sql(self.statement(sql), self.targets(into.as_ref())?),
            A::Perform(sql) => Action::Perform(self.statement(sql)),
            A::Execute(text, into, using) => {
                Action::Execute(self.expression(text), self.targets(into.as_ref())?, self.expressions(using))
            }
            A::If(branches, otherwise) => {
                let mut compiled = Vec::with_capacity(branches.len());
                for (condition, steps) in branches {
                    let condition = self.expression(condition);
                    compiled.push((condition, self.steps(steps)?));
                }
                Action::If(compiled, self.steps(otherwise)?)
            }
            A::Case(operand, branches, otherwise) => self.case(operand.as_ref(), branches, otherwise.as_deref())?,
            A::Loop(label, condition, steps) => {
                let condition = condition.as_ref().map(|sql| self.expression(sql));
                let (number, code) = self.loop_body(label.as_ref(), steps)?;
                Action::Loop(number, condition, code)
            }
            A::For(label, targets, range, steps) => self.for_loop(label.as_ref(), targets, range, steps)?,
            A::Leave { goes_on, label, when } => {
                let when = when.as_ref().map(|sql| self.expression(sql));
                Action::Leave { goes_on: *goes_on, number: self.left(*goes_on, label.as_deref())?, when }
            }
            A::Return(value) => Action::Return(value.as_ref().map(|sql| self.expression(sql))),
            A::ReturnNext(value) => Action::ReturnNext(value.as_ref().map(|sql| self.expression(sql))),
            A::ReturnQuery(query) => Action::ReturnQuery(self.query(query)),
            A::Raise(raise) => Action::Raise(Box::new(Raise {
                level: raise.level,
                condition: raise.condition.clone(),
                format: raise.format.clone(),
                arguments: self.expressions(&raise.arguments),
                options: raise.options.iter().map(|(name, sql)| (name.clone(), self.expression(sql))).collect(),
                again: raise.again,
            })),
            A::Assert(condition, message) => {
                Action::Assert(self.expression(condition), message.as_ref().map(|sql| self.expression(sql)))
            }
            A::Diagnostics(stacked, items) => {
                let items = items.iter().map(|(target, item)| Ok((self.place(target)?, item.clone())));
                Action::Diagnostics(*stacked, items.collect::<Result<_>>()?)
            }
            A::Call(sql, arguments) => {
                let place = |argument: &tree::Sql| {
                    let name: Vec<String> = argument.text.split('.').map(|part| part.trim().to_lowercase()).collect();
                    self.scope.resolve(&name)?;
                    self.place(&tree::Target { name, subscript: None }).ok()
                };
                let places = arguments.iter().map(place).collect();
                Action::Call(self.statement(sql), places)
            }
            A::Open(cursor, opening) => {
                let place = self.cursor(cursor)?;
                let opening = self.opening(&place, opening)?;
                Action::Open(place, opening)
            }
            A::Fetch(cursor, motion, into) => {
                Action::Fetch(self.cursor(cursor)?, self.motion(motion), self.targets(into.as_ref())?)
            }
            A::Close(cursor) => Action::Close(self.cursor(cursor)?),
            A::Nothing => Action::Nothing,
            A::End { commits } => Action::End { commits: *commits },
        })
    }
}
