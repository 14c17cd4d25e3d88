//! The simulation: workers take recorded morsels on a machine that is described.
//!
//! A pure function: equal inputs have equal outcomes. Time goes from one end of a morsel to the next; between two ends every
//! worker has a speed. It is 1 for a thread that is alone on its core, and half of the core's yield beside another one; where
//! controllers or links are asked for more than they have, all who ask get the same part of what they ask for.
//! Complexity: O(morsels * workers * nodes).
//!
//! Invariants: every morsel runs once; no query is quicker than its work divided by what the workers can do at most, nor than
//! its longest chain of parts that must follow one another.

use super::machine::{MOST_NODES, Machine};
use super::recording::{Morsel, Query};

/// Misses that a core has under way at once while it probes: ten, as staged probes fetch ahead.
const OVERLAP: f64 = 10.0;
/// Bytes of a shared table that are one access, and of the cache line that it takes.
pub(super) const ACCESS: f64 = 16.0;
pub(super) const LINE: f64 = 64.0;
/// What a stolen claim costs more than one of one's own (`bench morsels`).
const STEAL: f64 = 150.0;
/// Runs of a table's morsels that lie on one node, for each node.
const BLOCKS: usize = 4;

/// Where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Tables on all nodes in blocks, rows where they are written; morsels go to the workers of their nodes first.
    Aware,
    /// All on all nodes alike.
    Interleaved,
    /// Tables on the first node, rows where they are written.
    OneNode,
}

/// How work is given to workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Policy {
    pub memory: Memory,
    /// Whether each worker gets its part of a phase beforehand, and nobody steals.
    pub is_static: bool,
}

/// What is simulated.
pub(crate) struct Run<'a> {
    pub machine: &'a Machine,
    pub policy: Policy,
    /// Queries that follow one another, in streams beside one another; worker w works for stream w modulo their number.
    pub streams: Vec<Vec<&'a Query>>,
    pub workers: usize,
    /// Whether something else is busy on the first worker's hardware thread all the time.
    pub hogged: bool,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Outcome {
    /// When the last query ended.
    pub time: f64,
    /// Bytes by hops: cache lines of what is shared.
    pub bytes: [f64; 3],
    /// Morsels that were run.
    pub morsels: usize,
}

impl Outcome {
    /// The part of all bytes that came from other nodes.
    pub fn remote(&self) -> f64 {
        (self.bytes[1] + self.bytes[2]) / self.bytes.iter().sum::<f64>().max(1.0)
    }
    /// The part that came from nodes more than a hop away.
    pub fn far(&self) -> f64 {
        self.bytes[2] / self.bytes.iter().sum::<f64>().max(1.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Ready,
    /// A worker does what comes before the phase.
    Between,
    Running,
    Done,
}

/// A stage of the query that a stream is at.
#[derive(Debug)]
struct Progress {
    state: State,
    waits_for: usize,
    phase: usize,
    /// Morsels that are left, by lane, the next one last; and where the memory of each lies.
    lanes: Vec<Vec<usize>>,
    homes: Vec<Option<usize>>,
    inside: usize,
    /// Bytes materialised on each node.
    written: [f64; MOST_NODES],
}

struct Stream<'a> {
    queries: std::vec::IntoIter<&'a Query>,
    query: Option<&'a Query>,
    stages: Vec<Progress>,
    workers: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Item {
    Morsel(usize),
    /// What comes before a stage's phase.
    Serial(usize),
    End,
}

#[derive(Clone, Debug)]
struct Worker {
    node: usize,
    core: usize,
    stream: usize,
    /// Its number in its stream.
    rank: usize,
    item: Option<Item>,
    /// Nanoseconds at full speed that are left, and bytes that each of them asks each node for.
    left: f64,
    asks: [f64; MOST_NODES],
}

struct Simulation<'a> {
    run: &'a Run<'a>,
    streams: Vec<Stream<'a>>,
    workers: Vec<Worker>,
    /// Nodes by nearness, from each.
    near: Vec<Vec<usize>>,
    hops: Vec<Vec<usize>>,
    routes: Vec<Vec<Vec<(usize, f64)>>>,
    now: f64,
    outcome: Outcome,
}

/// Runs the streams to their end.
pub(crate) fn simulate(run: &Run<'_>) -> Outcome {
    let mut simulation = Simulation::new(run);
    for stream in 0..simulation.streams.len() {
        simulation.next_query(stream);
        simulation.wake(stream);
    }
    while simulation.step() {}
    simulation.outcome.time = simulation.now;
    simulation.outcome
}

impl<'a> Simulation<'a> {
    fn new(run: &'a Run<'a>) -> Self {
        let (machine, count) = (run.machine, run.streams.len());
        assert!(run.workers >= count && machine.nodes <= MOST_NODES, "each stream has a worker");
        let worker = |number: usize| {
            let (node, core) = machine.seat(number);
            let (stream, rank) = (number % count, number / count);
            Worker { node, core, stream, rank, item: None, left: 0.0, asks: [0.0; MOST_NODES] }
        };
        let stream = |(number, queries): (usize, &Vec<&'a Query>)| Stream {
            queries: queries.clone().into_iter(),
            query: None,
            stages: Vec::new(),
            workers: (number..run.workers).step_by(count).collect(),
        };
        let nodes = || 0..machine.nodes;
        let near = |from: usize| {
            let mut near: Vec<usize> = nodes().map(|step| (from + step) % machine.nodes).collect();
            near.sort_by_key(|&to| machine.hops(to, from));
            near
        };
        Self {
            run,
            streams: run.streams.iter().enumerate().map(stream).collect(),
            workers: (0..run.workers).map(worker).collect(),
            near: nodes().map(near).collect(),
            hops: nodes().map(|from| nodes().map(|to| machine.hops(from, to)).collect()).collect(),
            routes: nodes().map(|from| nodes().map(|to| machine.routes(from, to)).collect()).collect(),
            now: 0.0,
            outcome: Outcome::default(),
        }
    }

