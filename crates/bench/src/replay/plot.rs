//! Speed-ups as a page of small charts, after figure 4.12 of the thesis: one for each query, a line for each variant.

use std::fmt::Write;

const WIDTH: f64 = 170.0;
const HEIGHT: f64 = 120.0;
const GAP: f64 = 34.0;
const COLUMNS: usize = 6;
const COLOURS: [&str; 4] = ["#1b6ca8", "#2a9d5c", "#d98324", "#a23b72"];

/// The picture: of each variant, the speed-ups of each query by number of workers.
pub(super) fn speed_ups(names: &[&str], workers: &[usize], variants: &[(&str, Vec<Vec<f64>>)]) -> String {
    let most_workers = workers.iter().copied().max().unwrap_or(1) as f64;
    let highest = variants.iter().flat_map(|(_, curves)| curves.iter().flatten()).copied().fold(1.0, f64::max);
    let rows = names.len().div_ceil(COLUMNS);
    let (width, height) = (COLUMNS as f64 * (WIDTH + GAP) + GAP, rows as f64 * (HEIGHT + GAP) + 2.0 * GAP);
    let mut page = format!(
        "<!DOCTYPE html>\n<title>Speed-ups</title>\n<svg width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (number, name) in names.iter().enumerate() {
        let left = GAP + (number % COLUMNS) as f64 * (WIDTH + GAP);
        let top = GAP + (number / COLUMNS) as f64 * (HEIGHT + GAP);
        let x = |workers: usize| left + workers as f64 / most_workers * WIDTH;
        let y = |speed_up: f64| top + HEIGHT - speed_up / highest * HEIGHT;
        let _ = writeln!(page, "<text x=\"{left}\" y=\"{}\">{name}</text>", top - 4.0);
        let _ = writeln!(page, "<path d=\"M{left} {top}v{HEIGHT}h{WIDTH}\" fill=\"none\" stroke=\"#999\"/>");
        let mut step = 0.0;
        while step <= highest {
            let _ = writeln!(
                page,
                "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{step}</text>",
                left - 3.0,
                y(step) + 3.0
            );
            step += 20.0;
        }
        for ((_, curves), colour) in variants.iter().zip(COLOURS) {
            let points = workers.iter().zip(&curves[number]).map(|(&workers, &speed_up)| (x(workers), y(speed_up)));
            let points: Vec<String> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(page, "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\"/>", points.join(" "));
        }
    }
    for (at, ((name, _), colour)) in variants.iter().zip(COLOURS).enumerate() {
        let (x, y) = (GAP + at as f64 * WIDTH, height - GAP / 2.0);
        let _ = writeln!(page, "<rect x=\"{x}\" y=\"{}\" width=\"12\" height=\"3\" fill=\"{colour}\"/>", y - 4.0);
        let _ = writeln!(page, "<text x=\"{}\" y=\"{y}\">{name}</text>", x + 16.0);
    }
    page + "</svg>\n"
}
