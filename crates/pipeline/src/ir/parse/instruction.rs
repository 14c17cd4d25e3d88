//! Bodies.

use base::{IdMap, Result, SqlState};
use functions::ScalarFunction;
use types::ops::cast::ShortForm;

use super::{Parser, named};
use crate::ir::text::snake;
use crate::ir::{
    Arithmetic, Block, Callee, Compare, Conversion, FloatFunction, FloatOp, Fold, FoldColumn, FoldElement, FoldKind,
    Inst, Known, Literal, Logic, Match, MatchCondition, MatchKind, Operation, RepeatedElement, Step, Ty, Var, Vectors,
};

const ARITHMETIC: &[Arithmetic] = &[Arithmetic::Add, Arithmetic::Sub, Arithmetic::Mul];
const FLOAT: &[FloatOp] = &[FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Div];
const COMPARE: &[Compare] =
    &[Compare::Eq, Compare::Ne, Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Before];
const FOLD: &[FoldKind] =
    &[FoldKind::Count, FoldKind::Sum, FoldKind::SumAsDouble, FoldKind::Variance, FoldKind::Min, FoldKind::Max];
const LOGIC: &[Logic] = &[Logic::And, Logic::Or, Logic::Xor];
const CONVERSION: &[Conversion] = &[
    Conversion::Widen,
    Conversion::Narrow,
    Conversion::Cut,
    Conversion::IntToFloat,
    Conversion::FloatToInt,
    Conversion::FloatToFloat,
    Conversion::BoolToInt,
];
/// Callees that their names tell.
const CALLEES: &[Callee] = &[
    Callee::ListBegin,
    Callee::ListEnd,
    Callee::MulI128,
    Callee::MulRound,
    Callee::AddInterval,
    Callee::DivDecimal,
    Callee::RemI128,
    Callee::RescaleDown,
    Callee::CheckPrecision,
    Callee::DecimalToDouble,
    Callee::Substring,
    Callee::TimestampAddInterval,
    Callee::MergeSums,
    Callee::RoundSum,
    Callee::Average,
    Callee::VarianceAdd,
    Callee::VarianceAddInteger,
    Callee::VarianceMerge,
    Callee::Variance,
    Callee::MomentsAdd,
    Callee::MomentsMerge,
    Callee::CollectInteger,
    Callee::CollectFloat,
    Callee::CollectMerge,
    Callee::DistinctAdd,
    Callee::DistinctMerge,
    Callee::DistinctCount,
    Callee::IntegerAt,
    Callee::FloatAt,
    Callee::FloatAround,
    Callee::MostFrequentInteger,
    Callee::MostFrequentFloat,
    Callee::FloatWord,
];