    /// Goes on to the next end of an item; false if nobody works.
    fn step(&mut self) -> bool {
        let speeds = self.speeds();
        let ends = self.workers.iter().zip(&speeds).enumerate();
        let ends = ends.filter(|(_, (worker, _))| worker.item.is_some());
        let first =
            ends.map(|(number, (worker, speed))| (worker.left / speed, number)).min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((after, number)) = first else { return false };
        self.now += after;
        for (worker, speed) in self.workers.iter_mut().zip(&speeds).filter(|(worker, _)| worker.item.is_some()) {
            worker.left -= after * speed;
        }
        let item = self.workers[number].item.take().expect("it was at work");
        self.ended(number, item);
        true
    }

    /// How quick each worker is.
    fn speeds(&self) -> Vec<f64> {
        let machine = self.run.machine;
        let busy = |worker: &&Worker| worker.item.is_some();
        let mut on_core = vec![0; machine.nodes * machine.cores];
        self.workers.iter().filter(busy).for_each(|worker| on_core[worker.core] += 1);
        if self.run.hogged && self.workers[0].item.is_none() {
            on_core[self.workers[0].core] += 1;
        }
        let alone = |(number, worker): (usize, &Worker)| {
            let shared = if on_core[worker.core] > 1 { machine.yields / f64::from(on_core[worker.core]) } else { 1.0 };
            if self.run.hogged && number == 0 { shared / 2.0 } else { shared }
        };
        let mut speeds: Vec<f64> = self.workers.iter().enumerate().map(alone).collect();
        let mut controllers = [0.0; MOST_NODES];
        let mut links = vec![0.0; machine.links()];
        for (worker, speed) in self.workers.iter().zip(&speeds).filter(|(worker, _)| worker.item.is_some()) {
            for (from, controller) in controllers.iter_mut().enumerate().take(machine.nodes) {
                let bytes = worker.asks[from] * speed;
                *controller += bytes;
                self.routes[from][worker.node].iter().for_each(|(link, part)| links[*link] += bytes * part);
            }
        }
        for (worker, speed) in self.workers.iter().zip(&mut speeds).filter(|(worker, _)| worker.item.is_some()) {
            let asked = (0..machine.nodes).filter(|&from| worker.asks[from] > 0.0);
            let granted = |from: usize| {
                let over = self.routes[from][worker.node].iter().map(|(link, _)| machine.link / links[*link]);
                over.fold(machine.controller / controllers[from], f64::min)
            };
            *speed *= asked.map(granted).fold(1.0, f64::min);
        }
        speeds
    }

