//! The newest values of one attribute in a window: of few rows one after the other, of many each at its place.

use types::column::Plain;
use types::{Buffer, Physical, Str};

use crate::bits::Bits;
use crate::values::Values;
use crate::{ColumnRef, WINDOW};

/// Most rows whose values lie one after the other.
const FEW: usize = 32;

/// See the module.
#[derive(Debug)]
pub(crate) struct Patch {
    pub(super) attribute: usize,
    physical: Physical,
    rows: Bits,
    /// As long as they are few, the rows in the order of their places; then each has its own.
    few: Option<Vec<u16>>,
    values: Buffer,
    nulls: Vec<u8>,
    /// By place, the payload of long texts.
    texts: Vec<Option<Box<[u8]>>>,
    /// Bytes of `texts`.
    heap: usize,
}

impl Patch {
    pub(super) fn new(attribute: usize, physical: Physical) -> Self {
        let values = Buffer::zeroed(physical.size() * 4);
        Self {
            attribute,
            physical,
            rows: Bits::default(),
            few: Some(Vec::new()),
            values,
            nulls: vec![0; 4],
            texts: Vec::new(),
            heap: 0,
        }
    }

    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.values.capacity() + self.nulls.len() + self.texts.len() * 16 + self.heap
    }

    fn values(&self) -> Values<'_> {
        let of = ColumnRef { data: self.values.as_ptr(), nulls: self.nulls.as_ptr() };
        // SAFETY: the buffer has as many values as there are flags, zeros where nothing was written; long texts are in
        // `texts`.
        unsafe { Values::new(self.physical, of, self.nulls.len()) }
    }

    fn place(&self, row: usize) -> Option<usize> {
        match &self.few {
            None => self.rows.has(row).then_some(row),
            Some(few) => few.iter().position(|&r| usize::from(r) == row),
        }
    }

    /// Where the value of a row is, if it has one here.
    pub(super) fn find(&self, row: usize) -> Option<(Values<'_>, usize)> {
        self.place(row).map(|place| (self.values(), place))
    }

    /// Calls `with` with each row and where its value is.
    pub(super) fn each(&self, mut with: impl FnMut(usize, Values<'_>, usize)) {
        let values = self.values();
        match &self.few {
            None => self.rows.iter().for_each(|row| with(row, values, row)),
            Some(few) => few.iter().enumerate().for_each(|(place, &row)| with(row.into(), values, place)),
        }
    }

    /// Sets the rows to values, whose places are given in the order of the rows.
    pub(super) fn put_all(&mut self, rows: &Bits, values: Values<'_>, places: &[u32]) {
        self.make_room(rows);
        for (row, &at) in rows.iter().zip(places) {
            let place = self.place(row).unwrap_or_else(|| {
                self.rows.insert(row);
                match &mut self.few {
                    None => row,
                    Some(few) => {
                        few.push(row as u16);
                        few.len() - 1
                    }
                }
            });
            self.put(place, values, at as usize);
        }
    }

    /// Has no values of these rows any more.
    pub(super) fn forget(&mut self, rows: &Bits) {
        if let Some(few) = self.few.take() {
            let mut all = Self::new(self.attribute, self.physical);
            let kept: Vec<(u16, u32)> = few
                .iter()
                .zip(0..)
                .filter(|(row, _)| !rows.has(usize::from(**row)))
                .map(|(row, at)| (*row, at))
                .collect();
            let ordered = Bits::of(kept.iter().map(|(row, _)| usize::from(*row)));
            let mut kept = kept;
            kept.sort_unstable();
            all.put_all(&ordered, self.values(), &kept.iter().map(|(_, at)| *at).collect::<Vec<_>>());
            *self = all;
        } else {
            self.rows.remove(rows);
        }
    }

    /// Makes room for values of these rows.
    fn make_room(&mut self, rows: &Bits) {
        let mut all = self.rows;
        all.add(rows);
        let count = all.count();
        let needed = if count <= FEW && self.few.is_some() { count } else { WINDOW };
        if needed <= self.nulls.len() {
            return;
        }
        let room = if needed == WINDOW { WINDOW } else { (needed * 2).min(FEW) };
        let size = self.physical.size();
        let mut values = Buffer::zeroed(room * size);
        let mut nulls = vec![0; room];
        let mut texts: Vec<Option<Box<[u8]>>> = Vec::new();
        texts.resize_with(if self.texts.is_empty() { 0 } else { room }, || None);
        let few = self.few.take().unwrap_or_default();
        for (place, &row) in few.iter().enumerate() {
            let to = if room == WINDOW { usize::from(row) } else { place };
            // SAFETY: both places are in their buffers, one value each.
            unsafe {
                let from = self.values.as_ptr().add(place * size);
                values.as_mut_ptr().add(to * size).copy_from_nonoverlapping(from, size);
            }
            nulls[to] = self.nulls[place];
            if let Some(text) = self.texts.get_mut(place) {
                texts[to] = text.take();
            }
        }
        self.few = (room < WINDOW).then_some(few);
        (self.values, self.nulls, self.texts) = (values, nulls, texts);
    }

    fn put(&mut self, place: usize, values: Values<'_>, at: usize) {
        self.nulls[place] = u8::from(values.is_null(at));
        match self.physical {
            Physical::Bool => self.write::<u8>(place, values.get(at)),
            Physical::I16 => self.write::<i16>(place, values.get(at)),
            Physical::I32 => self.write::<i32>(place, values.get(at)),
            Physical::I64 => self.write::<i64>(place, values.get(at)),
            Physical::I128 => self.write::<i128>(place, values.get(at)),
            Physical::F32 => self.write::<f32>(place, values.get(at)),
            Physical::F64 => self.write::<f64>(place, values.get(at)),
            Physical::Interval => self.write::<types::Interval>(place, values.get(at)),
            Physical::Str => self.put_text(place, values.get(at)),
        }
    }

    fn put_text(&mut self, place: usize, text: Str) {
        let mut own = None;
        let mut header = text;
        if !text.is_inline() {
            // SAFETY: whoever made the values keeps their payload alive.
            let payload: Box<[u8]> = unsafe { text.bytes() }.into();
            header = Str::new(&payload);
            own = Some(payload);
        }
        self.write::<Str>(place, header);
        if own.is_some() || !self.texts.is_empty() {
            let room = self.nulls.len();
            self.texts.resize_with(room, || None);
            let bytes = |text: &Option<Box<[u8]>>| text.as_ref().map_or(0, |text| text.len());
            self.heap += bytes(&own);
            self.heap -= bytes(&std::mem::replace(&mut self.texts[place], own));
        }
    }

    fn write<T: Plain>(&mut self, place: usize, value: T) {
        assert!(place < self.nulls.len() && size_of::<T>() == self.physical.size());
        // SAFETY: there are as many values as flags, aligned to 64.
        unsafe { self.values.as_mut_ptr().cast::<T>().add(place).write(value) };
    }
}
