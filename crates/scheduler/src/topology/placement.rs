//! Which worker sits on which node and processor.

use super::{NodeId, Topology, machine};
use crate::morsel::WorkerId;
use base::ids::Id;

/// Where a worker sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Its node.
    pub node: NodeId,
    /// Its processor, by the machine's number.
    pub cpu: u32,
    /// How many workers of the same node have smaller numbers.
    pub rank: usize,
}

/// The seats of all workers that there may be, and the topology that they are in.
///
/// Workers go round the nodes, so that any number of them has the memory bandwidth of as many nodes as possible; once
/// all processors are taken, it starts over.
#[derive(Clone, Debug)]
pub struct Placement {
    topology: Topology,
    seats: Vec<Seat>,
}

impl Placement {
    /// Places `workers` workers.
    pub fn new(topology: Topology, workers: usize) -> Self {
        let nodes: Vec<NodeId> = (0..topology.node_count()).map(NodeId::from_index).collect();
        let widest = nodes.iter().map(|&node| topology.cpus(node).len()).max().unwrap_or(1);
        let mut ranks = vec![0; nodes.len()];
        // Round by round: a node with few processors drops out of the later rounds.
        let rounds = (0..widest).flat_map(|round| nodes.iter().map(move |&node| (round, node)));
        let places = rounds.filter_map(|(round, node)| Some((node, *topology.cpus(node).get(round)?)));
        let places: Vec<(NodeId, u32)> = places.collect();
        let seats = places.iter().cycle().take(workers.max(1)).map(|&(node, cpu)| {
            ranks[node.index()] += 1;
            Seat { node, cpu, rank: ranks[node.index()] - 1 }
        });
        let seats = seats.collect();
        Self { topology, seats }
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }
    /// Number of workers placed.
    pub fn max_workers(&self) -> usize {
        self.seats.len()
    }
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.topology.node_count()
    }
    /// A worker's seat.
    pub fn seat(&self, worker: WorkerId) -> Seat {
        self.seats[worker.index() % self.seats.len()]
    }
    /// A worker's node.
    pub fn node(&self, worker: WorkerId) -> NodeId {
        self.seat(worker).node
    }
    /// How many workers of the same node have smaller numbers.
    pub fn rank(&self, worker: WorkerId) -> usize {
        self.seat(worker).rank
    }
    /// All nodes, nearest to `node` first.
    pub fn near(&self, node: NodeId) -> &[NodeId] {
        self.topology.near(node)
    }

    /// Binds the calling thread, which is `worker`, when `threads` threads are wanted.
    pub(crate) fn bind(&self, worker: WorkerId, threads: usize) {
        if self.topology.bindable {
            machine::bind(self.processors(worker, threads));
        }
    }

    /// Where a worker may run when `threads` threads are wanted: on its processor if the threads cover the machine exactly
    /// (thesis 4.4), on its node if there are fewer or more, as nobody knows who else took the same processors.
    fn processors(&self, worker: WorkerId, threads: usize) -> &[u32] {
        let seat = &self.seats[worker.index() % self.seats.len()];
        if threads == self.topology.cpu_count() && worker.index() < threads {
            std::slice::from_ref(&seat.cpu)
        } else {
            self.topology.cpus(seat.node)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_go_round_the_nodes() {
        let topology = Topology::parse("node 0 cpus 0-2; node 1 cpus 3").unwrap();
        let placement = Placement::new(topology, 6);
        let seats: Vec<_> = (0..6).map(|w| placement.seat(WorkerId(w))).map(|s| (s.node.0, s.cpu, s.rank)).collect();
        assert_eq!(seats, [(0, 0, 0), (1, 3, 0), (0, 1, 1), (0, 2, 2), (0, 0, 3), (1, 3, 1)]);
    }

    #[test]
    fn workers_have_processors_of_their_own_as_long_as_they_cover_the_machine() {
        let placement = Placement::new(Topology::parse("node 0 cpus 0-2; node 1 cpus 3").unwrap(), 6);
        let at = |threads| (0..4).map(|w| placement.processors(WorkerId(w), threads)).collect::<Vec<_>>();
        assert_eq!(at(4), [&[0][..], &[3], &[1], &[2]]);
        for threads in [3, 6] {
            assert_eq!(at(threads), [&[0, 1, 2][..], &[3], &[0, 1, 2], &[0, 1, 2]]);
        }
        // Of one node, all of it: who was bound to a processor goes where it likes again.
        let one = Placement::new(Topology::single(2), 4);
        assert_eq!(one.processors(WorkerId(1), 2), [1]);
        assert_eq!(one.processors(WorkerId(1), 4), [0, 1]);
    }
}
