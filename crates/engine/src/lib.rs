//! MorselDB as a library: databases, sessions, statements, results, settings.
//!
//! The story of a query is [`Session::execute`]: parse, bind, optimise, lower, compile, run.
//!
//! ```no_run
//! use engine::{Config, Database};
//!
//! let database = Database::new(Config::default())?;
//! let mut session = database.connect();
//! let mut result = session.execute("select l_returnflag, count(*) from 'lineitem.parquet' group by 1", &[])?;
//! while let Some(chunk) = result.next_chunk()? {
//!     (0..chunk.rows()).for_each(|row| println!("{:?}", chunk.row(row)));
//! }
//! # Ok::<(), base::Error>(())
//! ```

mod activity;
mod admission;
mod aftermath;
mod call;
mod computed;
mod connect;
mod control;
mod cursor;
mod database;
mod deferred;
mod definitions;
mod environment;
mod execute;
mod export;
mod files;
mod foreground;
mod freezing;
mod gathered;
mod kept;
mod key;
mod notices;
mod pieces;
mod prepared;
mod prepared_statement;
mod progress;
mod recording;
mod references;
mod rejects;
mod resolver;
mod result;
mod routine;
mod routine_rows;
pub mod rows;
mod samples;
mod sequences;
mod series;
mod session;
mod settings;
mod source;
mod statement;
mod storage_info;
mod text;
mod timeouts;
mod together;
mod trace;
mod transaction;
mod triggers;
mod typed;
mod views;

pub use call::{Call, Interrupt};
pub use catalog::Field;
pub use database::{Config, Database};
pub use definitions::Definition;
pub use foreground::{Foreground, caught, foreground, next_chunk};
pub use notices::Notice;
pub use prepared_statement::PreparedStatement;
pub use progress::Progress;
pub use recording::Recording;
pub use result::{QueryResult, Tag};
pub use scheduler::StageReport;
pub use session::Session;
pub use settings::{Kind, SETTINGS, Scope, Setting, Settings};
pub use sql::{Piece, given_data, next_piece, parameter_names, reads_stdin};
