//! The grammar: PostgreSQL's, with what users of analytical systems expect besides.

use std::any::TypeId;

use sqlparser::ast::{
    BinaryOperator, ColumnOption, Expr, Interval, KeyOrIndexDisplay, NullsDistinctOption, UnaryOperator,
    UniqueConstraint,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// How tightly signs bind: less than casts and subscripts, more than anything else, so that -2^2 is 4.
const SIGN: u8 = 120;

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
    /// `EXCLUDE` is a name like others behind anything but `*`. What goes on behind a SELECT without FROM is none: `INSERT ...
    /// SELECT 1 ON CONFLICT`, `SELECT 1 FOR UPDATE`.
    fn is_column_alias(&self, keyword: &Keyword, parser: &mut Parser<'_>) -> bool {
        match keyword {
            Keyword::EXCLUDE => true,
            Keyword::ON | Keyword::FOR | Keyword::WINDOW => false,
            _ => POSTGRES.is_column_alias(keyword, parser),
        }
    }
    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        let precedence = match &parser.peek_token_ref().token {
            word if is_isnull(word) => Precedence::Is,
            Token::DuckIntDiv => Precedence::MulDivModOp,
            word if is_glob(word) => Precedence::Like,
            Token::Tilde
            | Token::TildeAsterisk
            | Token::ExclamationMarkTilde
            | Token::ExclamationMarkTildeAsterisk
            | Token::DoubleTilde
            | Token::DoubleTildeAsterisk
            | Token::ExclamationMarkDoubleTilde
            | Token::ExclamationMarkDoubleTildeAsterisk => Precedence::PgOther,
            _ => return POSTGRES.get_next_precedence(parser),
        };
        Some(Ok(self.prec_value(precedence)))
    }
    /// Prefix operators bind as in PostgreSQL: signs tightly, all others like `||`, below arithmetic. The parser does not know
    /// `interval(2) '...'` either.
    fn parse_prefix(&self, parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let other = self.prec_value(Precedence::PgOther);
        let (op, precedence) = match parser.peek_token_ref().token {
            Token::Minus => (UnaryOperator::Minus, SIGN),
            Token::Plus => (UnaryOperator::Plus, SIGN),
            Token::Tilde => (UnaryOperator::BitwiseNot, other),
            Token::AtSign => (UnaryOperator::PGAbs, other),
            Token::PGSquareRoot => (UnaryOperator::PGSquareRoot, other),
            Token::PGCubeRoot => (UnaryOperator::PGCubeRoot, other),
            _ => {
                return interval_of_digits(parser)
                    .or_else(|| substring_similar(parser))
                    .or_else(|| crate::parse::lambda::prefix(parser));
            }
        };
        parser.next_token();
        Some(parser.parse_subexpr(precedence).map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
    }
    fn parse_column_option(
        &self,
        parser: &mut Parser<'_>,
    ) -> Result<Option<Result<Option<ColumnOption>, ParserError>>, ParserError> {
        Ok(unique_with_nulls(parser).map(|unique| unique.map(|unique| Some(unique.into()))))
    }
    fn prec_value(&self, precedence: Precedence) -> u8 {
        POSTGRES.prec_value(precedence)
    }
    fn supports_left_associative_joins_without_parens(&self) -> bool {
        false
    }
    /// `ISNULL` and `BETWEEN SYMMETRIC`, which the parser does not know: the latter's lower bound is marked with `PRIOR`.
    /// Comparisons stand alone: `1 < 2 = true` and `a LIKE b LIKE c` are errors.
    fn parse_infix(&self, parser: &mut Parser<'_>, expr: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
        if self.stands_alone(expr) == Some(precedence) {
            return Some(parser.expected_ref("one comparison (parentheses make more)", parser.peek_token_ref()));
        }
        let word = |n: usize| match &parser.peek_nth_token_ref(n).token {
            Token::Word(word) => word.keyword,
            _ => Keyword::NoKeyword,
        };
        if word(0) == Keyword::COLLATE {
            parser.next_token();
            let collation = parser.parse_object_name(false);
            return Some(collation.map(|collation| Expr::Collate { expr: Box::new(expr.clone()), collation }));
        }
        if is_isnull(&parser.peek_token_ref().token) {
            parser.next_token();
            return Some(Ok(Expr::IsNull(Box::new(expr.clone()))));
        }
        if parser.peek_token_ref().token == Token::DuckIntDiv {
            parser.next_token();
            return Some(parser.parse_subexpr(precedence).map(|right| {
                let (left, right) = (Box::new(expr.clone()), Box::new(right));
                Expr::BinaryOp { left, op: BinaryOperator::DuckIntegerDivide, right }
            }));
        }
        if is_glob(&parser.peek_token_ref().token) {
            parser.next_token();
            return Some(crate::parse::glob::matching(parser, expr, precedence));
        }
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
        supports_array_typedef_with_brackets,
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_window_function_null_treatment_arg,
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
        supports_create_table_like_parenthesized,
        supports_comma_separated_trim,
        supports_named_fn_args_with_rarrow_operator,
        supports_named_fn_args_with_assignment_operator,
        supports_from_first_select,
        supports_order_by_all,
        supports_dictionary_syntax,
        support_map_literal_syntax,
        supports_select_wildcard_exclude,
        supports_select_wildcard_replace,
        supports_select_wildcard_rename,
        supports_order_by_using_operator,
        supports_string_literal_concatenation_with_newline,
        supports_alter_column_type_using,
    );
}

