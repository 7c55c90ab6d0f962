//! Vectors of audit logs, complete and manipulated.

use std::path::Path;

use endseal_testing::{Vector, hex};

use crate::line::{body, hash};

/// Record name and value of a line.
type Record = (Vec<u8>, Vec<u8>);

/// Log whose lines form a valid chain, with its head.
struct Log {
    lines: Vec<Record>,
    head: Option<Vec<u8>>,
    /// Value of the record of the last archived line.
    start: Option<Vec<u8>>,
}

impl Log {
    fn of(count: u64) -> Self {
        let (mut lines, mut before) = (Vec::new(), [0; 32]);
        for number in 1..=count {
            let body = body(number, [2, 3, 1][usize::try_from(number % 3).unwrap()], "phone");
            before = hash(&before, &body);
            lines.push((number.to_be_bytes().to_vec(), [&before[..], &body].concat()));
        }
        let head = (count > 0).then(|| [&count.to_le_bytes()[..], &before].concat());
        Self { lines, head, start: None }
    }

    /// Recomputes the hashes of all lines behind `from`, and the head.
    fn hash_again(&mut self, from: usize) {
        let mut before = [0; 32];
        for (at, (_, value)) in self.lines.iter_mut().enumerate() {
            if at >= from {
                let hash = hash(&before, &value[32..]);
                value[..32].copy_from_slice(&hash);
            }
            before.copy_from_slice(&value[..32]);
        }
        let count = u64::try_from(self.lines.len()).unwrap();
        self.head = Some([&count.to_le_bytes()[..], &before].concat());
    }

    /// Removes the first lines, as they are archived.
    fn archive(&mut self, count: u64) {
        self.start = Some([&count.to_le_bytes()[..], &self.hash_of(count)].concat());
        self.lines.drain(..usize::try_from(count).unwrap());
    }

    fn hash_of(&self, number: u64) -> [u8; 32] {
        match usize::try_from(number).unwrap() {
            0 => [0; 32],
            number => self.lines[number - 1].1[..32].try_into().unwrap(),
        }
    }
}

pub(crate) fn write(dir: &Path) {
    accepted(dir);
    archived(dir);
    changed(dir);
    ended(dir);
}

fn accepted(dir: &Path) {
    for (what, comment, count, noted) in [
        ("empty", "a log without lines", 0, None),
        ("one", "a log of one line", 1, None),
        ("five", "a log of five lines", 5, None),
        ("noted", "line 3 was noted", 5, Some(3)),
        ("noted-last", "the last line was noted", 5, Some(5)),
        ("noted-start", "the log was noted when it had no lines", 5, Some(0)),
    ] {
        let log = Log::of(count);
        let noted = noted.map(|number| (number, log.hash_of(number)));
        let vector = vector(what, comment, "ok", &log, noted);
        vector
            .with_json("number", &count.to_string())
            .with_hex("hash", &log.hash_of(count))
            .write(dir);
    }
}

/// Vectors of logs whose first lines were archived.
fn archived(dir: &Path) {
    let whole = Log::of(5);
    let noted = |number| Some((number, whole.hash_of(number)));
    for (what, comment, count, noted) in [
        ("archived", "lines 1 to 3 were archived", 3, None),
        ("archived-noted", "the last archived line was noted", 3, noted(3)),
        ("archived-noted-after", "a line behind the archived ones was noted", 3, noted(4)),
        ("archived-all", "all lines were archived", 5, None),
    ] {
        let mut log = Log::of(5);
        log.archive(count);
        vector(what, comment, "ok", &log, noted)
            .with_json("number", "5")
            .with_hex("hash", &whole.hash_of(5))
            .write(dir);
    }
    let refuse = |what, comment, expect, at: u64, noted, change: &dyn Fn(&mut Log)| {
        let mut log = Log::of(5);
        log.archive(3);
        change(&mut log);
        vector(what, comment, expect, &log, noted).with_json("at", &at.to_string()).write(dir);
    };
    let early = noted(2);
    refuse("archived-noted-before", "an archived line was noted", "noted", 2, early, &|_| {});
    refuse("archived-left", "line 3 is archived, and there still", "missing", 4, None, &|log| {
        log.lines.insert(0, Log::of(5).lines[2].clone());
    });
    refuse("archived-more", "line 4 is absent, too", "missing", 4, None, &|log| {
        drop(log.lines.remove(0));
    });
    refuse("archived-other", "another hash of line 3", "hash", 4, None, &|log| {
        log.start.as_mut().unwrap()[8] ^= 1;
    });
    refuse(
        "archived-cut",
        "the record of the last archived line is cut",
        "start",
        0,
        None,
        &|log| {
            log.start.as_mut().unwrap().pop();
        },
    );
    refuse("archived-zero", "line 0 was archived", "start", 0, None, &|log| {
        log.start = Some(vec![0; 40]);
    });
}

