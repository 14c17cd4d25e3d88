//! Reading one line of the text form: columns and expressions, by recursive descent.

use base::{IdMap, Result};
use functions::ScalarFunction;
use types::ops::like::Syntax;
use types::{SqlType, StructField};

use super::lexer::{ARRAY, Token, error};
use super::print_expr::implied_type;
use super::values::value;
use crate::{
    ArgumentId, ColumnId, ColumnInfo, Compare, Each, Expr, ExprKind, Node, Quantifier, Reduced, SortKey, Subquery,
    SubqueryKind,
};

/// A line that is being read.
pub(super) struct Line<'a> {
    tokens: &'a [Token],
    at: usize,
    columns: &'a mut IdMap<ColumnId, ColumnInfo>,
    /// The plans of `$1`, `$2`, ...; each is used once.
    pub subqueries: Vec<Option<Node>>,
}

impl<'a> Line<'a> {
    pub fn new(tokens: &'a [Token], columns: &'a mut IdMap<ColumnId, ColumnInfo>) -> Self {
        Self { tokens, at: 0, columns, subqueries: Vec::new() }
    }

    fn unexpected<T>(&self, wanted: &str) -> Result<T> {
        Err(error(format!("expected {wanted}, found {:?} in {:?}", self.tokens.get(self.at), self.tokens)))
    }

    /// Takes a token back.
    pub fn back(&mut self) {
        self.at -= 1;
    }

    pub fn end(&self) -> Result<()> {
        if self.at == self.tokens.len() { Ok(()) } else { self.unexpected("the end of the line") }
    }

    /// Takes the keyword if it is next.
    pub fn word(&mut self, word: &str) -> bool {
        // A column may be called like a keyword.
        let column = matches!(self.tokens.get(self.at + 1), Some(Token::Sign("#")));
        let found = !column && matches!(self.tokens.get(self.at), Some(Token::Word(w)) if w == word);
        self.at += usize::from(found);
        found
    }

    /// Takes the keyword, which must be next.
    pub fn keyword(&mut self, word: &str) -> Result<()> {
        if self.word(word) { Ok(()) } else { self.unexpected(word) }
    }

