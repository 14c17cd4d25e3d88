//! What the thesis reports, to be printed beside it.

/// Remote accesses of TPC-H's queries in percent (table 4.1).
pub(super) const TPCH_REMOTE: [u32; 22] =
    [1, 15, 25, 15, 29, 4, 39, 15, 48, 37, 25, 5, 54, 29, 34, 62, 13, 40, 17, 5, 16, 75];

/// The same of the Star Schema Benchmark (table 4.3).
pub(super) const SSB_REMOTE: [u32; 13] = [18, 1, 1, 13, 2, 3, 37, 7, 2, 2, 34, 28, 5];

/// Speed-ups of TPC-H's queries with 64 threads (tables 4.1 and 4.2).
const NEHALEM: [f64; 22] = [
    32.4, 22.3, 24.7, 21.6, 21.3, 27.5, 32.4, 31.2, 32.0, 20.0, 37.1, 42.0, 40.0, 24.8, 19.8, 17.3, 30.5, 24.0, 29.5,
    33.4, 28.0, 25.7,
];
const SANDY_BRIDGE: [f64; 22] = [
    39.4, 17.8, 18.6, 26.9, 28.0, 42.8, 25.3, 33.3, 21.5, 21.0, 27.4, 41.8, 16.5, 15.6, 20.5, 11.0, 34.0, 29.1, 29.6,
    33.7, 26.4, 8.4,
];

/// Of a machine and a query; empty if it has none.
pub(super) fn speed_up(machine: &str, query: usize) -> String {
    let all = match machine {
        _ if machine.starts_with("Nehalem") => Some(&NEHALEM),
        _ if machine.starts_with("Sandy") => Some(&SANDY_BRIDGE),
        _ => None,
    };
    all.and_then(|all| all.get(query)).map_or(String::new(), |speed_up| format!("{speed_up:.1}"))
}
