//! Strings of rows: copies of their payload.

use base::{Area, Result};
use pipeline::ir::{RowLayout, Ty};
use types::Str;

/// Where the strings of a row are whose payload belongs to the row.
#[derive(Clone, Debug)]
pub struct StringFields(Box<[(u32, Option<u32>)]>);

impl StringFields {
    /// Those of a layout, but for fields whose owner copies what it stores.
    pub fn of(layout: &RowLayout) -> Self {
        let strings = layout.fields.iter().filter(|f| f.ty == Ty::Str && !f.kept);
        Self(strings.map(|f| (f.offset, f.null)).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The strings over 12 bytes of a row. What lies beside a set NULL flag may be anything, and is left out.
    ///
    /// # Safety
    /// The row must be of the layout, and nobody else may use it meanwhile.
    pub(crate) unsafe fn long(&self, row: *mut u8) -> impl Iterator<Item = &mut Str> {
        self.0.iter().filter_map(move |&(offset, null)| {
            // SAFETY: the flag and the string lie in the row; rows are aligned to 8, as strings are.
            unsafe {
                let is_null = null.is_some_and(|null| *row.add(null as usize) != 0);
                let text = &mut *row.add(offset as usize).cast::<Str>();
                (!is_null && !text.is_inline()).then_some(text)
            }
        })
    }

    /// Copies the payload of a row's strings into the area.
    ///
    /// # Safety
    /// As [`long`](Self::long); the payloads must be alive.
    pub(crate) unsafe fn own(&self, row: *mut u8, area: &mut Area) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe {
            for text in self.long(row) {
                *text = copy_text(area, text.bytes())?;
            }
        }
        Ok(())
    }
}

/// A header of a copy of `bytes` in the area, which must outlive it.
pub(crate) fn copy_text(area: &mut Area, bytes: &[u8]) -> Result<Str> {
    if bytes.len() <= Str::INLINE {
        return Ok(Str::new(bytes));
    }
    let start = area.copy(bytes)?;
    // SAFETY: copied just now; the area outlives the header.
    Ok(Str::new(unsafe { std::slice::from_raw_parts(start.as_ptr(), bytes.len()) }))
}

/// As [`copy_text`], in the place of `old` if both are long and that has room: a minimum that changes often takes the
/// memory of its longest value. How much room there is lies in the 8 bytes before the payload.
///
/// # Safety
/// Both payloads must be alive, and that of `old`, if it is over 12 bytes, must come from here and belong to it alone.
pub(crate) unsafe fn keep_text(area: &mut Area, old: Str, new: Str) -> Result<Str> {
    if new.is_inline() {
        return Ok(new);
    }
    // SAFETY: as the caller promises; a payload from here has its room before it. The payload of `new` may be that of
    // `old`, hence `copy` and not `copy_nonoverlapping`.
    unsafe {
        let bytes = new.bytes();
        let place = (!old.is_inline()).then(|| old.bytes().as_ptr().cast_mut());
        let place = place.filter(|place| place.sub(8).cast::<u64>().read_unaligned() >= bytes.len() as u64);
        let to = match place {
            Some(place) => place,
            None => {
                let room = bytes.len().next_power_of_two();
                let start = area.allocate(8 + room)?.as_ptr();
                start.cast::<u64>().write_unaligned(room as u64);
                start.add(8)
            }
        };
        to.copy_from(bytes.as_ptr(), bytes.len());
        Ok(Str::new(std::slice::from_raw_parts(to, bytes.len())))
    }
}
