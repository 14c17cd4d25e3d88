//! Panics that become errors: of operators, whose jobs end with them, and of decoders of other projects, which some
//! corrupt files make panic.
//!
//! Invariant: a panic that [`catch`] turns into an error is not printed in programs that called [`quiet_hook`]; every
//! other one is, as ever. Libraries leave the hook alone: only programs and modules install it.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Calls of `catch` that this thread is in.
    static CATCHING: Cell<u32> = const { Cell::new(0) };
    /// Where the last panic that was not printed happened.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `call`; a panic becomes its message, with the place in the source if it was not printed. Nothing that `call`
/// was changing may be used after a panic, except to drop it.
pub fn catch<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    CATCHING.set(CATCHING.get() + 1);
    let result = catch_unwind(AssertUnwindSafe(call));
    CATCHING.set(CATCHING.get() - 1);
    result.map_err(message)
}

/// What a panic says, for those who catch it themselves.
pub fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let message = match PLACE.take() {
        Some(place) => format!("{text} ({place})"),
        None => text.to_string(),
    };
    // What was thrown may panic itself when dropped, and what comes of that, too.
    let dropped = catch_unwind(AssertUnwindSafe(|| drop(panic)));
    std::mem::forget(dropped);
    message
}

/// From now on panics inside of [`catch`] are not printed.
pub fn quiet_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let printing = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // A thread that ends has no such variables any more.
            if CATCHING.try_with(Cell::get).unwrap_or(0) == 0 {
                return printing(panic);
            }
            let place = panic.location().map(|l| format!("{}:{}", l.file(), l.line()));
            // It may be borrowed if a panic strikes while one is recorded: then the first place is kept.
            let _ = PLACE.try_with(|p| p.try_borrow_mut().map(|mut p| *p = place));
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_become_their_messages() {
        quiet_hook();
        assert_eq!(catch(|| 7), Ok(7));
        let message = catch(|| catch(|| panic!("inner {}", 1)).map(|()| 0)).unwrap().unwrap_err();
        assert!(message.starts_with("inner 1 (") && message.contains("panics.rs:"), "{message}");
        assert!(catch(|| panic!("outer")).map(|()| 0).unwrap_err().starts_with("outer ("));
        assert_eq!(CATCHING.get(), 0);
        // What is thrown without the hook has no place.
        let thrown = catch(|| std::panic::resume_unwind(Box::new(5))).map(|()| 0);
        assert_eq!(thrown, Err("no message".to_string()));
    }
}
