//! What a history tells of who came before whom, and whether its isolation level allows that.
//!
//! A list's longest reading is the order of its writers, of which every other reading must be the beginning. From it follow three kinds
//! of dependencies (Adya, *Weak Consistency*, 1999): a writer comes before the next one (ww), before who reads its number last (wr), and
//! a reader before the writer that it did not see (rw). Rows that predicates find have no order, but who sees one comes behind its
//! writer, and who does not see it before. Whoever had ended before another began comes first, too.

use std::collections::{HashMap, HashSet, VecDeque};

use super::{Level, Operation, Transaction};

/// Why a transaction must have come before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reason {
    /// It had ended before.
    Time,
    /// It wrote before.
    Writes,
    /// The other one saw what it wrote.
    Seen,
    /// It did not see what the other one wrote.
    NotSeen,
}

/// Transactions, and moments between them, with who comes next.
struct Graph {
    next: Vec<Vec<(usize, Reason)>>,
}

/// What is wrong with a history, in words; nothing if the level allows all of it.
pub fn check(history: &[Transaction], level: Level) -> Vec<String> {
    let mut wrong = Vec::new();
    let orders = orders(history, &mut wrong);
    let writers = writers(history);
    for (at, transaction) in history.iter().enumerate() {
        check_own(at, transaction, &mut wrong);
        check_seen(at, transaction, history, &writers, &mut wrong);
    }
    let graph = Graph::of(history, &orders, &writers);
    // Without what was not seen: circles of writers and of those who see them, which no level allows.
    if let Some(circle) = graph.circle(|reason| reason != Reason::NotSeen) {
        wrong.push(format!("a circle of writes and reads: {}", shown(&circle, history)));
    }
    match level {
        Level::ReadCommitted => {}
        Level::Snapshot => {
            if let Some(circle) = graph.circle_with_one_unseen() {
                wrong.push(format!("a circle in which one has not seen another: {}", shown(&circle, history)));
            }
        }
        Level::Serializable => {
            if let Some(circle) = graph.circle(|_| true) {
                wrong.push(format!("a circle: {}", shown(&circle, history)));
            }
        }
    }
    wrong
}

/// For each number who wrote it.
fn writers(history: &[Transaction]) -> HashMap<i64, usize> {
    let mut writers = HashMap::new();
    for (at, transaction) in history.iter().enumerate() {
        for operation in &transaction.operations {
            if let Operation::Append(_, number) | Operation::Insert(_, number) = operation {
                writers.insert(*number, at);
            }
        }
    }
    writers
}

/// The longest reading of each list, by committed transactions, of which all others have to be beginnings.
fn orders<'h>(history: &'h [Transaction], wrong: &mut Vec<String>) -> HashMap<i64, &'h [i64]> {
    let mut orders: HashMap<i64, &[i64]> = HashMap::new();
    for (at, transaction) in history.iter().enumerate() {
        let mut own = HashSet::new();
        for operation in &transaction.operations {
            match operation {
                Operation::Append(key, _) => {
                    own.insert(*key);
                }
                // Of a transaction that is rolled back, what it has seen of others counts, too.
                Operation::Read(key, read) if transaction.committed || !own.contains(key) => {
                    let longest = orders.entry(*key).or_insert(read);
                    let (short, long) = if read.len() > longest.len() {
                        (*longest, read.as_slice())
                    } else {
                        (read.as_slice(), *longest)
                    };
                    if !long.starts_with(short) {
                        wrong
                            .push(format!("transaction {at} reads list {key} as {read:?}, another one as {longest:?}"));
                    }
                    *longest = long;
                }
                _ => {}
            }
        }
    }
    orders
}

/// A transaction sees what it has done itself, and sees nothing twice.
fn check_own(at: usize, transaction: &Transaction, wrong: &mut Vec<String>) {
    let mut own: HashMap<i64, Vec<i64>> = HashMap::new();
    let mut inserted = Vec::new();
    for operation in &transaction.operations {
        match operation {
            Operation::Append(key, number) => own.entry(*key).or_default().push(*number),
            Operation::Insert(group, number) => inserted.push((*group, *number)),
            Operation::Read(key, read) => {
                if let Some(own) = own.get(key)
                    && !read.ends_with(own)
                {
                    wrong.push(format!("transaction {at} has appended {own:?} to list {key} and reads {read:?}"));
                }
            }
            Operation::Find(from, to, found) => {
                let expected = inserted.iter().filter(|(group, _)| (from..=to).contains(&group));
                let missing: Vec<_> = expected.filter(|(_, number)| !found.contains(number)).collect();
                let twice = found.len() != found.iter().collect::<HashSet<_>>().len();
                if !missing.is_empty() || twice {
                    wrong.push(format!("transaction {at} finds {found:?}, without its own {missing:?}"));
                }
            }
        }
    }
}

