//! DuckDB's statements PIVOT and UNPIVOT, which are queries of what is read as PIVOT and UNPIVOT in FROM.
//!
//! ```sql
//! PIVOT t ON c IN (1, 2) USING sum(x) GROUP BY a ORDER BY a
//! UNPIVOT t ON a, b INTO NAME n VALUE v
//! ```

use sqlparser::ast::{
    Expr, ExprWithAlias, Ident, LimitClause, PivotValueSource, Query, SelectItem, SetExpr, TableFactor,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

use crate::dialect::MorselDialect;

type Result<T> = std::result::Result<T, ParserError>;

/// PIVOT, behind that word.
pub(super) fn pivot(parser: &mut Parser<'_>) -> Result<Query> {
    let mut table = parser.parse_table_factor()?;
    parser.expect_keyword_is(Keyword::ON)?;
    // Above all operators, so that IN is not one.
    let column = parser.parse_prefix()?;
    let token = parser.peek_token();
    if !parser.parse_keyword(Keyword::IN) {
        return parser.expected("IN with the values that become columns", token);
    }
    parser.expect_token(&Token::LParen)?;
    let values = parser.parse_comma_separated(with_alias)?;
    parser.expect_token(&Token::RParen)?;
    let mut aggregates = Vec::new();
    if parser.parse_keyword(Keyword::USING) {
        aggregates = parser.parse_comma_separated(with_alias)?;
    }
    if aggregates.is_empty() {
        let mut counted = Parser::new(&MorselDialect).try_with_sql("count(*)")?;
        aggregates.push(ExprWithAlias { expr: counted.parse_expr()?, alias: None });
    }
    if parser.parse_keywords(&[Keyword::GROUP, Keyword::BY]) {
        let mut columns = parser.parse_comma_separated(Parser::parse_expr)?;
        columns.push(column.clone());
        for aggregate in &aggregates {
            arguments(&aggregate.expr, &mut columns);
        }
        let mut inner = query_of(table)?;
        if let SetExpr::Select(select) = inner.body.as_mut() {
            select.projection = columns.into_iter().map(SelectItem::UnnamedExpr).collect();
        }
        table = TableFactor::Derived { lateral: false, subquery: Box::new(inner), alias: None, sample: None };
    }
    rest(
        parser,
        TableFactor::Pivot {
            table: Box::new(table),
            aggregate_functions: aggregates,
            value_column: vec![column],
            value_source: PivotValueSource::List(values),
            default_on_null: None,
            alias: None,
        },
    )
}

/// UNPIVOT, behind that word.
pub(super) fn unpivot(parser: &mut Parser<'_>) -> Result<Query> {
    let table = parser.parse_table_factor()?;
    parser.expect_keyword_is(Keyword::ON)?;
    let columns = parser.parse_comma_separated(with_alias)?;
    let (mut name, mut value) = (Ident::new("name"), Ident::new("value"));
    if parser.parse_keyword(Keyword::INTO) {
        parser.expect_keyword_is(Keyword::NAME)?;
        name = parser.parse_identifier()?;
        parser.expect_keyword_is(Keyword::VALUE)?;
        value = parser.parse_identifier()?;
    }
    rest(
        parser,
        TableFactor::Unpivot {
            table: Box::new(table),
            value: Expr::Identifier(value),
            name,
            columns,
            null_inclusion: None,
            alias: None,
        },
    )
}

fn with_alias(parser: &mut Parser<'_>) -> Result<ExprWithAlias> {
    let expr = parser.parse_expr()?;
    let alias = if parser.parse_keyword(Keyword::AS) { Some(parser.parse_identifier()?) } else { None };
    Ok(ExprWithAlias { expr, alias })
}

/// The columns that are arguments of an aggregate.
fn arguments(aggregate: &Expr, columns: &mut Vec<Expr>) {
    use sqlparser::ast::{FunctionArg, FunctionArgExpr, FunctionArguments};
    let Expr::Function(function) = aggregate else { return };
    let FunctionArguments::List(list) = &function.args else { return };
    for argument in &list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_)))) =
            argument
            && !columns.contains(expr)
        {
            columns.push(expr.clone());
        }
    }
}

/// All columns of an item of FROM.
fn query_of(item: TableFactor) -> Result<Query> {
    let mut query = Parser::new(&MorselDialect).try_with_sql("SELECT * FROM t")?.parse_query()?;
    if let SetExpr::Select(select) = query.body.as_mut()
        && let Some(from) = select.from.first_mut()
    {
        from.relation = item;
    }
    Ok(*query)
}

fn rest(parser: &mut Parser<'_>, item: TableFactor) -> Result<Query> {
    let mut query = query_of(item)?;
    query.order_by = parser.parse_optional_order_by()?;
    if parser.parse_keyword(Keyword::LIMIT) {
        let limit = Some(parser.parse_expr()?);
        query.limit_clause = Some(LimitClause::LimitOffset { limit, offset: None, limit_by: Vec::new() });
    }
    Ok(query)
}
