//! EXPLAIN: every intermediate form of a query as text.

use std::fmt::Write;
use std::time::{Duration, Instant};

use base::ids::Id;
use base::{Error, Result, SqlState};
use pipeline::Target;
use plan::text::Printer;
use plan::{Node, Plan};
use sql::{ExplainStage, Outcome, Statement, With};
use types::Value;

use super::change;
use super::joined::Joined;
use super::load::{self, Ran};
use super::show::texts;
use crate::environment::Environment;
use crate::execute::{self, Operator, Running};
use crate::result::{QueryResult, Tag};
use crate::trace::Picture;

pub(crate) fn explain(
    environment: &Environment,
    analyze: bool,
    stage: ExplainStage,
    statement: Statement,
) -> Result<QueryResult> {
    let is_change = matches!(statement, Statement::Insert(_) | Statement::Change(_));
    if analyze && !(matches!(statement, Statement::Query(_)) || is_change && stage != ExplainStage::Trace) {
        return Err(Error::unsupported("EXPLAIN ANALYZE of this statement")
            .hint("it runs queries, INSERT, UPDATE, DELETE and MERGE"));
    }
    if analyze && is_change {
        return changed(environment, statement, stage);
    }
    if let Statement::With(with) = statement {
        return parts(environment, stage, *with);
    }
    let target = match &statement {
        Statement::CreateTableAs { .. } | Statement::Insert(_) | Statement::Change(_) => Target::Table,
        _ => Target::Client,
    };
    let plan = match statement {
        Statement::Query(plan) | Statement::CreateTableAs { plan, .. } => plan,
        Statement::Locking(locking) => locking.plan,
        Statement::Insert(insert) => insert.source,
        Statement::Change(change) => change.source,
        Statement::Copy(sql::Copy::To { plan, .. }) => plan,
        _ => return Err(Error::unsupported("EXPLAIN of this statement").hint("EXPLAIN shows queries")),
    };
    let text = match stage {
        ExplainStage::Trace if !analyze => {
            let message = "EXPLAIN option TRACE requires ANALYZE";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).hint("EXPLAIN (ANALYZE, TRACE) runs it"));
        }
        ExplainStage::Trace => traced(environment, plan)?,
        _ if analyze => return analyzed(environment, plan, stage),
        ExplainStage::Logical => plan.to_string(),
        ExplainStage::Plain => Printer::plain(&execute::optimize(environment, plan)?).to_string(),
        ExplainStage::Json => {
            let plan = execute::optimize(environment, plan)?;
            return Ok(texts(&["plan"], vec![vec![document(&plan, None, "")]]));
        }
        ExplainStage::Optimized => execute::optimize(environment, plan)?.to_string(),
        ExplainStage::Pipelines => {
            pipelines(&pipeline::lower_to(target, &execute::optimize(environment, plan)?, false)?)
        }
        ExplainStage::Ir => pipeline::lower_to(target, &execute::optimize(environment, plan)?, false)?.to_string(),
        ExplainStage::Asm => {
            let program = pipeline::lower_to(target, &execute::optimize(environment, plan)?, false)?;
            codegen::list(&program)?.to_string()
        }
    };
    Ok(texts(&["plan"], text.lines().map(|l| vec![l.to_string()]).collect()))
}

/// What each part of a statement does, one behind the other, and what the statement does then.
fn parts(environment: &Environment, stage: ExplainStage, with: With) -> Result<QueryResult> {
    if stage == ExplainStage::Json {
        return Err(
            Error::unsupported("a document of a statement that is several changes").hint("leave out FORMAT json")
        );
    }
    let mut lines = Vec::new();
    let mut add = |name: Option<&str>, statement: Statement| {
        let rows = explain(environment, false, stage, statement)?.rows()?;
        lines.extend(name.map(|name| format!("with {name}:")));
        let indent = if name.is_some() { "  " } else { "" };
        lines.extend(rows.iter().flatten().map(|line| match line {
            Value::Str(line) => format!("{indent}{line}"),
            _ => String::new(),
        }));
        Ok::<(), Error>(())
    };
    for part in with.parts {
        add(Some(&part.name), part.statement)?;
    }
    if let Outcome::Of(then) = with.then {
        add(None, *then)?;
    }
    Ok(texts(&["plan"], lines.into_iter().map(|line| vec![line]).collect()))
}

/// What operators have done (their times are those that all workers were busy), in the order of the plan's text, if it has run.
type Done<'d> = Option<&'d mut dyn Iterator<Item = Operator>>;

/// The plan as a document of JSON, in the form of PostgreSQL's; `end` is what else is said of the statement.
fn document(plan: &Plan, mut done: Done<'_>, end: &str) -> String {
    let printer = Printer::plain(plan);
    let mut ctes = Vec::new();
    for cte in plan.ctes.values() {
        let parts = format!("\"Subplan Name\": {}, ", json(&format!("CTE {}", cte.name)));
        ctes.push(operator_document(&printer, &cte.plan, &parts, &mut done));
    }
    let root = operator_document(&printer, &plan.root, "", &mut done);
    match ctes.is_empty() {
        true => format!("[{{\"Plan\": {root}{end}}}]"),
        false => format!("[{{\"Plan\": {root}, \"CTEs\": [{}]{end}}}]", ctes.join(", ")),
    }
}

