//! Window calls as text:
//! `r#3 = sum(a#1) distinct filter (f#2) order [a#1 desc] partition 1 peers 2 rows preceding (3) to current row exclude ties`.

use base::Result;
use functions::WindowFunction;

use super::lexer::error;
use super::parse_expr::{Line, sort_key};
use super::print_expr::{ExprPrinter, sort_keys};
use crate::{ColumnId, Expr, Frame, FrameBound, FrameExclusion, FrameUnit, WindowCall};

const UNITS: [(FrameUnit, &str); 3] =
    [(FrameUnit::Rows, "rows"), (FrameUnit::Range, "range"), (FrameUnit::Groups, "groups")];

const EXCLUSIONS: [(FrameExclusion, &str); 3] =
    [(FrameExclusion::CurrentRow, "current"), (FrameExclusion::Group, "group"), (FrameExclusion::Ties, "ties")];

pub(super) fn print<'a>(p: &mut ExprPrinter<'a, '_>, column: ColumnId, call: &'a WindowCall) -> String {
    let arguments = p.list(&call.arguments);
    let mut out = format!("{} = {}({arguments})", p.definition(column), call.function.name());
    if call.distinct {
        out += " distinct";
    }
    if let Some(filter) = &call.filter {
        out += &format!(" filter ({})", p.print(filter));
    }
    if call.ignore_nulls {
        out += " ignore nulls";
    }
    if !call.order.is_empty() {
        out += &format!(" order [{}]", sort_keys(p, &call.order));
    }
    let Frame { unit, start, end, exclude } = &call.frame;
    let unit = UNITS.iter().find(|(u, _)| u == unit).map_or("", |(_, word)| word);
    let (start, end) = (bound(p, start), bound(p, end));
    out += &format!(" partition {} peers {} {unit} {start} to {end}", call.partition, call.peers);
    if let Some((_, word)) = EXCLUSIONS.iter().find(|(e, _)| e == exclude) {
        out += &format!(" exclude {word}");
    }
    match call.position {
        Some(at) if p.positions => out + &format!(" @{at}"),
        _ => out,
    }
}

fn bound<'a>(p: &mut ExprPrinter<'a, '_>, bound: &'a FrameBound<Expr>) -> String {
    match bound {
        FrameBound::UnboundedPreceding => "first".to_owned(),
        FrameBound::Preceding(offset) => format!("preceding ({})", p.print(offset)),
        FrameBound::CurrentRow => "current".to_owned(),
        FrameBound::Following(offset) => format!("following ({})", p.print(offset)),
        FrameBound::UnboundedFollowing => "last".to_owned(),
    }
}

pub(super) fn parse(line: &mut Line<'_>) -> Result<(ColumnId, WindowCall)> {
    let column = line.definition()?;
    line.expect("=")?;
    let name = line.name()?;
    let function = WindowFunction::named(&name).ok_or_else(|| error(format!("no window function {name}")))?;
    let mut arguments = Vec::new();
    line.expect("(")?;
    while !line.sign(")") {
        if !arguments.is_empty() {
            line.expect(",")?;
        }
        arguments.push(line.expr()?);
    }
    let distinct = line.word("distinct");
    let filter = if line.word("filter") { Some(in_parentheses(line)?) } else { None };
    let ignore_nulls = line.word("ignore");
    if ignore_nulls {
        line.keyword("nulls")?;
    }
    let order = if line.word("order") { line.bracketed(sort_key)? } else { Vec::new() };
    line.keyword("partition")?;
    let partition = line.number()?;
    line.keyword("peers")?;
    let peers = line.number()?;
    let frame = frame(line)?;
    let call = WindowCall {
        function,
        arguments,
        distinct,
        filter,
        ignore_nulls,
        order,
        partition: usize::try_from(partition).unwrap_or(usize::MAX),
        peers: usize::try_from(peers).unwrap_or(usize::MAX),
        frame,
        sql_type: line.type_of(column),
        position: line.position()?,
    };
    Ok((column, call))
}

fn in_parentheses(line: &mut Line<'_>) -> Result<Expr> {
    line.expect("(")?;
    let expr = line.expr()?;
    line.expect(")")?;
    Ok(expr)
}

fn frame(line: &mut Line<'_>) -> Result<Frame<Expr>> {
    let name = line.name()?;
    let unit = UNITS.iter().find(|(_, word)| *word == name).ok_or_else(|| error(format!("no unit {name}")))?.0;
    let start = parse_bound(line)?;
    line.keyword("to")?;
    let end = parse_bound(line)?;
    let mut exclude = FrameExclusion::NoOthers;
    if line.word("exclude") {
        let name = line.name()?;
        let found = EXCLUSIONS.iter().find(|(_, word)| *word == name);
        exclude = found.ok_or_else(|| error(format!("no exclusion {name}")))?.0;
    }
    Ok(Frame { unit, start, end, exclude })
}

fn parse_bound(line: &mut Line<'_>) -> Result<FrameBound<Expr>> {
    Ok(match line.name()?.as_str() {
        "first" => FrameBound::UnboundedPreceding,
        "preceding" => FrameBound::Preceding(in_parentheses(line)?),
        "current" => FrameBound::CurrentRow,
        "following" => FrameBound::Following(in_parentheses(line)?),
        "last" => FrameBound::UnboundedFollowing,
        other => return Err(error(format!("no bound {other}"))),
    })
}