/// Vectors in which a line before the last is manipulated.
fn changed(dir: &Path) {
    let refuse = |what, comment, expect, at: u64, change: &dyn Fn(&mut Log)| {
        let mut log = Log::of(5);
        change(&mut log);
        vector(what, comment, expect, &log, None).with_json("at", &at.to_string()).write(dir);
    };
    refuse("first-removed", "line 1 is absent", "missing", 1, &|log| drop(log.lines.remove(0)));
    refuse("removed", "line 3 is absent", "missing", 3, &|log| drop(log.lines.remove(2)));
    refuse("renumbered", "line 3 is absent, and line 4 has its name", "value", 3, &|log| {
        log.lines.remove(2);
        log.lines[2].0 = 3_u64.to_be_bytes().to_vec();
    });
    refuse("body-changed", "the time of line 2 is another", "hash", 2, &|log| {
        log.lines[1].1[32 + 9] ^= 1;
    });
    refuse("rehashed", "line 2 is another and has a hash that fits", "hash", 3, &|log| {
        log.lines[1].1[32 + 9] ^= 1;
        let hash = hash(&log.hash_of(1), &log.lines[1].1[32..]);
        log.lines[1].1[..32].copy_from_slice(&hash);
    });
    refuse("hash-changed", "the hash of line 2 is another", "hash", 2, &|log| {
        log.lines[1].1[0] ^= 1;
    });
    refuse("reordered", "lines 2 and 3 are interchanged", "value", 2, &|log| {
        let second = log.lines[1].1.clone();
        log.lines[1].1 = core::mem::replace(&mut log.lines[2].1, second);
    });
    refuse("inserted", "line 2 comes twice, and others have later names", "value", 3, &|log| {
        log.lines.insert(2, log.lines[1].clone());
        for (number, line) in (1_u64..).zip(&mut log.lines) {
            line.0 = number.to_be_bytes().to_vec();
        }
    });
    refuse("malformed", "line 2 has matter 0", "value", 2, &|log| log.lines[1].1[32 + 17] = 0);
    refuse("line-cut", "line 2 is cut", "length", 2, &|log| {
        log.lines[1].1.pop();
    });
    refuse("line-version", "line 2 has version 2", "version", 2, &|log| log.lines[1].1[32] = 2);
    refuse("name-cut", "the name of line 5 has seven bytes", "missing", 5, &|log| {
        log.lines[4].0.remove(0);
    });
}

/// Vectors in which the end of the log or the noted line is wrong.
fn ended(dir: &Path) {
    let refuse = |what, comment, expect, at: u64, noted, change: &dyn Fn(&mut Log)| {
        let mut log = Log::of(5);
        change(&mut log);
        vector(what, comment, expect, &log, noted).with_json("at", &at.to_string()).write(dir);
    };
    refuse("cut", "line 5 is absent", "missing", 5, None, &|log| drop(log.lines.pop()));
    refuse("all-removed", "all lines are absent", "missing", 1, None, &|log| log.lines.clear());
    refuse("no-head", "the head is absent", "head", 1, None, &|log| log.head = None);
    refuse("behind-head", "line 5 is behind the head", "head", 5, None, &|log| {
        log.head = Log::of(4).head;
    });
    refuse("another-head", "the head has another hash", "head", 6, None, &|log| {
        log.head.as_mut().unwrap()[8] ^= 1;
    });
    refuse("malformed-head", "the head is cut", "head", 5, None, &|log| {
        log.head.as_mut().unwrap().pop();
    });
    let last = Some((5, Log::of(5).hash_of(5)));
    refuse("put-back", "line 5 and the head were removed together", "noted", 5, last, &|log| {
        *log = Log::of(4);
    });
    let comment = "another log from line 2 on, whose hashes fit";
    refuse("rewritten", comment, "noted", 5, last, &|log| {
        log.lines[1].1[32 + 9] ^= 1;
        log.hash_again(1);
    });
    let other = Some((3, Log::of(5).hash_of(4)));
    refuse("noted-other", "another hash of line 3 was noted", "noted", 3, other, &|_| {});
}

fn vector(
    what: &str,
    comment: &str,
    expect: &str,
    log: &Log,
    noted: Option<(u64, [u8; 32])>,
) -> Vector {
    let line = |(name, value): &Record| format!("    [\"{}\", \"{}\"]", hex(name), hex(value));
    let lines: Vec<String> = log.lines.iter().map(line).collect();
    let lines =
        if lines.is_empty() { "[]".into() } else { format!("[\n{}\n  ]", lines.join(",\n")) };
    let head = log.head.as_ref().map_or("null".into(), |head| format!("\"{}\"", hex(head)));
    let start = log.start.as_ref().map_or("null".into(), |start| format!("\"{}\"", hex(start)));
    let noted =
        noted.map_or("null".into(), |(number, hash)| format!("[{number}, \"{}\"]", hex(&hash)));
    let vector = Vector::new(&format!("chain-{what}"), comment, expect).with("kind", "chain");
    let vector = vector.with_json("lines", &lines).with_json("head", &head);
    vector.with_json("start", &start).with_json("noted", &noted)
}
