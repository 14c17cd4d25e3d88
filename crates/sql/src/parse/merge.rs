//! What the parser does not know of MERGE, written as what it does: `USING s USING (a, b)`, `UPDATE` and `INSERT` of all that the
//! source has, `ERROR`, and `INSERT DEFAULT VALUES`. Names in quotes that are none of SQL's tell what was written.

use sqlparser::ast::{self, AssignmentTarget, ObjectNamePart};
use sqlparser::tokenizer::{Span, Token, TokenWithSpan, Word};

const QUOTE: char = '[';
/// The name of the condition that USING is.
const USING: &str = "merge using";
/// The column that all columns of the source stand for.
const BY_NAME: &str = "by name";
const BY_POSITION: &str = "by position";
/// The column whose value is an error.
const ERROR: &str = "error";

/// What an action does with a row, where it is not what the parser knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Told {
    /// All columns of the source go to those of their names.
    ByName,
    /// They go to those at their places.
    ByPosition,
    /// The value is an error.
    Error,
}

/// What a column tells of an action.
fn told(name: &ast::ObjectName) -> Option<Told> {
    let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else { return None };
    match ident.value.as_str() {
        _ if ident.quote_style != Some(QUOTE) => None,
        BY_NAME => Some(Told::ByName),
        BY_POSITION => Some(Told::ByPosition),
        ERROR => Some(Told::Error),
        _ => None,
    }
}

/// What the assignments of an UPDATE tell.
pub(crate) fn told_by_update(assignments: &[ast::Assignment]) -> Option<(Told, &ast::Expr)> {
    match assignments {
        [ast::Assignment { target: AssignmentTarget::ColumnName(name), value }] => Some((told(name)?, value)),
        _ => None,
    }
}

/// What the columns of an INSERT tell.
pub(crate) fn told_by_insert(insert: &ast::MergeInsertExpr) -> Option<(Told, &ast::Expr)> {
    let ([name], ast::MergeInsertKind::Values(values)) = (insert.columns.as_slice(), &insert.kind) else { return None };
    Some((told(name)?, values.rows.first()?.content.first()?))
}

/// The columns that USING names in the place of a condition.
pub(crate) fn using(condition: &ast::Expr) -> Option<Vec<&ast::Ident>> {
    let ast::Expr::Function(function) = condition else { return None };
    let ([ObjectNamePart::Identifier(name)], ast::FunctionArguments::List(list)) =
        (function.name.0.as_slice(), &function.args)
    else {
        return None;
    };
    let is_using = name.quote_style == Some(QUOTE) && name.value == USING;
    list.args.iter().map(identifier).collect::<Option<Vec<_>>>().filter(|_| is_using)
}

fn identifier(argument: &ast::FunctionArg) -> Option<&ast::Ident> {
    match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Identifier(ident))) => Some(ident),
        _ => None,
    }
}

/// The tokens as the parser takes them. Their positions stay.
pub(super) fn carry(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let visible: Vec<usize> = (0..tokens.len()).filter(|&i| !matches!(tokens[i].token, Token::Whitespace(_))).collect();
    let words = Words { tokens: &tokens, visible: &visible };
    let mut changes = Vec::new();
    let mut at = 0;
    while at < visible.len() {
        at = match words.is(at, "merge") && words.is(at + 1, "into") {
            true => words.merge(at + 2, &mut changes),
            false => at + 1,
        };
    }
    let mut tokens = tokens;
    for (first, end, made) in changes.into_iter().rev() {
        // What is put between two tokens stands in front of the second.
        let begin = visible.get(first).copied().unwrap_or(tokens.len());
        let last = if end > first { visible[end - 1] + 1 } else { begin };
        tokens.splice(begin..last, made);
    }
    tokens
}

/// What stands instead of tokens, by the numbers of the first and the one behind the last.
type Change = (usize, usize, Vec<TokenWithSpan>);

struct Words<'t> {
    tokens: &'t [TokenWithSpan],
    visible: &'t [usize],
}

