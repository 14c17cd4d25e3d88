//! NUMA nodes: whose memory a thread gets, and how memory that all share lies on them.
//!
//! Threads that run on a node of the machine say so, and mappings are bound to it, whoever touches them first
//! (thesis 4.5.2 leaves that to the first touch). Nodes of a description are numbers that the machine knows nothing of.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// How memory that all workers share lies on the nodes of the machine (thesis 4.5.2 and 4.5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// Page by page, on all nodes in turn.
    #[default]
    Interleaved,
    /// As many parts as nodes, in their order. What hashes find by their highest bits lies where the partition is that these
    /// bits name, so that joins of tables that are hashed by their keys look at their own nodes.
    Blocks,
    /// Where the worker is that touches a page first.
    FirstTouch,
}

impl Spread {
    /// All of them, with their names.
    pub const ALL: [(&str, Self); 3] =
        [("interleaved", Self::Interleaved), ("partitioned", Self::Blocks), ("first_touch", Self::FirstTouch)];
}

/// The machine's numbers of its nodes, by ours; none before somebody has said that there are several.
static MACHINE: OnceLock<Box<[u32]>> = OnceLock::new();

thread_local! {
    static HOME: Cell<Option<Home>> = const { Cell::new(None) };
}

/// Nodes that have lists of their own of what is free; others share them.
const NODES: u16 = 64;
/// Lists of what is free on a node: those of the machine's have memory that is there, the others what a thread of a description,
/// or of a machine that nobody has asked about, has left.
pub(super) const LISTS: u16 = 2 * NODES;

/// Where a thread gets its memory.
#[derive(Clone, Copy, Debug)]
struct Home {
    node: u16,
    /// The machine has the node; otherwise a description has.
    is_real: bool,
}

/// Says which nodes the machine has, by the numbers that it has for them, in the order of ours. The first to say so is believed;
/// of one node there is nothing to say.
pub fn set_machine(nodes: &[u32]) {
    if nodes.len() > 1 {
        let _ = MACHINE.set(nodes.into());
    }
}

/// The NUMA node whose memory this thread gets: the one that it was said to run on, else the one that it ran on when it first
/// asked; 0 where the machine has one.
pub fn node() -> u16 {
    home().map_or(0, |home| home.node)
}

/// The number of the list that has memory for this thread, below [`LISTS`].
pub(super) fn list() -> u16 {
    home().map_or(0, |home| home.node % NODES + if home.is_real { NODES } else { 0 })
}

fn home() -> Option<Home> {
    if let Some(home) = HOME.get() {
        return Some(home);
    }
    let machine = MACHINE.get()?;
    let here = machine::current_node()?;
    let node = machine.iter().position(|&number| number == here)? as u16;
    HOME.set(Some(Home { node, is_real: true }));
    HOME.get()
}

/// Says which node of a description this thread runs on, from now on.
pub fn set_node(node: u16) {
    HOME.set(Some(Home { node, is_real: false }));
}

/// Says which node of the machine this thread runs on, from now on.
pub fn set_machine_node(node: u16) {
    HOME.set(Some(Home { node, is_real: MACHINE.get().is_some() }));
}

/// Has this thread get memory of a node while the guard lives, wherever it runs: for what goes in the place of memory there.
#[must_use]
pub fn on_node(node: u16) -> OnNode {
    let before = HOME.get();
    let is_real = before.map_or(MACHINE.get().is_some(), |home| home.is_real);
    HOME.set(Some(Home { node, is_real }));
    OnNode { before, not_sent: std::marker::PhantomData }
}

/// See [`on_node`].
#[derive(Debug)]
pub struct OnNode {
    before: Option<Home>,
    /// It is of this thread.
    not_sent: std::marker::PhantomData<*const ()>,
}

impl Drop for OnNode {
    fn drop(&mut self) {
        HOME.set(self.before);
    }
}

/// Binds fresh pages to the node of this thread: whoever touches them first, they lie there, as long as it has memory.
pub(super) fn bind_home(start: NonNull<u8>, len: usize) {
    let (Some(machine), Some(Home { node, is_real: true })) = (MACHINE.get(), home()) else { return };
    if let Some(&number) = machine.get(usize::from(node)) {
        machine::bind(start, len, &[number], machine::PREFERRED);
    }
}