    /// Takes the sign if it is next.
    pub fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.get(self.at), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(found);
        found
    }

    pub fn expect(&mut self, sign: &str) -> Result<()> {
        if self.sign(sign) { Ok(()) } else { self.unexpected(sign) }
    }

    pub fn name(&mut self) -> Result<String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(w) | Token::Quoted(w)) => {
                self.at += 1;
                Ok(w.clone())
            }
            _ => self.unexpected("a name"),
        }
    }

    pub fn number(&mut self) -> Result<u64> {
        if let Some(Token::Number(n)) = self.tokens.get(self.at)
            && let Ok(n) = n.parse()
        {
            self.at += 1;
            return Ok(n);
        }
        self.unexpected("a number")
    }

    /// An id such as `t3`.
    pub fn id(&mut self, prefix: &str) -> Result<u32> {
        let name = self.name()?;
        name.strip_prefix(prefix).and_then(|n| n.parse().ok()).ok_or_else(|| error(format!("no id {prefix}n: {name}")))
    }

    /// `[item, item]`
    pub fn bracketed<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect("[")?;
        let mut out = Vec::new();
        while !self.sign("]") {
            if !out.is_empty() {
                self.expect(",")?;
            }
            out.push(item(self)?);
        }
        Ok(out)
    }

    pub fn exprs(&mut self) -> Result<Vec<Expr>> {
        self.bracketed(|l| l.expr())
    }

    pub fn references(&mut self) -> Result<Vec<ColumnId>> {
        self.bracketed(|l| l.reference())
    }

    pub fn assignments(&mut self) -> Result<Vec<(ColumnId, Expr)>> {
        self.bracketed(|l| {
            let column = l.definition()?;
            l.expect("=")?;
            Ok((column, l.expr()?))
        })
    }

    pub fn type_of(&self, column: ColumnId) -> SqlType {
        self.columns.get(column).map_or(SqlType::Null, |c| c.sql_type)
    }

    fn numbered(&mut self) -> Result<(String, ColumnId)> {
        let name =
            if matches!(self.tokens.get(self.at), Some(Token::Sign("#"))) { String::new() } else { self.name()? };
        self.expect("#")?;
        let id = u32::try_from(self.number()?).ok().filter(|&i| i < 1 << 20);
        Ok((name, ColumnId(id.ok_or_else(|| error("a column id is too large"))?)))
    }

    /// A column that is made here: `name#id:type?`.
    pub fn definition(&mut self) -> Result<ColumnId> {
        let (name, column) = self.numbered()?;
        self.expect(":")?;
        let sql_type = self.sql_type()?;
        let nullable = self.sign("?");
        while self.columns.len() <= column.0 as usize {
            self.columns.push(ColumnInfo { name: String::new(), sql_type: SqlType::Null, nullable: true });
        }
        self.columns[column] = ColumnInfo { name, sql_type, nullable };
        Ok(column)
    }

    /// Reads the definitions of the line ahead of everything else: a subquery of a scan reads the scan's columns.
    pub fn declare(&mut self) -> Result<()> {
        for i in 0..self.tokens.len() {
            if let [Token::Sign("#"), Token::Number(_), Token::Sign(":"), ..] = self.tokens[i..] {
                let named = i > 0 && matches!(self.tokens[i - 1], Token::Word(_) | Token::Quoted(_));
                self.at = i - usize::from(named);
                self.definition()?;
            }
        }
        self.at = 0;
        Ok(())
    }

    pub fn reference(&mut self) -> Result<ColumnId> {
        Ok(self.numbered()?.1)
    }

    fn sql_type(&mut self) -> Result<SqlType> {
        let mut text = self.name()?;
        if text == "map" && self.sign("(") {
            let key = self.sql_type()?;
            self.expect(",")?;
            let mut sql_type = SqlType::map_of(key, self.sql_type()?);
            self.expect(")")?;
            while self.sign(ARRAY) {
                sql_type = SqlType::array_of(sql_type);
            }
            return Ok(sql_type);
        }
        if text == "struct" && self.sign("(") {
            let mut fields = Vec::new();
            while fields.is_empty() || self.sign(",") {
                fields.push(StructField { name: self.name()?, sql_type: self.sql_type()? });
            }
            self.expect(")")?;
            let mut sql_type = SqlType::struct_of(fields);
            while self.sign(ARRAY) {
                sql_type = SqlType::array_of(sql_type);
            }
            return Ok(sql_type);
        }
        if self.sign("(") {
            text += &format!("({}", self.number()?);
            if self.sign(",") {
                text += &format!(",{}", self.number()?);
            }
            self.expect(")")?;
            text.push(')');
        }
        while self.sign(ARRAY) {
            text += ARRAY;
        }
        text.parse()
    }

    pub fn expr(&mut self) -> Result<Expr> {
        let parts = self.several("or", |l| l.several("and", |l| l.negation(), ExprKind::And), ExprKind::Or)?;
        Ok(parts)
    }

    fn several(
        &mut self,
        word: &str,
        mut item: impl FnMut(&mut Self) -> Result<Expr>,
        make: impl FnOnce(Vec<Expr>) -> ExprKind,
    ) -> Result<Expr> {
        let first = item(self)?;
        let mut parts = vec![first];
        while self.word(word) {
            parts.push(item(self)?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::new(make(parts), SqlType::Bool) })
    }

    fn negation(&mut self) -> Result<Expr> {
        if self.word("not") {
            let inner = self.negation()?;
            return Ok(Expr::new(ExprKind::Not(Box::new(inner)), SqlType::Bool));
        }
        self.comparison()
    }

    fn compare_op(&mut self) -> Option<Compare> {
        let signs = [
            ("=", Compare::Eq),
            ("<>", Compare::Ne),
            ("<=", Compare::Le),
            (">=", Compare::Ge),
            ("<", Compare::Lt),
            (">", Compare::Gt),
        ];
        signs.into_iter().find(|(s, _)| self.sign(s)).map(|(_, op)| op)
    }

    fn comparison(&mut self) -> Result<Expr> {
        let left = self.sum(5)?;
        let bool = |kind| Ok(Expr::new(kind, SqlType::Bool));
        if let Some(op) = self.compare_op() {
            return Ok(Expr::compare(op, left, self.sum(5)?));
        }
        if self.word("is") {
            let not = self.word("not");
            if self.word("null") {
                let test = Expr::new(ExprKind::IsNull(Box::new(left)), SqlType::Bool);
                return if not { bool(ExprKind::Not(Box::new(test))) } else { Ok(test) };
            }
            if !self.word("distinct") || !self.word("from") {
                return self.unexpected("null or distinct from");
            }
            let op = if not { Compare::NotDistinct } else { Compare::Distinct };
            return Ok(Expr::compare(op, left, self.sum(5)?));
        }
        if self.word("in") {
            self.expect("(")?;
            let mut values = Vec::new();
            while !self.sign(")") {
                if !values.is_empty() {
                    self.expect(",")?;
                }
                values.push(self.literal(left.sql_type)?);
            }
            return bool(ExprKind::InList(Box::new(left), values));
        }
        if let Some(word) = ["like", "ilike", "matches", "imatches"].into_iter().find(|word| self.word(word)) {
            let pattern = Box::new(self.sum(5)?);
            let mut escape = Some('\\');
            if self.word("escape") {
                escape = match self.tokens.get(self.at) {
                    Some(Token::Text(t)) => t.chars().next(),
                    _ => return self.unexpected("an escape character"),
                };
                self.at += 1;
            }
            let Some(syntax) = Syntax::of_word(word, escape) else { return self.unexpected("a pattern's syntax") };
            return bool(ExprKind::Like { input: Box::new(left), pattern, syntax });
        }
        Ok(left)
    }

    /// Operators that bind at least as tightly as `level`, to the left.
    fn sum(&mut self, level: u8) -> Result<Expr> {
        if level > 6 {
            return self.annotated();
        }
        let mut left = self.sum(level + 1)?;
        loop {
            let signs = ScalarFunction::all().filter_map(|f| f.definition().infix.map(|(sign, at)| (f, sign, at)));
            let found = signs.filter(|&(_, _, at)| at == level).find(|(_, sign, _)| self.sign(sign));
            let Some((function, _, _)) = found else { return Ok(left) };
            let right = self.sum(level + 1)?;
            let sql_type = left.sql_type;
            left = Expr::new(ExprKind::Call(function, vec![left, right]), sql_type);
        }
    }

    /// The text of a number, with a minus before it, or of a quoted constant: (text, whether it is a number).
    fn constant(&mut self) -> Option<(String, bool)> {
        let (found, taken) = match &self.tokens[self.at..] {
            [Token::Number(text), ..] => ((text.clone(), true), 1),
            [Token::Sign("-"), Token::Number(text), ..] => ((format!("-{text}"), true), 2),
            [Token::Text(text), ..] => ((text.clone(), false), 1),
            _ => return None,
        };
        self.at += taken;
        Some(found)
    }

    fn literal(&mut self, sql_type: SqlType) -> Result<types::Value> {
        if let Some((text, _)) = self.constant() {
            return value(&text, sql_type);
        }
        for word in ["true", "false"] {
            if self.word(word) {
                return value(word, SqlType::Bool);
            }
        }
        self.unexpected("a constant")
    }

    /// `@14`, if it is there.
    pub fn position(&mut self) -> Result<Option<u32>> {
        if !self.sign("@") {
            return Ok(None);
        }
        u32::try_from(self.number()?).map(Some).map_err(|_| error("a position is too large"))
    }

    /// An atom with its `::type` and its position.
    fn annotated(&mut self) -> Result<Expr> {
        let constant = self.constant();
        let mut atom = if let Some((text, number)) = constant {
            let sql_type = if self.sign("::") {
                self.sql_type()?
            } else if !number {
                SqlType::Text
            } else if text.contains(['.', 'e']) {
                SqlType::Double
            } else {
                SqlType::Integer
            };
            Expr::constant(value(&text, sql_type)?, sql_type)
        } else {
            let mut atom = self.atom()?;
            if self.sign("::") {
                atom.sql_type = self.sql_type()?;
            }
            atom
        };
        if let Some(position) = self.position()? {
            atom.position = Some(position);
        }
        Ok(atom)
    }

    fn atom(&mut self) -> Result<Expr> {
        if self.sign("(") {
            if !matches!(self.tokens.get(self.at + 1), Some(Token::Sign("#"))) && self.word("let") {
                return self.binding();
            }
            let is_definition = matches!(self.tokens.get(self.at + 2), Some(Token::Sign("#")));
            if is_definition && self.word("each") {
                return self.each(None);
            }
            if is_definition && self.word("reduce") {
                let accumulator = self.definition()?;
                let initial = if self.sign("=") { Some(self.expr()?) } else { None };
                self.expect(",")?;
                return self.each(Some(Reduced { accumulator, initial }));
            }
            let inner = self.expr()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if matches!(self.tokens.get(self.at + 1), Some(Token::Sign("#")))
            || matches!(self.tokens.get(self.at), Some(Token::Sign("#")))
        {
            let column = self.reference()?;
            if self.columns.get(column).is_none() {
                return Err(error(format!("{column} is not made anywhere")));
            }
            return Ok(Expr::column(column, self.type_of(column)));
        }
        let word = self.name()?;
        match word.as_str() {
            "null" => return Ok(Expr::constant(types::Value::Null, SqlType::Null)),
            "true" | "false" => return Ok(Expr::bool(word == "true")),
            "case" => return self.case(),
            "cast" | "try_cast" => {
                self.expect("(")?;
                let input = Box::new(self.expr()?);
                if !self.word("as") {
                    return self.unexpected("as");
                }
                let sql_type = self.sql_type()?;
                self.expect(")")?;
                let kind = if word == "cast" { ExprKind::Cast(input) } else { ExprKind::TryCast(input) };
                return Ok(Expr::new(kind, sql_type));
            }
            "exists" | "scalar" | "any" | "all" => return self.subquery(&word),
            "argument" => return self.argument(),
            _ => {}
        }
        self.expect("(")?;
        let mut args = Vec::new();
        while !self.sign(")") {
            if !args.is_empty() {
                self.expect(",")?;
            }
            args.push(self.expr()?);
        }
        let kind = match word.as_str() {
            "and" => ExprKind::And(args),
            "or" => ExprKind::Or(args),
            "coalesce" => ExprKind::Coalesce(args),
            name => {
                ExprKind::Call(ScalarFunction::named(name).ok_or_else(|| error(format!("no function {name}")))?, args)
            }
        };
        let mut out = Expr::new(kind, SqlType::Null);
        out.sql_type = implied_type(&out);
        Ok(out)
    }

    /// `column = value: body)`
    fn binding(&mut self) -> Result<Expr> {
        let column = self.definition()?;
        self.expect("=")?;
        let value = Box::new(self.expr()?);
        self.expect(":")?;
        let body = Box::new(self.expr()?);
        self.expect(")")?;
        let sql_type = body.sql_type;
        Ok(Expr::new(ExprKind::Let { column, value, body }, sql_type))
    }

    /// `element, index in list where condition: body)`
    fn each(&mut self, reduced: Option<Reduced>) -> Result<Expr> {
        let element = self.definition()?;
        self.expect(",")?;
        let index = self.definition()?;
        if !self.word("in") {
            return self.unexpected("in");
        }
        let list = self.expr()?;
        let only = if self.word("where") { Some(self.expr()?) } else { None };
        self.expect(":")?;
        let body = self.expr()?;
        self.expect(")")?;
        let each = Each { list, element, index, only, body, reduced };
        let mut out = Expr::new(ExprKind::Each(Box::new(each)), SqlType::Null);
        out.sql_type = implied_type(&out);
        Ok(out)
    }

    fn case(&mut self) -> Result<Expr> {
        let mut branches = Vec::new();
        while self.word("when") {
            let condition = self.expr()?;
            if !self.word("then") {
                return self.unexpected("then");
            }
            branches.push((condition, self.expr()?));
        }
        if !self.word("else") {
            return self.unexpected("else");
        }
        let otherwise = Box::new(self.expr()?);
        if !self.word("end") {
            return self.unexpected("end");
        }
        let mut out = Expr::new(ExprKind::Case { branches, otherwise }, SqlType::Null);
        out.sql_type = implied_type(&out);
        Ok(out)
    }

    /// `argument(0, 42::bigint)`
    fn argument(&mut self) -> Result<Expr> {
        self.expect("(")?;
        let id = ArgumentId(self.number()? as u32);
        self.expect(",")?;
        let mut argument = self.annotated()?;
        self.expect(")")?;
        let ExprKind::Const(value) = argument.kind else { return self.unexpected("the argument's value") };
        argument.kind = ExprKind::Argument(id, value);
        Ok(argument)
    }

    fn subquery(&mut self, word: &str) -> Result<Expr> {
        self.expect("(")?;
        self.expect("$")?;
        let label = self.number()? as usize;
        let plan = label.checked_sub(1).and_then(|i| self.subqueries.get_mut(i)).and_then(Option::take);
        let plan = plan.ok_or_else(|| error(format!("no subquery ${label} below")))?;
        let mut sql_type = SqlType::Bool;
        let kind = match word {
            "exists" => SubqueryKind::Exists,
            "scalar" => {
                self.expect(",")?;
                let column = self.reference()?;
                sql_type = self.type_of(column);
                SubqueryKind::Scalar { column }
            }
            _ => {
                let quantifier = if word == "any" { Quantifier::Any } else { Quantifier::All };
                let mut comparisons = Vec::new();
                while self.sign(",") {
                    let left = self.sum(5)?;
                    let Some(op) = self.compare_op() else { return self.unexpected("a comparison") };
                    comparisons.push((left, op, self.reference()?));
                }
                SubqueryKind::Quantified { quantifier, comparisons }
            }
        };
        self.expect(")")?;
        Ok(Expr::new(ExprKind::Subquery(Box::new(Subquery { kind, plan })), sql_type))
    }
}

pub(super) fn sort_key(line: &mut Line<'_>) -> Result<SortKey> {
    let expr = line.expr()?;
    let descending = line.word("desc");
    let nulls_first = if line.word("nulls") { line.name()? == "first" } else { descending };
    Ok(SortKey { expr, descending, nulls_first })
}
