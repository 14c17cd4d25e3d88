use super::*;
use base::Random;

#[test]
fn lengths_and_cases() {
    assert_eq!((length("äöü"), octet_length("äöü"), length("")), (3, 6, 0));
    assert_eq!((&*lower("AbÄ").unwrap(), &*upper("abß").unwrap(), &*upper("AB").unwrap()), ("abä", "ABß", "AB"));
    for text in ["", "a", "Z", "@[`{", "aZ09 az", "abcdefghijkl", "{MNOPQRSTUVW", "ä", "\u{7f}\u{1}", "abcdefghijklm"]
    {
        let is_short = text.len() <= Str::INLINE && text.is_ascii();
        let header = Str::new(text.as_bytes());
        for (short, long) in [(lower_short(header), lower(text)), (upper_short(header), upper(text))] {
            // SAFETY: a short text is in its header.
            assert_eq!(short.as_ref().map(|s| unsafe { s.as_str() }), is_short.then_some(&*long.unwrap()), "{text}");
        }
    }
    assert_eq!(initcap("hi THOMAS, o'neil").unwrap(), "Hi Thomas, O'Neil");
}

#[test]
fn trimming_and_padding() {
    assert_eq!((trim("  x ", " "), ltrim("zzzytest", "xyz"), rtrim("testxxzx", "xyz")), ("x", "test", "test"));
    assert_eq!(trim("xüx", ""), "xüx");
    assert_eq!((lpad("hi", 5, "xy").unwrap().as_ref(), rpad("hi", 5, "xy").unwrap().as_ref()), ("xyxhi", "hixyx"));
    assert_eq!((lpad("hello", 2, "x").unwrap().as_ref(), rpad("ü", -1, "x").unwrap().as_ref()), ("he", ""));
    assert_eq!(lpad("hi", 5, "").unwrap(), "hi");
    assert_eq!(lpad("x", 1 << 40, "x").unwrap_err().to_string(), "54000: requested length too large");
    assert!(rpad("x", i64::MAX, "x").is_err());
}

#[test]
fn parts() {
    assert_eq!(
        (left("abcde", 2), left("abcde", -2), right("abcde", 2), right("abcde", -2)),
        ("ab", "abc", "de", "cde")
    );
    assert_eq!((left("äb", 1), right("bä", 1), left("x", i64::MIN), right("x", i64::MIN)), ("ä", "ä", "", ""));
    let table = [
        (2, Some(3), "bcd"),
        (0, Some(2), "a"),
        (-1, Some(3), "a"),
        (-5, Some(3), ""),
        (3, None, "cde"),
        (-3, None, "abcde"),
        (9, None, ""),
        (2, Some(i64::MAX), "bcde"),
        (i64::MAX, Some(i64::MAX), ""),
        (i64::MIN, Some(i64::MAX), ""),
        (i64::MIN, Some(0), ""),
    ];
    for (start, count, expected) in table {
        assert_eq!(substring("abcde", start, count), Ok(expected), "{start} {count:?}");
    }
    assert_eq!(substring("abc", 1, Some(-1)).unwrap_err().to_string(), "22011: negative substring length not allowed");
    assert_eq!(overlay("Txxxxas", "hom", 2, Some(4)).unwrap(), "Thomas");
    assert_eq!(overlay("abc", "X", 2, None).unwrap(), "aXc");
    assert!(overlay("abc", "X", 0, None).is_err() && overlay("abc", "X", 2, Some(i64::MAX)).is_err());
    let fields = |n| split_part("abc~@~def~@~ghi", "~@~", n).unwrap();
    assert_eq!((fields(2), fields(-1), fields(4), fields(i64::MIN)), ("def", "ghi", "", ""));
    assert_eq!(split_part("a", "", 1).unwrap(), "a");
    assert_eq!(split_part("a", ",", 0).unwrap_err().message(), "field position must not be zero");
}

#[test]
fn substring_agrees_with_the_definition() {
    let mut random = Random(11);
    for _ in 0..5000 {
        let text: String = (0..random.below(9)).map(|_| ['a', 'ä', '€', '𝄞'][random.below(4) as usize]).collect();
        let (start, count) = (random.below(16) as i64 - 5, random.below(9) as i64);
        let slow: String =
            text.chars().zip(1..).filter(|(_, i)| (start..start + count).contains(i)).map(|(c, _)| c).collect();
        assert_eq!(substring(&text, start, Some(count)).unwrap(), slow, "{text} {start} {count}");
        let whole = format!("{}{}", left(&text, count + 1), right(&text, -count - 1));
        assert_eq!(whole, text);
    }
}

