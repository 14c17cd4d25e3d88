//! Pages of small charts: a line for each of what is compared, all of a page under the same names and colours.

use std::fmt::Write;
use std::path::PathBuf;

use base::{Error, Result, SqlState};

const WIDTH: f64 = 170.0;
const HEIGHT: f64 = 120.0;
const GAP: f64 = 34.0;
const COLUMNS: usize = 6;
const COLOURS: [&str; 12] = [
    "#1b6ca8", "#2a9d5c", "#d98324", "#a23b72", "#6b5ca5", "#b0a000", "#c0392b", "#16a0a0", "#7f5539", "#444444",
    "#e07aa0", "#8fa36b",
];
/// Values that are written beside an axis.
const TICKS: f64 = 5.0;

/// One chart: points of each line, in the order of the page's names. Both axes begin at zero.
pub(crate) struct Chart {
    pub(crate) name: String,
    pub(crate) lines: Vec<Vec<(f64, f64)>>,
}

/// Where the axes of a chart end.
#[derive(Clone, Copy)]
struct Ends {
    x: f64,
    y: f64,
}

impl Ends {
    fn of<'c>(charts: impl Iterator<Item = &'c Chart>) -> Self {
        let points = charts.flat_map(|chart| chart.lines.iter().flatten());
        points.fold(Self { x: 0.0, y: 0.0 }, |ends, &(x, y)| Self { x: ends.x.max(x), y: ends.y.max(y) })
    }
}

/// Where the picture goes, if one is asked for.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PlotOption {
    /// File for a picture (HTML).
    #[arg(long)]
    plot: Option<PathBuf>,
}

impl PlotOption {
    /// Writes a page. With `alike`, all charts have the same axes.
    pub(crate) fn write(&self, title: &str, names: &[&str], charts: &[Chart], alike: bool) -> Result<()> {
        let Some(file) = &self.plot else { return Ok(()) };
        let failed = |e: std::io::Error| Error::new(SqlState::IO_ERROR, format!("{}: {e}", file.display()));
        std::fs::write(file, page(title, names, charts, alike)).map_err(failed)
    }
}

fn page(title: &str, names: &[&str], charts: &[Chart], alike: bool) -> String {
    let columns = COLUMNS.min(charts.len().max(3));
    let rows = charts.len().div_ceil(columns) as f64;
    let (width, height) = (columns as f64 * (WIDTH + GAP) + GAP, rows * (HEIGHT + GAP) + 2.0 * GAP);
    // Names stand in lines of as many as there are columns.
    let all = height + (names.len().div_ceil(columns) - 1) as f64 * GAP / 2.0;
    let mut page = format!(
        "<!DOCTYPE html>\n<title>{title}</title>\n<svg width=\"{width}\" height=\"{all}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"{width}\" height=\"{all}\" fill=\"#fff\"/>\n"
    );
    for (number, chart) in charts.iter().enumerate() {
        let left = GAP + (number % columns) as f64 * (WIDTH + GAP);
        let top = GAP + (number / columns) as f64 * (HEIGHT + GAP);
        let ends = if alike { Ends::of(charts.iter()) } else { Ends::of([chart].into_iter()) };
        draw(&mut page, chart, left, top, ends);
    }
    for (at, (name, colour)) in names.iter().zip(COLOURS).enumerate() {
        let x = GAP + (at % columns) as f64 * (WIDTH + GAP);
        let y = height - GAP / 2.0 + (at / columns) as f64 * GAP / 2.0;
        let _ = writeln!(page, "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"3\" fill=\"{colour}\"/>", y - 4.0);
        let _ = writeln!(page, "<text x=\"{}\" y=\"{y}\">{name}</text>", x + 16.0);
    }
    page + "</svg>\n"
}

fn draw(page: &mut String, chart: &Chart, left: f64, top: f64, ends: Ends) {
    let x = |value: f64| left + value / ends.x * WIDTH;
    let y = |value: f64| top + HEIGHT - value / ends.y * HEIGHT;
    let _ = writeln!(page, "<text x=\"{left}\" y=\"{}\">{}</text>", top - 4.0, chart.name);
    let _ = writeln!(page, "<path d=\"M{left} {top}v{HEIGHT}h{WIDTH}\" fill=\"none\" stroke=\"#999\"/>");
    for value in ticks(ends.y) {
        let (x, y) = (left - 3.0, y(value) + 3.0);
        let _ = writeln!(page, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{value}</text>");
    }
    for value in ticks(ends.x) {
        let (x, y) = (x(value), top + HEIGHT + 11.0);
        let _ = writeln!(page, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{value}</text>");
    }
    for (points, colour) in chart.lines.iter().zip(COLOURS) {
        let points: Vec<String> = points.iter().map(|&(a, b)| format!("{:.1},{:.1}", x(a), y(b))).collect();
        let _ = writeln!(page, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", points.join(" "));
    }
}

/// Round values up to an end: 1, 2 or 5 times a power of ten apart.
fn ticks(end: f64) -> impl Iterator<Item = f64> {
    let power = 10f64.powf((end / TICKS).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|of| of * power).into_iter().find(|step| end / step <= TICKS);
    let step = step.filter(|step| step.is_finite() && *step > 0.0).unwrap_or(end.max(1.0));
    // Divided rather than multiplied where steps are fractions, so that they are written short.
    (0..=TICKS as u32).map(move |at| f64::from(at) * step).map(|v| (v * 1e6).round() / 1e6).filter(move |v| *v <= end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(64.0).collect::<Vec<_>>(), [0.0, 20.0, 40.0, 60.0]);
        assert_eq!(ticks(0.3).collect::<Vec<_>>(), [0.0, 0.1, 0.2, 0.3]);
        assert_eq!(ticks(0.0).collect::<Vec<_>>(), [0.0]);
    }

    #[test]
    fn a_page_has_all_lines_and_names() {
        let chart = |name: &str| Chart { name: name.into(), lines: vec![vec![(1.0, 2.0), (2.0, 8.0)], vec![]] };
        let page = page("t", &["a", "b"], &[chart("one"), chart("two")], true);
        assert_eq!(page.matches("<polyline").count(), 4);
        assert!(["one", "two", ">a<", ">b<"].iter().all(|name| page.contains(name)));
    }
}
