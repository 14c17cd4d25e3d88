//! The grammar: PostgreSQL's, with what users of analytical systems expect besides.

use std::any::TypeId;

use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// PostgreSQL's grammar without user-defined operators, plus `* EXCLUDE`, `* REPLACE`, `ORDER BY ALL`, `FROM t SELECT x`.
#[derive(Debug)]
pub(crate) struct MorselDialect;

const POSTGRES: PostgreSqlDialect = PostgreSqlDialect {};

macro_rules! yes {
    ($($name:ident),* $(,)?) => { $(
        fn $name(&self) -> bool {
            true
        }
    )* };
}

impl Dialect for MorselDialect {
    fn dialect(&self) -> TypeId {
        TypeId::of::<PostgreSqlDialect>()
    }
    fn identifier_quote_style(&self, _: &str) -> Option<char> {
        Some('"')
    }
    fn is_delimited_identifier_start(&self, c: char) -> bool {
        c == '"'
    }
    fn is_identifier_start(&self, c: char) -> bool {
        POSTGRES.is_identifier_start(c)
    }
    fn is_identifier_part(&self, c: char) -> bool {
        POSTGRES.is_identifier_part(c)
    }
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        POSTGRES.is_reserved_for_identifier(keyword)
    }
    fn is_table_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        POSTGRES.is_table_alias(keyword, parser)
    }
    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        POSTGRES.get_next_precedence(parser)
    }
    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRES.prec_value(precedence)
    }
    fn supports_left_associative_joins_without_parens(&self) -> bool {
        false
    }
    /// `BETWEEN SYMMETRIC`, which the parser does not know: the lower bound is marked with `PRIOR`.
    fn parse_infix(&self, parser: &mut Parser<'_>, expr: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        let word = |n: usize| match &parser.peek_nth_token_ref(n).token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        let negated = word(0) == Keyword::NOT;
        let first = usize::from(negated);
        if word(first) != Keyword::BETWEEN || word(first + 1) != Keyword::SYMMETRIC {
            return None;
        }
        for _ in 0..first + 2 {
            parser.next_token();
        }
        Some(parser.parse_between(expr.clone(), negated).map(|between| match between {
            Expr::Between { expr, negated, low, high } => {
                Expr::Between { expr, negated, low: Box::new(Expr::Prior(low)), high }
            }
            other => other,
        }))
    }
    yes!(
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_explain_with_utility_options,
        supports_bitwise_shift_operators,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_numeric_literal_underscores,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_comma_separated_trim,
        supports_named_fn_args_with_rarrow_operator,
        supports_named_fn_args_with_assignment_operator,
        supports_from_first_select,
        supports_order_by_all,
        supports_select_wildcard_exclude,
        supports_select_wildcard_replace,
        supports_string_literal_concatenation_with_newline,
    );
}
