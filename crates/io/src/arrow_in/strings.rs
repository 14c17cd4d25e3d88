//! Strings in: headers that point into Arrow's buffers, which the column keeps alive.

use std::ptr::NonNull;
use std::sync::Arc;

use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{
    Array, DictionaryArray, GenericStringArray, OffsetSizeTrait, StringViewArray, downcast_dictionary_array,
};
use arrow_buffer::NullBuffer;
use base::{Error, Result};
use types::ops::bytes;
use types::{Buffer, Column, ColumnBuilder, Physical, SqlType, Str};

use super::{column_of, null_bytes};

/// A buffer of Arrow's as an owner of string payload.
fn heap(buffer: &arrow_buffer::Buffer) -> Option<Arc<Buffer>> {
    let start = NonNull::new(buffer.as_ptr().cast_mut()).filter(|_| !buffer.is_empty())?;
    // SAFETY: Arrow's buffers are immutable, and the owner is a reference to this one.
    Some(Arc::new(unsafe { Buffer::foreign(start, buffer.len(), Arc::new(buffer.clone())) }))
}

fn finish(sql_type: SqlType, mut values: Buffer, nulls: Option<&NullBuffer>, heaps: Vec<Arc<Buffer>>) -> Column {
    let rows = values.len() / size_of::<Str>();
    let nulls = null_bytes(nulls);
    if let Some(nulls) = &nulls {
        for (value, null) in values.as_mut_slice().chunks_exact_mut(16).zip(nulls.as_slice()) {
            if *null != 0 {
                value.fill(0);
            }
        }
    }
    // SAFETY: Arrow's arrays hold UTF-8; the headers were made of their views or offsets, and the buffers that these are
    // into are among `heaps`, which keeps them alive as they are.
    unsafe { Column::new(sql_type, rows, Arc::new(values), nulls.map(Arc::new), heaps) }
}

/// Views have the layout of our headers but for the pointer: theirs is a buffer's number and an offset.
pub fn from_views(array: &StringViewArray, sql_type: SqlType) -> Column {
    let starts: Vec<u64> = array.data_buffers().iter().map(|b| b.as_ptr() as u64).collect();
    let mut used = vec![false; starts.len()];
    let nulls = array.nulls().cloned();
    let headers = array.views().iter().enumerate().map(|(row, &view)| {
        let words = [view as u64, (view >> 64) as u64];
        // What a NULL row's view holds means nothing.
        if view as u32 as usize <= Str::INLINE || nulls.as_ref().is_some_and(|n| n.is_null(row)) {
            return Str::from_words(words);
        }
        let (buffer, offset) = (words[1] as u32 as usize, words[1] >> 32);
        used[buffer] = true;
        Str::from_words([words[0], starts[buffer] + offset])
    });
    let values: Buffer = headers.collect();
    let heaps = array.data_buffers().iter().zip(used).filter(|(_, used)| *used).filter_map(|(b, _)| heap(b)).collect();
    finish(sql_type, values, array.nulls(), heaps)
}

/// Bytes in the form that they have in memory.
pub fn of_bytes<'a>(values: impl Iterator<Item = Option<&'a [u8]>>, sql_type: SqlType) -> Column {
    let mut out = ColumnBuilder::new(sql_type, values.size_hint().0);
    for value in values {
        match value {
            Some(value) => out.push_str(&bytes::form(value)),
            None => out.push_null(),
        }
    }
    out.finish()
}

/// Offsets into one buffer. A text that is too long for a header is an error.
pub fn from_offsets<O: OffsetSizeTrait>(array: &GenericStringArray<O>, sql_type: SqlType) -> Result<Column> {
    let longest = array.offsets().windows(2).map(|w| w[1].as_usize() - w[0].as_usize()).max();
    if longest.is_some_and(|bytes| bytes > u32::MAX as usize) {
        return Err(Error::new(base::SqlState::PROGRAM_LIMIT, "a text has more than 4 GiB"));
    }
    let bytes = array.values().as_slice();
    let mut long = false;
    let headers = array.offsets().windows(2).map(|w| {
        let header = Str::new(&bytes[w[0].as_usize()..w[1].as_usize()]);
        long |= !header.is_inline();
        header
    });
    let values: Buffer = headers.collect();
    let heaps = if long { heap(array.values()).into_iter().collect() } else { Vec::new() };
    Ok(finish(sql_type, values, array.nulls(), heaps))
}

/// Keys into an array of values, of which each is kept once.
pub fn from_dictionary(array: &dyn Array, sql_type: SqlType) -> Result<Column> {
    downcast_dictionary_array!(
        array => gather(array, sql_type),
        other => Err(Error::internal(format!("{other} is not a dictionary")))
    )
}

fn gather<K: ArrowDictionaryKeyType>(array: &DictionaryArray<K>, sql_type: SqlType) -> Result<Column> {
    let dictionary = column_of(&**array.values())?;
    let size = sql_type.physical().size();
    // SAFETY: the column holds `rows` values of this size.
    let entries = unsafe { std::slice::from_raw_parts(dictionary.data(), dictionary.rows() * size) };
    let mut values = Buffer::with_capacity(array.len() * size);
    let mut nulls = Buffer::zeroed(array.len());
    let mut any_null = false;
    for row in 0..array.len() {
        let key = array.key(row).filter(|&key| !dictionary.is_null(key));
        match key {
            Some(key) => values.extend(&entries[key * size..][..size]),
            None => {
                values.extend(&[0u8; 16][..size]);
                nulls.as_mut_slice()[row] = 1;
                any_null = true;
            }
        }
    }
    let heaps = if sql_type.physical() == Physical::Str { dictionary.heaps().to_vec() } else { Vec::new() };
    // SAFETY: the values are those of a column with these heaps.
    Ok(unsafe { Column::new(sql_type, array.len(), Arc::new(values), any_null.then(|| Arc::new(nulls)), heaps) })
}
