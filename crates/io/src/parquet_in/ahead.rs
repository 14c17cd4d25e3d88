//! Row groups of files on servers: the bytes of the columns that are read, asked for before they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Result;
use parquet::arrow::ProjectionMask;
use parquet::file::metadata::ColumnChunkMetaData;
use remote::Wanted;

use super::ParquetSource;
use super::errors::guarded;
use crate::source::PrunePredicate;

/// Most row groups that are fetched before anybody reads them.
const MOST: usize = 8;

/// The bytes of a row group's columns.
struct Coming {
    columns: Vec<usize>,
    wanted: Arc<Wanted>,
}

/// Row groups that come before they are asked for, by morsel.
#[derive(Default)]
pub struct Ahead(Mutex<HashMap<usize, Coming>>);

impl Ahead {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Coming>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ParquetSource {
    /// The bytes of some columns of a morsel; none if they are not on a server.
    fn want(&self, morsel: usize, columns: &[usize]) -> Result<Option<Arc<Wanted>>> {
        let (file, row_group) = self.morsels[morsel];
        let file = &self.files[file];
        if !file.origin.is_remote() {
            return Ok(None);
        }
        let metadata = file.footer.metadata.metadata().row_group(row_group);
        let roots = columns.iter().map(|&column| file.columns[column]);
        let mask = ProjectionMask::roots(file.footer.metadata.parquet_schema(), roots);
        let leaves = metadata.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
        let ranges = guarded(&file.name, || {
            let range = |leaf: &ColumnChunkMetaData| {
                let (start, length) = leaf.byte_range();
                start..start.saturating_add(length)
            };
            Ok(leaves.map(|(_, leaf)| range(leaf)).collect::<Vec<_>>())
        })?;
        Ok(file.origin.want(ranges)?.map(Arc::new))
    }

    /// The same, if they have been asked for already, or else now; and those of the morsel behind it, which is likely to be next.
    pub(super) fn want_ahead(
        &self,
        morsel: usize,
        columns: &[usize],
        prune: &[PrunePredicate],
    ) -> Result<Option<Arc<Wanted>>> {
        let known = self.ahead.lock().remove(&morsel).filter(|known| known.columns == columns);
        let known = known.map(|known| known.wanted);
        let Some(wanted) = known.map_or_else(|| self.want(morsel, columns), |known| Ok(Some(known)))? else {
            return Ok(None);
        };
        let next = morsel + 1;
        let has_room = self.ahead.lock().len() < MOST;
        if next < self.morsels.len() && has_room && !self.is_pruned(next, prune) {
            // Without memory for it, it comes when it is asked for.
            if let Ok(Some(wanted)) = self.want(next, columns) {
                self.ahead.lock().insert(next, Coming { columns: columns.to_vec(), wanted });
            }
        }
        Ok(Some(wanted))
    }
}