impl Words<'_> {
    fn token(&self, at: usize) -> Option<&Token> {
        self.visible.get(at).map(|&i| &self.tokens[i].token).filter(|token| **token != Token::EOF)
    }

    fn is(&self, at: usize, wanted: &str) -> bool {
        self.token(at).and_then(super::window::as_word).is_some_and(|word| word.value.eq_ignore_ascii_case(wanted))
    }

    fn made(&self, at: usize, tokens: Vec<Token>) -> Vec<TokenWithSpan> {
        let span = self.visible.get(at).map_or(Span::empty(), |&i| self.tokens[i].span);
        tokens.into_iter().map(|token| TokenWithSpan { token, span }).collect()
    }

    /// The place behind a token, or behind what its parenthesis encloses.
    fn behind(&self, mut at: usize) -> usize {
        let mut depth = 0usize;
        while let Some(token) = self.token(at) {
            match token {
                Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                Token::RParen | Token::RBracket | Token::RBrace => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break;
            }
        }
        at
    }

    /// Whether an action ends here.
    fn ends(&self, at: usize) -> bool {
        self.is(at, "when")
            || self.is(at, "returning")
            || matches!(self.token(at), None | Some(Token::RParen | Token::SemiColon))
    }

    /// Reads a MERGE from its table on, and returns where it ends.
    fn merge(&self, mut at: usize, changes: &mut Vec<Change>) -> usize {
        let (mut usings, mut inserts) = (0, false);
        while !matches!(self.token(at), None | Some(Token::RParen | Token::SemiColon)) {
            if self.is(at, "using") {
                usings += 1;
                if usings == 2 && self.token(at + 1) == Some(&Token::LParen) {
                    let made = [Token::make_keyword("ON"), named(USING)];
                    changes.push((at, at + 1, self.made(at, made.to_vec())));
                }
            } else if self.is(at, "when") {
                inserts = self.is(at + 1, "not") && !(self.is(at + 3, "by") && self.is(at + 4, "source"));
            } else if self.is(at, "then")
                && let Some((end, made)) = self.action(at + 1, inserts)
            {
                changes.push((at + 1, end, made));
                at = end;
                continue;
            }
            at = self.behind(at);
        }
        at
    }

    /// What an action is written as, and where what it replaces ends; none if the parser knows it.
    fn action(&self, at: usize, inserts: bool) -> Option<(usize, Vec<TokenWithSpan>)> {
        if self.is(at, "error") {
            let mut end = at + 1;
            while !self.ends(end) {
                end = self.behind(end);
            }
            let message = (at + 1..end).map(|at| self.tokens[self.visible[at]].clone()).collect();
            return Some((end, self.telling(at, inserts, ERROR, message)));
        }
        let is_insert = self.is(at, "insert");
        if !is_insert && !self.is(at, "update") {
            return None;
        }
        // What is not given is the default.
        if is_insert && self.is(at + 1, "default") && self.is(at + 2, "values") {
            let given = [
                Token::make_keyword("INSERT"),
                Token::make_keyword("VALUES"),
                Token::LParen,
                Token::make_keyword("DEFAULT"),
                Token::RParen,
            ];
            return Some((at + 3, self.made(at, given.to_vec())));
        }
        let (by, mut end) = match () {
            () if self.is(at + 1, "by") && self.is(at + 2, "name") => (BY_NAME, at + 3),
            () if self.is(at + 1, "by") && self.is(at + 2, "position") => (BY_POSITION, at + 3),
            () => (BY_POSITION, at + 1),
        };
        end += usize::from(!is_insert && self.is(end, "set") && self.token(end + 1) == Some(&Token::Mul));
        end += usize::from(self.token(end) == Some(&Token::Mul));
        self.ends(end).then(|| (end, self.telling(at, is_insert, by, Vec::new())))
    }

    /// An action that has only a column that tells what it is.
    fn telling(&self, at: usize, inserts: bool, column: &str, value: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
        let (before, behind) = match inserts {
            true => {
                let words = ["INSERT", "VALUES"].map(Token::make_keyword);
                let [insert, values] = words;
                (vec![insert, Token::LParen, named(column), Token::RParen, values, Token::LParen], vec![Token::RParen])
            }
            false => {
                let [update, set] = ["UPDATE", "SET"].map(Token::make_keyword);
                (vec![update, set, named(column), Token::Eq], Vec::new())
            }
        };
        let value = if value.is_empty() { self.made(at, vec![Token::make_keyword("NULL")]) } else { value };
        self.made(at, before).into_iter().chain(value).chain(self.made(at, behind)).collect()
    }
}

fn named(name: &str) -> Token {
    Token::Word(Word {
        value: name.to_owned(),
        quote_style: Some(QUOTE),
        keyword: sqlparser::keywords::Keyword::NoKeyword,
    })
}
