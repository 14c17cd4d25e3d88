//! Zones: the chunks that grow. A zone belongs to the relation and outlives statements; a commit leases it, so that
//! commits at the same time append without waiting for each other (thesis 2.6.1).
//!
//! The free zone with the least number is leased: a statement alone always gets the first, and rows come in the order of
//! their statements.

use std::borrow::Borrow;
use std::sync::{Arc, Mutex};

use base::memory::Reservation;
use base::{Error, Result, SqlState};
use types::{Chunk, SqlType, Value};

use super::Relation;
use crate::lock::lock;
use crate::open::OpenChunk;
use crate::{Attribute, Schema};

/// A chunk that grows.
#[derive(Debug)]
pub(super) struct Tail {
    /// Its number in the relation.
    pub(super) number: usize,
    pub(super) open: OpenChunk,
    /// The layout that readers have.
    pub(super) layout: u32,
}

impl Tail {
    pub(super) fn into_memory(self) -> Reservation {
        self.open.into_memory()
    }
}

/// The growing chunks of one commit at a time, by part of the relation's distribution.
#[derive(Debug)]
pub(super) struct Zone {
    pub(super) number: usize,
    pub(super) tails: Vec<Option<Tail>>,
}

/// All zones that no commit has.
#[derive(Debug, Default)]
pub(super) struct Zones(Mutex<Pool>);

#[derive(Debug, Default)]
struct Pool {
    made: usize,
    free: Vec<Zone>,
}

impl Relation {
    /// The first zone, a new one if all are leased.
    pub(super) fn lease(self: &Arc<Self>) -> Lease {
        self.lease_by(|zone| Some(zone.number))
    }

    /// The zone of the least rank, or a new one if none has any.
    pub(super) fn lease_by<R: Ord>(self: &Arc<Self>, rank: impl Fn(&Zone) -> Option<R>) -> Lease {
        let parts = self.distribution.parts();
        let mut pool = lock(&self.zones.0);
        let ranked = pool.free.iter().enumerate().filter_map(|(at, zone)| Some((rank(zone)?, at)));
        let zone = match ranked.min() {
            Some((_, at)) => pool.free.swap_remove(at),
            None => {
                pool.made += 1;
                Zone { number: pool.made - 1, tails: (0..parts).map(|_| None).collect() }
            }
        };
        Lease { relation: self.clone(), zone: Some(zone) }
    }
}

impl Relation {
    /// Error 23502 if a row has NULL where the schema refuses it.
    pub(crate) fn check_row_nulls(&self, row: &[impl Borrow<Value>]) -> Result<()> {
        let refused =
            |(attribute, value): (&Attribute, _)| attribute.not_null && Borrow::<Value>::borrow(value).is_null();
        match self.schema.attributes().iter().zip(row).position(refused) {
            None => Ok(()),
            Some(at) => Err(null_refused(self, &self.schema, &self.schema.attributes()[at].name, &owned(row))),
        }
    }
}

/// A zone for one commit; it goes back when this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    relation: Arc<Relation>,
    zone: Option<Zone>,
}

impl std::ops::Deref for Lease {
    type Target = Zone;
    fn deref(&self) -> &Zone {
        self.zone.as_ref().expect("leased")
    }
}

impl std::ops::DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Zone {
        self.zone.as_mut().expect("leased")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(zone) = self.zone.take() {
            lock(&self.relation.zones.0).free.push(zone);
        }
    }
}

/// Error 23502 if a row has NULL where the schema refuses it.
pub(super) fn check_nulls(relation: &Relation, schema: &Schema, chunk: &Chunk) -> Result<()> {
    for (attribute, column) in schema.attributes().iter().zip(chunk.columns()) {
        if attribute.not_null
            && let Some(row) = column.nulls().and_then(|nulls| nulls.iter().position(|&n| n != 0))
        {
            return Err(null_refused(relation, schema, &attribute.name, &chunk.row(row)));
        }
    }
    Ok(())
}

/// Error 23502: a row has NULL in an attribute that refuses it.
#[cold]
pub(super) fn null_refused(relation: &Relation, schema: &Schema, attribute: &str, row: &[Value]) -> Error {
    let texts = row.iter().zip(schema.columns()).map(|(value, a)| text(a.sql_type, value));
    let detail = format!("Failing row contains ({}).", texts.collect::<Vec<_>>().join(", "));
    let message =
        format!("null value in column \"{attribute}\" of relation \"{}\" violates not-null constraint", relation.name);
    let error = Error::new(SqlState::NOT_NULL_VIOLATION, message).detail(detail);
    error.about("column_name", attribute).about_relation(relation.number)
}

/// The values of a row.
#[cold]
pub(super) fn owned(row: &[impl Borrow<Value>]) -> Vec<Value> {
    row.iter().map(|value| value.borrow().clone()).collect()
}

/// A value as error messages show it.
pub(super) fn text(sql_type: SqlType, value: &Value) -> String {
    if value.is_null() { "null".to_owned() } else { types::ops::cast::format_value(value, sql_type) }
}