/// Nobody sees what is rolled back (G1a), nor a list as it was in the middle of another transaction (G1b).
fn check_seen(
    at: usize,
    transaction: &Transaction,
    history: &[Transaction],
    writers: &HashMap<i64, usize>,
    wrong: &mut Vec<String>,
) {
    for operation in &transaction.operations {
        let (Operation::Read(_, seen) | Operation::Find(_, _, seen)) = operation else { continue };
        for number in seen {
            match writers.get(number) {
                None => wrong.push(format!("transaction {at} sees {number}, which nobody wrote")),
                Some(&by) if by != at && !history[by].committed => {
                    wrong.push(format!("transaction {at} sees {number} of transaction {by}, which is rolled back"));
                }
                _ => {}
            }
        }
        let (Operation::Read(key, read), Some(last)) = (operation, seen.last()) else { continue };
        let Some(&by) = writers.get(last).filter(|by| **by != at) else { continue };
        let of_key = history[by].operations.iter().rev();
        let final_one =
            of_key.filter_map(|o| if let Operation::Append(k, n) = o { (k == key).then_some(n) } else { None });
        if final_one.take(1).any(|n| n != last) {
            wrong.push(format!(
                "transaction {at} reads list {key} as {read:?}, which transaction {by} had not finished"
            ));
        }
    }
}

impl Graph {
    fn of(history: &[Transaction], orders: &HashMap<i64, &[i64]>, writers: &HashMap<i64, usize>) -> Self {
        let mut graph = Self { next: vec![Vec::new(); history.len()] };
        let by = |number: &i64| writers.get(number).copied();
        for order in orders.values() {
            for pair in order.windows(2) {
                if let (Some(a), Some(b)) = (by(&pair[0]), by(&pair[1])) {
                    graph.add(a, b, Reason::Writes);
                }
            }
        }
        let mut rows: HashMap<i64, Vec<i64>> = HashMap::new();
        for transaction in history.iter().filter(|t| t.committed) {
            for operation in &transaction.operations {
                if let Operation::Insert(group, number) = operation {
                    rows.entry(*group).or_default().push(*number);
                }
            }
        }
        for (at, transaction) in history.iter().enumerate().filter(|(_, t)| t.committed) {
            for operation in &transaction.operations {
                match operation {
                    Operation::Read(key, read) => {
                        if let Some(writer) = read.last().and_then(by) {
                            graph.add(writer, at, Reason::Seen);
                        }
                        if let Some(writer) = orders.get(key).and_then(|order| order.get(read.len())).and_then(by) {
                            graph.add(at, writer, Reason::NotSeen);
                        }
                    }
                    Operation::Find(from, to, found) => {
                        found.iter().filter_map(by).for_each(|writer| graph.add(writer, at, Reason::Seen));
                        let found: HashSet<&i64> = found.iter().collect();
                        let groups = (*from..=*to).filter_map(|group| rows.get(&group)).flatten();
                        groups
                            .filter(|n| !found.contains(n))
                            .filter_map(by)
                            .for_each(|w| graph.add(at, w, Reason::NotSeen));
                    }
                    _ => {}
                }
            }
        }
        graph.add_time(history);
        graph
    }

    fn add(&mut self, from: usize, to: usize, reason: Reason) {
        if from != to && !self.next[from].contains(&(to, reason)) {
            self.next[from].push((to, reason));
        }
    }

    /// Between ends and beginnings lie moments, one behind the other: a chain instead of an edge for each pair.
    fn add_time(&mut self, history: &[Transaction]) {
        let mut events: Vec<(u64, usize, bool)> = Vec::new();
        for (at, transaction) in history.iter().enumerate().filter(|(_, t)| t.committed) {
            events.push((transaction.time.0, at, true));
            events.push((transaction.time.1, at, false));
        }
        events.sort_unstable();
        let mut moment = None;
        for (_, at, begins) in events {
            if begins {
                if let Some(moment) = moment {
                    self.add(moment, at, Reason::Time);
                }
                continue;
            }
            self.next.push(Vec::new());
            let new = self.next.len() - 1;
            self.add(at, new, Reason::Time);
            if let Some(before) = moment.replace(new) {
                self.add(before, new, Reason::Time);
            }
        }
    }

