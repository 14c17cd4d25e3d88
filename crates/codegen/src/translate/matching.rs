//! Generators: probes of join tables, repetition, and fetching groups ahead.

use base::SqlState;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Inst, Match, MatchKind, State, StateId, Ty, Var};
use runtime::abi::{BATCH, Kernel, ProbeScratch, RepeatScratch};

use super::Emitter;
use super::value::{Val, changing, item};
use crate::messages;

impl Emitter<'_, '_> {
    /// Scratch memory for a generator.
    pub(super) fn reserve_generator(&mut self, generator: &Inst) -> u32 {
        let bytes = match generator {
            Inst::Match(_) => size_of::<ProbeScratch>(),
            Inst::Repeat { .. } => size_of::<RepeatScratch>(),
            _ => 8 * BATCH,
        };
        let at = self.reserve(bytes);
        self.generators.push(at);
        at
    }

    fn generator_scratch(&mut self, at: u32) -> Value {
        let scratch = self.scratch();
        self.b.ins().iadd_imm_s(scratch, i64::from(at))
    }

    /// The tuple of the stage before `stage + 1` that its pair number `i` belongs to.
    pub(super) fn listed_tuple(&mut self, stage: usize, i: Value) -> Value {
        let offset = match self.plan.stages[stage].generator {
            Some(Inst::Match(_)) => std::mem::offset_of!(ProbeScratch, tuples),
            _ => std::mem::offset_of!(RepeatScratch, tuples),
        };
        let scratch = self.generator_scratch(self.generators[stage]);
        let at = item(&mut self.b, scratch, i, 4);
        self.b.ins().uload32(changing(), at, offset as i32)
    }

    /// Gives the generator what it must know of tuple `n`.
    pub(super) fn feed(&mut self, generator: &Inst, scratch: u32, n: Value) {
        match generator {
            Inst::Match(m) => {
                let hash = self.get(m.hash).one();
                let active = m.active.map(|a| self.get(a).one());
                let scratch = self.generator_scratch(scratch);
                let at = item(&mut self.b, scratch, n, 8);
                self.b.ins().store(changing(), hash, at, std::mem::offset_of!(ProbeScratch, hashes) as i32);
                if let Some(active) = active {
                    let at = self.b.ins().iadd(scratch, n);
                    self.b.ins().store(changing(), active, at, std::mem::offset_of!(ProbeScratch, active) as i32);
                }
            }
            Inst::Repeat { times: value, .. } | Inst::Prefetch { hash: value, .. } => {
                let times =
                    if let Inst::Repeat { .. } = generator { std::mem::offset_of!(RepeatScratch, times) } else { 0 };
                let value = self.get(*value).one();
                let scratch = self.generator_scratch(scratch);
                let at = item(&mut self.b, scratch, n, 8);
                self.b.ins().store(changing(), value, at, times as i32);
            }
            _ => unreachable!("only generators end stages"),
        }
    }

    /// Runs the generator for the `n` tuples of `stage`, and the next stage for all that it delivers.
    pub(super) fn drive(&mut self, stage: usize, generator: &Inst, scratch: u32, n: Value) {
        match generator {
            Inst::Match(m) => self.drive_match(stage, m, scratch, n),
            Inst::Repeat { index, .. } => self.drive_repeat(stage, *index, scratch, n),
            Inst::Prefetch { state, .. } => {
                let local = self.local(*state);
                let hashes = self.generator_scratch(scratch);
                self.kernel_call(Kernel::GroupPrefetch, &[local, hashes, n]);
                self.stage_loop(stage + 1, n, true, |_| {});
            }
            _ => unreachable!("only generators end stages"),
        }
    }

