//! NUMA nodes, their processors and distances: of this machine, or of a description.
//!
//! The text form has a line (or a part between semicolons) for each node:
//!
//! ```text
//! node 0 cpus 0-7,32-39 distances 10 21 31 21
//! ```
//!
//! or is short, `4x8` for four nodes of eight processors, all equally far from each other, or `4x8:ring` where each node is
//! connected with two others.

mod machine;
mod placement;

pub use machine::available_threads;
pub use placement::{Placement, Seat};

use base::ids::Id;
use base::{Error, Result, SqlState};
use std::fmt;

base::typed_id!(
    /// A NUMA node, densely numbered from 0 in the order of the machine's own numbers.
    NodeId, "node");

/// A node's number, its processors, and its distances (or none).
type Described = (u32, Vec<u32>, Vec<u32>);

/// Firmware's distance of a node to itself.
const LOCAL: u32 = 10;
/// Firmware's usual distance of two nodes, used where none is given.
const REMOTE: u32 = 20;
/// Descriptions beyond this are mistakes.
const MOST_CPUS: u32 = 1 << 16;

/// Nodes, processors and distances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    nodes: Vec<Node>,
    /// Whether workers may be bound to these processors: they are this machine's, and all of it is ours.
    bindable: bool,
    /// Whether the nodes are the machine's, rather than a description's.
    is_machine: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    /// The machine's number of the node.
    os: u32,
    /// The machine's numbers of the processors; first threads of each core first.
    cpus: Vec<u32>,
    /// To each node by `NodeId`.
    distances: Vec<u32>,
    /// All nodes, nearest first; itself at the head.
    near: Vec<NodeId>,
}

impl Topology {
    /// The machine, as far as affinity lets this process use it; one node if the system does not tell.
    pub fn detect() -> Self {
        Self { is_machine: true, ..machine::detect() }
    }

    /// One node with processors `0..cpus`.
    pub fn single(cpus: usize) -> Self {
        Self::uniform(1, cpus)
    }

    /// `nodes` nodes of `cpus` processors each, all equally far from each other.
    pub fn uniform(nodes: usize, cpus: usize) -> Self {
        let (nodes, cpus) = (nodes.max(1) as u32, cpus.max(1) as u32);
        Self::from_nodes((0..nodes).map(|n| (n, (n * cpus..(n + 1) * cpus).collect(), Vec::new())).collect(), false)
    }

    /// `nodes` nodes of `cpus` processors each, each connected with two others (thesis figure 4.11, on the right).
    pub fn ring(nodes: usize, cpus: usize) -> Self {
        let (nodes, cpus) = (nodes.max(1) as u32, cpus.max(1) as u32);
        let distance = |a: u32, b: u32| LOCAL + (REMOTE - LOCAL) * a.abs_diff(b).min(nodes - a.abs_diff(b));
        let node = |n: u32| (n, (n * cpus..(n + 1) * cpus).collect(), (0..nodes).map(|m| distance(n, m)).collect());
        Self::from_nodes((0..nodes).map(node).collect(), false)
    }