    /// Some circle of edges of those kinds.
    fn circle(&self, is_of: impl Fn(Reason) -> bool) -> Option<Vec<(usize, Reason)>> {
        let component = self.components(&is_of);
        let mut sizes = HashMap::new();
        component.iter().for_each(|c| *sizes.entry(*c).or_insert(0usize) += 1);
        let start = (0..self.next.len()).find(|n| sizes[&component[*n]] > 1)?;
        self.path(start, start, &|from, to, reason| is_of(reason) && component[from] == component[to])
    }

    /// A circle with one edge of what was not seen: of those whose other edges are of other kinds.
    fn circle_with_one_unseen(&self) -> Option<Vec<(usize, Reason)>> {
        let component = self.components(&|_| true);
        for (from, next) in self.next.iter().enumerate() {
            for &(to, reason) in next {
                if reason != Reason::NotSeen || component[from] != component[to] {
                    continue;
                }
                let others = |a: usize, b: usize, r: Reason| r != Reason::NotSeen && component[a] == component[b];
                if let Some(back) = self.path(to, from, &others) {
                    return Some([(to, reason)].into_iter().chain(back).collect());
                }
            }
        }
        None
    }

    /// The shortest way of at least one edge: where each edge leads, and why.
    fn path(
        &self,
        from: usize,
        to: usize,
        takes: &dyn Fn(usize, usize, Reason) -> bool,
    ) -> Option<Vec<(usize, Reason)>> {
        let mut before: HashMap<usize, (usize, Reason)> = HashMap::new();
        let mut left = VecDeque::from([from]);
        while let Some(at) = left.pop_front() {
            for &(next, reason) in &self.next[at] {
                if !takes(at, next, reason) || before.contains_key(&next) {
                    continue;
                }
                before.insert(next, (at, reason));
                if next == to {
                    let mut way = Vec::new();
                    let mut place = to;
                    loop {
                        let (previous, reason) = before[&place];
                        way.push((place, reason));
                        place = previous;
                        if place == from {
                            way.reverse();
                            return Some(way);
                        }
                    }
                }
                left.push_back(next);
            }
        }
        None
    }

    /// The strongly connected component of each node (Tarjan), without recursion.
    fn components(&self, is_of: &impl Fn(Reason) -> bool) -> Vec<usize> {
        const NONE: usize = usize::MAX;
        let count = self.next.len();
        let (mut index, mut low, mut component) = (vec![NONE; count], vec![NONE; count], vec![NONE; count]);
        let (mut stack, mut numbered, mut found) = (Vec::new(), 0, 0);
        for root in 0..count {
            if index[root] != NONE {
                continue;
            }
            // Nodes on the way from the root, each with the edge that comes next.
            let mut way = vec![(root, 0)];
            while let Some((at, edge)) = way.last_mut() {
                let at = *at;
                if *edge == 0 && index[at] == NONE {
                    (index[at], low[at]) = (numbered, numbered);
                    numbered += 1;
                    stack.push(at);
                }
                let Some(&(next, reason)) = self.next[at].get(*edge) else {
                    way.pop();
                    if let Some(&(above, _)) = way.last() {
                        low[above] = low[above].min(low[at]);
                    }
                    if low[at] == index[at] {
                        let members = stack.iter().rposition(|member| *member == at).unwrap_or(0);
                        stack.drain(members..).for_each(|member| component[member] = found);
                        found += 1;
                    }
                    continue;
                };
                *edge += 1;
                if !is_of(reason) {
                    continue;
                }
                if index[next] == NONE {
                    way.push((next, 0));
                } else if component[next] == NONE {
                    low[at] = low[at].min(index[next]);
                }
            }
        }
        component
    }
}