/// `parts` are what else is said of the operator.
fn operator_document(printer: &Printer<'_>, node: &Node, parts: &str, done: &mut Done<'_>) -> String {
    let label = printer.operator(node);
    // The first word names it, and joins have two.
    let words = if label.starts_with("join ") { 2 } else { 1 };
    let name = label.split_whitespace().take(words).collect::<Vec<_>>().join(" ");
    let rows = if node.rows.is_finite() { format!("{:.0}", node.rows) } else { "null".to_owned() };
    let actual =
        done.as_mut().and_then(|done| done.next()).map_or_else(String::new, |Operator { rows, time, .. }| {
            format!(", \"Actual Rows\": {rows}, \"Actual Total Time\": {:.3}, \"Actual Loops\": 1", ms(time))
        });
    let inputs: Vec<String> = node.inputs().map(|input| operator_document(printer, input, "", done)).collect();
    let inputs = if inputs.is_empty() { String::new() } else { format!(", \"Plans\": [{}]", inputs.join(", ")) };
    let (name, label) = (json(&name), json(&label));
    format!("{{{parts}\"Node Type\": {name}, \"Operator\": {label}, \"Plan Rows\": {rows}{actual}{inputs}}}")
}

/// A text as one of JSON.
fn json(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Pipelines with their dependencies, in the order in which they may run.
fn pipelines(program: &pipeline::ir::Program) -> String {
    let mut text = String::new();
    for (id, pipeline) in program.pipelines.iter() {
        let list = |ids: Vec<String>| if ids.is_empty() { String::new() } else { ids.join(" ") };
        let after = list(pipeline.after.iter().map(|p| p.to_string()).collect());
        let fills = list(pipeline.fills.iter().map(|s| s.to_string()).collect());
        let _ = write!(text, "{id}: {}", pipeline.name);
        if !fills.is_empty() {
            let _ = write!(text, "  -> {fills}");
        }
        if !after.is_empty() {
            let _ = write!(text, "  (after {after})");
        }
        if let Some(recursion) = pipeline.rounds {
            let _ = write!(text, "  (in rounds of {recursion})");
        }
        text.push('\n');
    }
    text
}

/// Changes rows, and shows how that ran.
fn changed(environment: &Environment, statement: Statement, stage: ExplainStage) -> Result<QueryResult> {
    let begin = Instant::now();
    let (what, rows, mut ran) = match statement {
        Statement::Insert(insert) => {
            let (rows, ran) = load::insert_watched(environment, insert)?;
            ("INSERT", rows as u64, ran)
        }
        Statement::Change(change) => {
            let (result, ran) = change::change_watched(environment, *change)?;
            match result.tag() {
                Tag::Rows(what, rows) => (*what, *rows, ran),
                _ => return Err(Error::internal("a change that has changed nothing")),
            }
        }
        _ => return Err(Error::internal("a change that is none")),
    };
    Ok(told(&mut ran, begin.elapsed(), &format!("{what} {rows}"), stage))
}

/// Runs the query and shows estimated beside actual rows of each operator and its time, and what each pipeline did.
fn analyzed(environment: &Environment, plan: Plan, stage: ExplainStage) -> Result<QueryResult> {
    let begin = Instant::now();
    let plan = execute::optimize(environment, plan)?;
    let optimized = begin.elapsed();
    let mut running = execute::start(environment, &plan, true, environment.call.token())?;
    let rows = drain(&mut running)?;
    Ok(told(&mut Ran { plan, optimized, running }, begin.elapsed(), &format!("{rows} rows"), stage))
}

/// The same as a document, or as lines of text.
fn told(ran: &mut Ran, in_all: Duration, done: &str, stage: ExplainStage) -> QueryResult {
    if stage != ExplainStage::Json {
        let text = shown(ran, in_all, done);
        return texts(&["plan"], text.lines().map(|l| vec![l.to_string()]).collect());
    }
    let Ran { plan, optimized, running } = ran;
    let planning = *optimized + running.compiled;
    let (planning, execution) = (ms(planning), ms(in_all.saturating_sub(planning)));
    let end = format!(", \"Planning Time\": {planning:.3}, \"Execution Time\": {execution:.3}");
    let mut counts = running.operators().into_iter();
    texts(&["plan"], vec![vec![document(plan, Some(&mut counts), &end)]])
}

/// What a plan that has run `in_all` so long has done; and `done`.
fn shown(Ran { plan, optimized, running }: &mut Ran, in_all: Duration, done: &str) -> String {
    let ran = in_all.saturating_sub(*optimized + running.compiled);
    let mut counts = running.operators().into_iter();
    let (mut lines, mut joined) = (Vec::new(), Joined::default());
    let printer = Printer::plain(plan);
    for cte in plan.ctes.values() {
        lines.push((format!("with {}:", cte.name), None));
        operators(&printer, &cte.plan, 1, &mut counts, (&mut lines, &mut joined));
    }
    operators(&printer, &plan.root, 0, &mut counts, (&mut lines, &mut joined));
    let mut text = table(&lines);
    let _ = writeln!(text, "\n{}", stages(running));
    if !joined.is_empty() {
        let _ = writeln!(text, "{joined}");
    }
    let _ = writeln!(
        text,
        "{done}; optimized in {:.2} ms, compiled in {:.2} ms, run in {:.2} ms; peak memory {:.1} MiB",
        ms(*optimized),
        ms(running.compiled),
        ms(ran),
        mib(running.peak_memory() as u64)
    );
    text
}

/// Runs the query and draws what each worker did when.
fn traced(environment: &Environment, plan: Plan) -> Result<String> {
    let plan = execute::optimize(environment, plan)?;
    environment.statement.picture();
    // Its code is as without EXPLAIN: nothing is counted.
    let mut running = execute::start(environment, &plan, false, environment.call.token())?;
    drain(&mut running)?;
    let kept = environment.statement.recorders().iter().find_map(|recorder| recorder.kept());
    let (stages, runs) = kept.unwrap_or_default();
    Ok(Picture { query: &environment.statement.text, stages, runs }.page())
}

/// Reads the whole result; returns its number of rows.
fn drain(running: &mut Running) -> Result<usize> {
    let mut rows = 0;
    loop {
        match running.next(Duration::from_secs(3600))? {
            Some(Some(chunk)) => rows += chunk.rows(),
            Some(None) => return Ok(rows),
            None => {}
        }
    }
}

/// An operator's label; its rows as estimated, and what it has done.
type Line = (String, Option<(f64, Operator)>);

/// Adds the lines of an operator and of those below it; returns the rows that it has delivered.
fn operators<'a>(
    printer: &Printer<'a>,
    node: &'a Node,
    depth: usize,
    counts: &mut impl Iterator<Item = Operator>,
    (lines, joined): (&mut Vec<Line>, &mut Joined),
) -> u64 {
    let label = printer.operator(node);
    let done = counts.next().unwrap_or_default();
    let rows = done.rows;
    lines.push((format!("{:width$}{label}", "", width = depth * 2), Some((node.rows, done))));
    let below = node.inputs().map(|input| operators(printer, input, depth + 1, counts, (&mut *lines, &mut *joined)));
    let below: Vec<u64> = below.collect();
    joined.count(&node.op, &below);
    rows
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Labels that are wider than this stand out to the right: what they say is what one looks for.
const WIDEST: usize = 60;

fn table(lines: &[Line]) -> String {
    let width = lines.iter().map(|(l, _)| l.chars().count()).max().unwrap_or(0).min(WIDEST);
    let (local, remote) = ("local MiB", "remote MiB");
    let mut text = format!(
        "{:width$}  {:>12}  {:>12}  {:>10}  {local:>10}  {remote:>10}\n",
        "operator", "estimated", "actual", "busy ms"
    );
    for (label, rows) in lines {
        let _ = match rows {
            Some((estimate, Operator { rows, time, traffic: (local, remote) })) => {
                let estimate = if estimate.is_finite() { format!("{estimate:.0}") } else { String::new() };
                let (time, local, remote) = (ms(*time), mib(*local), mib(*remote));
                writeln!(
                    text,
                    "{label:width$}  {estimate:>12}  {rows:>12}  {time:>10.2}  {local:>10.2}  {remote:>10.2}"
                )
            }
            None => writeln!(text, "{label}"),
        };
    }
    text
}

/// What pipelines did, and behind each the phases that finalised what it filled: with the time of the worker that was busy
/// longest, which tells skew.
fn stages(running: &Running) -> String {
    let mut text = format!("{:<WIDEST$}  {:>8}  {:>10}  {:>10}\n", "pipeline", "morsels", "busy ms", "longest");
    let phases = running.phases();
    for (number, stage) in running.report().into_iter().enumerate() {
        let rounds = match running.rounds(number) {
            Some(None) => continue,
            rounds => rounds.flatten(),
        };
        let _ = writeln!(text, "{:<WIDEST$}  {:>8}  {:>10.2}", stage.name, stage.morsels, ms(stage.busy));
        if let Some(rounds) = rounds {
            let _ = writeln!(text, "  {rounds} rounds");
        }
        for phase in phases.iter().filter(|phase| phase.pipeline.index() == number) {
            let (name, morsels, (busy, longest)) = (phase.name, phase.morsels(), phase.busy());
            let _ = writeln!(text, "  {name:<58}  {morsels:>8}  {:>10.2}  {:>10.2}", ms(busy), ms(longest));
        }
    }
    text
}
