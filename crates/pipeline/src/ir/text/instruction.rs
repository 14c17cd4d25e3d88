//! Bodies.

use std::fmt::{Debug, Formatter, Result, Write};

use base::IdMap;
use base::ids::Id;
use types::ops::cast::ShortForm;

use super::{Quoted, list};
use crate::ir::{
    Block, Callee, FoldColumn, FoldElement, Inst, Known, Literal, Match, MatchKind, Operation, RepeatedElement, Ty,
    Var, Vectors,
};

/// A variant's name in lower case with underscores.
pub(in crate::ir) fn snake(variant: impl Debug) -> String {
    let mut out = String::new();
    for c in format!("{variant:?}").chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// A whole body. Variables that nothing in it defines are listed first, but for `known` ones.
pub(in crate::ir) fn body(
    f: &mut Formatter<'_>,
    block: &Block,
    vars: &IdMap<Var, Ty>,
    known: &[Var],
    result: Option<Var>,
    depth: usize,
) -> Result {
    let mut printer = Printer { f, vars, defined: vec![false; vars.len()], depth };
    known.iter().for_each(|v| printer.mark(*v));
    printer.find(block);
    let undefined: Vec<Var> = vars.keys().filter(|v| !printer.defined[v.index()]).collect();
    printer.block(block, &undefined, &result.into_iter().collect::<Vec<_>>())
}

/// What is computed before a body.
pub(in crate::ir) fn vectors(f: &mut Formatter<'_>, vectors: &Vectors) -> Result {
    f.write_str("vectors {")?;
    let mut printer = Printer { f, vars: &vectors.vars, defined: Vec::new(), depth: 2 };
    for step in &vectors.steps {
        printer.line()?;
        printer.results(&[step.var])?;
        printer.operation(&step.op)?;
        step.only_if.map_or(Ok(()), |only_if| write!(printer.f, " where {only_if}"))?;
    }
    printer.depth = 1;
    printer.line()?;
    printer.f.write_char('}')?;
    vectors.filter.map_or(Ok(()), |filter| write!(printer.f, " where {filter}"))?;
    printer.f.write_str(" (")?;
    printer.values(&vectors.columns)?;
    printer.f.write_char(')')?;
    printer.line()
}

struct Printer<'f, 'o, 'p> {
    f: &'f mut Formatter<'o>,
    vars: &'p IdMap<Var, Ty>,
    defined: Vec<bool>,
    depth: usize,
}

