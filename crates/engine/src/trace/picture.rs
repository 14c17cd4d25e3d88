//! A timeline as an HTML page with an SVG, after figure 4.14 of the thesis: a row for each worker, a colour for each pipeline, a
//! block for each morsel.
//!
//! Blocks that would be too thin to be told apart are drawn as one, so a page has at most some thousand for each worker.

use std::fmt::Write;
use std::time::{Duration, Instant};

use scheduler::Run;

use super::recorder::WorkerRuns;

const WIDTH: f64 = 1100.0;
const LEFT: f64 = 80.0;
const ROW: f64 = 30.0;
/// Blocks of one pipeline that are thinner than this are one with a neighbour that is nearer than this.
const VISIBLE: f64 = 0.5;
/// Parts of the axis.
const TICKS: u32 = 10;

/// What is drawn.
pub(crate) struct Picture<'a> {
    pub query: &'a str,
    pub stages: Vec<String>,
    pub runs: Vec<WorkerRuns>,
}

/// Morsels of a pipeline that are drawn as one block.
struct Block {
    stage: usize,
    from: f64,
    to: f64,
    morsels: u64,
    stolen: u64,
    rows: u64,
    busy: Duration,
}

impl Picture<'_> {
    /// The page.
    pub fn page(&self) -> String {
        let all = || self.runs.iter().flat_map(|(_, runs)| runs);
        let begin = all().map(|run| run.begin).min().unwrap_or_else(Instant::now);
        let end = all().map(|run| run.begin + run.time).max().unwrap_or(begin);
        let span = (end - begin).max(Duration::from_nanos(1));
        let height = ROW * (self.runs.len() as f64 + 1.0);
        let mut page =
            String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Trace</title>\n");
        page += "<style>body{font:13px sans-serif;margin:2em}td,th{padding:2px 10px;text-align:right}\n";
        page += "td:nth-child(2),th:nth-child(2){text-align:left}rect{stroke:#fff;stroke-width:.3}rect.s{stroke:#000;stroke-width:.8}text{font-size:11px}</style></head><body>\n";
        let _ = writeln!(page, "<pre>{}</pre>", escaped(self.query));
        let _ = writeln!(page, "<svg width=\"{}\" height=\"{height}\">", WIDTH + 2.0 * LEFT);
        axis(&mut page, span, height);
        for (row, (worker, runs)) in self.runs.iter().enumerate() {
            let top = row as f64 * ROW;
            let _ = writeln!(page, "<text x=\"0\" y=\"{}\">worker {worker}</text>", top + 18.0);
            for block in blocks(runs, begin, span) {
                self.draw(&mut page, &block, top);
            }
        }
        page += "</svg>\n";
        self.legend(&mut page);
        page += "</body></html>\n";
        page
    }

    fn draw(&self, page: &mut String, block: &Block, top: f64) {
        let Block { stage, from, to, morsels, stolen, rows, busy } = block;
        let name = self.stages.get(*stage).map_or("", String::as_str);
        let class = if *stolen > 0 { " class=\"s\"" } else { "" };
        let _ = writeln!(
            page,
            "<rect{class} x=\"{:.2}\" y=\"{}\" width=\"{:.2}\" height=\"{}\" fill=\"{}\"><title>{}: {morsels} morsels, {rows} \
             rows, {:.3} ms, {stolen} stolen</title></rect>",
            LEFT + from,
            top + 3.0,
            (to - from).max(VISIBLE / 2.0),
            ROW - 6.0,
            colour(*stage),
            escaped(name),
            busy.as_secs_f64() * 1e3,
        );
    }

    /// What the colours mean.
    fn legend(&self, page: &mut String) {
        *page +=
            "<table><tr><th></th><th>pipeline</th><th>morsels</th><th>stolen</th><th>rows</th><th>busy ms</th></tr>\n";
        for (stage, name) in self.stages.iter().enumerate() {
            let runs = || self.runs.iter().flat_map(|(_, runs)| runs).filter(|run| run.stage == stage);
            let whole = || runs().filter(|run| !run.resumed);
            let busy: Duration = runs().map(|run| run.time).sum();
            let _ = writeln!(
                page,
                "<tr><td style=\"background:{}\"></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td></tr>",
                colour(stage),
                escaped(name),
                whole().count(),
                whole().filter(|run| run.stolen).count(),
                runs().map(rows).sum::<u64>(),
                busy.as_secs_f64() * 1e3,
            );
        }
        *page += "</table>\n<p>Blocks with a frame have stolen morsels.</p>\n";
    }
}

