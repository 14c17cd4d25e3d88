//! Lambdas: `lambda x, i: x + i` wherever an expression stands, `x -> x + 1` and `(x, i) -> x + i` as arguments of functions that take
//! one (`->` is an operator of JSON elsewhere), and list comprehensions, which are calls of one of these functions.

use functions::Lambda;
use functions::lambda::COMPREHENSION;
use sqlparser::ast::{Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident};
use sqlparser::ast::{LambdaFunction, LambdaFunctionParameter, LambdaSyntax, ObjectName, OneOrManyWithParens};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Writes `x -> ...` as `lambda x: ...` where functions take lambdas.
pub(super) fn arrows(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| token.token == Token::Arrow) {
        return tokens;
    }
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let token = |at: usize| visible.get(at).map(|&i| &tokens[i].token);
    // Whether the arguments of a function that takes lambdas stand between the parentheses and brackets around, innermost last.
    let mut around = Vec::new();
    // What becomes of tokens: `lambda` before one, a colon instead of one, or nothing.
    let (mut begins, mut colons, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..visible.len() {
        match token(at) {
            Some(Token::LParen | Token::LBracket | Token::LBrace) => {
                let name = at.checked_sub(1).and_then(token);
                around.push(
                    matches!(name, Some(Token::Word(word)) if Lambda::find(&word.value.to_lowercase()).is_some()),
                );
            }
            Some(Token::RParen | Token::RBracket | Token::RBrace) => _ = around.pop(),
            Some(Token::Comma) if around.last() == Some(&true) => {
                let is_enclosed = token(at + 1) == Some(&Token::LParen);
                let mut last = at + 1 + usize::from(is_enclosed);
                while let (true, Some(Token::Word(_)), Some(Token::Comma)) = (is_enclosed, token(last), token(last + 1))
                {
                    last += 2;
                }
                let arrow = last + 1 + usize::from(is_enclosed);
                let ends = !is_enclosed || token(last + 1) == Some(&Token::RParen);
                if let (Some(Token::Word(_)), true, Some(Token::Arrow)) = (token(last), ends, token(arrow)) {
                    begins.push(visible[at + 1]);
                    colons.push(visible[arrow]);
                    dropped.extend(is_enclosed.then_some([visible[at + 1], visible[last + 1]]).into_iter().flatten());
                }
            }
            _ => {}
        }
    }
    let mut out = Vec::with_capacity(tokens.len() + begins.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let blank = || TokenWithSpan::new(Token::Whitespace(sqlparser::tokenizer::Whitespace::Space), token.span);
        if begins.contains(&at) {
            let word = Word { value: "lambda".to_owned(), quote_style: None, keyword: Keyword::LAMBDA };
            out.extend([TokenWithSpan::new(Token::Word(word), token.span), blank()]);
        }
        if colons.contains(&at) {
            out.push(TokenWithSpan::new(Token::Colon, token.span));
        } else if !dropped.contains(&at) {
            out.push(token);
        }
    }
    out
}

fn word(token: &Token, word: &str) -> bool {
    matches!(token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

/// `lambda x, i: body`, or a list comprehension, if it stands here.
pub(crate) fn prefix(parser: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
    let token = |n: usize| &parser.peek_nth_token_ref(n).token;
    if word(token(0), "lambda") {
        let mut last = 1;
        while let (Token::Word(_), Token::Comma) = (token(last), token(last + 1)) {
            last += 2;
        }
        let begins = matches!((token(last), token(last + 1)), (Token::Word(_), Token::Colon));
        return begins.then(|| lambda(parser));
    }
    if token(0) != &Token::LBracket {
        return None;
    }
    let mut depth = 0;
    for n in 0.. {
        match token(n) {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            Token::EOF => return None,
            Token::Comma if depth == 1 => return None,
            found if depth == 1 && word(found, "for") => return Some(comprehension(parser)),
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    None
}

fn lambda(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    parser.next_token();
    let parameters = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_token(&Token::Colon)?;
    Ok(of_parameters(&parameters, parser.parse_expr()?))
}

fn of_parameters(names: &[Ident], body: Expr) -> Expr {
    let parameter = |name: &Ident| LambdaFunctionParameter { name: name.clone(), data_type: None };
    let params = OneOrManyWithParens::Many(names.iter().map(parameter).collect());
    Expr::Lambda(LambdaFunction { params, body: Box::new(body), syntax: LambdaSyntax::LambdaKeyword })
}

/// `[x * 2 FOR x, i IN list IF x > 1]`
fn comprehension(parser: &mut Parser<'_>) -> Result<Expr, ParserError> {
    let begin = parser.next_token();
    let body = parser.parse_expr()?;
    parser.expect_keyword(Keyword::FOR)?;
    let names = parser.parse_comma_separated(Parser::parse_identifier)?;
    parser.expect_keyword(Keyword::IN)?;
    let list = parser.parse_expr()?;
    let mut arguments = vec![list, of_parameters(&names, body)];
    if parser.parse_keyword(Keyword::IF) {
        arguments.push(of_parameters(&names, parser.parse_expr()?));
    }
    parser.expect_token(&Token::RBracket)?;
    Ok(Expr::Function(call_of(Ident::with_quote_and_span('"', begin.span, COMPREHENSION), arguments)))
}

/// A call with nothing but arguments.
pub(crate) fn call_of(name: Ident, arguments: Vec<Expr>) -> Function {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let args = arguments.into_iter().map(argument).collect();
    Function {
        name: ObjectName::from(vec![name]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList { duplicate_treatment: None, args, clauses: Vec::new() }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    }
}
