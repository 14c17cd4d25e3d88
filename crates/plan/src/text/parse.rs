//! Reading the text form: lines become a tree by their indentation; the columns that lines make are read first, so that every
//! column is known where it is used, then each line after those below it.

use std::any::Any;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use base::{IdMap, Result};
use catalog::{ColumnStatistics, Field, Statistics};
use functions::AggregateFunction;
use types::{Chunk, SqlType};

use super::lexer::{Token, error, tokens};
use super::parse_expr::{Line, sort_key};
use super::window;
use crate::{
    AggregateCall, BuildSide, ColumnId, ColumnInfo, Cte, CteId, JoinKind, Node, Op, Plan, SetOperation, TableId,
    TableInfo, TableSource,
};

/// Resolves the tables of a text; called once for each table id. The columns that the scan names are passed as
/// (attribute, field), for resolvers that make tables up.
pub type Tables<'a> = &'a mut dyn FnMut(&str, &[(usize, Field)]) -> Result<TableInfo>;

/// A table made up from the columns of its scan, without statistics: for tests that never run the plan.
pub fn stub_table(name: &str, columns: &[(usize, Field)]) -> Result<TableInfo> {
    #[derive(Debug)]
    struct Nothing(usize);
    impl Statistics for Nothing {
        fn identity(&self) -> Option<usize> {
            Some(self.0)
        }
        fn rows(&self) -> u64 {
            0
        }
        fn sample(&self, _: &[usize]) -> Option<Arc<Chunk>> {
            None
        }
        fn column(&self, _: usize) -> ColumnStatistics {
            ColumnStatistics::default()
        }
    }
    let filler = Field { name: "unused".to_owned(), sql_type: SqlType::Integer, nullable: true };
    let mut fields = vec![filler; columns.iter().map(|(a, _)| a + 1).max().unwrap_or(0)];
    for (attribute, field) in columns {
        fields[*attribute] = field.clone();
    }
    let source: Arc<dyn Any + Send + Sync> = Arc::new(());
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    Ok(TableInfo {
        name: name.to_owned(),
        fields,
        computed: Vec::new(),
        statistics: Arc::new(Nothing(hasher.finish() as usize)),
        source: TableSource(source),
    })
}

/// A line with those below it.
struct Block {
    tokens: Vec<Token>,
    below: Vec<Block>,
}

/// Reads the text form of a plan.
pub fn parse(text: &str, tables: Tables<'_>) -> Result<Plan> {
    let mut lines: Vec<(usize, Vec<Token>)> = Vec::new();
    for line in text.lines() {
        let tokens = tokens(line)?;
        if !tokens.is_empty() {
            lines.push((line.len() - line.trim_start().len(), tokens));
        }
    }
    let mut at = 0;
    let blocks = blocks(&lines, &mut at, 0);
    let mut reader = Reader { columns: IdMap::new(), tables, infos: HashMap::new() };
    for (_, tokens) in &lines {
        Line::new(tokens, &mut reader.columns).declare()?;
    }
    let (mut ctes, mut result) = (IdMap::new(), None);
    for block in &blocks {
        let [below] = block.below.as_slice() else { return Err(error("a heading needs one operator below it")) };
        let plan = reader.node(below)?;
        let mut line = Line::new(&block.tokens, &mut reader.columns);
        if line.word("cte") {
            line.id("cte")?;
            let name = line.name()?;
            let columns = line.references()?;
            line.end()?;
            ctes.push(Cte { name, plan, columns });
        } else if line.word("output") {
            let output = line.bracketed(|l| {
                let name = l.name()?;
                l.expect("=")?;
                Ok((name, l.reference()?))
            })?;
            line.end()?;
            result = Some((plan, output));
        } else {
            return Err(error("expected cte or output"));
        }
    }
    let (root, output) = result.ok_or_else(|| error("no output"))?;
    let mut tables: Vec<_> = reader.infos.into_iter().collect();
    tables.sort_by_key(|(id, _)| *id);
    // A table that no scan reads any more leaves a gap.
    let mut numbered = IdMap::new();
    for (id, table) in tables {
        while numbered.len() < id as usize {
            numbered.push(stub_table("", &[])?);
        }
        numbered.push(table);
    }
    let tables = numbered;
    Ok(Plan { columns: reader.columns, tables, ctes, root, output })
}

