//! CSV and PostgreSQL's COPY text format, in and out.
//!
//! A file is cut into byte ranges that begin at records for certain ([`split`]), each range is tokenised over an index
//! of its structural characters ([`index`], [`records`]) and converted column by column in batches ([`convert`]).
//! What the caller does not say about the dialect and the types, [`dialect`] and [`sniff`] find out.

mod convert;
mod delimiter;
pub(crate) mod dialect;
mod forms;
mod index;
mod options;
pub(crate) mod records;
pub(crate) mod sniff;
mod source;
pub(crate) mod split;
mod writer;

pub use dialect::Dialect;
pub use options::{Columns, CsvFormat, CsvOptions, Header, RejectSink, RejectedRow};
pub use source::{Sniffed, open_csv, open_csv_bytes, sniff_csv};
pub use writer::CsvWriter;

#[cfg(test)]
pub(crate) mod tests;
