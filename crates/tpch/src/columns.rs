//! Rows of the generator as Arrow columns, with the types of the specification.

use std::fmt::{Display, Write};
use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::{ArrayRef, Date32Array, Decimal128Array, Int32Array, Int64Array, RecordBatch};
use tpchgen::dates::TPCHDate;
use tpchgen::decimal::TPCHDecimal;
use tpchgen::generators::{Customer, LineItem, Nation, Order, Part, PartSupp, Region, Supplier};

/// Rows that have columns.
pub(crate) trait Columns: Sized {
    /// The columns of some rows; of none, their names and types.
    fn columns(rows: &[Self]) -> RecordBatch;
}

/// A table: each of its columns in order, with the function that makes it.
macro_rules! table {
    ($row:ty: $($make:ident $($field:ident)*;)*) => {
        impl Columns for $row {
            fn columns(rows: &[Self]) -> RecordBatch {
                let columns = [$($((stringify!($field), $make(rows.iter().map(|row| &row.$field)), false)),*),*];
                RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
            }
        }
    };
}

table!(Region<'_>: key r_regionkey; text r_name r_comment;);
table!(Nation<'_>: key n_nationkey; text n_name; key n_regionkey; text n_comment;);
table!(Supplier: key s_suppkey; text s_name s_address; key s_nationkey; text s_phone; money s_acctbal; text s_comment;);
table!(Customer<'_>: key c_custkey; text c_name c_address; key c_nationkey; text c_phone; money c_acctbal;
    text c_mktsegment c_comment;);
table!(Part<'_>: key p_partkey; text p_name p_mfgr p_brand p_type; number p_size; text p_container;
    money p_retailprice; text p_comment;);
table!(PartSupp<'_>: key ps_partkey ps_suppkey; number ps_availqty; money ps_supplycost; text ps_comment;);
table!(Order<'_>: key o_orderkey o_custkey; text o_orderstatus; money o_totalprice; date o_orderdate;
    text o_orderpriority o_clerk; number o_shippriority; text o_comment;);
table!(LineItem<'_>: key l_orderkey l_partkey l_suppkey; number l_linenumber; whole_money l_quantity;
    money l_extendedprice l_discount l_tax; text l_returnflag l_linestatus; date l_shipdate l_commitdate l_receiptdate;
    text l_shipinstruct l_shipmode l_comment;);

fn key<'a>(values: impl Iterator<Item = &'a i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.copied()))
}

fn number<'a>(values: impl Iterator<Item = &'a i32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values.copied()))
}

fn date<'a>(values: impl Iterator<Item = &'a TPCHDate>) -> ArrayRef {
    Arc::new(Date32Array::from_iter_values(values.map(|date| date.to_unix_epoch())))
}

fn money<'a>(values: impl Iterator<Item = &'a TPCHDecimal>) -> ArrayRef {
    hundredths(values.map(|money| money.into_inner()))
}

/// Decimals that the generator has as whole numbers.
fn whole_money<'a>(values: impl Iterator<Item = &'a i64>) -> ArrayRef {
    hundredths(values.map(|units| units * 100))
}

fn hundredths(values: impl Iterator<Item = i64>) -> ArrayRef {
    let array = Decimal128Array::from_iter_values(values.map(i128::from));
    Arc::new(array.with_precision_and_scale(15, 2).expect("15 digits are a decimal"))
}

fn text(values: impl Iterator<Item = impl Display>) -> ArrayRef {
    let mut builder = StringViewBuilder::new();
    let mut text = String::new();
    for value in values {
        text.clear();
        write!(text, "{value}").expect("memory takes all");
        builder.append_value(&text);
    }
    Arc::new(builder.finish())
}