    fn ended(&mut self, number: usize, item: Item) {
        let stream = self.workers[number].stream;
        match item {
            Item::Morsel(stage) => {
                self.outcome.morsels += 1;
                let progress = &mut self.streams[stream].stages[stage];
                progress.inside -= 1;
                if progress.inside == 0 && progress.lanes.iter().all(Vec::is_empty) {
                    progress.phase += 1;
                    self.follow(number, stage);
                }
            }
            Item::Serial(stage) => {
                self.publish(stream, stage);
                let progress = &self.streams[stream].stages[stage];
                if progress.lanes.iter().all(Vec::is_empty) {
                    self.streams[stream].stages[stage].phase += 1;
                    self.follow(number, stage);
                }
            }
            Item::End => self.next_query(stream),
        }
        self.wake(stream);
    }

    /// A worker goes on with a stage whose phase has ended: with what comes before the next one, or with the query's end.
    fn follow(&mut self, number: usize, stage: usize) {
        let stream = &mut self.streams[self.workers[number].stream];
        let query = stream.query.expect("a stage of it has ended");
        let progress = &mut stream.stages[stage];
        if let Some(phase) = query.stages[stage].phases.get(progress.phase) {
            progress.state = State::Between;
            return self.workers[number].serial(Item::Serial(stage), phase.serial);
        }
        progress.state = State::Done;
        for (dependent, other) in query.stages.iter().zip(&mut stream.stages) {
            other.waits_for -= usize::from(dependent.after.contains(&stage));
            if other.waits_for == 0 && other.state == State::Waiting {
                other.state = State::Ready;
            }
        }
        if stream.stages.iter().all(|progress| progress.state == State::Done) {
            self.workers[number].serial(Item::End, query.end);
        }
    }

    fn next_query(&mut self, stream: usize) {
        let stream = &mut self.streams[stream];
        stream.query = stream.queries.next();
        let stages = stream.query.map_or(&[][..], |query| &query.stages);
        let progress = |stage: &super::recording::Stage| Progress {
            state: if stage.after.is_empty() { State::Ready } else { State::Waiting },
            waits_for: stage.after.len(),
            phase: 0,
            lanes: Vec::new(),
            homes: Vec::new(),
            inside: 0,
            written: [0.0; MOST_NODES],
        };
        stream.stages = stages.iter().map(progress).collect();
    }

    /// Whoever of a stream has nothing to do looks for something, until nobody finds anything.
    fn wake(&mut self, stream: usize) {
        for at in 0..self.streams[stream].workers.len() {
            let number = self.streams[stream].workers[at];
            while self.workers[number].item.is_none() && self.look(number) {}
        }
    }

    /// A worker takes a morsel of the first stage that has any, else starts the first that may start. True if it did something.
    fn look(&mut self, number: usize) -> bool {
        let stream = self.workers[number].stream;
        for stage in 0..self.streams[stream].stages.len() {
            if self.streams[stream].stages[stage].state == State::Running && self.claim(number, stage) {
                return true;
            }
        }
        let ready = self.streams[stream].stages.iter().position(|progress| progress.state == State::Ready);
        ready.is_some_and(|stage| {
            self.follow(number, stage);
            true
        })
    }

    fn claim(&mut self, number: usize, stage: usize) -> bool {
        let worker = &self.workers[number];
        let stream = &mut self.streams[worker.stream];
        let progress = &mut stream.stages[stage];
        let lanes: &[usize] = match (self.run.policy.is_static, progress.lanes.len()) {
            (true, _) => &[worker.rank],
            (false, 1) => &[0],
            (false, _) => &self.near[worker.node],
        };
        let Some((tried, at)) =
            lanes.iter().enumerate().find_map(|(tried, &lane)| Some((tried, progress.lanes[lane].pop()?)))
        else {
            return false;
        };
        progress.inside += 1;
        let phase = &stream.query.expect("it has the stage").stages[stage].phases[progress.phase];
        let morsel = phase.morsels[at];
        let (home, node) = (progress.homes[at], worker.node);
        let bytes = self.bytes(&morsel, home, node);
        let progress = &mut self.streams[worker.stream].stages[stage];
        match self.run.policy.memory {
            Memory::Interleaved => (0..self.run.machine.nodes)
                .for_each(|on| progress.written[on] += morsel.written / self.run.machine.nodes as f64),
            _ => progress.written[node] += morsel.written,
        }
        let waits = self.far(&morsel, node) + if tried > 0 { STEAL } else { 0.0 };
        for (from, bytes) in bytes.iter().enumerate().take(self.run.machine.nodes) {
            self.outcome.bytes[self.hops[from][node].min(2)] += bytes;
        }
        let worker = &mut self.workers[number];
        worker.item = Some(Item::Morsel(stage));
        worker.left = morsel.nanos.max(1.0) + waits;
        worker.asks = bytes.map(|bytes| bytes / worker.left);
        true
    }