/// Whether nobody has said that the machine has several.
pub(super) fn is_one() -> bool {
    MACHINE.get().is_none()
}

/// Spreads fresh pages over the nodes; `false` if there is but one, or nobody of the machine asks.
pub(super) fn spread(start: NonNull<u8>, len: usize, spread: Spread, page: usize) -> bool {
    let (Some(machine), Some(Home { is_real: true, .. })) = (MACHINE.get(), home()) else { return false };
    match spread {
        Spread::FirstTouch => {}
        Spread::Interleaved => machine::bind(start, len, machine, machine::INTERLEAVE),
        Spread::Blocks => {
            let edge = |number: usize| (len * number / machine.len()).next_multiple_of(page).min(len);
            for (number, node) in machine.iter().enumerate() {
                let part = edge(number)..edge(number + 1);
                if !part.is_empty() {
                    // SAFETY: inside of the pages.
                    let at = unsafe { start.add(part.start) };
                    machine::bind(at, part.len(), std::slice::from_ref(node), machine::PREFERRED);
                }
            }
        }
    }
    true
}

/// The node, by our number, where the page of an address lies; none if it lies nowhere yet, or the machine does not tell.
pub fn node_of(address: *const u8) -> Option<u16> {
    let number = machine::node_of(address)?;
    match MACHINE.get() {
        Some(machine) => Some(machine.iter().position(|&node| node == number)? as u16),
        None => Some(0),
    }
}

/// What the system is asked.
#[cfg(target_os = "linux")]
mod machine {
    use std::ptr::NonNull;

    /// `MPOL_PREFERRED`: of this node, or of one nearby that has some.
    pub(super) const PREFERRED: libc::c_int = 1;
    /// `MPOL_INTERLEAVE`.
    pub(super) const INTERLEAVE: libc::c_int = 3;

    /// Bits of a mask of nodes.
    const MOST_NODES: usize = 1024;

    pub(super) fn bind(start: NonNull<u8>, len: usize, nodes: &[u32], policy: libc::c_int) {
        let mut mask = [0u64; MOST_NODES / 64];
        for &node in nodes.iter().filter(|&&node| (node as usize) < MOST_NODES) {
            mask[node as usize / 64] |= 1 << (node % 64);
        }
        // Refused where nodes have gone or a container forbids it: then the first touch decides.
        // SAFETY: pages of the caller's, whose contents stay; the kernel reads the mask.
        unsafe { libc::syscall(libc::SYS_mbind, start.as_ptr(), len, policy, mask.as_ptr(), MOST_NODES + 1, 0) };
    }

    pub(super) fn current_node() -> Option<u32> {
        let (mut cpu, mut node) = (0u32, 0u32);
        // SAFETY: the kernel writes both numbers.
        let result = unsafe {
            libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, std::ptr::null_mut::<libc::c_void>())
        };
        (result == 0).then_some(node)
    }

    pub(super) fn node_of(address: *const u8) -> Option<u32> {
        let mut status: libc::c_int = -1;
        let nowhere = std::ptr::null::<libc::c_int>();
        // SAFETY: without nodes to move to, pages stay where they are; the kernel reads one address and writes one number.
        let result =
            unsafe { libc::syscall(libc::SYS_move_pages, 0, 1usize, &raw const address, nowhere, &raw mut status, 0) };
        if result == 0 { u32::try_from(status).ok() } else { None }
    }
}

#[cfg(not(target_os = "linux"))]
mod machine {
    use std::ptr::NonNull;

    pub(super) const PREFERRED: i32 = 0;
    pub(super) const INTERLEAVE: i32 = 0;

    pub(super) fn bind(_: NonNull<u8>, _: usize, _: &[u32], _: i32) {}

    pub(super) fn current_node() -> Option<u32> {
        None
    }

    pub(super) fn node_of(_: *const u8) -> Option<u32> {
        None
    }
}

#[cfg(all(test, target_os = "linux", not(watched)))]
mod tests;
