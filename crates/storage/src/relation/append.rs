//! Appending rows atomically: zones of many workers, published by one commit or not at all.

use std::sync::{Arc, Mutex, MutexGuard};

use base::Result;
use types::Chunk;

use super::{InsertZone, Relation, commit, lock};
use crate::open::Rows;

/// Rows on their way into a relation.
#[derive(Debug)]
pub struct Append {
    relation: Arc<Relation>,
    zones: Box<[Mutex<InsertZone>]>,
}

impl Append {
    pub(super) fn new(relation: Arc<Relation>, workers: usize) -> Self {
        let name: Arc<str> = relation.name().into();
        let zone = |worker| {
            let (schema, budget) = (relation.schema.clone(), relation.budget.clone());
            Mutex::new(InsertZone::new(name.clone(), schema, relation.partitions, worker, budget))
        };
        let zones = (0..workers.max(1)).map(zone).collect();
        Self { relation, zones }
    }

    /// The zone of one worker. Uncontended if no two workers share a number.
    pub fn zone(&self, worker: usize) -> MutexGuard<'_, InsertZone> {
        lock(&self.zones[worker])
    }

    /// Appends rows to the zone of one worker; see [`InsertZone::append`].
    pub fn append(&self, worker: usize, chunk: Chunk) -> Result<()> {
        self.zone(worker).append(chunk)
    }

    /// Checks the primary key and makes all rows visible at once, or none. Returns how many rows were added.
    pub fn commit(self) -> Result<usize> {
        let Self { relation, zones } = self;
        let mut zones = zones.into_iter().map(|z| z.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        let mut first = zones.next().expect("there is at least one zone");
        let mut summary = first.summary.take();
        for mut zone in zones {
            merge_zones(&relation, &mut first, &mut zone)?;
            match (&mut summary, zone.summary.take()) {
                (Some(mine), Some(theirs)) => mine.merge(&theirs),
                (mine, theirs) => *mine = mine.take().or(theirs),
            }
        }
        // Merging may have filled chunks of the first zone.
        match (&mut summary, first.summary.take()) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (mine, theirs) => *mine = mine.take().or(theirs),
        }
        let open = (0..relation.partitions).map(|p| first.take_open(p)).collect();
        let filled = std::mem::take(&mut first.filled);
        commit::commit(&relation, open, filled, summary)
    }
}

/// Moves the rows of `zone` to `first`: filled chunks as they are, open ones by copying.
fn merge_zones(relation: &Relation, first: &mut InsertZone, zone: &mut InsertZone) -> Result<()> {
    first.filled.append(&mut zone.filled);
    for partition in 0..relation.partitions {
        if let Some(open) = zone.take_open(partition) {
            first.copy(partition, &open.view(), Rows::Range(0..open.rows()))?;
        }
    }
    Ok(())
}
