//! Lambdas over the elements of a list: a loop within the tuple.

use base::{Result, SqlState};
use plan::{Each, Expr, ExprKind, Reduced};
use types::SqlType;

use super::Expressions;
use super::scalar::unbind;
use crate::ir::{Arithmetic, Callee, Compare, Inst, Site, SiteId, SiteKind, Ty, Var};
use crate::lower::pipe::{Binding, Pipe, Sql};

/// What a loop goes over.
struct Rounds {
    /// The list.
    list: Var,
    elements: SiteId,
    ty: Ty,
    times: Var,
    index: Var,
    /// Where the element begins.
    at: Var,
    /// Where the first one does.
    start: Var,
}

impl Expressions {
    pub(in crate::lower) fn each(&mut self, pipe: &mut Pipe, each: &Each, expr: &Expr) -> Result<Sql> {
        let list = self.scalar(pipe, &each.list)?;
        let Some(null) = list.null else {
            let [value, null] = self.over_elements(pipe, list.value, each, expr)?;
            return Ok(Sql { value, null: each.reduced.is_some().then_some(null) });
        };
        let ty = expr.sql_type.physical().into();
        pipe.open_block();
        let none = [pipe.zero(ty), pipe.bool(true)];
        let then = pipe.close_block();
        pipe.open_block();
        let made = self.over_elements(pipe, list.value, each, expr)?;
        let otherwise = pipe.close_block();
        let [value, null] = pipe.choose(null, (then, none), (otherwise, made));
        Ok(Sql { value, null: Some(null) })
    }

    fn over_elements(&mut self, pipe: &mut Pipe, list: Var, each: &Each, expr: &Expr) -> Result<[Var; 2]> {
        let element = each.list.sql_type.element().unwrap_or(SqlType::Null);
        let elements = self.elements(element);
        let times = pipe.call1(Callee::ElementCount(elements), vec![list], None);
        let (index, at, start) = (pipe.var(Ty::I64), pipe.var(Ty::I64), pipe.int(0, Ty::I64));
        let rounds = Rounds { list, elements, ty: element.physical().into(), times, index, at, start };
        match &each.reduced {
            None => self.collected(pipe, &rounds, each, expr),
            Some(reduced) => self.reduced(pipe, &rounds, each, reduced, expr),
        }
    }

    /// A list of these elements, which is never NULL.
    pub(in crate::lower) fn list_of(&mut self, pipe: &mut Pipe, elements: &[Expr], expr: &Expr) -> Result<Sql> {
        pipe.call(Callee::ListBegin, Vec::new(), None);
        elements.iter().try_for_each(|element| self.push_made(pipe, element, expr.position))?;
        Ok(Sql { value: pipe.call1(Callee::ListEnd, Vec::new(), expr.position), null: None })
    }

    pub(in crate::lower) fn elements(&mut self, element: SqlType) -> SiteId {
        self.site(Site { kind: SiteKind::Elements, arguments: Vec::new(), result: element })
    }

    /// Opens the block of a round, in which the element and its number are bound. Gives what these columns were bound to before,
    /// and where the next element begins.
    fn open_round(&mut self, pipe: &mut Pipe, rounds: &Rounds, each: &Each) -> (Vec<Option<Binding>>, Var) {
        pipe.open_block();
        let callee = Callee::Element(rounds.elements, rounds.ty);
        let found = pipe.call(callee, vec![rounds.list, rounds.at], None);
        let one = pipe.int(1, Ty::I64);
        let number = pipe.wrapping(Arithmetic::Add, rounds.index, one);
        let element = Sql { value: found[0], null: Some(found[1]) };
        let outer = vec![
            pipe.bindings.insert(each.element, Binding::Ready(element)),
            pipe.bindings.insert(each.index, Binding::Ready(Sql { value: number, null: None })),
        ];
        (outer, found[2])
    }

    /// A list of what is computed of the elements.
    fn collected(&mut self, pipe: &mut Pipe, rounds: &Rounds, each: &Each, expr: &Expr) -> Result<[Var; 2]> {
        pipe.call(Callee::ListBegin, Vec::new(), None);
        let (outer, next) = self.open_round(pipe, rounds, each);
        match &each.only {
            None => self.push_made(pipe, &each.body, expr.position)?,
            Some(only) => {
                let is_kept = self.truth(pipe, only)?;
                pipe.when(is_kept, |pipe| self.push_made(pipe, &each.body, expr.position))?;
            }
        }
        let body = pipe.close_block();
        each.columns().zip(outer).for_each(|(column, outer)| unbind(pipe, column, outer));
        let (times, index) = (rounds.times, rounds.index);
        pipe.push(Inst::Loop { times, index, carried: vec![(rounds.at, rounds.start, next)], body });
        let made = pipe.call1(Callee::ListEnd, Vec::new(), expr.position);
        Ok([made, pipe.bool(false)])
    }

    fn push_made(&mut self, pipe: &mut Pipe, body: &Expr, position: Option<u32>) -> Result<()> {
        let made = self.elements(body.sql_type);
        let [value, null] = self.value_and_flag(pipe, body, body.sql_type)?;
        let callee = Callee::ListPush(made, body.sql_type.physical().into());
        pipe.call(callee, vec![value, null], position);
        Ok(())
    }

    /// The value after the last element.
    fn reduced(
        &mut self,
        pipe: &mut Pipe,
        rounds: &Rounds,
        each: &Each,
        reduced: &Reduced,
        expr: &Expr,
    ) -> Result<[Var; 2]> {
        let ty: Ty = expr.sql_type.physical().into();
        let first = match &reduced.initial {
            Some(initial) => self.value_and_flag(pipe, initial, expr.sql_type)?,
            None => {
                let is_empty = pipe.compare(Compare::Le, rounds.times, rounds.start);
                pipe.when(is_empty, |pipe| {
                    let (state, message) = (SqlState::INVALID_PARAMETER_VALUE, plan::NOTHING_TO_REDUCE);
                    pipe.push(Inst::Raise { state, message, position: expr.position });
                    Ok(())
                })?;
                [pipe.zero(ty), pipe.bool(true)]
            }
        };
        let now = [pipe.var(ty), pipe.var(Ty::Bool)];
        let (mut outer, next) = self.open_round(pipe, rounds, each);
        let accumulated = Sql { value: now[0], null: Some(now[1]) };
        outer.push(pipe.bindings.insert(reduced.accumulator, Binding::Ready(accumulated)));
        let made = match &reduced.initial {
            Some(_) => self.value_and_flag(pipe, &each.body, expr.sql_type)?,
            None => {
                let is_first = pipe.compare(Compare::Le, rounds.index, rounds.start);
                let element = Expr::column(each.element, each.list.sql_type.element().unwrap_or(SqlType::Null));
                let cast = Expr::new(ExprKind::Cast(Box::new(element)), expr.sql_type).at(expr.position);
                pipe.open_block();
                let first = self.value_and_flag(pipe, &cast, expr.sql_type)?;
                let then = pipe.close_block();
                pipe.open_block();
                let later = self.value_and_flag(pipe, &each.body, expr.sql_type)?;
                let otherwise = pipe.close_block();
                pipe.choose(is_first, (then, first), (otherwise, later))
            }
        };
        let body = pipe.close_block();
        each.columns().zip(outer).for_each(|(column, outer)| unbind(pipe, column, outer));
        let carried = vec![(rounds.at, rounds.start, next), (now[0], first[0], made[0]), (now[1], first[1], made[1])];
        pipe.push(Inst::Loop { times: rounds.times, index: rounds.index, carried, body });
        Ok(now)
    }
}