/// A circle in words.
fn shown(circle: &[(usize, Reason)], history: &[Transaction]) -> String {
    let mut text = String::new();
    for (to, reason) in circle {
        let how = match reason {
            Reason::Time => "had ended before",
            Reason::Writes => "wrote before",
            Reason::Seen => "was seen by",
            Reason::NotSeen => "did not see",
        };
        match history.get(*to) {
            Some(transaction) => text += &format!("\n  {how} {to}: {:?}", transaction.operations),
            None => text += &format!("\n  {how} a moment"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::Operation::{Append, Find, Insert, Read};
    use super::*;

    fn transaction(time: (u64, u64), operations: Vec<Operation>) -> Transaction {
        Transaction { time, committed: true, operations }
    }

    /// At which levels a history is wrong.
    fn wrong_at(history: &[Transaction]) -> Vec<Level> {
        Level::ALL.into_iter().filter(|level| !check(history, *level).is_empty()).collect()
    }

    /// All at once.
    fn at_once(all: Vec<Vec<Operation>>) -> Vec<Transaction> {
        all.into_iter().map(|operations| transaction((0, 100), operations)).collect()
    }

    #[test]
    fn what_may_be_is_allowed() {
        let history =
            at_once(vec![vec![Append(1, 10)], vec![Read(1, vec![10]), Append(1, 20)], vec![Read(1, vec![10, 20])]]);
        assert_eq!(wrong_at(&history), []);
        assert_eq!(
            wrong_at(&at_once(vec![vec![Append(1, 1), Read(1, vec![1]), Append(1, 2)], vec![Read(1, vec![1, 2])]])),
            []
        );
    }

    #[test]
    fn writes_in_different_orders_are_wrong() {
        let reads = vec![Read(1, vec![10, 20]), Read(2, vec![21, 11])];
        let history = at_once(vec![vec![Append(1, 10), Append(2, 11)], vec![Append(1, 20), Append(2, 21)], reads]);
        assert_eq!(wrong_at(&history), Level::ALL);
        let history = at_once(vec![
            vec![Append(1, 10)],
            vec![Append(1, 20)],
            vec![Read(1, vec![10, 20])],
            vec![Read(1, vec![20])],
        ]);
        assert_eq!(wrong_at(&history), Level::ALL);
    }

    #[test]
    fn what_is_rolled_back_or_unfinished_is_not_seen() {
        let mut history = at_once(vec![vec![Append(1, 10)], vec![Read(1, vec![10])]]);
        history[0].committed = false;
        assert_eq!(wrong_at(&history), Level::ALL);
        let history =
            at_once(vec![vec![Append(1, 10), Append(1, 11)], vec![Read(1, vec![10])], vec![Read(1, vec![10, 11])]]);
        assert_eq!(wrong_at(&history), Level::ALL);
        assert_eq!(wrong_at(&at_once(vec![vec![Read(1, vec![7])]])), Level::ALL);
        assert_eq!(wrong_at(&at_once(vec![vec![Append(1, 7), Read(1, vec![])]])), Level::ALL);
    }

    #[test]
    fn information_does_not_go_round() {
        let history = at_once(vec![vec![Append(1, 10), Read(2, vec![20])], vec![Append(2, 20), Read(1, vec![10])]]);
        assert_eq!(wrong_at(&history), Level::ALL);
    }

    #[test]
    fn snapshots_are_of_one_moment() {
        // It sees the other one's second list and not its first.
        let history = at_once(vec![
            vec![Append(1, 10), Append(2, 11)],
            vec![Read(1, vec![]), Read(2, vec![11])],
            vec![Read(1, vec![10])],
        ]);
        assert_eq!(wrong_at(&history), [Level::Snapshot, Level::Serializable]);
        // A lost update.
        let history = at_once(vec![
            vec![Read(1, vec![]), Append(1, 10)],
            vec![Read(1, vec![]), Append(1, 20)],
            vec![Read(1, vec![10, 20])],
        ]);
        assert_eq!(wrong_at(&history), [Level::Snapshot, Level::Serializable]);
        // One that began when the other had ended.
        let history = vec![
            transaction((0, 1), vec![Append(1, 10)]),
            transaction((2, 3), vec![Read(1, vec![])]),
            transaction((0, 9), vec![Read(1, vec![10])]),
        ];
        assert_eq!(wrong_at(&history), [Level::Snapshot, Level::Serializable]);
    }

    #[test]
    fn write_skew_and_phantoms_are_for_serializable_only() {
        let seen = vec![Read(1, vec![10]), Read(2, vec![20])];
        let history = at_once(vec![vec![Read(1, vec![]), Append(2, 20)], vec![Read(2, vec![]), Append(1, 10)], seen]);
        assert_eq!(wrong_at(&history), [Level::Serializable]);
        let history = at_once(vec![vec![Find(1, 3, vec![]), Insert(5, 50)], vec![Find(5, 5, vec![]), Insert(2, 20)]]);
        assert_eq!(wrong_at(&history), [Level::Serializable]);
        let history = at_once(vec![vec![Find(1, 3, vec![]), Insert(5, 50)], vec![Find(5, 5, vec![50]), Insert(2, 20)]]);
        assert_eq!(wrong_at(&history), []);
    }
}