fn blocks(lines: &[(usize, Vec<Token>)], at: &mut usize, indent: usize) -> Vec<Block> {
    let mut out = Vec::new();
    while *at < lines.len() && lines[*at].0 >= indent {
        let (mine, tokens) = &lines[*at];
        *at += 1;
        out.push(Block { tokens: tokens.clone(), below: blocks(lines, at, mine + 1) });
    }
    out
}

struct Reader<'a> {
    columns: IdMap<ColumnId, ColumnInfo>,
    tables: Tables<'a>,
    infos: HashMap<u32, TableInfo>,
}

impl Reader<'_> {
    fn node(&mut self, block: &Block) -> Result<Node> {
        let is_subquery = |b: &&Block| matches!(b.tokens.first(), Some(Token::Word(w)) if w == "subquery");
        let mut inputs = Vec::new();
        for below in block.below.iter().filter(|b| !is_subquery(b)) {
            inputs.push(self.node(below)?);
        }
        let mut subqueries = Vec::new();
        for below in block.below.iter().filter(is_subquery) {
            let [plan] = below.below.as_slice() else { return Err(error("a subquery needs one operator")) };
            subqueries.push(Some(self.node(plan)?));
        }
        let mut inputs = inputs.into_iter();
        let mut line = Line::new(&block.tokens, &mut self.columns);
        line.subqueries = subqueries;
        let word = line.name()?;
        let mut scanned = None;
        let mut input = || inputs.next().map(Box::new).ok_or_else(|| error(format!("{word} needs an input")));
        let op = match word.as_str() {
            "scan" => {
                let name = line.name()?;
                let table = line.id("t")?;
                let columns = line.bracketed(|l| {
                    let column = l.definition()?;
                    l.expect("=")?;
                    Ok((l.number()?, column))
                })?;
                let columns: Vec<(usize, ColumnId)> = columns.into_iter().map(|(a, c)| (a as usize, c)).collect();
                let predicates = if line.word("where") { line.exprs()? } else { Vec::new() };
                scanned = Some((table, name));
                Op::Scan { table: TableId(table), columns, predicates }
            }
            "ctescan" => {
                let cte = CteId(line.id("cte")?);
                let columns = line.bracketed(|l| {
                    let column = l.definition()?;
                    l.expect("=")?;
                    Ok((l.reference()?, column))
                })?;
                Op::CteScan { cte, columns }
            }
            "values" => {
                let columns = line.bracketed(|l| l.definition())?;
                Op::Values { columns, rows: line.bracketed(|l| l.exprs())? }
            }
            "filter" => Op::Filter { input: input()?, predicates: line.exprs()? },
            "map" => Op::Map { input: input()?, columns: line.assignments()? },
            "join" => {
                let kind = match line.name()?.as_str() {
                    "inner" => JoinKind::Inner,
                    "left" => JoinKind::Left,
                    "right" => JoinKind::Right,
                    "full" => JoinKind::Full,
                    "semi" => JoinKind::Semi,
                    "anti" => JoinKind::Anti,
                    "mark" => JoinKind::Mark(line.definition()?),
                    "single" => JoinKind::Single,
                    other => return Err(error(format!("no join kind {other}"))),
                };
                let condition = line.exprs()?;
                let build =
                    if line.word("build") && line.name()? == "left" { BuildSide::Left } else { BuildSide::Right };
                Op::Join { kind, left: input()?, right: input()?, condition, build }
            }
            "aggregate" => {
                let groups = line.assignments()?;
                let aggregates = line.bracketed(|l| {
                    let column = l.definition()?;
                    l.expect("=")?;
                    Ok((column, call(l, column)?))
                })?;
                Op::Aggregate { input: input()?, groups, aggregates }
            }
            "repeat" => {
                let mut made = line.assignments()?;
                match (made.pop(), made.is_empty()) {
                    (Some((number, times)), true) => Op::Repeat { input: input()?, times: Box::new(times), number },
                    _ => return Err(error("a repeat has one number")),
                }
            }
            "distinct" => Op::Distinct { input: input()?, columns: line.references()? },
            "sort" => {
                let keys = line.bracketed(sort_key)?;
                let (limit, offset) = limits(&mut line)?;
                Op::Sort { input: input()?, keys, limit, offset }
            }
            "group" => {
                line.keyword("limit")?;
                let partition = line.references()?;
                line.keyword("by")?;
                let keys = line.bracketed(sort_key)?;
                let (limit, offset) = limits(&mut line)?;
                Op::GroupLimit { input: input()?, partition, keys, limit, offset }
            }
            "window" => {
                let keys = line.bracketed(sort_key)?;
                Op::Window { input: input()?, keys, functions: line.bracketed(window::parse)? }
            }
            "limit" => {
                line.back();
                let (limit, offset) = limits(&mut line)?;
                Op::Limit { input: input()?, limit, offset }
            }
            "union" | "intersect" | "except" => {
                let operation = match word.as_str() {
                    "union" => SetOperation::Union,
                    "intersect" => SetOperation::Intersect,
                    _ => SetOperation::Except,
                };
                let all = line.word("all");
                let columns = line.bracketed(|l| l.definition())?;
                line.keyword("from")?;
                let from = line.bracketed(|l| l.references())?;
                let inputs = from.into_iter().map(|columns| Ok((*input()?, columns))).collect::<Result<Vec<_>>>()?;
                Op::SetOp { operation, all, inputs, columns }
            }
            "recursion" => {
                let cte = CteId(line.id("cte")?);
                let all = line.word("all");
                let columns = line.bracketed(|l| l.definition())?;
                line.keyword("from")?;
                let from = line.bracketed(|l| l.references())?;
                let inputs = from.into_iter().map(|columns| Ok((*input()?, columns))).collect::<Result<Vec<_>>>()?;
                Op::Recursion { cte, all, inputs, columns }
            }
            other => return Err(error(format!("no operator {other}"))),
        };
        line.end()?;
        if inputs.next().is_some() {
            return Err(error(format!("{word} has too many inputs")));
        }
        if let (Some((id, name)), Op::Scan { columns, .. }) = (scanned, &op) {
            self.table(id, &name, columns)?;
        }
        Ok(Node::new(op))
    }

    fn table(&mut self, id: u32, name: &str, columns: &[(usize, ColumnId)]) -> Result<()> {
        if !self.infos.contains_key(&id) {
            let mut fields = Vec::new();
            for &(attribute, column) in columns {
                let info = &self.columns[column];
                let (name, sql_type, nullable) = (info.name.clone(), info.sql_type, info.nullable);
                fields.push((attribute, Field { name, sql_type, nullable }));
            }
            let info = (self.tables)(name, &fields)?;
            self.infos.insert(id, info);
        }
        Ok(())
    }
}

fn limits(line: &mut Line<'_>) -> Result<(Option<u64>, u64)> {
    let limit = if line.word("limit") && !line.word("all") { Some(line.number()?) } else { None };
    let offset = if line.word("offset") { line.number()? } else { 0 };
    Ok((limit, offset))
}

fn call(line: &mut Line<'_>, column: ColumnId) -> Result<AggregateCall> {
    let name = line.name()?;
    let function = AggregateFunction::named(&name).ok_or_else(|| error(format!("no aggregate {name}")))?;
    line.expect("(")?;
    let distinct = line.word("distinct");
    let mut arguments = Vec::new();
    if !line.sign("*") {
        arguments.push(line.expr()?);
        while line.sign(",") {
            arguments.push(line.expr()?);
        }
    }
    line.expect(")")?;
    let mut filter = None;
    if line.word("filter") {
        line.expect("(")?;
        filter = Some(line.expr()?);
        line.expect(")")?;
    }
    let sql_type = line.type_of(column);
    Ok(AggregateCall { function, arguments, distinct, filter, sql_type, position: line.position()? })
}