impl MorselDialect {
    /// The precedence of an operator that does not associate, if the expression is one without parentheses.
    fn stands_alone(&self, expr: &Expr) -> Option<u8> {
        use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        match expr {
            Expr::BinaryOp { op: Eq | NotEq | Lt | LtEq | Gt | GtEq, .. } => Some(self.prec_value(Precedence::Eq)),
            Expr::Between { .. } | Expr::Like { .. } | Expr::ILike { .. } => Some(self.prec_value(Precedence::Between)),
            _ => None,
        }
    }
}

/// The operator `ISNULL`.
/// `UNIQUE NULLS [NOT] DISTINCT`, which the library knows of tables only.
fn unique_with_nulls(parser: &mut Parser<'_>) -> Option<Result<UniqueConstraint, ParserError>> {
    use NullsDistinctOption::{Distinct, NotDistinct};
    let nulls = if parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS, Keyword::NOT, Keyword::DISTINCT]) {
        NotDistinct
    } else if parser.parse_keywords(&[Keyword::UNIQUE, Keyword::NULLS, Keyword::DISTINCT]) {
        Distinct
    } else {
        return None;
    };
    let unique = |characteristics| UniqueConstraint {
        name: None,
        index_name: None,
        index_type_display: KeyOrIndexDisplay::None,
        index_type: None,
        columns: Vec::new(),
        include: Vec::new(),
        index_options: Vec::new(),
        characteristics,
        nulls_distinct: nulls,
    };
    Some(parser.parse_constraint_characteristics().map(unique))
}

fn is_isnull(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("isnull"))
}

/// The operator `GLOB`.
fn is_glob(token: &Token) -> bool {
    matches!(token, Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("glob"))
}

/// `substring(text SIMILAR pattern ESCAPE escape)`, as `substring(text FROM pattern FOR escape)`, which means the same.
fn substring_similar(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let token = |n: usize| &parser.peek_nth_token_ref(n).token;
    let is = |n: usize, keyword| matches!(token(n), Token::Word(word) if word.keyword == keyword);
    if !is(0, Keyword::SUBSTRING) || token(1) != &Token::LParen {
        return None;
    }
    // Between these parentheses, and not within others.
    let mut depth = 0;
    let similar = (1..).find(|&n| {
        match token(n) {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0 || token(n) == &Token::EOF || depth == 1 && is(n, Keyword::SIMILAR)
    })?;
    if !is(similar, Keyword::SIMILAR) || is(similar + 1, Keyword::TO) {
        return None;
    }
    Some((|| {
        parser.next_token();
        parser.next_token();
        let text = parser.parse_subexpr(MorselDialect.prec_value(Precedence::Like))?;
        parser.expect_keyword(Keyword::SIMILAR)?;
        let pattern = parser.parse_expr()?;
        parser.expect_keyword(Keyword::ESCAPE)?;
        let escape = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        Ok(Expr::Substring {
            expr: Box::new(text),
            substring_from: Some(Box::new(pattern)),
            substring_for: Some(Box::new(escape)),
            special: false,
            shorthand: false,
        })
    })())
}

/// `interval(2) '1.234 s'`
fn interval_of_digits(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let token = |n: usize| &parser.peek_nth_token_ref(n).token;
    let (Token::Word(word), Token::Number(digits, _)) = (token(0), token(2)) else { return None };
    let is_literal = word.keyword == Keyword::INTERVAL
        && (token(1), token(3)) == (&Token::LParen, &Token::RParen)
        && matches!(token(4), Token::SingleQuotedString(_));
    let digits = digits.parse().ok().filter(|_| is_literal)?;
    for _ in 0..4 {
        parser.next_token();
    }
    Some(parser.parse_value().map(|value| {
        Expr::Interval(Interval {
            value: Box::new(Expr::Value(value)),
            leading_field: None,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: Some(digits),
        })
    }))
}
