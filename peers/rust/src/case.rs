//! A prepared case of the suite `envelope`, with its keys and inputs.

use std::error::Error;
use std::hint::black_box;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

use crate::protocol::{Answer, Integer, Params, Refusal};
use crate::subject::{Group, Subject};

/// Largest total size of contents and envelopes of a case, in bytes.
const MEMORY_LIMIT: usize = 4 << 30;
/// Upper bound of the bytes that any subject takes for each member.
const SLOT_LIMIT: usize = 256;

pub(crate) struct Case {
    group: Box<dyn Group>,
    /// Position of the member that reads in the cases that open: the middle of the list.
    reader: usize,
    members: usize,
    opens: bool,
    /// Number of messages in an input of a `_many` case.
    count: Option<usize>,
    /// Number of sets of messages; set n starts at message n.
    inputs: usize,
    contents: Vec<Vec<u8>>,
    envelopes: Vec<Vec<u8>>,
    /// Number of the next input.
    next: usize,
}

impl Case {
    pub(crate) fn prepare(
        subject: &Subject,
        case: &str,
        params: &Params,
        inputs: Integer,
    ) -> Result<Self, Refusal> {
        let (opens, many) = match case {
            "seal" => (false, false),
            "open" => (true, false),
            "seal_many" => (false, true),
            "open_many" => (true, true),
            _ => return Err(Refusal::unsupported(format!("no case {case}"))),
        };
        let (members, bytes, count) = if many {
            let [members, bytes, count] = params.take(["members", "bytes", "count"])?;
            (members, bytes, Some(count))
        } else {
            let [members, bytes] = params.take(["members", "bytes"])?;
            (members, bytes, None)
        };
        if !(1..=subject.max_members).contains(&members) {
            let most = subject.max_members;
            return Err(Refusal::unsupported(format!("members: from 1 to {most}, not {members}")));
        }
        let inputs = usize::try_from(inputs.value()).unwrap_or(usize::MAX);
        if count == Some(0) || inputs == 0 {
            return Err(Refusal::unsupported("count and inputs: at least 1"));
        }
        let messages = inputs.saturating_add(count.unwrap_or(1) - 1);
        let each = bytes.saturating_mul(2).saturating_add(members * SLOT_LIMIT);
        if messages.saturating_mul(each) > MEMORY_LIMIT {
            return Err(Refusal::unsupported("the inputs do not fit into 4 GiB"));
        }

        let group = (subject.group)(members).map_err(failed)?;
        let contents =
            (0..messages).map(|_| random(bytes)).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let to_open = if opens { contents.as_slice() } else { &[] };
        let envelopes = to_open.iter().map(|content| group.seal(content));
        let envelopes = envelopes.collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let reader = members / 2;
        Ok(Self { group, reader, members, opens, count, inputs, contents, envelopes, next: 0 })
    }

    pub(crate) fn check(&self) -> Result<Answer, Refusal> {
        let content = self.contents.first().ok_or_else(|| Refusal::failed("no input"))?;
        let envelope = self.group.seal(content).map_err(failed)?;
        let mut round_trip = true;
        for member in [0, self.reader, self.members - 1] {
            round_trip &= self.group.open(member, &envelope).map_err(failed)? == *content;
        }
        // Every subject's envelope ends in the content and a tag of 16 bytes: one bit in each of
        // them is changed.
        let mut refused = true;
        for back in [1, 16 + content.len() / 2 + 1] {
            let mut tampered = envelope.clone();
            let at = tampered.len().checked_sub(back);
            let byte = at.and_then(|at| tampered.get_mut(at));
            *byte.ok_or_else(|| Refusal::failed("the envelope is too short"))? ^= 1;
            refused &= self.group.open(self.reader, &tampered).is_err();
        }
        let tamper_refused = Some(refused);
        Ok(Answer::Checked { round_trip, tamper_refused, sealed_bytes: envelope.len() as u64 })
    }

    pub(crate) fn run(&mut self, iterations: u64) -> Result<Answer, Refusal> {
        if iterations == 0 {
            return Err(Refusal::protocol("iterations: at least 1"));
        }
        let cpu = process_cpu_ns();
        let wall = Instant::now();
        for _ in 0..iterations {
            let set = self.next;
            self.next = (set + 1) % self.inputs;
            match self.count {
                None => self.once(set),
                Some(count) => self.at_once(set, count),
            }
            .map_err(Refusal::failed)?;
        }
        let wall_ns = wall.elapsed().as_nanos();
        let cpu_ns = process_cpu_ns() - cpu;

        let wall_ns = u64::try_from(wall_ns).map_err(|_| Refusal::failed("the clock"))?;
        Ok(Answer::Ran { iterations, wall_ns, cpu_ns })
    }

    /// Seals or opens one message, and frees the result as an application would.
    fn once(&self, message: usize) -> Result<(), String> {
        let inputs = if self.opens { &self.envelopes } else { &self.contents };
        let input = black_box(inputs.get(message).ok_or("no such input")?.as_slice());
        let result =
            if self.opens { self.group.open(self.reader, input) } else { self.group.seal(input) };
        // Keeps the optimiser from removing the work.
        drop(black_box(result.map_err(|error| error.to_string())?));
        Ok(())
    }

    /// Seals or opens a set of messages on all cores: each thread takes the next remaining message.
    fn at_once(&self, set: usize, count: usize) -> Result<(), String> {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let left = AtomicUsize::new(0);
        let work = || loop {
            let message = left.fetch_add(1, Ordering::Relaxed);
            if message >= count {
                return Ok(());
            }
            self.once(set + message)?;
        };
        thread::scope(|scope| {
            let others: Vec<_> = (1..cores.min(count)).map(|_| scope.spawn(work)).collect();
            let own = work();
            let joined = others.into_iter().map(|other| other.join());
            joined.fold(own, |all, one| all.and(one.unwrap_or_else(|_| Err("a panic".into()))))
        })
    }
}

fn random(bytes: usize) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut content = vec![0; bytes];
    aws_lc_rs::rand::fill(&mut content)?;
    Ok(content)
}

/// Returns the CPU time of all threads, which all belong to the case.
pub(crate) fn process_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

pub(crate) fn failed(error: impl ToString) -> Refusal {
    Refusal::failed(error.to_string())
}
