use super::*;

fn rate(protocol: Protocol, does: Does, threads: usize) -> f64 {
    alike(protocol, does, threads).rates.iter().sum()
}

#[test]
fn what_does_not_write_scales_and_what_does_is_slower_with_threads() {
    let lookups = |protocol| rate(protocol, Does::Lookup, 10) / rate(protocol, Does::Lookup, 1);
    for protocol in [Protocol::None, Protocol::Optimistic, Protocol::Rowex, Protocol::Elided] {
        assert!(lookups(protocol) > 9.0, "{protocol:?}: {}", lookups(protocol));
    }
    for protocol in [Protocol::Coupling, Protocol::Latch] {
        assert!(lookups(protocol) < 3.0, "{protocol:?}: {}", lookups(protocol));
    }
    let inserts = |protocol| rate(protocol, Does::Change, 10);
    assert!(inserts(Protocol::Optimistic) > 3.0 * inserts(Protocol::Coupling));
}

#[test]
fn one_thread_needs_no_transfers() {
    for (name, protocol) in PROTOCOLS {
        assert_eq!(alike(protocol, Does::Lookup, 1).transfers, 0.0, "{name}");
    }
}

#[test]
fn readers_of_rowex_are_least_disturbed_by_a_writer_of_one_key() {
    let drawn = zipf(10_000, 3.0, 1 << 12);
    let lookups = |protocol| contended(protocol, &drawn).rates[0];
    for protocol in [Protocol::Coupling, Protocol::Optimistic, Protocol::Elided, Protocol::Latch] {
        assert!(lookups(Protocol::Rowex) > lookups(protocol), "{protocol:?}");
    }
}

#[test]
fn runs_are_alike() {
    assert_eq!(rate(Protocol::Coupling, Does::Change, 4), rate(Protocol::Coupling, Does::Change, 4));
}
