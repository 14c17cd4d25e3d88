//! What statements do, one file for a kind: one program, as linking each of them alone takes longer than to run it.

#[path = "../common/mod.rs"]
mod common;

mod alter;
mod basics;
mod changes;
mod control;
mod explain;
mod files;
mod functions;
mod index_joins;
mod index_only;
mod indexes;
mod isolation;
mod kept;
mod kept_changes;
mod key_filters;
mod one_query;
mod prepared;
mod procedures;
mod recursion;
mod row_locks;
mod safe;
mod views;
