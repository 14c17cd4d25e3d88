//! Small jobs to schedule.
#![allow(dead_code)]

use base::Result;
use scheduler::{Cutting, Scheduler, SchedulerOptions, Stage, TaskSet, Tasks, WorkerId};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex};

pub fn scheduler(threads: usize) -> Scheduler {
    // Not bound: tests run beside each other.
    let options = SchedulerOptions { threads: Some(threads), max_threads: 16, pin: false, ..Default::default() };
    Scheduler::new(&options).unwrap()
}

/// A task set of `rows` rows in morsels of one.
pub fn rows(rows: u64, run: impl Fn(WorkerId, u64) -> Result<()> + Send + Sync + 'static) -> Box<dyn TaskSet> {
    let cut = Cutting { morsel_rows: 1, ..Cutting::new(4) };
    Tasks::boxed(cut.rows(rows), move |worker, morsel| run(worker, morsel.begin))
}

type StartFn = Box<dyn Fn() -> Result<Box<dyn TaskSet>> + Send + Sync>;
type FinishFn = Box<dyn Fn(usize) -> Result<Option<Box<dyn TaskSet>>> + Send + Sync>;

/// A stage of closures; `finish` gets the number of its call.
pub struct Custom {
    pub start: StartFn,
    pub finish: FinishFn,
    calls: AtomicUsize,
}

impl Custom {
    pub fn new(start: impl Fn() -> Result<Box<dyn TaskSet>> + Send + Sync + 'static) -> Self {
        Self { start: Box::new(start), finish: Box::new(|_| Ok(None)), calls: AtomicUsize::new(0) }
    }
    pub fn finish(mut self, f: impl Fn(usize) -> Result<Option<Box<dyn TaskSet>>> + Send + Sync + 'static) -> Self {
        self.finish = Box::new(f);
        self
    }
}

impl Stage for Custom {
    fn name(&self) -> &str {
        "custom"
    }
    fn start(&self, _: &Cutting) -> Result<Box<dyn TaskSet>> {
        (self.start)()
    }
    fn finish(&self, _: &Cutting) -> Result<Option<Box<dyn TaskSet>>> {
        (self.finish)(self.calls.fetch_add(1, SeqCst))
    }
}

/// A gate that workers wait at until it is opened.
#[derive(Default)]
pub struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
    pub arrived: AtomicUsize,
}

impl Gate {
    pub fn new() -> Arc<Self> {
        Arc::default()
    }
    pub fn pass(&self) {
        self.arrived.fetch_add(1, SeqCst);
        let mut open = self.open.lock().unwrap();
        while !*open {
            open = self.changed.wait(open).unwrap();
        }
    }
    pub fn is_open(&self) -> bool {
        *self.open.lock().unwrap()
    }
    pub fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

/// Waits for something that must come.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !holds() {
        assert!(begin.elapsed().as_secs() < 60, "did not happen: {what}");
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
}

/// Says when it is dropped.
pub struct Droppable(pub Arc<AtomicBool>);

impl Drop for Droppable {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}
