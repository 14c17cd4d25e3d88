//! What operations do with lines, by protocol, as the code of `crates/index` does it.

/// What a line holds, as a number.
pub(super) type LineId = u64;

/// Nanoseconds of work for a node.
const NODE: f64 = 5.0;
/// Of beginning and ending a transaction.
const TRANSACTION: f64 = 12.0;
/// So often a transaction is begun anew.
const RESTARTS: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    None,
    Coupling,
    Optimistic,
    Rowex,
    Elided,
    Latch,
    Counted,
}

pub(super) const PROTOCOLS: [(&str, Protocol); 7] = [
    ("unsynchronised", Protocol::None),
    ("lock-coupling", Protocol::Coupling),
    ("olc", Protocol::Optimistic),
    ("rowex", Protocol::Rowex),
    ("elided-latch", Protocol::Elided),
    ("rw-latch", Protocol::Latch),
    ("counted", Protocol::Counted),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    Lookup,
    /// An insertion or a removal.
    Change,
    /// A removal and an insertion of a key in a node that stays.
    Update,
}

impl Protocol {
    /// Whether threads may do that at the same time.
    pub(super) fn can(self, does: Does) -> bool {
        does == Does::Lookup || !matches!(self, Self::None | Self::Counted)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Work(f64),
    Read(LineId),
    Write(LineId),
    /// An operation begins, and begins here anew.
    Begin,
    /// An atomic addition.
    Add(LineId),
    /// Locks for reading, as soon as nobody writes.
    Share(LineId),
    Unshare(LineId),
    /// Locks for writing, as soon as there is nobody else.
    Lock(LineId),
    Unlock(LineId),
    /// Reads a version; `waits` until it is not locked.
    Remember {
        line: LineId,
        waits: bool,
    },
    /// Begins anew if a version has changed.
    Check(LineId),
    /// Locks what has the remembered version, or begins anew.
    Upgrade(LineId),
    /// Begins anew if anything that is remembered has changed.
    Commit,
}

/// An operation on its way.
pub(super) struct Steps {
    steps: Vec<Step>,
    at: usize,
    begun: usize,
    /// Versions that are remembered.
    pub(super) seen: Vec<(LineId, u64)>,
    restarts: usize,
    /// The steps that are taken after too many restarts.
    otherwise: Vec<Step>,
}

impl Steps {
    pub(super) fn next(&self) -> Option<Step> {
        self.steps.get(self.at).copied()
    }
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }
    pub(super) fn begin(&mut self) {
        self.begun = self.at;
        self.seen.clear();
    }
    pub(super) fn restart(&mut self) {
        (self.at, self.restarts) = (self.begun, self.restarts + 1);
        if self.restarts > RESTARTS && !self.otherwise.is_empty() {
            self.steps = std::mem::take(&mut self.otherwise);
            self.at = 0;
        }
    }
}

/// Which tree.
#[derive(Clone, Copy, Debug)]
pub(super) enum Tree {
    /// 50 million random keys: three levels of nodes of 256 and one of nodes of a few.
    Sparse,
    /// 10 million dense keys: three levels of nodes of 256.
    Dense,
}

/// The lines that are not of nodes: the root's slot, the latch, and the counters of lookups and of bytes.
const ROOT: LineId = 1;
const LATCH: LineId = 2;
const COUNTER: LineId = 3;
const BYTES: LineId = 4;

/// A node on the way: the line of its head, and that of the slot.
struct Node {
    head: LineId,
    slot: LineId,
}

fn way(tree: Tree, key: u64) -> Vec<Node> {
    // Bytes of the key by which nodes branch, the first one first.
    let (bytes, last_is_small) = match tree {
        Tree::Sparse => ([key >> 56, key >> 48 & 255, key >> 40 & 255, key >> 32 & 255].to_vec(), true),
        Tree::Dense => ([key >> 16, key >> 8 & 255, key & 255].to_vec(), false),
    };
    let mut path = 0;
    let node = |(depth, byte): (usize, &u64)| {
        let head = (depth as u64 + 1) << 58 | path << 8;
        path = path << 8 | byte;
        let is_small = last_is_small && depth + 1 == bytes.len();
        // Eight slots in a line, behind the head's.
        Node { head, slot: if is_small { head } else { head + 1 + byte / 8 } }
    };
    bytes.iter().enumerate().map(node).collect()
}

