//! Ctrl-C: one thread waits for SIGINT, all others have it blocked, so that no code runs in a signal handler.

use std::sync::{Arc, Mutex, PoisonError};

use engine::Interrupt;

/// What SIGINT does at the moment.
#[derive(Clone, Default)]
pub struct Signals(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Stops the running statement.
    running: Option<Interrupt>,
    /// SIGINTs since it started.
    count: u32,
    /// Whether a SIGINT between statements is ignored.
    interactive: bool,
}

impl Signals {
    /// Starts to listen. To be called before any other thread is started.
    pub fn listen() -> Self {
        let signals = Self::default();
        let set = interrupt_set();
        // SAFETY: `set` is an initialised signal set; the old mask is not asked for.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        let state = signals.clone();
        std::thread::spawn(move || {
            loop {
                let mut signal = 0;
                // SAFETY: `set` is initialised and `signal` is writable; SIGINT is blocked in this thread too.
                if unsafe { libc::sigwait(&raw const set, &raw mut signal) } == 0 {
                    state.received();
                }
            }
        });
        signals
    }

    /// A SIGINT between statements ends the shell, except in an interactive one.
    pub fn set_interactive(&self) {
        self.lock().interactive = true;
    }

    /// From now on SIGINT stops this.
    pub fn begin(&self, interrupt: Interrupt) {
        let mut state = self.lock();
        state.running = Some(interrupt);
        state.count = 0;
    }

    /// No statement runs any more.
    pub fn end(&self) {
        self.lock().running = None;
    }

    /// Whether the running statement was interrupted. The statement may not have seen it if it had not quite started:
    /// whoever waits for it passes it on again.
    pub fn interrupted(&self) -> bool {
        let state = self.lock();
        state.count > 0 && state.running.as_ref().inspect(|r| r.interrupt()).is_some()
    }

    fn received(&self) {
        let mut state = self.lock();
        state.count += 1;
        match &state.running {
            // Nobody presses it three times by mistake, and the tables go with the shell.
            Some(_) if state.count > 2 => std::process::exit(130),
            Some(running) => running.interrupt(),
            None if state.interactive => {}
            None => std::process::exit(130),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn interrupt_set() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set that `sigaddset` then adds to; SIGINT is a valid signal.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGINT);
        set.assume_init()
    }
}
