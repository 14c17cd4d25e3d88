//! What a replay runs: phases of morsels, with what each takes and touches.

use base::traffic::{Access, Traffic};
use scheduler::Run;

/// A morsel that ran once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Morsel {
    /// Nanoseconds on one core, with all memory near.
    pub nanos: f64,
    /// Bytes of tables.
    pub table: f64,
    /// Bytes of rows that workers have materialised, of one worker's at a time.
    pub area: f64,
    /// The same, of rows of all workers.
    pub scattered: f64,
    /// Bytes of rows that were materialised.
    pub written: f64,
    /// Bytes of tables that all workers share.
    pub shared: f64,
}

/// A task set of a stage, and what is done by one worker before it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Phase {
    pub serial: f64,
    pub morsels: Vec<Morsel>,
}

/// A pipeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage {
    /// Those that must have ended before.
    pub after: Vec<usize>,
    pub phases: Vec<Phase>,
}

/// A query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query {
    pub name: String,
    pub stages: Vec<Stage>,
    /// What one worker does at the end.
    pub end: f64,
}

impl Query {
    /// Of a recording of the engine: gaps between phases are what one worker does.
    pub fn of(name: &str, recording: &engine::Recording) -> Self {
        let stage = |(_, after): &(String, Vec<usize>)| Stage { after: distinct(after), phases: Vec::new() };
        let mut stages: Vec<Stage> = recording.pipelines.iter().map(stage).collect();
        let mut now = recording.begin;
        for run in &recording.runs {
            let phases = &mut stages[run.stage].phases;
            if phases.len() <= run.phase {
                phases.resize_with(run.phase + 1, Phase::default);
                phases[run.phase].serial = run.begin.saturating_duration_since(now).as_nanos() as f64;
            }
            let morsels = &mut phases[run.phase].morsels;
            let morsel = morsel(run, recording.nodes as f64);
            match morsels.last_mut() {
                // What was left of a morsel was run at once.
                Some(last) if run.resumed => last.add(&morsel),
                _ => morsels.push(morsel),
            }
            now = run.begin + run.time;
        }
        let end = (recording.begin + recording.time).saturating_duration_since(now).as_nanos() as f64;
        Self { name: name.to_owned(), stages, end }
    }

    /// The same with each morsel so many times, where there is more than one: a larger table.
    pub fn repeated(&self, times: usize) -> Self {
        let mut query = self.clone();
        for phase in query.stages.iter_mut().flat_map(|stage| &mut stage.phases).filter(|phase| phase.morsels.len() > 1)
        {
            phase.morsels = phase.morsels.iter().flat_map(|morsel| std::iter::repeat_n(*morsel, times)).collect();
        }
        query
    }

    fn phases(&self) -> impl Iterator<Item = &Phase> {
        self.stages.iter().flat_map(|stage| &stage.phases)
    }

    /// Time of all morsels.
    pub fn parallel(&self) -> f64 {
        self.phases().flat_map(|phase| &phase.morsels).map(|morsel| morsel.nanos).sum()
    }

    /// Time of what one worker does while others wait.
    pub fn serial(&self) -> f64 {
        self.phases().map(|phase| phase.serial).sum::<f64>() + self.end
    }

    /// The least time with any number of workers: serial parts, and of each phase its longest morsel, along the longest way
    /// through the stages.
    pub fn critical(&self) -> f64 {
        let mut ends: Vec<f64> = Vec::new();
        for stage in &self.stages {
            let begin = stage.after.iter().map(|&before| ends[before]).fold(0.0, f64::max);
            let longest = |phase: &Phase| phase.morsels.iter().map(|morsel| morsel.nanos).fold(0.0, f64::max);
            ends.push(begin + stage.phases.iter().map(|phase| phase.serial + longest(phase)).sum::<f64>());
        }
        ends.into_iter().fold(0.0, f64::max) + self.end
    }
}

impl Morsel {
    fn add(&mut self, other: &Self) {
        let Self { nanos, table, area, scattered, written, shared } = other;
        self.nanos += nanos;
        self.table += table;
        self.area += area;
        self.scattered += scattered;
        self.written += written;
        self.shared += shared;
    }
}

fn morsel(run: &Run, nodes: f64) -> Morsel {
    let sum = |access| run.traffic.of(access).iter().sum::<u64>() as f64;
    let scattered = (remote(&run.traffic, Access::Area) * nodes / (nodes - 1.0).max(1.0)).min(sum(Access::Area));
    Morsel {
        nanos: run.time.as_nanos() as f64,
        table: sum(Access::Table),
        area: sum(Access::Area) - scattered,
        scattered,
        written: sum(Access::Written),
        shared: sum(Access::Shared),
    }
}

/// What is remote lies on all nodes: the recording's memory is on its own one otherwise.
fn remote(traffic: &Traffic, access: Access) -> f64 {
    traffic.of(access)[1..].iter().sum::<u64>() as f64
}

fn distinct(numbers: &[usize]) -> Vec<usize> {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}
