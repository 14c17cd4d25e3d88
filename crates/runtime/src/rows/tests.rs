//! Rows own their strings, and partitions come and go by themselves.

use base::{Budget, Random};
use pipeline::ir::{RowLayout, Ty};
use types::Str;

use super::*;
use crate::testing::{get, put};

struct Layout {
    layout: RowLayout,
    number: u32,
    text: u32,
    null: u32,
}

fn layout() -> Layout {
    let mut layout = RowLayout::with_header(8);
    let (text, number) = (layout.add(Ty::Str), layout.add(Ty::I64));
    let null = layout.add_null_flag(text);
    Layout { layout, number, text, null }
}

/// The text of a row; none for NULL.
fn text_of(number: u64) -> Option<String> {
    match number % 5 {
        0 => None,
        1 => Some(number.to_string()),
        4 if number % 1000 == 4 => Some(format!("{number} ").repeat(5000)),
        _ => Some(format!("a text of more than twelve bytes, number {number}")),
    }
}

fn fill(list: &mut ChunkList, pool: &mut Pool, l: &Layout, numbers: impl Iterator<Item = u64>) {
    for number in numbers {
        let row = list.allocate(pool).unwrap();
        put(row, l.number, number);
        // The payload is gone when the rows are read: they must have copied it.
        let text = text_of(number);
        match &text {
            Some(text) => put(row, l.text, Str::new(text.as_bytes())),
            None => {
                // What lies beside a NULL flag may lead anywhere.
                put(row, l.text, Str::from_words([100, 8]));
                put(row, l.null, 1u8);
            }
        }
        list.own_strings(pool).unwrap();
    }
}

fn read_all(list: &ChunkList, pool: &Pool, l: &Layout) -> Vec<(u64, Option<String>)> {
    let mut all = Vec::new();
    for segment in list.segments(pool) {
        for at in 0..segment.rows() {
            // SAFETY: the row exists, and owns its strings.
            unsafe {
                let row = segment.row(at);
                let text = (get::<u8>(row, l.null) == 0).then(|| get::<Str>(row, l.text));
                all.push((get(row, l.number), text.map(|text| text.as_str().to_owned())));
            }
        }
    }
    all
}

fn expected(numbers: impl Iterator<Item = u64>) -> Vec<(u64, Option<String>)> {
    numbers.map(|n| (n, text_of(n))).collect()
}

fn pool(l: &Layout, budget: &Budget) -> Pool {
    Pool::new(l.layout.stride() as usize, StringFields::of(&l.layout), budget, "test")
}

#[test]
fn a_partition_is_written_to_a_file_and_read_back() {
    let (l, budget) = (layout(), Budget::new(usize::MAX));
    let mut pool = pool(&l, &budget);
    let mut partitions: Vec<ChunkList> = (0..3).map(|_| ChunkList::default()).collect();
    for (i, partition) in partitions.iter_mut().enumerate() {
        fill(partition, &mut pool, &l, (0..3000).map(|n| n * 3 + i as u64));
    }
    let path = std::env::temp_dir().join(format!("morseldb-partition-{}", std::process::id()));
    let gone = partitions.swap_remove(1);
    file::write(&gone, &pool, &mut std::fs::File::create(&path).unwrap()).unwrap();
    pool.give_back(gone);
    // Others use its memory meanwhile.
    let used = budget.used();
    let mut other = ChunkList::default();
    fill(&mut other, &mut pool, &l, (0..500).map(|n| n * 5 + 2));
    assert!(budget.used() <= used);
    // SAFETY: the file holds what was written.
    let back = unsafe { file::read(&mut pool, &mut std::fs::File::open(&path).unwrap()) }.unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read_all(&back, &pool, &l), expected((0..3000).map(|n| n * 3 + 1)));
    assert_eq!(read_all(&partitions[0], &pool, &l), expected((0..3000).map(|n| n * 3)));
    assert_eq!(read_all(&partitions[1], &pool, &l), expected((0..3000).map(|n| n * 3 + 2)));
    assert_eq!(read_all(&other, &pool, &l), expected((0..500).map(|n| n * 5 + 2)));
}

#[test]
fn partitions_that_come_and_go_take_the_memory_of_one() {
    let (l, budget) = (layout(), Budget::new(usize::MAX));
    let mut pool = pool(&l, &budget);
    let mut first = ChunkList::default();
    fill(&mut first, &mut pool, &l, 0..2000);
    pool.give_back(first);
    let used = budget.used();
    for round in 0..10 {
        let mut list = ChunkList::default();
        fill(&mut list, &mut pool, &l, (0..2000).map(|n| n + round * 10_000));
        assert_eq!(list.rows(), 2000);
        pool.give_back(list);
    }
    assert!(budget.used() <= used + (256 << 10), "{} bytes, {used} after the first", budget.used());
}

#[test]
fn a_text_that_changes_often_takes_the_room_of_the_longest() {
    let mut area = Area::new(Budget::new(usize::MAX), "test");
    let mut random = Random(3);
    let mut kept = Str::EMPTY;
    for _ in 0..100_000 {
        // Short ones lie in the header.
        let text = "x".repeat(13 + random.index(100));
        // SAFETY: what is kept lies in the area.
        kept = unsafe { keep_text(&mut area, kept, Str::new(text.as_bytes())) }.unwrap();
        // SAFETY: as before.
        assert_eq!(unsafe { kept.as_str() }, text);
    }
    assert!(area.capacity() < 1 << 20);
}