    /// Reads the text form (see the module's head).
    ///
    /// ```
    /// use scheduler::{NodeId, Topology};
    /// let ring = "node 0 cpus 0-7 distances 10 21 31 21; node 1 cpus 8-15 distances 21 10 21 31;
    ///     node 2 cpus 16-23 distances 31 21 10 21; node 3 cpus 24-31 distances 21 31 21 10";
    /// let topology = Topology::parse(ring)?;
    /// assert_eq!(topology.near(NodeId(0)), [NodeId(0), NodeId(1), NodeId(3), NodeId(2)]);
    /// assert_eq!(Topology::parse(&topology.to_string())?, topology);
    /// # Ok::<(), base::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        let invalid = |what: String| Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid topology: {what}"));
        let (short, is_ring) = text.trim().strip_suffix(":ring").map_or((text.trim(), false), |short| (short, true));
        if let Some((nodes, cpus)) = short.split_once('x')
            && let (Ok(nodes), Ok(cpus)) = (nodes.trim().parse::<u32>(), cpus.trim().parse::<u32>())
        {
            let total = u64::from(nodes) * u64::from(cpus);
            if total == 0 || total > u64::from(MOST_CPUS) {
                return Err(invalid(format!("{nodes} nodes of {cpus} processors")));
            }
            let make = if is_ring { Self::ring } else { Self::uniform };
            return Ok(make(nodes as usize, cpus as usize));
        }
        let mut nodes = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for line in text.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty()) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let ["node", os, "cpus", cpus, rest @ ..] = &words[..] else {
                return Err(invalid(format!("\"{line}\" is not \"node N cpus LIST [distances D ...]\"")));
            };
            let os = os.parse().map_err(|_| invalid(format!("\"{os}\" is not a node's number")))?;
            let cpus = parse_cpus(cpus).ok_or_else(|| invalid(format!("\"{cpus}\" is not a list of processors")))?;
            if cpus.is_empty() || !cpus.iter().all(|&cpu| seen.insert(cpu)) {
                return Err(invalid(format!("node {os} has no processors, or those of another node")));
            }
            let distances = match rest {
                [] => Vec::new(),
                ["distances", distances @ ..] => distances
                    .iter()
                    .map(|d| d.parse().map_err(|_| invalid(format!("\"{d}\" is not a distance"))))
                    .collect::<Result<Vec<u32>>>()?,
                [other, ..] => return Err(invalid(format!("\"{other}\" is not \"distances\""))),
            };
            nodes.push((os, cpus, distances));
        }
        if nodes.is_empty() {
            return Err(invalid("it has no node".into()));
        }
        if let Some((os, _, d)) = nodes.iter().find(|(_, _, d)| !d.is_empty() && d.len() != nodes.len()) {
            return Err(invalid(format!("node {os} has {} distances for {} nodes", d.len(), nodes.len())));
        }
        if (1..nodes.len()).any(|i| nodes[i - 1].0 >= nodes[i].0) {
            return Err(invalid("nodes must be in the order of their numbers".into()));
        }
        Ok(Self::from_nodes(nodes, false))
    }

    fn from_nodes(nodes: Vec<Described>, bindable: bool) -> Self {
        let count = nodes.len();
        assert!(count > 0, "a machine has a node");
        let nodes = nodes.into_iter().enumerate().map(|(me, (os, cpus, mut distances))| {
            if distances.len() != count {
                distances = (0..count).map(|other| if other == me { LOCAL } else { REMOTE }).collect();
            }
            // Equally far nodes in the order of a circle that begins here: not all thieves go to node 0.
            let mut near: Vec<NodeId> = (0..count).map(|i| NodeId::from_index((me + i) % count)).collect();
            near.sort_by_key(|node| if node.index() == me { 0 } else { distances[node.index()].max(1) });
            Node { os, cpus, distances, near }
        });
        Self { nodes: nodes.collect(), bindable, is_machine: false }
    }

    /// Whether the nodes are the machine's, rather than a description's.
    pub fn is_machine(&self) -> bool {
        self.is_machine
    }
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }
    /// Number of processors (hardware threads) in all nodes.
    pub fn cpu_count(&self) -> usize {
        self.nodes.iter().map(|node| node.cpus.len()).sum()
    }
    /// The machine's numbers of a node's processors, first threads of each core first.
    pub fn cpus(&self, node: NodeId) -> &[u32] {
        &self.nodes[node.index()].cpus
    }
    /// The machine's number of a node, as system calls want it.
    pub fn os_node(&self, node: NodeId) -> u32 {
        self.nodes[node.index()].os
    }
    /// The machine's numbers of all nodes.
    pub fn os_nodes(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.os).collect()
    }
    /// The distance from one node to another; 10 is local.
    pub fn distance(&self, from: NodeId, to: NodeId) -> u32 {
        self.nodes[from.index()].distances[to.index()]
    }
    /// How far it is from a node to each, by number: 0 to itself, 1 to its nearest neighbours, 2 beyond these.
    pub fn hops(&self, node: NodeId) -> Box<[u8]> {
        let distances = &self.nodes[node.index()].distances;
        let others = distances.iter().enumerate().filter(|(other, _)| *other != node.index());
        let nearest = others.map(|(_, &distance)| distance).min().unwrap_or(0);
        let hops = |(other, &distance): (usize, &u32)| match other == node.index() {
            true => 0,
            false => 1 + u8::from(distance > nearest),
        };
        distances.iter().enumerate().map(hops).collect()
    }
    /// All nodes, nearest to `node` first, beginning with itself: the order in which to steal.
    pub fn near(&self, node: NodeId) -> &[NodeId] {
        &self.nodes[node.index()].near
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, node) in self.nodes.iter().enumerate() {
            let end = if i == 0 { "" } else { "\n" };
            write!(f, "{end}node {} cpus {} distances", node.os, CpuList(&node.cpus))?;
            node.distances.iter().try_for_each(|distance| write!(f, " {distance}"))?;
        }
        Ok(())
    }
}

