//! SUMMARIZE: a row for each column of a query, with its bounds, its distinct values, its mean and its quartiles.

use std::fmt::Write;

use base::Result;
use plan::Plan;
use sqlparser::ast;
use types::SqlType;

use super::Binder;
use super::described::query_of;

impl Binder<'_> {
    /// SUMMARIZE of a query.
    pub(super) fn summarize(&mut self, query: &ast::Query) -> Result<Plan> {
        let summary = self.summary_of(query)?;
        self.plan_of(&summary)
    }

    /// The query that summarises a query: one aggregation for each of its columns, over its rows, which are computed once.
    pub(super) fn summary_of(&mut self, query: &ast::Query) -> Result<ast::Query> {
        let columns = self.fields_of_query(query)?.into_iter().map(|(name, sql_type, _)| (name, sql_type));
        let mut summary = query_of(&text_of(&columns.collect::<Vec<_>>()))?;
        if let Some(cte) = summary.with.as_mut().and_then(|with| with.cte_tables.first_mut()) {
            *cte.query = query.clone();
        }
        Ok(*summary)
    }
}

/// The summary of a query by the name of `summarized`, whose columns are numbered.
fn text_of(columns: &[(String, SqlType)]) -> String {
    let mut text = String::from("WITH summarized(");
    for at in 0..columns.len() {
        let _ = write!(text, "{}c{at}", if at == 0 { "" } else { ", " });
    }
    text += ") AS MATERIALIZED (SELECT 1) SELECT column_name, column_type, \"min\", \"max\", approx_unique, \"avg\", std, q25, q50, q75, \
             \"count\", null_percentage FROM (";
    for (at, (name, sql_type)) in columns.iter().enumerate() {
        let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let union = if at == 0 { "" } else { " UNION ALL " };
        let bound = |function: &str| match sql_type {
            SqlType::Bool => format!("{function}(c{at}::integer)::boolean::text"),
            _ => format!("{function}(c{at})::text"),
        };
        let of_number =
            |call: String| if sql_type.is_numeric() { format!("{call}::text") } else { "NULL::text".into() };
        let is_moment = matches!(sql_type, SqlType::Date | SqlType::Timestamp | SqlType::Timestamptz);
        let mean = match is_moment {
            true => format!("CAST(avg(c{at}) FILTER (WHERE isfinite(c{at})) AS text)"),
            false => of_number(format!("avg(c{at}::double precision)")),
        };
        let quartile = |fraction: &str| match is_moment {
            true => format!("percentile_disc({fraction}) WITHIN GROUP (ORDER BY c{at})::text"),
            false => of_number(format!("percentile_cont({fraction}) WITHIN GROUP (ORDER BY c{at}::double precision)")),
        };
        let _ = write!(
            text,
            "{union}SELECT {at} AS ordinal, {} AS column_name, {} AS column_type, {} AS min, {} AS max, approx_count_distinct(c{at}) AS approx_unique, \
             {} AS avg, {} AS std, {} AS q25, {} AS q50, {} AS q75, count(*) AS count, \
             round(100.0 * (count(*) - count(c{at})) / nullif(count(*), 0), 2) AS null_percentage FROM summarized",
            literal(name),
            literal(&sql_type.to_string()),
            bound("min"),
            bound("max"),
            mean,
            of_number(format!("stddev(c{at}::double precision)")),
            quartile("0.25"),
            quartile("0.5"),
            quartile("0.75"),
        );
    }
    text + ") AS summaries ORDER BY ordinal"
}
