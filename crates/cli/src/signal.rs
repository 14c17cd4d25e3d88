//! Ctrl-C and the request to end: one thread waits for SIGINT, SIGTERM and SIGHUP, all others have them blocked, so that
//! no code runs in a signal handler.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use engine::Call;

/// How long a statement has to clean up after itself when the shell is told to end.
const GRACE: Duration = Duration::from_secs(2);
/// The exit codes that say which signal it was.
const INTERRUPTED: i32 = 128 + libc::SIGINT;

/// What signals do at the moment.
#[derive(Clone, Default)]
pub struct Signals(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// The running statement.
    running: Option<Call>,
    /// SIGINTs since it started.
    count: u32,
    /// Whether a SIGINT leaves the shell as it is.
    interactive: bool,
    /// The shell ends with this code as soon as no statement runs.
    ending: Option<i32>,
}

impl Signals {
    /// Starts to listen. To be called before any other thread is started.
    pub fn listen() -> std::io::Result<Self> {
        let signals = Self::default();
        let set = waited_for();
        // SAFETY: `set` is an initialised signal set; the old mask is not asked for. SIGXFSZ is a valid signal, and a
        // write over the limit of file sizes is an error then.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
            libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        }
        let state = signals.clone();
        let listen = move || {
            loop {
                let mut signal = 0;
                // SAFETY: `set` is initialised and `signal` is writable; its signals are blocked in this thread too.
                if unsafe { libc::sigwait(&raw const set, &raw mut signal) } == 0 {
                    state.received(signal);
                }
            }
        };
        std::thread::Builder::new().name("signals".into()).spawn(listen)?;
        Ok(signals)
    }

    /// A SIGINT between statements ends the shell, except in an interactive one.
    pub fn set_interactive(&self) {
        self.lock().interactive = true;
    }

    /// From now on SIGINT stops this.
    pub fn begin(&self, call: Call) {
        let mut state = self.lock();
        state.running = Some(call);
        state.count = 0;
    }

    /// No statement runs any more.
    pub fn end(&self) {
        let mut state = self.lock();
        state.running = None;
        if let Some(code) = state.ending {
            std::process::exit(code);
        }
    }

    fn received(&self, signal: i32) {
        let mut state = self.lock();
        let Some(running) = state.running.clone() else {
            if signal == libc::SIGINT && state.interactive {
                return;
            }
            std::process::exit(128 + signal);
        };
        running.interrupt();
        if signal != libc::SIGINT {
            state.ending = Some(128 + signal);
            drop(state);
            std::thread::sleep(GRACE);
            std::process::exit(128 + signal);
        }
        state.count += 1;
        match state.count {
            // Nobody presses it three times by mistake. But an interactive shell's tables would go with it.
            3.. if !state.interactive => std::process::exit(INTERRUPTED),
            3 => eprintln!("the statement has been told to stop; Ctrl-\\ ends the shell, and its tables with it"),
            _ => {}
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn waited_for() -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: `sigemptyset` initialises the set that `sigaddset` then adds to; all are valid signals.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        set.assume_init()
    }
}