    fn drive_match(&mut self, stage: usize, m: &Match, at: u32, n: Value) {
        let State::Join(join) = &self.program.states[m.state] else {
            unreachable!("the verifier has seen a join state")
        };
        let checks_first = matches!(m.kind, MatchKind::Semi | MatchKind::Anti | MatchKind::Mark { .. });
        let first_only = m.condition.is_none() && (join.unique || (checks_first && m.marker.is_none()));
        let scratch = self.generator_scratch(at);
        let table = self.shared(m.state);
        let resumed = self.skip_if_resumed();
        let active = self.b.ins().iconst(types::I64, i64::from(m.active.is_some()));
        // 1: a tuple's first candidate is its match; 2: candidates of tuples that have their match are of no use.
        let stops = match first_only {
            true => 1,
            false if checks_first && m.marker.is_none() => 2,
            false => 0,
        };
        let first = self.b.ins().iconst(types::I64, stops);
        for (value, offset) in [
            (n, std::mem::offset_of!(ProbeScratch, count)),
            (active, std::mem::offset_of!(ProbeScratch, has_active)),
            (first, std::mem::offset_of!(ProbeScratch, first_only)),
        ] {
            self.b.ins().store(changing(), value, scratch, offset as i32);
        }
        let limit = self.limit_argument(stage);
        self.b.ins().store(changing(), limit, scratch, std::mem::offset_of!(ProbeScratch, limit) as i32);
        let (some, done) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(n, some, &[], done, &[]);
        self.b.switch_to_block(some);
        self.kernel_call(Kernel::ProbeBegin, &[table, scratch]);

        let (head, more, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let run = self.b.create_block();
        let count = self.b.append_block_param(run, types::I64);
        self.b.ins().jump(head, &[]);
        if let Some(resumed) = resumed {
            self.b.switch_to_block(resumed);
            self.find_resumed(stage, head, run);
        }
        self.b.switch_to_block(head);
        let finishes = matches!(m.kind, MatchKind::Left | MatchKind::Single { .. });
        if finishes {
            let finishing_at = std::mem::offset_of!(ProbeScratch, finishing) as i32;
            let finishing = self.b.ins().load(types::I64, changing(), scratch, finishing_at);
            let probe = self.b.create_block();
            self.b.ins().brif(finishing, done, &[], probe, &[]);
            self.b.switch_to_block(probe);
        }
        let steps = self.steps();
        let pairs = self.kernel_call(Kernel::ProbeNext, &[table, scratch, steps]).expect("it returns a value");
        self.pause_if_told(stage, pairs);
        match m.kind {
            MatchKind::Inner | MatchKind::Semi => {
                self.b.ins().brif(pairs, run, &[pairs.into()], end, &[]);
                self.b.switch_to_block(end);
                self.b.ins().jump(done, &[]);
                self.b.switch_to_block(run);
                self.stage_loop(stage + 1, count, false, |e| e.pair_prologue(m, at, first_only, false));
                self.b.ins().jump(head, &[]);
            }
            MatchKind::Left | MatchKind::Single { .. } => {
                self.b.ins().brif(pairs, run, &[pairs.into()], end, &[]);
                self.b.switch_to_block(end);
                let yes = self.b.ins().iconst(types::I64, 1);
                self.b.ins().store(changing(), yes, scratch, std::mem::offset_of!(ProbeScratch, finishing) as i32);
                let rest = self.kernel_call(Kernel::ProbeUnmatched, &[scratch]).expect("it returns a value");
                self.b.ins().brif(rest, run, &[rest.into()], done, &[]);
                self.b.switch_to_block(run);
                self.stage_loop(stage + 1, count, false, |e| e.pair_prologue(m, at, first_only, true));
                self.b.ins().jump(head, &[]);
            }
            MatchKind::Anti | MatchKind::Mark { .. } => {
                self.b.ins().brif(pairs, more, &[], end, &[]);
                self.b.switch_to_block(more);
                self.judge_pairs(stage, m, at, pairs);
                self.b.ins().jump(head, &[]);
                self.b.switch_to_block(end);
                if matches!(m.kind, MatchKind::Mark { .. }) {
                    // Of a batch that goes on, only the scratch memory knows.
                    let at = std::mem::offset_of!(ProbeScratch, count) as i32;
                    let n = self.b.ins().load(types::I64, changing(), scratch, at);
                    self.b.ins().jump(run, &[n.into()]);
                } else {
                    let rest = self.kernel_call(Kernel::ProbeUnmatched, &[scratch]).expect("it returns a value");
                    self.b.ins().brif(rest, run, &[rest.into()], done, &[]);
                }
                self.b.switch_to_block(run);
                let in_order = matches!(m.kind, MatchKind::Mark { .. });
                self.stage_loop(stage + 1, count, in_order, |e| e.mark_prologue(m, at));
                self.b.ins().jump(done, &[]);
            }
        }
        self.b.switch_to_block(done);
    }

    /// A limit that what `stage` hands on comes to.
    fn limit_behind(&self, stage: usize) -> Option<StateId> {
        self.plan.stages[stage + 1..].iter().flat_map(|s| s.insts).find_map(Inst::limit)
    }

    /// That limit as the generator of `stage` asks it, or null.
    fn limit_argument(&mut self, stage: usize) -> Value {
        match self.limit_behind(stage) {
            Some(limit) => self.local(limit),
            None => self.b.ins().iconst(types::I64, 0),
        }
    }

    fn entry(&mut self, at: u32, i: Value) -> Value {
        let scratch = self.generator_scratch(at);
        let place = item(&mut self.b, scratch, i, 8);
        self.b.ins().load(types::I64, changing(), place, std::mem::offset_of!(ProbeScratch, entries) as i32)
    }

    /// The address of the current tuple's `matched` byte, less that field's offset.
    fn matched_place(&mut self, at: u32) -> Value {
        let scratch = self.generator_scratch(at);
        let tuple = self.tuple.expect("inside of a loop");
        self.b.ins().iadd(scratch, tuple)
    }

    fn set_matched(&mut self, place: Value, value: i64) {
        let value = self.b.ins().iconst(types::I8, value);
        self.b.ins().store(changing(), value, place, std::mem::offset_of!(ProbeScratch, matched) as i32);
    }

    fn matched(&mut self, place: Value) -> Value {
        self.b.ins().load(types::I8, changing(), place, std::mem::offset_of!(ProbeScratch, matched) as i32)
    }

    /// Sets the build row's marker; written only once, since other workers read the cache line.
    fn set_marker(&mut self, entry: Value, marker: u32) {
        let old = self.b.ins().load(types::I8, changing(), entry, marker as i32);
        let (set, done) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(old, done, &[], set, &[]);
        self.b.switch_to_block(set);
        let one = self.b.ins().iconst(types::I8, 1);
        self.b.ins().store(changing(), one, entry, marker as i32);
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
    }

    /// Decides about a pair, for kinds whose matches the next stage sees: goes on only if the rest of the body is to
    /// happen, with `entry` defined.
    fn pair_prologue(&mut self, m: &Match, at: u32, first_only: bool, finishes: bool) {
        let i = self.pair.expect("inside of a loop over pairs");
        let entry = self.entry(at, i);
        if !finishes {
            let semi = matches!(m.kind, MatchKind::Semi);
            let place = (semi && !first_only).then(|| self.matched_place(at));
            if let (Some(place), None) = (place, m.marker) {
                self.unless_matched(place);
            }
            self.define(m.entry, Val::One(entry));
            if let Some(c) = &m.condition {
                self.block(&c.block);
                let is_true = self.get(c.is_true).one();
                self.filter(is_true);
            }
            if let Some(marker) = m.marker {
                self.set_marker(entry, marker);
            }
            if let Some(place) = place {
                if m.marker.is_some() {
                    self.unless_matched(place);
                }
                self.set_matched(place, 1);
            }
            return;
        }
        let (judge, rest) = (self.b.create_block(), self.b.create_block());
        // The kernel has written null pointers as the entries of unmatched tuples.
        self.b.ins().brif(entry, judge, &[], rest, &[]);
        self.b.switch_to_block(judge);
        self.scope(|e| {
            e.define(m.entry, Val::One(entry));
            if let Some(c) = &m.condition {
                e.block(&c.block);
                let is_true = e.get(c.is_true).one();
                e.filter(is_true);
            }
            if let Some(marker) = m.marker {
                e.set_marker(entry, marker);
            }
            let place = e.matched_place(at);
            if let MatchKind::Single { position } = m.kind {
                let again = e.matched(place);
                e.raise_if(again, SqlState::CARDINALITY_VIOLATION, messages::MORE_THAN_ONE_ROW, position);
            }
            e.set_matched(place, 1);
            e.b.ins().jump(rest, &[]);
        });
        self.b.switch_to_block(rest);
        self.define(m.entry, Val::One(entry));
    }

    fn unless_matched(&mut self, place: Value) {
        let matched = self.matched(place);
        let fresh = self.b.ins().icmp_imm_u(IntCC::NotEqual, matched, 1);
        self.filter(fresh);
    }

    /// A loop over pairs that only notes what they say of their tuples.
    fn judge_pairs(&mut self, stage: usize, m: &Match, at: u32, pairs: Value) {
        let outer = (self.stage, self.tuple, self.next);
        let (l, i) = self.begin_loop(pairs);
        self.stage = stage + 1;
        self.next = Some(l.latch);
        self.scope(|e| {
            e.tuple = Some(e.listed_tuple(stage, i));
            let entry = e.entry(at, i);
            let place = e.matched_place(at);
            if m.marker.is_none() {
                e.unless_matched(place);
            }
            e.define(m.entry, Val::One(entry));
            let Some(c) = &m.condition else {
                if let Some(marker) = m.marker {
                    e.set_marker(entry, marker);
                }
                e.set_matched(place, 1);
                return;
            };
            e.block(&c.block);
            let is_true = e.get(c.is_true).one();
            let (yes, no) = (e.b.create_block(), e.b.create_block());
            let latch = e.next.expect("inside of a loop");
            e.b.ins().brif(is_true, yes, &[], no, &[]);
            e.b.switch_to_block(no);
            if let Some(is_null) = c.is_null {
                e.scope(|e| {
                    let is_null = e.get(is_null).one();
                    let old = e.matched(place);
                    // 0 becomes 2 if the condition is NULL; 1 stays.
                    let two = e.b.ins().iconst(types::I8, 2);
                    let noted = e.b.ins().select(is_null, two, old);
                    let is_matched = e.b.ins().icmp_imm_u(IntCC::Equal, old, 1);
                    let new = e.b.ins().select(is_matched, old, noted);
                    e.b.ins().store(changing(), new, place, std::mem::offset_of!(ProbeScratch, matched) as i32);
                });
            }
            e.b.ins().jump(latch, &[]);
            e.b.switch_to_block(yes);
            if let Some(marker) = m.marker {
                e.set_marker(entry, marker);
            }
            e.set_matched(place, 1);
        });
        self.end_loop(l);
        (self.stage, self.tuple, self.next) = outer;
    }

    /// Defines what a finished match says of the tuple.
    fn mark_prologue(&mut self, m: &Match, at: u32) {
        if let MatchKind::Mark { is_true, is_null } = m.kind {
            let place = self.matched_place(at);
            let matched = self.matched(place);
            let yes = self.b.ins().icmp_imm_u(IntCC::Equal, matched, 1);
            let null = self.b.ins().icmp_imm_u(IntCC::Equal, matched, 2);
            self.define(is_true, Val::One(yes));
            self.define(is_null, Val::One(null));
        }
        debug_assert_eq!(self.ty(m.entry), Ty::Ptr);
    }

    /// Runs the next stage for each tuple as often as it is repeated.
    fn drive_repeat(&mut self, stage: usize, index: Var, at: u32, n: Value) {
        let scratch = self.generator_scratch(at);
        let resumed = self.skip_if_resumed();
        let limit = self.limit_argument(stage);
        for (value, offset) in
            [(n, std::mem::offset_of!(RepeatScratch, count)), (limit, std::mem::offset_of!(RepeatScratch, limit))]
        {
            self.b.ins().store(changing(), value, scratch, offset as i32);
        }
        self.kernel_call(Kernel::RepeatBegin, &[scratch]);
        let [head, run, done] = std::array::from_fn(|_| self.b.create_block());
        let count = self.b.append_block_param(run, types::I64);
        self.b.ins().jump(head, &[]);
        if let Some(resumed) = resumed {
            self.b.switch_to_block(resumed);
            self.find_resumed(stage, head, run);
        }
        self.b.switch_to_block(head);
        let steps = self.steps();
        let deliveries = self.kernel_call(Kernel::RepeatNext, &[scratch, steps]).expect("it returns a value");
        self.pause_if_told(stage, deliveries);
        self.b.ins().brif(deliveries, run, &[deliveries.into()], done, &[]);
        self.b.switch_to_block(run);
        self.stage_loop(stage + 1, count, false, |e| {
            let i = e.pair.expect("inside of a loop over deliveries");
            let scratch = e.generator_scratch(at);
            let place = item(&mut e.b, scratch, i, 8);
            let indexes = std::mem::offset_of!(RepeatScratch, indexes) as i32;
            let value = e.b.ins().load(types::I64, changing(), place, indexes);
            e.define(index, Val::One(value));
        });
        self.b.ins().jump(head, &[]);
        self.b.switch_to_block(done);
    }
}
