//! What a lambda over the elements of a list calls: elements one after the other, and a list that becomes longer (decision 40 says
//! how they lie in memory).

use base::ids::Id;
use base::{Error, Result};
use functions::{ScalarFunction, Typed};
use pipeline::ir::SiteId;
use types::ops::array::{self, Elements, Found};
use types::ops::structure;
use types::{Physical, SqlType, Str};

use crate::slot::{self, Slot, value_of};
use crate::worker::{Worker, guarded};

/// # Safety
/// Argument `i` must be a text whose payload is alive; it stays so as long as the call lasts.
unsafe fn text<'a>(args: *const Slot, i: usize) -> &'a str {
    // SAFETY: as the caller promises. An inline text lies in the argument's slot, not in a copy.
    unsafe { (*args.add(i).cast::<Str>()).as_str() }
}

fn element_type(worker: &Worker, site: u64) -> SqlType {
    worker.inner.shared.sites[SiteId::from_index(site as usize)].result
}

fn answer(worker: &mut Worker, result: Result<()>) -> u32 {
    match result {
        Ok(()) => 0,
        Err(error) => worker.fail(error),
    }
}

/// Writes a value, and whether it is NULL.
///
/// # Safety
/// There must be room for both.
unsafe fn write(results: *mut Slot, value: Slot, null: bool) {
    // SAFETY: as the caller promises.
    unsafe {
        results.write(value);
        results.add(1).write(Slot::bool(null));
    }
}

/// How many elements a list has.
pub(super) unsafe extern "C" fn element_count(
    worker: &mut Worker,
    site: u64,
    args: *const Slot,
    results: *mut Slot,
) -> u32 {
    let count = guarded(|| {
        // SAFETY: generated code passes a text that is alive.
        let list = unsafe { text(args, 0) };
        let count = array::length(list, element_type(worker, site));
        // SAFETY: room for the callee's result.
        unsafe { results.write(Slot::integer(count as i128)) };
        Ok(())
    });
    answer(worker, count)
}

/// The element that begins at a byte, whether it is NULL, and where the next one begins.
pub(super) unsafe extern "C" fn element(worker: &mut Worker, site: u64, args: *const Slot, results: *mut Slot) -> u32 {
    let found = guarded(|| {
        // SAFETY: generated code passes a text that is alive, and a number.
        let (list, at) = unsafe { (text(args, 0), (*args.add(1)).as_i64()) };
        let element = element_type(worker, site);
        let raw = Elements::from_byte(list, element, at as usize).raw();
        let slot = slot_of(worker, raw, element)?;
        // SAFETY: room for the callee's three results.
        unsafe {
            write(results, slot, array::is_null(raw));
            results.add(2).write(Slot::integer(i128::from(at) + raw.len() as i128));
        }
        Ok(())
    });
    answer(worker, found)
}

/// An element; nothing if it is NULL.
fn slot_of(worker: &mut Worker, raw: &[u8], element: SqlType) -> Result<Slot> {
    if raw.is_empty() {
        return Err(Error::internal("an element behind the last one"));
    }
    if array::is_null(raw) {
        return Ok(Slot::default());
    }
    if element.physical() != Physical::Str {
        return slot::slot_of(&array::fixed(raw, element), element, |_| Err(Error::internal("a text of fixed width")));
    }
    // A part of the list lives as long as that.
    let text = match array::part_of(raw, element) {
        Some(part) => Str::new(part),
        None => worker.text(&array::inner(raw, element))?,
    };
    Ok(Slot::str(text))
}

/// The element of a number, and whether it is NULL or there is none.
pub(super) unsafe extern "C" fn subscript(
    worker: &mut Worker,
    site: u64,
    args: *const Slot,
    results: *mut Slot,
) -> u32 {
    let found = guarded(|| {
        // SAFETY: generated code passes a text that is alive, and a number.
        let (list, at) = unsafe { (text(args, 0), (*args.add(1)).as_i64()) };
        let element = element_type(worker, site);
        let elements = usize::try_from(at - 1).ok().map(|before| Elements::new(list, element).skip_elements(before));
        let raw = elements.map_or(&[][..], |mut elements| elements.raw());
        let null = raw.is_empty() || array::is_null(raw);
        let slot = if null { Slot::default() } else { slot_of(worker, raw, element)? };
        // SAFETY: room for the callee's two results.
        unsafe { write(results, slot, null) };
        Ok(())
    });
    answer(worker, found)
}