impl Parser<'_> {
    /// A block in braces, and what it yields.
    pub(super) fn block(&mut self) -> Result<(Block, Vec<Var>)> {
        self.t.word("{")?;
        let mut block = Block::new();
        let mut yields = Vec::new();
        while !self.t.take("}") {
            if self.t.take("yield") {
                yields = self.some(|p| p.t.id("%"))?;
            } else if self.t.take("unused") {
                self.definition()?;
            } else {
                block.push(self.inst()?);
            }
        }
        Ok((block, yields))
    }

    /// What is computed before a body.
    pub(super) fn vectors(&mut self) -> Result<Vectors> {
        self.vars = IdMap::new();
        self.t.word("{")?;
        let mut steps = Vec::new();
        while !self.t.take("}") {
            let (var, ty) = self.definition()?;
            self.t.word("=")?;
            let name = self.t.name()?;
            let op = self.operation(name, ty)?;
            steps.push(Step { var, op, only_if: self.condition()? });
        }
        let filter = self.condition()?;
        self.t.word("(")?;
        let columns = self.values()?;
        self.t.word(")")?;
        Ok(Vectors { vars: std::mem::take(&mut self.vars), steps, filter, columns })
    }

    fn condition(&mut self) -> Result<Option<Var>> {
        if self.t.take("where") { self.var().map(Some) } else { Ok(None) }
    }

    /// `%1: I64`
    fn definition(&mut self) -> Result<(Var, Ty)> {
        let var = self.t.id("%")?;
        self.t.word(":")?;
        let ty = self.ty()?;
        self.declare(var, ty);
        Ok((var, ty))
    }

    fn var(&mut self) -> Result<Var> {
        self.t.id("%")
    }

    fn position(&mut self) -> Result<Option<u32>> {
        if self.t.take("@") { self.t.number().map(Some) } else { Ok(None) }
    }

    /// `%1+16`
    fn place(&mut self) -> Result<(Var, u32)> {
        let base = self.var()?;
        self.t.word("+")?;
        Ok((base, self.t.number()?))
    }

    fn values(&mut self) -> Result<Vec<(Var, Option<Var>)>> {
        if !self.t.at_id("%") {
            return Ok(Vec::new());
        }
        self.some(|p| {
            let v = p.var()?;
            Ok((v, if p.t.take("null") { Some(p.var()?) } else { None }))
        })
    }

    fn inst(&mut self) -> Result<Inst> {
        let mut results = Vec::new();
        if self.t.at_id("%") {
            results = self.some(Self::definition)?;
            self.t.word("=")?;
        }
        let name = self.t.name()?;
        let vars: Vec<Var> = results.iter().map(|&(v, _)| v).collect();
        let first = |p: &Self| results.first().copied().ok_or_else(|| p.t.error("something to define"));
        Ok(match name {
            "call" => {
                let callee = self.callee()?;
                let args = self.list(Self::var)?;
                Inst::Call { results: vars, callee, args, position: self.position()? }
            }
            "if" => {
                let condition = self.var()?;
                let (then, a) = self.block()?;
                self.t.word("else")?;
                let (otherwise, b) = self.block()?;
                if a.len() != vars.len() || b.len() != vars.len() {
                    return Err(self.t.error("as many values as results"));
                }
                let results = vars.into_iter().zip(a).zip(b).map(|((r, a), b)| (r, a, b)).collect();
                Inst::If { condition, then, otherwise, results }
            }
            "loop" => {
                let times = self.var()?;
                self.t.word("from")?;
                let first = self.list(Self::var)?;
                let (body, next) = self.block()?;
                let Some((&index, carried)) = vars.split_first().filter(|(_, carried)| carried.len() == first.len())
                else {
                    return Err(self.t.error("a number, and as many values as are given"));
                };
                if next.len() != first.len() {
                    return Err(self.t.error("as many values as are given"));
                }
                let carried = carried.iter().zip(first).zip(next).map(|((&v, a), b)| (v, a, b)).collect();
                Inst::Loop { times, index, carried, body }
            }
            "store" => {
                let (base, offset) = self.place()?;
                Inst::Store { base, offset, value: self.var()? }
            }
            "add_to_sum" => {
                let (base, offset) = self.place()?;
                Inst::AddToSum { base, offset, value: self.var()? }
            }
            "raise" => {
                let state = SqlState(self.t.text()?.leak());
                let message = self.t.text()?.leak();
                Inst::Raise { state, message, position: self.position()? }
            }
            "filter" => Inst::Filter(self.var()?),
            "repeat" => {
                let (index, _) = first(self)?;
                let (times, mut elements) = (self.var()?, Vec::new());
                while self.t.take("element") {
                    let (value, _) = self.definition()?;
                    self.t.word(",")?;
                    let (null, _) = self.definition()?;
                    self.t.word("=")?;
                    let site = self.t.id("site")?;
                    self.t.word("of")?;
                    let list = self.var()?;
                    let missing = if self.t.take("null") { Some(self.var()?) } else { None };
                    elements.push(RepeatedElement { list, missing, site, value, null });
                }
                Inst::Repeat { times, index, elements }
            }
            "prefetch" => Inst::Prefetch { state: self.t.id("s")?, hash: self.var()? },
            "count" => Inst::Count(self.t.number()?),
            "group" => {
                let (row, _) = first(self)?;
                let state = self.t.id("s")?;
                let place = if self.t.take("at") { Some(self.var()?) } else { None };
                self.t.word("hash")?;
                let (hash, known) = match place {
                    None => (self.var()?, None),
                    Some(place) => {
                        let (keys, yields) = self.block()?;
                        let &[hash] = yields.as_slice() else { return Err(self.t.error("one value")) };
                        (hash, Some(Known { place, keys }))
                    }
                };
                self.t.word("equal")?;
                let (equal, yields) = self.block()?;
                let &[is_equal] = yields.as_slice() else { return Err(self.t.error("one value")) };
                self.t.word("init")?;
                Inst::Group { state, hash, row, equal, is_equal, init: self.block()?.0, known }
            }
            "alloc_row" => {
                let (row, _) = first(self)?;
                let state = self.t.id("s")?;
                Inst::AllocRow { state, row, hash: if self.t.take("hash") { Some(self.var()?) } else { None } }
            }
            "output" => Inst::Output { state: self.t.id("s")?, values: self.values()? },
            _ => match name.split_once('.') {
                Some(("match", kind)) => self.a_match(kind, &vars)?,
                Some(("fold", kind)) => self.fold(kind)?,
                _ => {
                    let (var, ty) = first(self)?;
                    Inst::Let { var, op: self.operation(name, ty)? }
                }
            },
        })
    }

    fn fold(&mut self, kind: &str) -> Result<Inst> {
        let kind = named(FOLD, kind, snake).ok_or_else(|| self.t.error("a kind of fold"))?;
        let state = self.t.id("s")?;
        self.t.word("+")?;
        let offset = self.t.number()?;
        let seen = if self.t.take("seen") { Some(self.t.number()?) } else { None };
        let column = if self.t.take("column") {
            Some(FoldColumn { index: self.t.number()?, ty: self.ty()?, nullable: self.t.take("null") })
        } else {
            None
        };
        let element = if self.t.take("element") {
            let value = self.var()?;
            self.t.word("null")?;
            Some(FoldElement { value, null: self.var()? })
        } else {
            None
        };
        Ok(Inst::Fold(Fold { kind, state, offset, seen, column, element }))
    }

    fn callee(&mut self) -> Result<Callee> {
        if self.t.at_id("site") {
            return self.t.id("site").map(Callee::Site);
        }
        Ok(match self.t.name()? {
            "element_count" => Callee::ElementCount(self.t.id("site")?),
            "element" => Callee::Element(self.t.id("site")?, self.ty()?),
            "subscript" => Callee::Subscript(self.t.id("site")?, self.ty()?),
            "of_lists" => {
                let (site, name) = (self.t.id("site")?, self.t.name()?);
                let function = ScalarFunction::named(name).ok_or_else(|| self.t.error("a function"))?;
                Callee::OfLists(site, function, self.ty()?)
            }
            "field_start" => Callee::FieldStart(self.t.id("site")?),
            "list_push" => Callee::ListPush(self.t.id("site")?, self.ty()?),
            "like" => Callee::Like(self.t.id("$")?),
            "in_set" => Callee::InSet(self.t.id("$")?, self.ty()?),
            "function" => {
                let name = self.t.name()?;
                Callee::Scalar(ScalarFunction::named(name).ok_or_else(|| self.t.error("a function"))?)
            }
            "concat" => Callee::Concat(self.t.number()?),
            "collect_words" => Callee::CollectWords(self.t.number()?),
            "collect_first" => Callee::CollectFirst(self.t.number()?),
            "collect_first_text" => {
                Callee::CollectFirstText { words: self.t.number()?, backwards: self.t.take("backwards") }
            }
            "collect_text" => Callee::CollectText(self.t.number()?),
            "texts" => Callee::JoinTexts { words: self.t.number()?, backwards: self.t.take("backwards") },
            "list" => {
                let (elements, words) = (self.t.id("site")?, self.t.number()?);
                Callee::MakeList { elements, words, flagged: self.t.take("flagged") }
            }
            "extract_date" => Callee::ExtractDate(self.t.name()?.parse()?),
            "extract_timestamp" => Callee::ExtractTimestamp(self.t.name()?.parse()?),
            "truncate_timestamp" => Callee::TruncateTimestamp(self.t.name()?.parse()?),
            "short_text" if self.t.take("date") => Callee::ShortText(ShortForm::Date),
            "short_text" => Callee::ShortText(ShortForm::Number(self.t.number()?)),
            "regression" => self.aggregate(Callee::regression)?,
            "regression_of_integers" => self.aggregate(Callee::regression_of_integers)?,
            "first_seen" => Callee::FirstSeen(self.t.id("s")?),
            "add_row" => Callee::AddRow(self.t.id("s")?),
            "take_limit" => Callee::TakeLimit(self.t.id("s")?),
            "keep_str" => Callee::KeepStr(self.t.id("s")?),
            name => named(CALLEES, name, |c| format!("{c:?}")).ok_or_else(|| self.t.error("a callee"))?,
        })
    }

    fn aggregate(&mut self, callee: fn(&str) -> Option<Callee>) -> Result<Callee> {
        let name = self.t.name()?;
        callee(name).ok_or_else(|| self.t.error("an aggregate"))
    }

    fn a_match(&mut self, kind: &str, results: &[Var]) -> Result<Inst> {
        let state = self.t.id("s")?;
        self.t.word("hash")?;
        let hash = self.var()?;
        let until = if self.t.take("until") { Some(self.var()?) } else { None };
        let active = if self.t.take("active") { Some(self.var()?) } else { None };
        let marker = if self.t.take("marker") { Some(self.t.number()?) } else { None };
        let position = self.position()?;
        let (entry, kind) = match (kind, results) {
            ("inner", &[entry]) => (entry, MatchKind::Inner),
            ("left", &[entry]) => (entry, MatchKind::Left),
            ("semi", &[entry]) => (entry, MatchKind::Semi),
            ("anti", &[entry]) => (entry, MatchKind::Anti),
            ("single", &[entry]) => (entry, MatchKind::Single { position }),
            ("mark", &[entry, is_true, is_null]) => (entry, MatchKind::Mark { is_true, is_null }),
            _ => return Err(self.t.error("a kind of match with its results")),
        };
        let mut condition = None;
        if self.t.take("where") {
            let (block, yields) = self.block()?;
            let (is_true, is_null) = match *yields.as_slice() {
                [is_true] => (is_true, None),
                [is_true, is_null] => (is_true, Some(is_null)),
                _ => return Err(self.t.error("one or two values")),
            };
            condition = Some(MatchCondition { block, is_true, is_null });
        }
        Ok(Inst::Match(Box::new(Match { state, kind, hash, until, active, entry, condition, marker })))
    }

    fn pair(&mut self) -> Result<(Var, Var)> {
        let x = self.var()?;
        self.t.word(",")?;
        Ok((x, self.var()?))
    }

    fn operation(&mut self, name: &str, ty: Ty) -> Result<Operation> {
        let unknown = |p: &Self| p.t.error("an instruction");
        if let Some((family, member)) = name.split_once('.') {
            if family == "convert" {
                let kind = named(CONVERSION, member, snake).ok_or_else(|| unknown(self))?;
                let x = self.var()?;
                return Ok(Operation::Convert(kind, x, ty, self.position()?));
            }
            if name == "load.stable" {
                let (base, offset) = self.place()?;
                return Ok(Operation::Load { base, offset, ty, stable: true });
            }
            if family == "function" {
                let function = named(&FloatFunction::ALL, member, snake).ok_or_else(|| unknown(self))?;
                return Ok(Operation::FloatFunction(function, self.var()?));
            }
            let (x, y) = self.pair()?;
            let arithmetic = named(ARITHMETIC, member, snake);
            let op = match family {
                "checked" => {
                    arithmetic.map(|k| (k, self.position())).map(|(k, p)| p.map(|p| Operation::Checked(k, x, y, p)))
                }
                "wrapping" => arithmetic.map(|k| Ok(Operation::Wrapping(k, x, y))),
                "float" => {
                    let kind = named(FLOAT, member, snake);
                    kind.map(|k| (k, self.position())).map(|(k, p)| p.map(|p| Operation::Float(k, x, y, p)))
                }
                "compare" => named(COMPARE, member, snake).map(|k| Ok(Operation::Compare(k, x, y))),
                "logic" => named(LOGIC, member, snake).map(|k| Ok(Operation::Logic(k, x, y))),
                _ => None,
            };
            return op.ok_or_else(|| unknown(self))?;
        }
        Ok(match name {
            "bool" => Operation::Const(Literal::Bool(self.t.boolean()?)),
            "int" => Operation::Const(Literal::Int(self.t.number()?, ty)),
            "float" => Operation::Const(Literal::Float(self.t.number()?, ty)),
            "empty_str" => Operation::Const(Literal::EmptyStr),
            "zero_interval" => Operation::Const(Literal::ZeroInterval),
            "null_ptr" => Operation::Const(Literal::NullPtr),
            "param" => Operation::Param(self.t.id("$")?, ty),
            "column" => Operation::Column(self.t.number()?, ty),
            "column_null" => Operation::ColumnNull(self.t.number()?),
            "row" => Operation::Row,
            "local_row" => Operation::LocalRow(self.t.id("s")?),
            "only_row" => Operation::OnlyRow(self.t.id("s")?),
            "load" => {
                let (base, offset) = self.place()?;
                Operation::Load { base, offset, ty, stable: false }
            }
            "field_address" => {
                let (base, offset) = self.place()?;
                Operation::FieldAddress(base, offset)
            }
            "of_doubles" => {
                let name = self.t.name()?;
                let function = ScalarFunction::named(name).ok_or_else(|| self.t.error("a function"))?;
                let x = self.var()?;
                let y = if self.t.take(",") { Some(self.var()?) } else { None };
                Operation::OfDoubles(function, x, y, self.position()?)
            }
            "to_decimal" => {
                let digits = (self.t.number()?, self.t.number()?);
                Operation::ToDecimal(self.var()?, digits, ty, self.position()?)
            }
            "is_null_ptr" => Operation::IsNullPtr(self.var()?),
            "not" => Operation::Not(self.var()?),
            "divide" => {
                let (x, y) = self.pair()?;
                Operation::Divide(x, y, self.position()?)
            }
            "remainder" => {
                let (x, y) = self.pair()?;
                Operation::Remainder(x, y, self.position()?)
            }
            "select" => {
                let c = self.var()?;
                self.t.word(",")?;
                let (x, y) = self.pair()?;
                Operation::Select(c, x, y)
            }
            "hash" => Operation::Hash(self.values()?),
            _ => return Err(unknown(self)),
        })
    }
}
