//! What this machine and its limits are. Linux tells in `/sys`; elsewhere there is one node.

use super::{Described, Topology, parse_cpus};
use std::path::Path;

/// Threads that this process may keep busy: what affinity and the quota of its cgroups (versions 1 and 2) allow, at
/// least one.
pub fn available_threads() -> usize {
    // The standard library reads the affinity mask and both versions of cgroups.
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Reads the nodes; processors outside of the affinity mask and nodes without processors are left out.
pub(super) fn detect() -> Topology {
    let threads = available_threads();
    let Some(allowed) = affinity() else { return Topology::single(threads) };
    let nodes = read_nodes(Path::new("/sys/devices/system"), &allowed);
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| parse_cpus(&text));
    // Bound to a part of the machine, or to a share of its time, others decide better where threads run.
    let bindable = online.is_some_and(|online| online.len() == allowed.len()) && threads >= allowed.len();
    match nodes {
        Some(nodes) => Topology::from_nodes(nodes, bindable),
        None => Topology::from_nodes(vec![(0, allowed, Vec::new())], bindable),
    }
}

fn read_nodes(system: &Path, allowed: &[u32]) -> Option<Vec<Described>> {
    let mut numbers: Vec<u32> = std::fs::read_dir(system.join("node"))
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("node")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    let mut nodes = Vec::new();
    for &number in &numbers {
        let at = system.join("node").join(format!("node{number}"));
        let mut cpus = parse_cpus(&std::fs::read_to_string(at.join("cpulist")).ok()?)?;
        cpus.retain(|cpu| allowed.contains(cpu));
        // All first threads of cores, then all second ones: the first workers get cores of their own.
        cpus.sort_by_key(|&cpu| (thread_of_core(system, cpu), cpu));
        let distances = std::fs::read_to_string(at.join("distance")).ok()?;
        let distances: Vec<u32> = distances.split_whitespace().filter_map(|d| d.parse().ok()).collect();
        nodes.push((number, cpus, distances));
    }
    let used: Vec<bool> = nodes.iter().map(|(_, cpus, _)| !cpus.is_empty()).collect();
    for (_, _, distances) in &mut nodes {
        if distances.len() == used.len() {
            let mut node = used.iter();
            distances.retain(|_| *node.next().expect("as many nodes as distances"));
        }
    }
    nodes.retain(|(_, cpus, _)| !cpus.is_empty());
    // A processor that no node lists would never be used.
    let listed: usize = nodes.iter().map(|(_, cpus, _)| cpus.len()).sum();
    (listed == allowed.len()).then_some(nodes)
}

/// How many hardware threads of the same core come before this one.
fn thread_of_core(system: &Path, cpu: u32) -> usize {
    let file = system.join(format!("cpu/cpu{cpu}/topology/thread_siblings_list"));
    let siblings = std::fs::read_to_string(file).ok().and_then(|text| parse_cpus(&text)).unwrap_or_default();
    siblings.iter().filter(|&&sibling| sibling < cpu).count()
}

/// Words of an affinity mask: 65,536 processors.
#[cfg(target_os = "linux")]
type Mask = [u64; super::MOST_CPUS as usize / 64];

/// The processors that this thread may run on, in order.
#[cfg(target_os = "linux")]
fn affinity() -> Option<Vec<u32>> {
    let mut mask: Box<Mask> = Box::new([0; super::MOST_CPUS as usize / 64]);
    // SAFETY: the kernel writes at most `size_of::<Mask>()` bytes to the mask, which is that large; any bit pattern is
    // a valid mask.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<Mask>(), (&raw mut *mask).cast()) };
    let cpus = (0..super::MOST_CPUS).filter(|&cpu| mask[cpu as usize / 64] >> (cpu % 64) & 1 == 1);
    (result == 0).then(|| cpus.collect())
}

#[cfg(not(target_os = "linux"))]
fn affinity() -> Option<Vec<u32>> {
    None
}

/// Binds the calling thread to `cpus`, if the system lets it: nothing depends on it but speed.
#[cfg(target_os = "linux")]
pub(super) fn bind(cpus: &[u32]) {
    let mut mask: Box<Mask> = Box::new([0; super::MOST_CPUS as usize / 64]);
    for &cpu in cpus.iter().filter(|&&cpu| cpu < super::MOST_CPUS) {
        mask[cpu as usize / 64] |= 1 << (cpu % 64);
    }
    // SAFETY: the kernel reads at most `size_of::<Mask>()` bytes from the mask, which is that large.
    unsafe { libc::sched_setaffinity(0, size_of::<Mask>(), (&raw const *mask).cast()) };
}

#[cfg(not(target_os = "linux"))]
pub(super) fn bind(_cpus: &[u32]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_read_and_restricted() {
        let root = std::env::temp_dir().join(format!("morsel-topology-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("node/possible", "0-2\n");
        for (node, cpus, distances) in [(0, "0-1,4-5", "10 17 21"), (1, "", "17 10 28"), (2, "2-3,6-7", "21 28 10")] {
            write(&format!("node/node{node}/cpulist"), &format!("{cpus}\n"));
            write(&format!("node/node{node}/distance"), &format!("{distances}\n"));
        }
        for cpu in 0..8 {
            let siblings = format!("{},{}\n", cpu % 4, cpu % 4 + 4);
            write(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &siblings);
        }
        let all = read_nodes(&root, &(0..8).collect::<Vec<_>>()).unwrap();
        assert_eq!(all, [(0, vec![0, 1, 4, 5], vec![10, 21]), (2, vec![2, 3, 6, 7], vec![21, 10])]);
        let few = read_nodes(&root, &[1, 5]).unwrap();
        assert_eq!(few, [(0, vec![1, 5], vec![10])]);
        assert_eq!(read_nodes(&root, &[1, 9]), None);
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn binding_restricts_the_calling_thread() {
        std::thread::spawn(|| {
            let all = affinity().unwrap();
            bind(&all[..1]);
            assert_eq!(affinity().unwrap(), all[..1]);
        })
        .join()
        .unwrap();
    }
}
