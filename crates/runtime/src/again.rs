//! What functions have made of texts that come again, as those of a dictionary do: it is made once, by each worker. What a site is given
//! besides, `remembered` remembers.

use types::ops::hash::{combine, hash_str};

use crate::slot::Slot;

/// Calls that are remembered of a function at most; a power of two.
const REMEMBERED: usize = 1024;
/// Most bytes of the arguments of such a call.
const LONGEST: usize = 128;
/// Most arguments.
pub(crate) const MOST_TEXTS: usize = 4;
/// So many calls are not worth the memory.
const WORTH: u32 = 64;
/// After so many calls, half of which were not remembered, no more are looked up.
const TRIAL: u32 = 1024;

/// The calls that a worker remembers.
#[derive(Debug, Default)]
pub(crate) struct Again {
    functions: Vec<Calls>,
    /// Functions whose calls are not looked up any more.
    given_up: Vec<u32>,
}

/// Those of a function.
#[derive(Debug)]
struct Calls {
    number: u32,
    /// By the hash of the arguments. Whoever comes first has the place.
    places: Box<[Option<Call>]>,
    asked: u32,
    found: u32,
}

#[derive(Debug)]
struct Call {
    hash: u64,
    /// The arguments, one behind the other, and where each of them ends.
    arguments: Box<[u8]>,
    ends: [u8; MOST_TEXTS],
    result: Made,
}

/// What a call gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Made {
    /// The first argument itself.
    Argument,
    /// A value, or NULL; a text lives as long as the worker.
    Value(Slot, bool),
}

/// What is known of a call.
pub(crate) enum Known {
    /// What it gives.
    Result(Made),
    /// Nothing, but its result may be kept there.
    Place(Place),
    /// Nothing.
    Nothing,
}

/// Where the result of a call may be kept.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    function: usize,
    place: usize,
    hash: u64,
}

impl Again {
    /// What is known of the call of a function, by a number that no other has, with at most four texts.
    #[inline(always)]
    pub fn look_up(&mut self, number: u32, texts: &[&str]) -> Known {
        if self.given_up.contains(&number) { Known::Nothing } else { self.search(number, texts) }
    }

    fn search(&mut self, number: u32, texts: &[&str]) -> Known {
        let function = self.functions.iter().position(|calls| calls.number == number).unwrap_or_else(|| {
            self.functions.push(Calls { number, places: Box::default(), asked: 0, found: 0 });
            self.functions.len() - 1
        });
        let calls = &mut self.functions[function];
        calls.asked = calls.asked.saturating_add(1);
        if calls.asked >= TRIAL && calls.found < calls.asked / 2 {
            self.given_up.push(number);
            calls.places = Box::default();
            return Known::Nothing;
        }
        if calls.asked < WORTH {
            return Known::Nothing;
        }
        if calls.places.is_empty() {
            calls.places = (0..REMEMBERED).map(|_| None).collect();
        }
        if texts.len() > MOST_TEXTS || texts.iter().map(|text| text.len()).sum::<usize>() > LONGEST {
            return Known::Nothing;
        }
        let hash = texts.iter().map(|text| hash_str(text)).reduce(combine).unwrap_or(0);
        let place = hash as usize % REMEMBERED;
        match &calls.places[place] {
            None => Known::Place(Place { function, place, hash }),
            Some(call) if call.hash == hash && call.is_of(texts) => {
                calls.found = calls.found.saturating_add(1);
                Known::Result(call.result)
            }
            Some(_) => Known::Nothing,
        }
    }

    /// Keeps a result.
    pub fn keep(&mut self, Place { function, place, hash }: Place, texts: &[&str], result: Made) {
        let (mut arguments, mut ends) = (Vec::new(), [0; MOST_TEXTS]);
        for (text, end) in texts.iter().zip(&mut ends) {
            arguments.extend(text.as_bytes());
            *end = arguments.len() as u8;
        }
        self.functions[function].places[place] = Some(Call { hash, arguments: arguments.into(), ends, result });
    }
}

impl Call {
    fn is_of(&self, texts: &[&str]) -> bool {
        let mut from = 0;
        texts.iter().zip(self.ends).all(|(text, end)| {
            let own = from..usize::from(end);
            from = own.end;
            self.arguments[own] == *text.as_bytes()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of a call; if nothing, a number is kept for the next time.
    fn asked(again: &mut Again, number: u32, texts: &[&str], result: i64) -> Option<Made> {
        match again.look_up(number, texts) {
            Known::Result(result) => Some(result),
            Known::Place(place) => {
                again.keep(place, texts, Made::Value(Slot::integer(result.into()), false));
                None
            }
            Known::Nothing => None,
        }
    }

    #[test]
    fn calls_are_known_by_function_and_arguments() {
        let mut again = Again::default();
        let calls: [(u32, &[&str]); 6] = [
            (1, &["ab", "c"]),
            (1, &["a", "bc"]),
            (2, &["ab", "c"]),
            (2, &["", "abc"]),
            (3, &[""]),
            (3, &["x", "", "y", ""]),
        ];
        for number in 1..4 {
            (1..WORTH).for_each(|_| assert_eq!(asked(&mut again, number, &["first"], 0), None));
        }
        for round in 0..3 {
            for (at, (number, texts)) in calls.into_iter().enumerate() {
                let expected = (round > 0).then(|| Made::Value(Slot::integer(at as i128), false));
                assert_eq!(asked(&mut again, number, texts, at as i64), expected, "{number} {texts:?}");
            }
        }
    }

    #[test]
    fn of_texts_that_do_not_come_again_nothing_is_asked_after_a_while() {
        let mut again = Again::default();
        let long = "x".repeat(LONGEST + 1);
        for number in 0..10 * TRIAL {
            assert_eq!(asked(&mut again, 1, &[&format!("{number}")], 0), None);
            assert_eq!(asked(&mut again, 2, &[&long], 0), None);
        }
        assert_eq!(again.given_up, [1, 2]);
        assert!(again.functions.iter().all(|calls| calls.asked == TRIAL));
    }
}