#[test]
fn searching_and_replacing() {
    assert_eq!((position("Thomas", "om"), position("äb", "b"), position("x", "y"), position("x", "")), (3, 2, 0, 1));
    assert_eq!(replace("abcdefabcdef", "cd", "XX").unwrap(), "abXXefabXXef");
    assert_eq!(replace("abc", "", "x").unwrap(), "abc");
    assert!(replace(&"a".repeat(1 << 16), "a", &"b".repeat(1 << 15)).is_err());
    assert_eq!(translate("12345", "143", "ax").unwrap(), "a2x5");
    assert_eq!((repeat("Pg", 2).unwrap().as_str(), repeat("Pg", -1).unwrap().as_str()), ("PgPg", ""));
    assert_eq!(repeat("x", i64::MAX).unwrap_err().state().0, "54000");
    assert_eq!((reverse("äbc").unwrap().as_str(), join(", ", &["a", "b"]).unwrap().as_str()), ("cbä", "a, b"));
    assert_eq!(
        (ascii("ä"), ascii(""), chr(228), to_hex(-1).len(), to_hex_i32(255)),
        (228, 0, Ok('ä'), 16, "ff".into())
    );
    assert!(chr(0).is_err() && chr(-1).is_err() && chr(0xd800).is_err() && chr(i64::MAX).is_err());
}

#[test]
fn searches_agree_with_those_of_the_library() {
    let random = &mut Random(31);
    let piece = |random: &mut Random, most: u64| -> String {
        (0..random.below(most)).map(|_| ['a', 'a', 'b', 'ä', '€'][random.below(5) as usize]).collect()
    };
    for _ in 0..if cfg!(miri) { 200 } else { 20_000 } {
        let most = random.pick(&[8, 20, 40, 90]);
        let text = piece(random, most);
        let most = random.pick(&[3, 5, 20]);
        let (needle, new) = (piece(random, most), piece(random, most));
        assert_eq!(contains(&text, &needle), text.contains(&needle), "{needle} in {text}");
        let at = text.find(&needle).map_or(0, |at| text[..at].chars().count() as i64 + 1);
        assert_eq!(position(&text, &needle), at, "{needle} in {text}");
        if !needle.is_empty() {
            assert_eq!(replace(&text, &needle, &new).unwrap(), text.replace(&needle, &new), "{needle} in {text}");
            let same_length: String = needle.chars().rev().collect();
            let replaced = replace(&text, &needle, &same_length).unwrap();
            assert_eq!(replaced, text.replace(&needle, &same_length), "{needle} in {text}");
            let parts: Vec<&str> = text.split(&needle).collect();
            for (n, part) in parts.iter().enumerate() {
                assert_eq!(split_part(&text, &needle, n as i64 + 1), Ok(*part), "{needle} in {text}");
            }
            let from_end: Vec<&str> = text.rsplit(&needle).collect();
            for (n, part) in from_end.iter().enumerate() {
                assert_eq!(split_part(&text, &needle, -(n as i64) - 1), Ok(*part), "{needle} in {text}");
            }
            let beyond = parts.len().max(from_end.len()) as i64 + 1;
            for n in [beyond, -beyond, i64::MAX, i64::MIN] {
                assert_eq!(split_part(&text, &needle, n), Ok(""), "{needle} in {text}");
            }
        }
    }
}

#[test]
fn long_texts_ask_for_room() {
    let (budget, cancel) = (base::Budget::new(1 << 20), base::CancelToken::new());
    let _working = base::statement::work_for(&budget, &cancel);
    let text = repeat("ab", 200_000).unwrap();
    assert!(budget.used() >= text.len());
    for made in [
        repeat("a", 100_000_000),
        lpad("a", 100_000_000, "x").map(Into::into),
        replace(&text, "a", "0123456789").map(Into::into),
        concat(&[&text, &text]),
        join(",", &[&text, &text]),
        overlay(&text, &text, 5, Some(1)),
    ] {
        assert_eq!(made.unwrap_err().state(), SqlState::OUT_OF_MEMORY);
    }
    assert!([upper(&text), lower(&text), replace(&text, "a", "")].iter().all(Result::is_ok));
    cancel.cancel();
    for made in [replace(&text, "a", "b").map(Into::into), translate(&text, "a", "b"), reverse(&text)] {
        assert_eq!(made.unwrap_err().state(), SqlState::QUERY_CANCELED);
    }
    drop(text);
}