/// What a function finds in lists, and whether that is NULL.
pub(super) unsafe extern "C" fn of_lists(
    worker: &mut Worker,
    site_and_function: u64,
    args: *const Slot,
    results: *mut Slot,
) -> u32 {
    let found = guarded(|| {
        let element = element_type(worker, site_and_function >> 16);
        let function = ScalarFunction::numbered(site_and_function as u16);
        // SAFETY: generated code passes what the callee's signature says, texts alive.
        let found = unsafe {
            let number = |i| Some((*args.add(i)).as_i64());
            match function.definition().typed {
                Some(Typed::OfList(find)) => find(text(args, 0), element)?,
                Some(Typed::OfLists(find)) => find(text(args, 0), text(args, 1), element)?,
                Some(Typed::Part(part)) => Found::Text(part(text(args, 0), element, number(1), number(2))),
                _ => return Err(Error::internal("a function that is not of lists")),
            }
        };
        let slot = match found {
            Found::Null => Slot::default(),
            Found::Bool(is_true) => Slot::bool(is_true),
            Found::Integer(number) => Slot::integer(number),
            Found::Double(number) => Slot::f64(number),
            // A part of a list lives as long as that.
            Found::Text(part) => Slot::str(Str::new(part.as_bytes())),
            Found::Element(alone) => slot_of(worker, alone.as_bytes(), element)?,
        };
        // SAFETY: room for the callee's two results.
        unsafe { write(results, slot, found == Found::Null) };
        Ok(())
    });
    answer(worker, found)
}

/// Where a field of a struct begins.
pub(super) unsafe extern "C" fn field_start(
    worker: &mut Worker,
    site: u64,
    args: *const Slot,
    results: *mut Slot,
) -> u32 {
    let found = guarded(|| {
        // SAFETY: generated code passes a text that is alive, and a number.
        let (form, number) = unsafe { (text(args, 0), (*args.add(1)).as_i64()) };
        let of = element_type(worker, site).structure().ok_or_else(|| Error::internal("a field of no struct"))?;
        let start = structure::start(form, of, number as usize);
        // SAFETY: room for the callee's result.
        unsafe { results.write(Slot::integer(start as i128)) };
        Ok(())
    });
    answer(worker, found)
}

/// Begins a list.
pub(super) unsafe extern "C" fn begin(worker: &mut Worker, _: u64, _: *const Slot, _: *mut Slot) -> u32 {
    worker.inner.lists.begin();
    0
}

/// Adds an element to the list that was begun last.
pub(super) unsafe extern "C" fn push(worker: &mut Worker, site: u64, args: *const Slot, _: *mut Slot) -> u32 {
    let pushed = guarded(|| {
        let element = element_type(worker, site);
        let list = worker.inner.lists.last().ok_or_else(none_begun)?;
        // SAFETY: generated code passes a value of the type and whether it is NULL; texts are alive.
        unsafe {
            if (*args.add(1)).0[0] & 1 != 0 {
                return array::push(list, &types::Value::Null, element);
            }
            match element.physical() {
                Physical::Str => array::push_str(list, text(args, 0), element),
                _ => array::push(list, &value_of(*args, element), element),
            }
        }
    });
    answer(worker, pushed)
}

/// The list that was begun last.
pub(super) unsafe extern "C" fn end(worker: &mut Worker, _: u64, _: *const Slot, results: *mut Slot) -> u32 {
    let ended = guarded(|| {
        let list = worker.inner.lists.end().ok_or_else(none_begun)?;
        let text = std::str::from_utf8(&list).map_err(|_| Error::internal("an array whose form is no text"))?;
        let text = worker.text(text)?;
        // SAFETY: room for the callee's result.
        unsafe { results.write(Slot::str(text)) };
        worker.inner.lists.reuse(list);
        Ok(())
    });
    answer(worker, ended)
}

#[cold]
fn none_begun() -> Error {
    Error::internal("no list was begun")
}
