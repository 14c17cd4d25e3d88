//! Machines as the thesis describes them: nodes, cores and their threads, controllers of memory, links, latencies.
//!
//! Numbers come from its tables alone (4.6.1 to 4.6.3): bandwidths and latencies from the one that compares local accesses with a
//! mix of a quarter on each node, the yield of a core's second thread from the best speed-up that it reports. The tests show that
//! the model gives that table back.

use std::collections::VecDeque;

use base::{Error, Result, SqlState};
use scheduler::{NodeId, Topology};

/// Most nodes of a machine.
pub(crate) const MOST_NODES: usize = 8;

/// See the module. Bandwidths are bytes in a nanosecond: 10^9 bytes in a second.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub name: String,
    pub nodes: usize,
    /// Cores of a node.
    pub cores: usize,
    /// What both threads of a core do together, as a multiple of what one does alone.
    pub yields: f64,
    /// Of each node's memory.
    pub controller: f64,
    /// Of a link in one direction.
    pub link: f64,
    /// Nanoseconds of an access by hops.
    pub latency: [f64; 3],
    /// Links in one direction: from a node to another.
    links: Vec<(usize, usize)>,
}

/// Bandwidths in all of local accesses and of the mix, and their latencies.
struct Measured {
    local: f64,
    mix: f64,
    local_latency: f64,
    mix_latency: f64,
}

/// Nodes of both of the thesis's machines, and cores of each.
const NODES: usize = 4;
const CORES: usize = 8;

impl Machine {
    /// Nehalem EX: each node is connected with each. 42.0 is the best speed-up of table 4.1.
    pub fn nehalem() -> Self {
        let all = (0..NODES).flat_map(|a| (0..NODES).filter(move |&b| a != b).map(move |b| (a, b)));
        let measured = Measured { local: 93.0, mix: 60.0, local_latency: 161.0, mix_latency: 186.0 };
        Self::four("Nehalem EX", all.collect(), 42.0 / 32.0, &measured)
    }

    /// Sandy Bridge EP: a ring. 42.8 is the best speed-up of table 4.2.
    pub fn sandy_bridge() -> Self {
        let ring = (0..NODES).flat_map(|a| [(a, (a + 1) % NODES), ((a + 1) % NODES, a)]);
        let measured = Measured { local: 121.0, mix: 41.0, local_latency: 101.0, mix_latency: 257.0 };
        Self::four("Sandy Bridge EP", ring.collect(), 42.8 / 32.0, &measured)
    }

    /// A machine of this shape with the numbers of the nodes and links of the thesis's: the ring's where nodes are further than a
    /// link from each other. Of `cpus` hardware threads each second one is a core's second.
    pub fn described(text: &str) -> Result<Self> {
        let topology = Topology::parse(text)?;
        let nodes = topology.node_count();
        if nodes > MOST_NODES {
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("more than {MOST_NODES} nodes")));
        }
        let hops: Vec<Box<[u8]>> = (0..nodes).map(|node| topology.hops(NodeId(node as u32))).collect();
        let like = if hops.iter().any(|row| row.iter().any(|&hops| hops > 1)) {
            Self::sandy_bridge()
        } else {
            Self::nehalem()
        };
        let pairs = (0..nodes).flat_map(|a| (0..nodes).map(move |b| (a, b)));
        let links = pairs.filter(|&(a, b)| hops[a][b] == 1).collect();
        let cores = topology.cpus(NodeId(0)).len().div_ceil(2);
        Ok(Self { name: format!("{text}, as {}", like.name), nodes, cores, links, ..like })
    }

    fn four(name: &str, links: Vec<(usize, usize)>, yields: f64, measured: &Measured) -> Self {
        let mut machine = Self {
            name: name.to_owned(),
            nodes: NODES,
            cores: CORES,
            yields,
            controller: measured.local / NODES as f64,
            link: f64::INFINITY,
            latency: [measured.local_latency; 3],
            links,
        };
        // Of a mix each node asks each for as much: so much of all of it goes over the busiest link.
        let share = 1.0 / (NODES * NODES) as f64;
        let mut loads = vec![0.0; machine.links.len()];
        let mut hops = [0.0; 3];
        for (from, to) in (0..NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))) {
            machine.routes(from, to).into_iter().for_each(|(link, part)| loads[link] += share * part);
            hops[machine.hops(from, to)] += share;
        }
        machine.link = measured.mix * loads.iter().copied().fold(0.0, f64::max);
        // Each hop takes as long as the next.
        let hop = (measured.mix_latency - measured.local_latency) / (hops[1] + 2.0 * hops[2]);
        machine.latency = [0.0, 1.0, 2.0].map(|hops| measured.local_latency + hops * hop);
        machine
    }

    /// The node of a worker, and its core among all: workers go round the nodes, and round the cores before the second threads.
    pub fn seat(&self, worker: usize) -> (usize, usize) {
        let (node, rank) = (worker % self.nodes, worker / self.nodes);
        (node, node * self.cores + rank % self.cores)
    }

    pub fn links(&self) -> usize {
        self.links.len()
    }

    /// Links between two nodes, one after the other.
    pub fn hops(&self, from: usize, to: usize) -> usize {
        self.paths(from, to).first().map_or(0, Vec::len)
    }

    /// The links that bytes from one node to another take, each with the part of the bytes that takes it: all shortest ways
    /// alike.
    pub fn routes(&self, from: usize, to: usize) -> Vec<(usize, f64)> {
        let paths = self.paths(from, to);
        let part = 1.0 / paths.len().max(1) as f64;
        paths.into_iter().flatten().map(|link| (link, part)).collect()
    }

    /// All shortest ways from one node to another.
    fn paths(&self, from: usize, to: usize) -> Vec<Vec<usize>> {
        let mut open = VecDeque::from([(from, Vec::new())]);
        let mut found: Vec<Vec<usize>> = Vec::new();
        while let Some((at, way)) = open.pop_front() {
            if found.first().is_some_and(|shortest| shortest.len() < way.len()) || way.len() > self.nodes {
                break;
            }
            if at == to {
                found.push(way);
                continue;
            }
            let onward = self.links.iter().enumerate().filter(|(_, (begin, _))| *begin == at);
            open.extend(onward.map(|(link, (_, end))| (*end, way.iter().copied().chain([link]).collect())));
        }
        found
    }
}
