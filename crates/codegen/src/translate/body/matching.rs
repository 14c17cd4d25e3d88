//! Generators: probes of join tables, repetition, and fetching groups ahead.

use base::SqlState;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use pipeline::ir::{Inst, Match, MatchKind, RepeatedElement, State, StateId, Ty, Var};
use runtime::abi::{BATCH, DELIVERED, ElementsScratch, Kernel, ProbeScratch, RepeatScratch};

use super::Body;
use crate::messages;
use crate::translate::value::{Val, changing, item, load, store};

/// Where the memory of a repetition's elements is, behind its own.
fn elements_at(repetition: u32, number: usize) -> u32 {
    repetition + (size_of::<RepeatScratch>() + number * size_of::<ElementsScratch>()) as u32
}

impl Body<'_, '_> {
    /// Scratch memory for a generator.
    pub fn reserve_generator(&mut self, generator: &Inst) -> u32 {
        let bytes = match generator {
            Inst::Match(_) => size_of::<ProbeScratch>(),
            Inst::Repeat { elements, .. } => size_of::<RepeatScratch>() + elements.len() * size_of::<ElementsScratch>(),
            _ => 8 * BATCH,
        };
        let at = self.code().reserve(bytes);
        self.generators.push(at);
        at
    }

    /// The tuple of the stage before `stage + 1` that its pair number `i` belongs to.
    pub fn listed_tuple(&mut self, stage: usize, i: Value) -> Value {
        let offset = match self.values.plan.stages[stage].generator {
            Some(Inst::Match(_)) => std::mem::offset_of!(ProbeScratch, tuples),
            _ => std::mem::offset_of!(RepeatScratch, tuples),
        };
        let at = self.generators[stage];
        let scratch = self.code().generator_scratch(at);
        let place = item(&mut self.code().b, scratch, i, 4);
        self.code().b.ins().uload32(changing(), place, offset as i32)
    }

    /// Gives the generator what it must know of tuple `n`.
    pub fn feed(&mut self, generator: &Inst, scratch: u32, n: Value) {
        match generator {
            Inst::Match(m) => {
                let hash = self.values.get(m.hash).one();
                let until = m.until.map(|u| self.values.get(u).one());
                let active = m.active.map(|a| self.values.get(a).one());
                let scratch = self.code().generator_scratch(scratch);
                let at = item(&mut self.code().b, scratch, n, 8);
                self.code().b.ins().store(changing(), hash, at, std::mem::offset_of!(ProbeScratch, hashes) as i32);
                if let Some(until) = until {
                    let until_at = std::mem::offset_of!(ProbeScratch, until) as i32;
                    self.code().b.ins().store(changing(), until, at, until_at);
                }
                if let Some(active) = active {
                    let at = self.code().b.ins().iadd(scratch, n);
                    self.code().b.ins().store(
                        changing(),
                        active,
                        at,
                        std::mem::offset_of!(ProbeScratch, active) as i32,
                    );
                }
            }
            Inst::Repeat { times: value, .. } | Inst::Prefetch { hash: value, .. } => {
                let mut times = 0;
                if let Inst::Repeat { elements, .. } = generator {
                    times = std::mem::offset_of!(RepeatScratch, times);
                    elements
                        .iter()
                        .enumerate()
                        .for_each(|(at, element)| self.feed_list(element, elements_at(scratch, at), n));
                }
                let value = self.values.get(*value).one();
                let scratch = self.code().generator_scratch(scratch);
                let at = item(&mut self.code().b, scratch, n, 8);
                self.code().b.ins().store(changing(), value, at, times as i32);
            }
            _ => unreachable!("only generators end stages"),
        }
    }

    /// Gives the elements of a repetition the list of tuple `n`: an empty one for NULL.
    fn feed_list(&mut self, element: &RepeatedElement, scratch: u32, n: Value) {
        let (mut low, mut high) = self.values.get(element.list).two();
        if let Some(missing) = element.missing {
            let missing = self.values.get(missing).one();
            let none = self.code().b.ins().iconst(types::I64, 0);
            low = self.code().b.ins().select(missing, none, low);
            high = self.code().b.ins().select(missing, none, high);
        }
        let scratch = self.code().generator_scratch(scratch);
        let at = item(&mut self.code().b, scratch, n, 16);
        store(&mut self.code().b, Val::Two(low, high), at, std::mem::offset_of!(ElementsScratch, lists) as u32);
    }

