//! Replays of small recordings whose outcomes are known, and what must hold of all.

use base::Random;

use super::machine::Machine;
use super::recording::{Morsel, Phase, Query, Stage};
use super::simulate::{Memory, Outcome, Policy, Run, simulate};

const AWARE: Policy = Policy { memory: Memory::Aware, is_static: false };
const ALL: [Memory; 3] = [Memory::Aware, Memory::Interleaved, Memory::OneNode];

fn stage(after: &[usize], phases: &[(f64, &[f64])]) -> Stage {
    let morsel = |&nanos: &f64| Morsel { nanos, ..Morsel::default() };
    let phase =
        |(serial, times): &(f64, &[f64])| Phase { serial: *serial, morsels: times.iter().map(morsel).collect() };
    Stage { after: after.to_vec(), phases: phases.iter().map(phase).collect() }
}

fn query(stages: Vec<Stage>, end: f64) -> Query {
    Query { name: "q".into(), stages, end }
}

/// A scan that asks for so many bytes in a nanosecond.
fn scan(morsels: usize, bytes: f64) -> Query {
    let morsel = Morsel { nanos: 1000.0, table: 1000.0 * bytes, ..Morsel::default() };
    query(vec![Stage { after: Vec::new(), phases: vec![Phase { serial: 0.0, morsels: vec![morsel; morsels] }] }], 0.0)
}

fn run(machine: &Machine, query: &Query, workers: usize, policy: Policy) -> Outcome {
    simulate(&Run { machine, policy, streams: vec![vec![query]], workers, hogged: false })
}

/// Whether two times are the same but for what parts without work take.
fn near(time: f64, expected: f64) -> bool {
    (time - expected).abs() < 5.0
}

#[test]
fn phases_and_stages_follow_one_another() {
    let machine = Machine::nehalem();
    let q = query(vec![stage(&[], &[(50.0, &[100.0; 8]), (20.0, &[30.0])]), stage(&[0], &[(5.0, &[60.0; 5])])], 10.0);
    let time = |workers| run(&machine, &q, workers, AWARE).time;
    assert!(near(time(1), 50.0 + 800.0 + 20.0 + 30.0 + 5.0 + 300.0 + 10.0), "{}", time(1));
    assert!(near(time(4), 50.0 + 200.0 + 20.0 + 30.0 + 5.0 + 120.0 + 10.0), "{}", time(4));
    assert!(near(time(32), 50.0 + 100.0 + 20.0 + 30.0 + 5.0 + 60.0 + 10.0), "{}", time(32));
    assert_eq!((q.parallel(), q.serial()), (1130.0, 85.0));
    assert_eq!(q.critical(), 50.0 + 100.0 + 20.0 + 30.0 + 5.0 + 60.0 + 10.0);
}

#[test]
fn stages_that_do_not_depend_on_each_other_run_beside_each_other_on_idle_workers() {
    let q = query(vec![stage(&[], &[(0.0, &[100.0])]), stage(&[], &[(0.0, &[70.0])]), stage(&[0, 1], &[])], 0.0);
    let machine = Machine::nehalem();
    assert!(near(run(&machine, &q, 1, AWARE).time, 170.0));
    assert!(near(run(&machine, &q, 2, AWARE).time, 100.0));
}

#[test]
fn what_was_divided_beforehand_waits_for_the_slowest() {
    let times: Vec<f64> = (0..16).map(|number| if number < 4 { 400.0 } else { 100.0 }).collect();
    let q = query(vec![stage(&[], &[(0.0, &times)])], 0.0);
    let machine = Machine::nehalem();
    assert!(near(run(&machine, &q, 4, Policy { is_static: true, ..AWARE }).time, 1600.0));
    assert!(near(run(&machine, &q, 4, AWARE).time, 700.0));
}

#[test]
fn the_machines_give_the_measured_bandwidths_back() {
    for (machine, local, mix) in [(Machine::nehalem(), 93.0, 60.0), (Machine::sandy_bridge(), 121.0, 41.0)] {
        // All cores ask for more than there is; second threads are left out.
        let q = scan(3200, 10.0);
        let of = |memory| {
            let outcome = run(&machine, &q, 32, Policy { memory, is_static: true });
            3200.0 * 10_000.0 / outcome.time
        };
        assert!((of(Memory::Aware) - local).abs() < 0.5, "{}: {}", machine.name, of(Memory::Aware));
        assert!((of(Memory::Interleaved) - mix).abs() < 0.5, "{}: {}", machine.name, of(Memory::Interleaved));
        // One node's controller has a quarter, and its links allow less.
        assert!(of(Memory::OneNode) <= local / 4.0 + 0.1);
    }
    let (full, ring) = (Machine::nehalem(), Machine::sandy_bridge());
    assert_eq!((full.hops(0, 2), ring.hops(0, 1), ring.hops(0, 2), ring.hops(3, 0)), (1, 1, 2, 1));
    assert!((full.latency[0] * 0.25 + full.latency[1] * 0.75 - 186.0).abs() < 0.1);
    let mix = ring.latency[0] * 0.25 + ring.latency[1] * 0.5 + ring.latency[2] * 0.25;
    assert!((mix - 257.0).abs() < 0.1);
}

