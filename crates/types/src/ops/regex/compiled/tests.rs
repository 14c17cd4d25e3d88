use base::Random;

use super::*;

fn captures(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
    let regex = Regex::new(pattern, Options::default()).unwrap();
    let part = |place: Option<Place>| place.map(|(from, to)| text[from..to].to_owned());
    regex.captures(text, 0).unwrap().map(|places| places.into_iter().map(part).collect())
}

/// The match and its groups, `-` for one that took no part.
fn taken(pattern: &str, text: &str) -> String {
    captures(pattern, text)
        .map_or("no".to_owned(), |p| p.iter().map(|p| p.as_deref().unwrap_or("-")).collect::<Vec<_>>().join(","))
}

#[test]
fn parts_take_what_postgresql_gives_them() {
    for (pattern, text, expected) in [
        ("foo|foobar", "foobar", "foobar"),
        ("(a|ab)(c|bcd)(d*)", "abcd", "abcd,ab,c,d"),
        ("(a{1,2})+", "aaaa", "aaaa,a"),
        ("(?:(a)|b)*", "ab", "ab,-"),
        ("(a*)*", "", ","),
        ("(a*)+", "b", ","),
        ("(a|ab)(c|bcd|b)*", "abab", "ab,ab,-"),
        ("(?:(?:a)(b)?)*", "abcabc", "ab,b"),
        ("X(.+?)Y(.*)", "XaYbYc", "XaY,a,"),
        ("(b)\\1", "abbb", "bb,b"),
        ("a(?!b)(.)", "abac", "ac,c"),
        ("(?<=a)b", "bab", "b"),
        ("\\m(a)\\M", "xa a", "a,a"),
    ] {
        assert_eq!(taken(pattern, text), expected, "{pattern} in {text}");
    }
}

#[test]
fn automata_and_dissection_agree() {
    let mut random = Random(7);
    let mut pick = |from: &[&str], most: u64| -> String {
        (0..random.below(most)).map(|_| from[random.below(from.len() as u64) as usize]).collect()
    };
    let parts =
        ["a", "b", "ä", ".", "(a|ab)", "(b*)", "a?", "[ab]+", "(?:ab|b){1,2}", "b*?", "(a)", "\\m", "\\M", "^", "$"];
    let (mut found, mut tables) = (0, 0);
    for round in 0..4000 {
        let (pattern, text) = (pick(&parts, 5), pick(&["a", "b", "ä", " ", "a", "b"], 9));
        let regex = Regex::new(&pattern, Options::default()).unwrap();
        let slow = Search::new(&regex.node, regex.groups, false, &text).find(0).unwrap();
        assert_eq!(regex.captures(&text, 0).unwrap(), slow, "{pattern} in {text:?}");
        assert_eq!(regex.find(&text, 0).unwrap(), slow.as_ref().and_then(|places| places[0]));
        assert_eq!(regex.is_match(&text).unwrap(), slow.is_some());
        if round % 4 == 0 {
            let automata = regex.automata.as_ref().unwrap();
            automata.whether.asked.store(MANY_TEXTS, Ordering::Relaxed);
            assert_eq!(regex.is_match(&text).unwrap(), slow.is_some(), "{pattern} in {text:?} by its table");
            tables += usize::from(matches!(automata.whether.table.get(), Some(Some(_))));
        }
        found += usize::from(slow.is_some_and(|places| places[0] != Some((0, 0))));
    }
    assert!(found > 500 && tables > 900);
}

#[test]
fn hard_patterns_end() {
    let options = Options::default();
    let text = "a".repeat(800);
    // Back references are tried one after the other, within limits.
    let error = Regex::new("(a*)*(a*)*\\1\\2b", options).unwrap().is_match(&text).unwrap_err();
    assert_eq!(error.state().0, "54001");
    assert!(!Regex::new("(a*)*b", options).unwrap().is_match(&text).unwrap());
    for (pattern, what) in [
        ("(((\\w{255}){255}){255}){255}", "regular expression is too complex"),
        (&"(".repeat(1000), "regular expression is too complex"),
        ("a)", "parentheses () not balanced"),
        ("a**", "quantifier operand invalid"),
        ("[b-a]", "invalid character range"),
    ] {
        let error = Regex::new(pattern, options).unwrap_err();
        assert_eq!(error.to_string(), format!("2201B: invalid regular expression: {what}"));
    }
    // A long literal is no deep tree.
    assert!(Regex::new(&"ab".repeat(50_000), options).unwrap().is_match(&"ab".repeat(50_000)).unwrap());
}