/// The steps of an operation.
pub(super) fn steps(protocol: Protocol, does: Does, tree: Tree, key: u64) -> Steps {
    let way = way(tree, key);
    let mut steps = Vec::new();
    let parts: &[Does] = if does == Does::Update { &[Does::Change, Does::Change] } else { &[does] };
    for does in parts {
        steps.push(Step::Begin);
        // One in three makes or frees a node, if nodes are small.
        let is_new = matches!(tree, Tree::Sparse) && key.is_multiple_of(3);
        one(protocol, *does, &way, is_new, &mut steps);
    }
    let mut otherwise = Vec::new();
    if protocol == Protocol::Elided {
        otherwise.extend([Step::Begin, Step::Lock(LATCH)]);
        plain(does, &way, &mut otherwise);
        otherwise.push(Step::Unlock(LATCH));
    }
    Steps { steps, at: 0, begun: 0, seen: Vec::new(), restarts: 0, otherwise }
}

/// The unsynchronised code.
fn plain(does: Does, way: &[Node], steps: &mut Vec<Step>) {
    steps.push(Step::Read(ROOT));
    for node in way {
        steps.extend([Step::Read(node.head), Step::Read(node.slot), Step::Work(NODE)]);
    }
    if does != Does::Lookup {
        steps.extend(way.last().map(|node| Step::Write(node.slot)));
        steps.extend(way.last().map(|node| Step::Write(node.head)));
    }
}

fn one(protocol: Protocol, does: Does, way: &[Node], is_new: bool, steps: &mut Vec<Step>) {
    let changes = does != Does::Lookup;
    let bytes = (changes && is_new).then_some(Step::Add(BYTES));
    match protocol {
        Protocol::None => plain(does, way, steps),
        Protocol::Counted => {
            steps.push(Step::Add(COUNTER));
            plain(does, way, steps);
        }
        Protocol::Latch => {
            steps.push(if changes { Step::Lock(LATCH) } else { Step::Share(LATCH) });
            plain(does, way, steps);
            steps.extend(bytes);
            steps.push(if changes { Step::Unlock(LATCH) } else { Step::Unshare(LATCH) });
        }
        Protocol::Elided => {
            steps.push(Step::Work(TRANSACTION));
            let lines = way.iter().flat_map(|node| [node.head, node.slot]);
            steps.extend([Step::Remember { line: LATCH, waits: true }, Step::Remember { line: ROOT, waits: false }]);
            steps.extend(lines.flat_map(|line| [Step::Remember { line, waits: false }, Step::Work(NODE / 2.0)]));
            if let Some(bytes) = bytes {
                steps.extend([Step::Remember { line: BYTES, waits: false }, Step::Commit, bytes]);
            } else {
                steps.push(Step::Commit);
            }
            if let (true, Some(last)) = (changes, way.last()) {
                steps.extend([Step::Write(last.slot), Step::Write(last.head)]);
            }
        }
        Protocol::Coupling => coupled(changes, bytes, way, steps),
        Protocol::Rowex if !changes => plain(does, way, steps),
        Protocol::Optimistic | Protocol::Rowex => optimistic(changes, bytes, way, steps),
    }
}

/// Lock coupling: a node is locked for reading before its parent is let go.
fn coupled(changes: bool, bytes: Option<Step>, way: &[Node], steps: &mut Vec<Step>) {
    steps.extend([Step::Share(ROOT), Step::Read(ROOT)]);
    let mut parent = ROOT;
    for (at, node) in way.iter().enumerate() {
        let is_last = at + 1 == way.len();
        // The code locks the last one for reading first, and begins anew if two want to write.
        steps.push(if changes && is_last { Step::Lock(node.head) } else { Step::Share(node.head) });
        steps.extend([Step::Unshare(parent), Step::Read(node.slot), Step::Work(NODE)]);
        parent = node.head;
        if changes && is_last {
            steps.extend(bytes);
            steps.extend([Step::Write(node.slot), Step::Unlock(node.head)]);
        } else if is_last {
            steps.push(Step::Unshare(node.head));
        }
    }
}

/// Optimistic Lock Coupling, and what ROWEX's changes do.
fn optimistic(changes: bool, bytes: Option<Step>, way: &[Node], steps: &mut Vec<Step>) {
    steps.extend([Step::Remember { line: ROOT, waits: true }, Step::Check(ROOT)]);
    let mut parent = ROOT;
    for (at, node) in way.iter().enumerate() {
        steps.push(Step::Remember { line: node.head, waits: true });
        steps.extend([Step::Read(node.slot), Step::Work(NODE), Step::Check(node.head)]);
        if at + 1 < way.len() {
            parent = node.head;
        } else if changes {
            steps.extend(bytes);
            steps.extend([Step::Check(parent), Step::Upgrade(node.head)]);
            steps.extend([Step::Write(node.slot), Step::Unlock(node.head)]);
        }
    }
}