    /// Runs the generator for the `n` tuples of `stage`, and the next stage for all that it delivers.
    pub fn drive(&mut self, stage: usize, generator: &Inst, scratch: u32, n: Value) {
        match generator {
            Inst::Match(m) => self.drive_match(stage, m, scratch, n),
            Inst::Repeat { index, elements, .. } => self.drive_repeat(stage, (*index, elements), scratch, n),
            Inst::Prefetch { state, .. } => {
                let local = self.code().local(*state);
                let hashes = self.code().generator_scratch(scratch);
                self.code().kernel_call(Kernel::GroupPrefetch, &[local, hashes, n]);
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
        let scratch = self.code().generator_scratch(at);
        let table = self.code().shared(m.state);
        let resumed = self.skip_if_resumed();
        let active = self.code().b.ins().iconst(types::I64, i64::from(m.active.is_some()));
        let exists = checks_first && m.marker.is_none();
        // 1: a tuple's first candidate is its match, 3: and not looked at; 2: candidates of tuples that have their match are
        // of no use.
        let stops = match (first_only, exists) {
            (true, true) => 3,
            (true, false) => 1,
            (false, true) => 2,
            (false, false) => 0,
        };
        let first = self.code().b.ins().iconst(types::I64, stops);
        for (value, offset) in [
            (n, std::mem::offset_of!(ProbeScratch, count)),
            (active, std::mem::offset_of!(ProbeScratch, has_active)),
            (first, std::mem::offset_of!(ProbeScratch, first_only)),
        ] {
            self.code().b.ins().store(changing(), value, scratch, offset as i32);
        }
        let limit = self.limit_argument(stage);
        self.code().b.ins().store(changing(), limit, scratch, std::mem::offset_of!(ProbeScratch, limit) as i32);
        let (some, done) = (self.code().b.create_block(), self.code().b.create_block());
        self.code().b.ins().brif(n, some, &[], done, &[]);
        self.code().b.switch_to_block(some);
        self.mark_text(stage);
        self.code().kernel_call(Kernel::ProbeBegin, &[table, scratch]);

        let (head, more, end) =
            (self.code().b.create_block(), self.code().b.create_block(), self.code().b.create_block());
        let run = self.code().b.create_block();
        let count = self.code().b.append_block_param(run, types::I64);
        self.code().b.ins().jump(head, &[]);
        if let Some(resumed) = resumed {
            self.code().b.switch_to_block(resumed);
            self.find_resumed(stage, head, run);
        }
        self.code().b.switch_to_block(head);
        let finishes = matches!(m.kind, MatchKind::Left | MatchKind::Single { .. });
        if finishes {
            let finishing_at = std::mem::offset_of!(ProbeScratch, finishing) as i32;
            let finishing = self.code().b.ins().load(types::I64, changing(), scratch, finishing_at);
            let probe = self.code().b.create_block();
            self.code().b.ins().brif(finishing, done, &[], probe, &[]);
            self.code().b.switch_to_block(probe);
        }
        let steps = self.steps();
        let pairs = self.code().kernel_call(Kernel::ProbeNext, &[table, scratch, steps]).expect("it returns a value");
        self.pause_if_told(stage, pairs);
        match m.kind {
            MatchKind::Inner | MatchKind::Semi => {
                self.code().b.ins().brif(pairs, run, &[pairs.into()], end, &[]);
                self.code().b.switch_to_block(end);
                self.code().b.ins().jump(done, &[]);
                self.code().b.switch_to_block(run);
                self.stage_loop(stage + 1, count, false, |e| e.pair_prologue(m, at, first_only, false));
                self.code().b.ins().jump(head, &[]);
            }
            MatchKind::Left | MatchKind::Single { .. } => {
                self.code().b.ins().brif(pairs, run, &[pairs.into()], end, &[]);
                self.code().b.switch_to_block(end);
                let yes = self.code().b.ins().iconst(types::I64, 1);
                self.code().b.ins().store(
                    changing(),
                    yes,
                    scratch,
                    std::mem::offset_of!(ProbeScratch, finishing) as i32,
                );
                let rest = self.code().kernel_call(Kernel::ProbeUnmatched, &[scratch]).expect("it returns a value");
                self.code().b.ins().brif(rest, run, &[rest.into()], done, &[]);
                self.code().b.switch_to_block(run);
                self.stage_loop(stage + 1, count, false, |e| e.pair_prologue(m, at, first_only, true));
                self.code().b.ins().jump(head, &[]);
            }
            MatchKind::Anti | MatchKind::Mark { .. } => {
                self.code().b.ins().brif(pairs, more, &[], end, &[]);
                self.code().b.switch_to_block(more);
                self.judge_pairs(stage, m, at, pairs);
                self.code().b.ins().jump(head, &[]);
                self.code().b.switch_to_block(end);
                if matches!(m.kind, MatchKind::Mark { .. }) {
                    // Of a batch that goes on, only the scratch memory knows.
                    let at = std::mem::offset_of!(ProbeScratch, count) as i32;
                    let n = self.code().b.ins().load(types::I64, changing(), scratch, at);
                    self.code().b.ins().jump(run, &[n.into()]);
                } else {
                    let rest = self.code().kernel_call(Kernel::ProbeUnmatched, &[scratch]).expect("it returns a value");
                    self.code().b.ins().brif(rest, run, &[rest.into()], done, &[]);
                }
                self.code().b.switch_to_block(run);
                let in_order = matches!(m.kind, MatchKind::Mark { .. });
                self.stage_loop(stage + 1, count, in_order, |e| e.mark_prologue(m, at));
                self.code().b.ins().jump(done, &[]);
            }
        }
        self.code().b.switch_to_block(done);
    }

    /// A limit that what `stage` hands on comes to.
    fn limit_behind(&self, stage: usize) -> Option<StateId> {
        self.values.plan.stages[stage + 1..].iter().flat_map(|s| s.insts).find_map(Inst::limit)
    }

    /// That limit as the generator of `stage` asks it, or null.
    fn limit_argument(&mut self, stage: usize) -> Value {
        match self.limit_behind(stage) {
            Some(limit) => self.code().local(limit),
            None => self.code().b.ins().iconst(types::I64, 0),
        }
    }

    pub fn entry(&mut self, at: u32, i: Value) -> Value {
        let scratch = self.code().generator_scratch(at);
        let place = item(&mut self.code().b, scratch, i, 8);
        self.code().b.ins().load(types::I64, changing(), place, std::mem::offset_of!(ProbeScratch, entries) as i32)
    }

    /// The address of the current tuple's `matched` byte, less that field's offset.
    fn matched_place(&mut self, at: u32) -> Value {
        let scratch = self.code().generator_scratch(at);
        let tuple = self.values.tuple.expect("inside of a loop");
        self.code().b.ins().iadd(scratch, tuple)
    }

    fn set_matched(&mut self, place: Value, value: i64) {
        let value = self.code().b.ins().iconst(types::I8, value);
        self.code().b.ins().store(changing(), value, place, std::mem::offset_of!(ProbeScratch, matched) as i32);
    }

    fn matched(&mut self, place: Value) -> Value {
        self.code().b.ins().load(types::I8, changing(), place, std::mem::offset_of!(ProbeScratch, matched) as i32)
    }

    /// Sets the build row's marker; written only once, since other workers read the cache line.
    fn set_marker(&mut self, entry: Value, marker: u32) {
        let old = self.code().b.ins().load(types::I8, changing(), entry, marker as i32);
        let (set, done) = (self.code().b.create_block(), self.code().b.create_block());
        self.code().b.ins().brif(old, done, &[], set, &[]);
        self.code().b.switch_to_block(set);
        let one = self.code().b.ins().iconst(types::I8, 1);
        self.code().b.ins().store(changing(), one, entry, marker as i32);
        self.code().b.ins().jump(done, &[]);
        self.code().b.switch_to_block(done);
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
            self.values.define(m.entry, Val::One(entry));
            if let Some(c) = &m.condition {
                self.block(&c.block);
                let is_true = self.values.get(c.is_true).one();
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
        let (judge, rest) = (self.code().b.create_block(), self.code().b.create_block());
        // The kernel has written null pointers as the entries of unmatched tuples.
        self.code().b.ins().brif(entry, judge, &[], rest, &[]);
        self.code().b.switch_to_block(judge);
        self.scope(|e| {
            e.values.define(m.entry, Val::One(entry));
            if let Some(c) = &m.condition {
                e.block(&c.block);
                let is_true = e.values.get(c.is_true).one();
                e.filter(is_true);
            }
            if let Some(marker) = m.marker {
                e.set_marker(entry, marker);
            }
            let place = e.matched_place(at);
            if let MatchKind::Single { position } = m.kind {
                let again = e.matched(place);
                e.code().raise_if(again, SqlState::CARDINALITY_VIOLATION, messages::MORE_THAN_ONE_ROW, position);
            }
            e.set_matched(place, 1);
            e.code().b.ins().jump(rest, &[]);
        });
        self.code().b.switch_to_block(rest);
        self.values.define(m.entry, Val::One(entry));
    }

    fn unless_matched(&mut self, place: Value) {
        let matched = self.matched(place);
        let fresh = self.code().b.ins().icmp_imm_u(IntCC::NotEqual, matched, 1);
        self.filter(fresh);
    }

    /// A loop over pairs that only notes what they say of their tuples.
    fn judge_pairs(&mut self, stage: usize, m: &Match, at: u32, pairs: Value) {
        let outer = (self.values.stage, self.values.tuple, self.next);
        let (l, i) = self.code().begin_loop(pairs);
        self.values.stage = stage + 1;
        self.next = Some(l.latch);
        self.scope(|e| {
            e.values.tuple = Some(e.listed_tuple(stage, i));
            let entry = e.entry(at, i);
            let place = e.matched_place(at);
            if m.marker.is_none() {
                e.unless_matched(place);
            }
            e.values.define(m.entry, Val::One(entry));
            let Some(c) = &m.condition else {
                if let Some(marker) = m.marker {
                    e.set_marker(entry, marker);
                }
                e.set_matched(place, 1);
                return;
            };
            e.block(&c.block);
            let is_true = e.values.get(c.is_true).one();
            let (yes, no) = (e.code().b.create_block(), e.code().b.create_block());
            let latch = e.next.expect("inside of a loop");
            e.code().b.ins().brif(is_true, yes, &[], no, &[]);
            e.code().b.switch_to_block(no);
            if let Some(is_null) = c.is_null {
                e.scope(|e| {
                    let is_null = e.values.get(is_null).one();
                    let old = e.matched(place);
                    // 0 becomes 2 if the condition is NULL; 1 stays.
                    let two = e.code().b.ins().iconst(types::I8, 2);
                    let noted = e.code().b.ins().select(is_null, two, old);
                    let is_matched = e.code().b.ins().icmp_imm_u(IntCC::Equal, old, 1);
                    let new = e.code().b.ins().select(is_matched, old, noted);
                    e.code().b.ins().store(changing(), new, place, std::mem::offset_of!(ProbeScratch, matched) as i32);
                });
            }
            e.code().b.ins().jump(latch, &[]);
            e.code().b.switch_to_block(yes);
            if let Some(marker) = m.marker {
                e.set_marker(entry, marker);
            }
            e.set_matched(place, 1);
        });
        self.code().end_loop(l);
        (self.values.stage, self.values.tuple, self.next) = outer;
    }

    /// Defines what a finished match says of the tuple.
    fn mark_prologue(&mut self, m: &Match, at: u32) {
        if let MatchKind::Mark { is_true, is_null } = m.kind {
            let place = self.matched_place(at);
            let matched = self.matched(place);
            let yes = self.code().b.ins().icmp_imm_u(IntCC::Equal, matched, 1);
            let null = self.code().b.ins().icmp_imm_u(IntCC::Equal, matched, 2);
            self.values.define(is_true, Val::One(yes));
            self.values.define(is_null, Val::One(null));
        }
        debug_assert_eq!(self.values.ty(m.entry), Ty::Ptr);
    }

    /// Runs the next stage for each tuple as often as it is repeated.
    fn drive_repeat(&mut self, stage: usize, (index, elements): (Var, &[RepeatedElement]), at: u32, n: Value) {
        let scratch = self.code().generator_scratch(at);
        let resumed = self.skip_if_resumed();
        let limit = self.limit_argument(stage);
        for (value, offset) in
            [(n, std::mem::offset_of!(RepeatScratch, count)), (limit, std::mem::offset_of!(RepeatScratch, limit))]
        {
            self.code().b.ins().store(changing(), value, scratch, offset as i32);
        }
        self.mark_text(stage);
        self.code().kernel_call(Kernel::RepeatBegin, &[scratch]);
        let [head, run, done] = std::array::from_fn(|_| self.code().b.create_block());
        let count = self.code().b.append_block_param(run, types::I64);
        self.code().b.ins().jump(head, &[]);
        if let Some(resumed) = resumed {
            self.code().b.switch_to_block(resumed);
            self.find_resumed(stage, head, run);
        }
        self.code().b.switch_to_block(head);
        let steps = self.steps();
        let deliveries = self.code().kernel_call(Kernel::RepeatNext, &[scratch, steps]).expect("it returns a value");
        self.pause_if_told(stage, deliveries);
        self.code().b.ins().brif(deliveries, run, &[deliveries.into()], done, &[]);
        self.code().b.switch_to_block(run);
        let mut delivered = Vec::with_capacity(elements.len());
        for (number, element) in elements.iter().enumerate() {
            let layout = DELIVERED.iter().position(|&layout| Ty::from(layout) == self.values.ty(element.value));
            let layout = layout.expect("the verifier has seen that its elements are read as words");
            let (from, to) =
                (self.code().generator_scratch(at), self.code().generator_scratch(elements_at(at, number)));
            let layout = self.code().b.ins().iconst(types::I64, layout as i64);
            self.code().kernel_call(Kernel::RepeatElements, &[from, to, count, layout]);
            delivered.push((*element, to));
        }
        if !self.fold_deliveries(stage + 1, &delivered, count) {
            self.code().b.ins().jump(head, &[]);
            self.code().b.switch_to_block(done);
            return;
        }
        self.stage_loop(stage + 1, count, false, |e| {
            let i = e.pair.expect("inside of a loop over deliveries");
            let scratch = e.code().generator_scratch(at);
            let place = item(&mut e.code().b, scratch, i, 8);
            let indexes = std::mem::offset_of!(RepeatScratch, indexes) as i32;
            let value = e.code().b.ins().load(types::I64, changing(), place, indexes);
            e.values.define(index, Val::One(value));
            for (number, element) in elements.iter().enumerate() {
                let scratch = e.code().generator_scratch(elements_at(at, number));
                let (word, null) = (item(&mut e.code().b, scratch, i, 8), e.code().b.ins().iadd(scratch, i));
                let ty = e.values.ty(element.value);
                let words = std::mem::offset_of!(ElementsScratch, words) as u32;
                let nulls = std::mem::offset_of!(ElementsScratch, nulls) as u32;
                // Floats lie there as doubles.
                let lies = if ty == Ty::F32 { Ty::F64 } else { ty };
                let mut value = load(&mut e.code().b, changing(), lies, word, words);
                if ty == Ty::F32 {
                    value = Val::One(e.code().b.ins().fdemote(types::F32, value.one()));
                }
                e.values.define(element.value, value);
                let value = load(&mut e.code().b, changing(), Ty::Bool, null, nulls);
                e.values.define(element.null, value);
            }
        });
        self.code().b.ins().jump(head, &[]);
        self.code().b.switch_to_block(done);
    }
}
