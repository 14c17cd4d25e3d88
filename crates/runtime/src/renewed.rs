//! States that begin anew in each round of a recursion: what the rounds before have left goes.
//!
//! Invariant: a state is exchanged only while no pipeline of its recursion runs, and each worker gets its part of the new one
//! before it runs the next.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

use base::{Budget, Result};
use pipeline::ir::{self, KeyPlace, ParamId, RowSet};
use scheduler::{CancelToken, Cutting, TaskSet};
use types::Value;

use crate::build_keys::BuildKeys;
use crate::group::Groups;
use crate::join::Join;
use crate::keys::KeySet;
use crate::limit::Limit;
use crate::pairs::PairFns;
use crate::rows::Materialised;
use crate::settings::Settings;
use crate::sort::Sort;
use crate::source::RowSource;
use crate::state::{State, Workers};
use crate::window::{Run, Windows};

/// What a breaker is made of.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) state: ir::State,
    pub(crate) pairs: Option<PairFns>,
    /// The values of the query's parameters, if it needs them.
    pub(crate) params: Arc<[Value]>,
    pub(crate) positions: Arc<[u32]>,
    pub(crate) settings: Settings,
    pub(crate) budget: Budget,
    pub(crate) cancel: CancelToken,
}

impl Recipe {
    /// A new one, if it is of a kind that rounds may have.
    pub(crate) fn make(&self) -> Option<Arc<dyn State>> {
        use base::ids::Id;
        let budget = &self.budget;
        Some(match &self.state {
            ir::State::Join(join) => Arc::new(Join::new(join, self.settings.join_tags, budget, self.cancel.clone())),
            ir::State::Group(group) => Arc::new(Groups::new(group, budget, self.pairs.clone()?)),
            ir::State::Sort(sort) => Arc::new(Sort::new(sort, budget)),
            ir::State::Window(window) => {
                let value = |param: ParamId| self.params[param.index()].clone();
                let run = Run { params: &value, positions: &self.positions, settings: self.settings.windows };
                Arc::new(Windows::new(window, &run, budget, self.cancel.clone()))
            }
            ir::State::Rows(layout) => Arc::new(Materialised::new(layout, budget)),
            ir::State::Limit { offset, limit } => Arc::new(Limit::new(*offset, *limit)),
            ir::State::Recursion(_) | ir::State::Result(_) | ir::State::Table(_) => return None,
        })
    }
}

/// A state that begins anew; see the module.
#[derive(Debug)]
pub(crate) struct Renewed {
    recipe: Recipe,
    present: RwLock<Arc<dyn State>>,
}

impl Renewed {
    /// None: of a kind that rounds do not have.
    pub(crate) fn new(recipe: Recipe) -> Option<Self> {
        let present = RwLock::new(recipe.make()?);
        Some(Self { recipe, present })
    }

    /// Another one takes its place.
    pub(crate) fn renew(&self) {
        if let Some(next) = self.recipe.make() {
            *self.present.write().unwrap_or_else(PoisonError::into_inner) = next;
        }
    }

    fn present(&self) -> Arc<dyn State> {
        self.present.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl State for Renewed {
    fn local(&self, worker: usize) -> *mut u8 {
        self.present().local(worker)
    }
    fn end_morsel(&self, worker: usize, rows: Range<u64>, broken: bool) -> Result<()> {
        self.present().end_morsel(worker, rows, broken)
    }
    fn written(&self, worker: usize) -> u64 {
        self.present().written(worker)
    }
    fn looked_at(&self) -> (u64, u64) {
        self.present().looked_at()
    }
    fn look(&self, worker: usize) -> Result<()> {
        self.present().look(worker)
    }
    fn number_places(&self, worker: usize, places: usize, numbering: u64) {
        self.present().number_places(worker, places, numbering);
    }
    fn finalize(
        self: Arc<Self>,
        workers: &dyn Workers,
        phase: usize,
        cut: &Cutting,
    ) -> Result<Option<Box<dyn TaskSet>>> {
        self.present().finalize(workers, phase, cut)
    }
    fn phase(&self) -> &'static str {
        self.present().phase()
    }
    fn finished(&self) -> *const u8 {
        self.present().finished()
    }
    fn keys(&self) -> Option<KeySet> {
        self.present().keys()
    }
    fn build_keys(self: Arc<Self>, places: Vec<KeyPlace>) -> Option<BuildKeys> {
        self.present().build_keys(places)
    }
    fn source(self: Arc<Self>, rows: RowSet) -> Option<RowSource> {
        self.present().source(rows)
    }
    fn is_exhausted(&self) -> bool {
        self.present().is_exhausted()
    }
}