impl Printer<'_, '_, '_> {
    fn mark(&mut self, v: Var) {
        if let Some(defined) = self.defined.get_mut(v.index()) {
            *defined = true;
        }
    }

    /// Marks what a block defines.
    fn find(&mut self, block: &Block) {
        for inst in block {
            match inst {
                Inst::Let { var, .. } => self.mark(*var),
                Inst::Call { results, .. } => results.iter().for_each(|&v| self.mark(v)),
                Inst::If { then, otherwise, results, .. } => {
                    self.find(then);
                    self.find(otherwise);
                    results.iter().for_each(|&(v, ..)| self.mark(v));
                }
                Inst::Loop { index, carried, body, .. } => {
                    self.mark(*index);
                    carried.iter().for_each(|&(v, ..)| self.mark(v));
                    self.find(body);
                }
                Inst::Match(m) => {
                    match_results(m).into_iter().for_each(|v| self.mark(v));
                    m.condition.iter().for_each(|c| self.find(&c.block));
                }
                Inst::Group { row, equal, init, known, .. } => {
                    self.mark(*row);
                    known.iter().for_each(|known| self.find(&known.keys));
                    self.find(equal);
                    self.find(init);
                }
                Inst::AllocRow { row, .. } => self.mark(*row),
                _ => {}
            }
        }
    }

    fn line(&mut self) -> Result {
        self.f.write_char('\n')?;
        (0..self.depth).try_for_each(|_| self.f.write_str("  "))
    }

    /// A block in braces, which ends with what it yields.
    fn block(&mut self, block: &Block, undefined: &[Var], yields: &[Var]) -> Result {
        self.f.write_char('{')?;
        self.depth += 1;
        for &v in undefined {
            self.line()?;
            write!(self.f, "unused {v}: {:?}", self.vars[v])?;
        }
        for inst in block {
            self.line()?;
            self.inst(inst)?;
        }
        if !yields.is_empty() {
            self.line()?;
            self.f.write_str("yield ")?;
            list(self.f, yields, |f, v| write!(f, "{v}"))?;
        }
        self.depth -= 1;
        self.line()?;
        self.f.write_char('}')
    }

    fn results(&mut self, results: &[Var]) -> Result {
        let vars = self.vars;
        list(self.f, results, |f, &v| match vars.get(v) {
            Some(ty) => write!(f, "{v}: {ty:?}"),
            None => write!(f, "{v}: ?"),
        })?;
        if results.is_empty() { Ok(()) } else { self.f.write_str(" = ") }
    }

    fn position(&mut self, position: Option<u32>) -> Result {
        position.map_or(Ok(()), |p| write!(self.f, " @{p}"))
    }

    fn values(&mut self, values: &[(Var, Option<Var>)]) -> Result {
        list(self.f, values, |f, (v, null)| {
            write!(f, "{v}")?;
            null.map_or(Ok(()), |n| write!(f, " null {n}"))
        })
    }

    fn inst(&mut self, inst: &Inst) -> Result {
        match inst {
            Inst::Let { var, op } => {
                self.results(&[*var])?;
                self.operation(op)
            }
            Inst::Call { results, callee, args, position } => {
                self.results(results)?;
                self.f.write_str("call ")?;
                match callee {
                    Callee::Site(id) => write!(self.f, "{id}")?,
                    Callee::ElementCount(id) => write!(self.f, "element_count {id}")?,
                    Callee::Element(id, ty) => write!(self.f, "element {id} {ty:?}")?,
                    Callee::Subscript(id, ty) => write!(self.f, "subscript {id} {ty:?}")?,
                    Callee::OfLists(id, function, ty) => {
                        write!(self.f, "of_lists {id} {} {ty:?}", function.name())?;
                    }
                    Callee::FieldStart(id) => write!(self.f, "field_start {id}")?,
                    Callee::ListPush(id, ty) => write!(self.f, "list_push {id} {ty:?}")?,
                    Callee::Like(id) => write!(self.f, "like {id}")?,
                    Callee::InSet(id, ty) => write!(self.f, "in_set {id} {ty:?}")?,
                    Callee::Scalar(function) => write!(self.f, "function {}", function.name())?,
                    Callee::Concat(count) => write!(self.f, "concat {count}")?,
                    Callee::CollectWords(words) => write!(self.f, "collect_words {words}")?,
                    Callee::CollectFirst(words) => write!(self.f, "collect_first {words}")?,
                    Callee::CollectFirstText { words, backwards } => {
                        write!(self.f, "collect_first_text {words}{}", if *backwards { " backwards" } else { "" })?;
                    }
                    Callee::CollectText(words) => write!(self.f, "collect_text {words}")?,
                    Callee::JoinTexts { words, backwards } => {
                        write!(self.f, "texts {words}{}", if *backwards { " backwards" } else { "" })?;
                    }
                    Callee::MakeList { elements, words, flagged } => {
                        write!(self.f, "list {elements} {words}{}", if *flagged { " flagged" } else { "" })?;
                    }
                    Callee::ExtractDate(field) => write!(self.f, "extract_date {}", field.name())?,
                    Callee::ExtractTimestamp(field) => write!(self.f, "extract_timestamp {}", field.name())?,
                    Callee::TruncateTimestamp(field) => write!(self.f, "truncate_timestamp {}", field.name())?,
                    Callee::ShortText(ShortForm::Date) => self.f.write_str("short_text date")?,
                    Callee::ShortText(ShortForm::Number(scale)) => write!(self.f, "short_text {scale}")?,
                    Callee::Regression(function) => write!(self.f, "regression {}", function.name())?,
                    Callee::RegressionOfIntegers(function) => {
                        write!(self.f, "regression_of_integers {}", function.name())?;
                    }
                    Callee::FirstSeen(id) => write!(self.f, "first_seen {id}")?,
                    Callee::AddRow(id) => write!(self.f, "add_row {id}")?,
                    Callee::TakeLimit(id) => write!(self.f, "take_limit {id}")?,
                    Callee::KeepStr(id) => write!(self.f, "keep_str {id}")?,
                    simple => write!(self.f, "{simple:?}")?,
                }
                self.f.write_str(" (")?;
                list(self.f, args, |f, v| write!(f, "{v}"))?;
                self.f.write_char(')')?;
                self.position(*position)
            }
            Inst::If { condition, then, otherwise, results } => {
                let (names, a): (Vec<_>, Vec<_>) = results.iter().map(|&(r, a, _)| (r, a)).unzip();
                let b: Vec<_> = results.iter().map(|&(.., b)| b).collect();
                self.results(&names)?;
                write!(self.f, "if {condition} ")?;
                self.block(then, &[], &a)?;
                self.f.write_str(" else ")?;
                self.block(otherwise, &[], &b)
            }
            Inst::Loop { times, index, carried, body } => {
                let names: Vec<_> = [*index].into_iter().chain(carried.iter().map(|&(v, ..)| v)).collect();
                self.results(&names)?;
                write!(self.f, "loop {times} from (")?;
                list(self.f, carried, |f, (_, first, _)| write!(f, "{first}"))?;
                self.f.write_str(") ")?;
                let next: Vec<_> = carried.iter().map(|&(.., next)| next).collect();
                self.block(body, &[], &next)
            }
            Inst::Store { base, offset, value } => write!(self.f, "store {base}+{offset} {value}"),
            Inst::AddToSum { base, offset, value } => write!(self.f, "add_to_sum {base}+{offset} {value}"),
            Inst::Fold(fold) => {
                write!(self.f, "fold.{} {}+{}", snake(fold.kind), fold.state, fold.offset)?;
                if let Some(seen) = fold.seen {
                    write!(self.f, " seen {seen}")?;
                }
                if let Some(FoldColumn { index, ty, nullable }) = fold.column {
                    write!(self.f, " column {index} {ty:?}{}", if nullable { " null" } else { "" })?;
                }
                if let Some(FoldElement { value, null }) = fold.element {
                    write!(self.f, " element {value} null {null}")?;
                }
                Ok(())
            }
            Inst::Raise { state, message, position } => {
                write!(self.f, "raise {} {}", Quoted(state.0), Quoted(message))?;
                self.position(*position)
            }
            Inst::Filter(v) => write!(self.f, "filter {v}"),
            Inst::Repeat { times, index, elements } => {
                self.results(&[*index])?;
                write!(self.f, "repeat {times}")?;
                for RepeatedElement { list, missing, site, value, null } in elements {
                    self.f.write_str(" element ")?;
                    self.results(&[*value, *null])?;
                    write!(self.f, "{site} of {list}")?;
                    missing.map_or(Ok(()), |missing| write!(self.f, " null {missing}"))?;
                }
                Ok(())
            }
            Inst::Prefetch { state, hash } => write!(self.f, "prefetch {state} {hash}"),
            Inst::Count(i) => write!(self.f, "count {i}"),
            Inst::Match(m) => self.a_match(m),
            Inst::Group { state, hash, row, equal, is_equal, init, known } => {
                self.results(&[*row])?;
                write!(self.f, "group {state} ")?;
                match known {
                    None => write!(self.f, "hash {hash}")?,
                    Some(Known { place, keys }) => {
                        write!(self.f, "at {place} hash ")?;
                        self.block(keys, &[], &[*hash])?;
                    }
                }
                self.f.write_str(" equal ")?;
                self.block(equal, &[], &[*is_equal])?;
                self.f.write_str(" init ")?;
                self.block(init, &[], &[])
            }
            Inst::AllocRow { state, row, hash } => {
                self.results(&[*row])?;
                write!(self.f, "alloc_row {state}")?;
                hash.map_or(Ok(()), |h| write!(self.f, " hash {h}"))
            }
            Inst::Output { state, values } => {
                write!(self.f, "output {state} ")?;
                self.values(values)
            }
        }
    }

    fn a_match(&mut self, m: &Match) -> Result {
        self.results(&match_results(m))?;
        let kind = match m.kind {
            MatchKind::Inner => "inner",
            MatchKind::Left => "left",
            MatchKind::Semi => "semi",
            MatchKind::Anti => "anti",
            MatchKind::Mark { .. } => "mark",
            MatchKind::Single { .. } => "single",
        };
        write!(self.f, "match.{kind} {} hash {}", m.state, m.hash)?;
        if let Some(until) = m.until {
            write!(self.f, " until {until}")?;
        }
        if let Some(active) = m.active {
            write!(self.f, " active {active}")?;
        }
        if let Some(marker) = m.marker {
            write!(self.f, " marker {marker}")?;
        }
        if let MatchKind::Single { position } = m.kind {
            self.position(position)?;
        }
        if let Some(c) = &m.condition {
            self.f.write_str(" where ")?;
            let yields: Vec<_> = [c.is_true].into_iter().chain(c.is_null).collect();
            self.block(&c.block, &[], &yields)?;
        }
        Ok(())
    }

    fn operation(&mut self, op: &Operation) -> Result {
        match op {
            Operation::Const(literal) => match literal {
                Literal::Bool(x) => write!(self.f, "bool {x}"),
                Literal::Int(x, _) => write!(self.f, "int {x}"),
                Literal::Float(x, _) => write!(self.f, "float {x:?}"),
                Literal::EmptyStr => self.f.write_str("empty_str"),
                Literal::ZeroInterval => self.f.write_str("zero_interval"),
                Literal::NullPtr => self.f.write_str("null_ptr"),
            },
            Operation::Param(id, _) => write!(self.f, "param {id}"),
            Operation::Column(i, _) => write!(self.f, "column {i}"),
            Operation::ColumnNull(i) => write!(self.f, "column_null {i}"),
            Operation::Row => self.f.write_str("row"),
            Operation::LocalRow(s) => write!(self.f, "local_row {s}"),
            Operation::OnlyRow(s) => write!(self.f, "only_row {s}"),
            Operation::Load { base, offset, stable, .. } => {
                write!(self.f, "load{} {base}+{offset}", if *stable { ".stable" } else { "" })
            }
            Operation::FieldAddress(base, offset) => write!(self.f, "field_address {base}+{offset}"),
            Operation::FloatFunction(function, x) => write!(self.f, "function.{} {x}", snake(function)),
            Operation::OfDoubles(function, x, y, position) => {
                write!(self.f, "of_doubles {} {x}", function.name())?;
                if let Some(y) = y {
                    write!(self.f, ", {y}")?;
                }
                self.position(*position)
            }
            Operation::ToDecimal(x, (precision, scale), _, position) => {
                write!(self.f, "to_decimal {precision} {scale} {x}")?;
                self.position(*position)
            }
            Operation::IsNullPtr(x) => write!(self.f, "is_null_ptr {x}"),
            Operation::Checked(kind, x, y, position) => {
                write!(self.f, "checked.{} {x}, {y}", snake(kind))?;
                self.position(*position)
            }
            Operation::Wrapping(kind, x, y) => write!(self.f, "wrapping.{} {x}, {y}", snake(kind)),
            Operation::Divide(x, y, position) => {
                write!(self.f, "divide {x}, {y}")?;
                self.position(*position)
            }
            Operation::Remainder(x, y, position) => {
                write!(self.f, "remainder {x}, {y}")?;
                self.position(*position)
            }
            Operation::Float(kind, x, y, position) => {
                write!(self.f, "float.{} {x}, {y}", snake(kind))?;
                self.position(*position)
            }
            Operation::Compare(how, x, y) => write!(self.f, "compare.{} {x}, {y}", snake(how)),
            Operation::Logic(kind, x, y) => write!(self.f, "logic.{} {x}, {y}", snake(kind)),
            Operation::Not(x) => write!(self.f, "not {x}"),
            Operation::Select(c, x, y) => write!(self.f, "select {c}, {x}, {y}"),
            Operation::Convert(kind, x, _, position) => {
                write!(self.f, "convert.{} {x}", snake(kind))?;
                self.position(*position)
            }
            Operation::Hash(values) => {
                self.f.write_str("hash ")?;
                self.values(values)
            }
        }
    }
}

/// What a match defines, the entry first.
fn match_results(m: &Match) -> Vec<Var> {
    match m.kind {
        MatchKind::Mark { is_true, is_null } => vec![m.entry, is_true, is_null],
        _ => vec![m.entry],
    }
}
