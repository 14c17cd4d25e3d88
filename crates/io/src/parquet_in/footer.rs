//! What a footer says, checked before it is believed: no column is read to count rows.

use base::Error;
use parquet::arrow::ProjectionMask;
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

/// Checks that each row group has as many rows as its columns have values, and the file as many as its row groups. Columns
/// of lists have a value for each element.
pub fn check_rows(metadata: &ParquetMetaData) -> Result<()> {
    let mut sum = 0i64;
    for (number, row_group) in metadata.row_groups().iter().enumerate() {
        let rows = row_group.num_rows();
        let flat = || row_group.columns().iter().filter(|c| c.column_descr().max_rep_level() == 0);
        if rows < 0 || flat().any(|column| column.num_values() != rows) {
            let detail = format!("row group {number} claims {rows} rows, other than its columns");
            return Err(ParquetError::General(detail));
        }
        sum = sum.saturating_add(rows);
    }
    let claimed = metadata.file_metadata().num_rows();
    if sum != claimed {
        return Err(ParquetError::General(format!("the file claims {claimed} rows, its row groups {sum}")));
    }
    Ok(())
}

/// Refuses what cannot be decompressed: such a file is no corrupt one.
pub fn check_compression(file: &str, row_group: &RowGroupMetaData, mask: &ProjectionMask) -> base::Result<()> {
    let mut read = row_group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
    match read.find(|(_, column)| matches!(column.compression(), Compression::BROTLI(_) | Compression::LZO)) {
        None => Ok(()),
        Some((_, column)) => {
            let kind = match column.compression() {
                Compression::LZO => "LZO",
                _ => "Brotli",
            };
            let what = format!("{kind}, by which column \"{}\" of \"{file}\" is compressed,", column.column_path());
            Err(Error::unsupported(what).hint("write it with zstd, snappy, lz4, gzip or none"))
        }
    }
}