/// Prints runs as `0-3,8`, in the given order.
struct CpuList<'a>(&'a [u32]);

impl fmt::Display for CpuList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        for (i, run) in runs.enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match run {
                [one] => write!(f, "{comma}{one}")?,
                [first, .., last] => write!(f, "{comma}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

/// Reads `0-3,8`; none if it is not such a list or names a processor twice.
fn parse_cpus(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for run in text.trim().split(',').filter(|run| !run.is_empty()) {
        let (first, last) = run.split_once('-').unwrap_or((run, run));
        let (first, last) = (first.trim().parse::<u32>().ok()?, last.trim().parse::<u32>().ok()?);
        if first > last || last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    let distinct: std::collections::HashSet<_> = cpus.iter().collect();
    (distinct.len() == cpus.len()).then_some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["4x8", "1x1", "4x8:ring", "node 0 cpus 0,2,1 distances 10", "node 2 cpus 0-3;node 7 cpus 4-5,9,"] {
            let topology = Topology::parse(text).unwrap();
            assert_eq!(Topology::parse(&topology.to_string()).unwrap(), topology, "{text}");
        }
        assert_eq!(Topology::parse("node 0 cpus 4-6,1").unwrap().to_string(), "node 0 cpus 4-6,1 distances 10");
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in [
            "",
            "x",
            "0x4",
            "4x8:star",
            "node 0 cpus 0:ring",
            "99999x99999",
            "node",
            "node 0 cpus 5-1",
            "node 0 cpus 0-4294967295",
            "node 0 cpus 0; node 1 cpus 0",
            "node 0 cpus 0 distances 10 20",
            "node 0 cpus 0 distance 10",
            "node 1 cpus 0; node 0 cpus 1",
            "node 0 cpus ,",
        ] {
            let error = Topology::parse(text).expect_err(text);
            assert_eq!(error.state(), SqlState::INVALID_PARAMETER_VALUE);
        }
    }

    #[test]
    fn equally_far_nodes_are_robbed_in_a_circle() {
        let topology = Topology::parse("4x2").unwrap();
        assert_eq!(topology.near(NodeId(2)), [NodeId(2), NodeId(3), NodeId(0), NodeId(1)]);
        assert_eq!((topology.node_count(), topology.cpu_count()), (4, 8));
        assert_eq!(topology.distance(NodeId(0), NodeId(3)), REMOTE);
        assert_eq!(*topology.hops(NodeId(2)), [1, 1, 0, 1]);
    }

    #[test]
    fn in_a_ring_the_opposite_node_is_two_hops_away() {
        let topology = Topology::parse("4x8:ring").unwrap();
        assert_eq!(*topology.hops(NodeId(1)), [1, 0, 1, 2]);
        assert_eq!(topology.near(NodeId(0)), [NodeId(0), NodeId(1), NodeId(3), NodeId(2)]);
        assert_eq!(*Topology::parse("1x2:ring").unwrap().hops(NodeId(0)), [0]);
        assert_eq!(Topology::parse("2x2:ring").unwrap(), Topology::parse("2x2").unwrap());
    }

    #[test]
    fn the_machine_has_processors() {
        let machine = Topology::detect();
        assert!(machine.cpu_count() >= 1);
        assert!(available_threads() >= 1);
        assert_eq!(Topology::parse(&machine.to_string()).unwrap().to_string(), machine.to_string());
    }
}
