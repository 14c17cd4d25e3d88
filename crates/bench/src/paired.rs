//! Runs in pairs, one in each way, the order changing from pair to pair: what else the machine does meets both alike. Of the ratios of
//! the pairs the median counts, with an interval that has it with a probability of 95%, whatever their distribution.

use std::time::{Duration, Instant};

use base::{Error, Result, SqlState};
use engine::Session;
use tpch::QUERIES;

use crate::DataOptions;
use crate::plot::{Chart, PlotOption};
use crate::tpch::{millis, open, prepare, source};

/// A run.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct PairedOptions {
    #[command(flatten)]
    data: DataOptions,
    /// Statements before each run in the first way, as `SET trace = ''`.
    #[arg(long)]
    first: String,
    /// Statements before each run in the second way.
    #[arg(long)]
    second: String,
    /// Pairs of runs of each query.
    #[arg(long, default_value_t = 31)]
    pairs: usize,
    #[command(flatten)]
    plot: PlotOption,
}

/// A median, and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// Of independent values. Fewer than six say nothing: then it has all of them.
    pub fn of(mut values: Vec<f64>) -> Self {
        assert!(!values.is_empty(), "of nothing there is no median");
        values.sort_by(f64::total_cmp);
        let cut = outside(values.len());
        let (middle, last) = (values.len() / 2, values.len() - 1);
        let median = if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Self { median, low: values[cut], high: values[last - cut] }
    }

    /// All of it so many times.
    pub fn times(self, factor: f64) -> Self {
        Self { median: self.median * factor, low: self.low * factor, high: self.high * factor }
    }

    /// What a ratio is more than one.
    pub fn percent(self) -> String {
        let more = |ratio: f64| 100.0 * (ratio - 1.0);
        format!("{:+.2}% ({:+.2} to {:+.2})", more(self.median), more(self.low), more(self.high))
    }
}

/// How many of the least and of the greatest of so many values lie outside of the median's interval: it is within with 95%, as each
/// value is below it with a half.
fn outside(count: usize) -> usize {
    let (mut chance, mut sum) = (0.5f64.powi(count as i32), 0.0);
    for below in 0..count / 2 {
        sum += chance;
        if sum > 0.025 {
            return below.saturating_sub(1);
        }
        chance *= (count - below) as f64 / (below + 1) as f64;
    }
    0
}

pub(crate) fn run(options: &PairedOptions) -> Result<bool> {
    if options.pairs == 0 {
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "at least one pair is needed"));
    }
    let folder = prepare(&options.data)?;
    let mut session = open(&options.data)?;
    tpch::load(&mut session, &folder, source(&options.data), |_| {})?;
    let ways = [&options.first, &options.second];
    let mut charts = Vec::new();
    let mut sums = vec![[0.0; 2]; options.pairs];
    println!("{:6} {:>10} {:>10} {:>30}", "", "first ms", "second ms", "second beside first");
    for query in QUERIES {
        // Code is compiled in both ways.
        ways.iter().try_for_each(|way| time(&mut session, way, query.sql).map(drop))?;
        let mut pairs = Vec::new();
        for (number, sum) in sums.iter_mut().enumerate() {
            let mut pair = [0.0; 2];
            let order = if number % 2 == 0 { [0, 1] } else { [1, 0] };
            for at in order {
                pair[at] = millis(time(&mut session, ways[at], query.sql)?);
                sum[at] += pair[at];
            }
            pairs.push(pair);
        }
        print(&format!("Q{}", query.number), &pairs);
        let points = pairs.iter().enumerate().map(|(at, [first, second])| (at as f64 + 1.0, second / first));
        charts.push(Chart { name: format!("Q{}: ratio by pair", query.number), lines: vec![points.collect()] });
    }
    print("all", &sums);
    options.plot.write("Second beside first", &["ratio"], &charts, true)?;
    Ok(true)
}

fn print(name: &str, pairs: &[[f64; 2]]) {
    let of = |at: usize| Interval::of(pairs.iter().map(|pair| pair[at]).collect()).median;
    let ratio = Interval::of(pairs.iter().map(|[first, second]| second / first).collect());
    println!("{name:6} {:>10.2} {:>10.2} {:>30}", of(0), of(1), ratio.percent());
}

fn time(session: &mut Session, way: &str, sql: &str) -> Result<Duration> {
    session.run_script(way, |_, result| result.collect().map(drop))?;
    let begin = Instant::now();
    session.execute(sql, &[])?.collect()?;
    Ok(begin.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_sign_test() {
        // Tables of the binomial distribution: 1 of 9, 5 of 20, 9 of 31.
        assert_eq!([5, 6, 9, 20, 31].map(outside), [0, 0, 1, 5, 9]);
        let values = (1..=9).map(f64::from).rev().collect();
        assert_eq!(Interval::of(values), Interval { median: 5.0, low: 2.0, high: 8.0 });
        assert_eq!(Interval::of(vec![1.0, 3.0]), Interval { median: 2.0, low: 1.0, high: 3.0 });
        assert_eq!(Interval { median: 1.02, low: 1.0, high: 1.05 }.percent(), "+2.00% (+0.00 to +5.00)");
    }
}