/// The rows that a run has done.
fn rows(run: &Run) -> u64 {
    run.morsel.len().saturating_sub(run.progress.and_then(scheduler::Progress::rest).map_or(0, |rest| rest.len()))
}

fn blocks(runs: &[Run], begin: Instant, span: Duration) -> Vec<Block> {
    let at = |time: Instant| (time - begin).as_secs_f64() / span.as_secs_f64() * WIDTH;
    let mut blocks: Vec<Block> = Vec::new();
    for run in runs {
        let (from, to) = (at(run.begin), at(run.begin + run.time));
        let stolen = u64::from(run.stolen && !run.resumed);
        match blocks.last_mut() {
            Some(last)
                if last.stage == run.stage
                    && from - last.to < VISIBLE
                    && (to - from < VISIBLE || last.to - last.from < VISIBLE) =>
            {
                last.to = to;
                last.morsels += u64::from(!run.resumed);
                last.stolen += stolen;
                last.rows += rows(run);
                last.busy += run.time;
            }
            _ => {
                let morsels = u64::from(!run.resumed);
                blocks.push(Block { stage: run.stage, from, to, morsels, stolen, rows: rows(run), busy: run.time });
            }
        }
    }
    blocks
}

fn axis(page: &mut String, span: Duration, height: f64) {
    for tick in 0..=TICKS {
        let part = f64::from(tick) / f64::from(TICKS);
        let (x, ms) = (LEFT + part * WIDTH, part * span.as_secs_f64() * 1e3);
        let bottom = height - ROW;
        let _ = writeln!(page, "<path d=\"M{x} 0V{bottom}\" stroke=\"#ddd\"/>");
        let _ = writeln!(page, "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{ms:.2} ms</text>", height - 12.0);
    }
}

/// Colours far apart for pipelines that follow one another.
fn colour(stage: usize) -> String {
    format!("hsl({},65%,{}%)", stage * 137 % 360, 50 + stage / 8 % 3 * 10)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use base::ids::Id;
    use scheduler::{Morsel, Progress, WorkerId};

    use super::*;

    #[test]
    fn morsels_are_blocks_and_thin_ones_are_one() {
        let begin = Instant::now();
        let run = |stage, at: u64, micros: u64, stolen| Run {
            stage,
            phase: 0,
            worker: WorkerId::from_index(0),
            morsel: Morsel { begin: 0, end: 10 },
            node: None,
            remote: false,
            stolen,
            resumed: false,
            progress: Some(Progress::Done),
            traffic: Default::default(),
            begin: begin + Duration::from_micros(at),
            time: Duration::from_micros(micros),
        };
        let wide = vec![run(0, 0, 400, false), run(0, 400, 400, true), run(1, 900, 100, false)];
        let thin = (0..1000).map(|at| run(0, at, 1, false)).collect();
        let stages = vec!["scan <t>".to_owned(), "out".to_owned()];
        let page = |runs| Picture { query: "select 1 < 2", stages: stages.clone(), runs: vec![(0, runs)] }.page();
        let (wide, thin) = (page(wide), page(thin));
        assert_eq!((wide.matches("<rect").count(), wide.matches("<rect class=\"s\"").count()), (3, 1));
        assert!(wide.contains("select 1 &lt; 2") && wide.contains("scan &lt;t&gt;: 1 morsels, 10 rows"), "{wide}");
        assert!(wide.contains("<td>2</td><td>1</td><td>20</td><td>0.800</td>"), "{wide}");
        assert!(
            thin.matches("<rect").count() <= 1000 && thin.contains("<td>1000</td><td>0</td><td>10000</td>"),
            "{thin}"
        );
        assert!(page(Vec::new()).ends_with("</html>\n"));
    }
}