    /// Bytes of a morsel from and to each node.
    fn bytes(&self, morsel: &Morsel, home: Option<usize>, node: usize) -> [f64; MOST_NODES] {
        let nodes = self.run.machine.nodes;
        let lines = morsel.shared * LINE / ACCESS;
        let mut bytes = [0.0; MOST_NODES];
        let mut put =
            |on: Option<usize>, amount: f64| match on.filter(|_| self.run.policy.memory != Memory::Interleaved) {
                Some(on) => bytes[on] += amount,
                None => bytes.iter_mut().take(nodes).for_each(|bytes| *bytes += amount / nodes as f64),
            };
        put(None, lines + morsel.scattered);
        put(Some(node), morsel.written);
        put(if self.run.policy.memory == Memory::OneNode { Some(0) } else { home }, morsel.table);
        put(home, morsel.area);
        bytes
    }

    /// How much longer other nodes' latencies make a morsel.
    fn far(&self, morsel: &Morsel, node: usize) -> f64 {
        let latency = &self.run.machine.latency;
        let more = |from: &Vec<usize>| latency[from[node].min(2)] - latency[0];
        let all: f64 = self.hops.iter().map(more).sum();
        morsel.shared / ACCESS * all / self.hops.len() as f64 / OVERLAP
    }

    /// The morsels of a stage's phase can be claimed from now on.
    fn publish(&mut self, stream: usize, stage: usize) {
        let (nodes, policy) = (self.run.machine.nodes, self.run.policy);
        let stream = &mut self.streams[stream];
        let query = stream.query.expect("it has the stage");
        let at = stream.stages[stage].phase;
        let morsels = &query.stages[stage].phases[at].morsels;
        let sources = if at > 0 { vec![stage] } else { query.stages[stage].after.clone() };
        let mut written = [0.0; MOST_NODES];
        for source in sources {
            written.iter_mut().zip(&stream.stages[source].written).for_each(|(sum, bytes)| *sum += bytes);
        }
        let homes: Vec<Option<usize>> = (0..morsels.len())
            .map(|number| match &morsels[number] {
                morsel if morsel.table > 0.0 => Some(block(number, morsels.len(), nodes)),
                morsel if morsel.area > 0.0 => within(number, morsels.len(), &written[..nodes]),
                _ => None,
            })
            .collect();
        let placed = policy.memory == Memory::Aware && homes.iter().any(Option::is_some);
        let home = |number: &usize| homes[*number].unwrap_or(number % nodes);
        let mut order: Vec<usize> = (0..morsels.len()).collect();
        let lanes: Vec<Vec<usize>> = if policy.is_static {
            let mut workers = stream.workers.clone();
            if placed {
                order.sort_by_key(home);
                workers.sort_by_key(|&worker| self.workers[worker].node);
            }
            let part = |rank: usize| rank * order.len() / workers.len()..(rank + 1) * order.len() / workers.len();
            let mut lanes = vec![Vec::new(); workers.len()];
            for (place, worker) in workers.iter().enumerate() {
                lanes[self.workers[*worker].rank] = order[part(place)].to_vec();
            }
            lanes
        } else if placed {
            (0..nodes).map(|node| order.iter().copied().filter(|number| home(number) == node).collect()).collect()
        } else {
            vec![order]
        };
        let progress = &mut stream.stages[stage];
        progress.lanes = lanes.into_iter().map(|lane| lane.into_iter().rev().collect()).collect();
        (progress.homes, progress.state) = (homes, State::Running);
    }
}

impl Worker {
    fn serial(&mut self, item: Item, nanos: f64) {
        (self.item, self.left, self.asks) = (Some(item), nanos.max(1.0), [0.0; MOST_NODES]);
    }
}

/// The node of a table's morsel: blocks go round the nodes.
fn block(number: usize, morsels: usize, nodes: usize) -> usize {
    number * nodes * BLOCKS.min(morsels.div_ceil(nodes)) / morsels % nodes
}

/// The node of a morsel of rows of which each node has so many bytes, one node's after the other's.
fn within(number: usize, morsels: usize, bytes: &[f64]) -> Option<usize> {
    let all: f64 = bytes.iter().sum();
    let at = (number as f64 + 0.5) / morsels as f64 * all;
    let mut sum = 0.0;
    let home = bytes.iter().position(|bytes| {
        sum += bytes;
        sum > at
    });
    home.filter(|_| all > 0.0)
}