#[test]
fn second_threads_yield_what_the_best_query_had() {
    let q = query(vec![stage(&[], &[(0.0, &vec![100.0; 64 * 100])])], 0.0);
    let machine = Machine::nehalem();
    let time = |workers| run(&machine, &q, workers, AWARE).time;
    assert!((time(1) / time(32) - 32.0).abs() < 0.1);
    assert!((time(1) / time(64) - 42.0).abs() < 0.1);
}

#[test]
fn a_busy_processor_holds_up_only_what_was_divided_beforehand() {
    let q = query(vec![stage(&[], &[(0.0, &vec![100.0; 3200])])], 0.0);
    let machine = Machine::nehalem();
    let time = |is_static, hogged| {
        let policy = Policy { is_static, ..AWARE };
        simulate(&Run { machine: &machine, policy, streams: vec![vec![&q]], workers: 32, hogged }).time
    };
    assert!(near(time(true, true), 2.0 * time(true, false)));
    assert!(time(false, true) < 1.05 * time(false, false));
}

#[test]
fn streams_share_the_workers() {
    let q = query(vec![stage(&[], &[(0.0, &[100.0; 32])])], 0.0);
    let machine = Machine::nehalem();
    let streams = vec![vec![&q, &q], vec![&q, &q]];
    let outcome = simulate(&Run { machine: &machine, policy: AWARE, streams, workers: 8, hogged: false });
    assert!(near(outcome.time, 2.0 * 800.0) && outcome.morsels == 4 * 32, "{outcome:?}");
}

#[test]
fn accesses_are_where_the_placement_says() {
    let q = scan(4000, 0.1);
    for machine in [Machine::nehalem(), Machine::sandy_bridge()] {
        let of = |memory| run(&machine, &q, 32, Policy { memory, is_static: false });
        assert!(of(Memory::Aware).remote() < 0.02);
        assert!((of(Memory::Interleaved).remote() - 0.75).abs() < 1e-9);
        // Only the workers of the first node are near to it.
        assert!((of(Memory::OneNode).remote() - 0.75).abs() < 0.02);
    }
    let ring = Machine::sandy_bridge();
    assert!((run(&ring, &q, 32, Policy { memory: Memory::Interleaved, is_static: false }).far() - 0.25).abs() < 1e-9);
    // Rows are read where they were written.
    let write = Morsel { nanos: 100.0, written: 50.0, ..Morsel::default() };
    let read = Morsel { nanos: 100.0, area: 50.0, ..Morsel::default() };
    let phase = |morsel| vec![Phase { serial: 0.0, morsels: vec![morsel; 640] }];
    let stages = vec![Stage { after: vec![], phases: phase(write) }, Stage { after: vec![0], phases: phase(read) }];
    assert!(run(&ring, &query(stages, 0.0), 32, AWARE).remote() < 0.02);
}

/// A query of some stages with random phases.
fn any(random: &mut Random) -> Query {
    let morsel = |random: &mut Random| Morsel {
        nanos: 1.0 + random.fraction() * 1000.0,
        table: random.fraction() * 3000.0,
        area: random.fraction() * 500.0,
        scattered: random.fraction() * 100.0,
        written: random.fraction() * 1000.0,
        shared: random.fraction() * 300.0,
    };
    let phase = |random: &mut Random| Phase {
        serial: random.fraction() * 100.0,
        morsels: (0..random.index(60)).map(|_| morsel(random)).collect(),
    };
    let stage = |number: usize, random: &mut Random| Stage {
        after: (0..number).filter(|_| random.index(3) == 0).collect(),
        phases: (0..random.index(4)).map(|_| phase(random)).collect(),
    };
    query((0..1 + random.index(5)).map(|number| stage(number, random)).collect(), random.fraction() * 50.0)
}

#[test]
fn every_morsel_runs_once_and_nothing_is_quicker_than_it_can_be() {
    let mut random = Random(7);
    for _ in 0..60 {
        let q = any(&mut random);
        let morsels: usize = q.stages.iter().flat_map(|stage| &stage.phases).map(|phase| phase.morsels.len()).sum();
        for machine in [Machine::nehalem(), Machine::sandy_bridge()] {
            for (memory, is_static) in ALL.into_iter().flat_map(|memory| [(memory, false), (memory, true)]) {
                for workers in [1, 3, 32, 64] {
                    let policy = Policy { memory, is_static };
                    let outcome = run(&machine, &q, workers, policy);
                    assert_eq!(outcome.morsels, morsels);
                    let most = if workers > 32 { 32.0 * machine.yields } else { workers as f64 };
                    assert!(outcome.time >= (q.parallel() + q.serial()) / most - 1.0, "{q:?} {policy:?} {workers}");
                    assert!(outcome.time >= q.critical() - 1.0, "{q:?} {policy:?} {workers}");
                    assert_eq!(outcome, run(&machine, &q, workers, policy));
                }
            }
        }
    }
}
