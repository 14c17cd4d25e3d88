//! Which of several routines that take what is given is called: the one of the preferred types, as in PostgreSQL (10.3, *Function Type
//! Resolution*).

use types::SqlType;

use super::arguments::{Given, Way};

/// Kinds of types among which PostgreSQL chooses for an argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Category {
    Number,
    Text,
    Time,
    Other(SqlType),
}

impl Category {
    /// That of a type, and whether it is the one of its kind that is preferred.
    fn of(sql_type: SqlType) -> (Self, bool) {
        match sql_type {
            of if of.is_numeric() => (Self::Number, of == SqlType::Double),
            of if of.is_string() => (Self::Text, of == SqlType::Text),
            SqlType::Date | SqlType::Timestamp => (Self::Time, false),
            SqlType::Timestamptz => (Self::Time, true),
            of => (Self::Other(of), true),
        }
    }
}

/// Leaves the ways that take preferred types, as PostgreSQL does: of each argument that is converted,
/// then of each literal whose type nobody has said, which is a text if it may be.
pub(super) fn prefer(ways: &mut Vec<Way<'_>>, given: &[Given]) {
    let known = |way: &Way<'_>, at: usize| {
        let from = given[at].expr.sql_type;
        let (category, is_preferred) = Category::of(way.taken_as(at)?);
        let is_same = from != SqlType::Null && Category::of(from).0 == category;
        Some(is_same && (is_preferred || way.taken_as(at) == Some(from)))
    };
    keep(ways, |way| (0..given.len()).filter(|&at| known(way, at) == Some(true)).count());
    for at in (0..given.len()).filter(|&at| given[at].expr.sql_type == SqlType::Null) {
        let is_text = |way: &Way<'_>| way.taken_as(at).is_some_and(|of| of.is_string());
        let is_preferred = |way: &Way<'_>| way.taken_as(at).is_some_and(|of| Category::of(of).1);
        keep(ways, |way| usize::from(is_text(way)));
        let mut categories = ways.iter().filter_map(|way| way.taken_as(at)).map(|of| Category::of(of).0);
        let first = categories.next();
        if categories.all(|category| Some(category) == first) {
            keep(ways, |way| usize::from(is_preferred(way)));
        }
    }
}

/// Leaves the ways of which most is counted.
fn keep(ways: &mut Vec<Way<'_>>, count: impl Fn(&Way<'_>) -> usize) {
    let most = ways.iter().map(&count).max();
    ways.retain(|way| Some(count(way)) == most);
}
