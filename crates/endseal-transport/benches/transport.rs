//! Compares the transport with plain quinn and with TCP and TLS 1.3 on this machine: `cargo bench
//! -p endseal-transport`. Options: `-- tune` measures settings of quinn; `-- windows` measures our
//! limits; `-- acks IP`, with another address of this machine, measures the cost of QUIC's own rule
//! for acknowledgements, which applies to every address but loopback.
//!
//! Subjects run alternately in rounds. The output has medians, and ratios of rounds to the first
//! subject. Everything runs in one process, so the two sides share the machine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark")]
#![allow(clippy::std_instead_of_alloc, clippy::std_instead_of_core, reason = "as in the crate")]
#![allow(missing_docs, reason = "a benchmark")]

#[path = "transport/ours.rs"]
mod ours;
#[path = "transport/plain.rs"]
mod plain;
#[path = "transport/stock.rs"]
mod stock;
#[path = "transport/tcp.rs"]
mod tcp;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use endseal_crypto::identity::Identity;
use endseal_crypto::{ed25519, mlkem768};
use endseal_transport::{Limits, Policy, TransportKey};
use ours::Ours;
use plain::Plain;
use quinn::congestion::{BbrConfig, NewRenoConfig};
use quinn::{AckFrequencyConfig, TransportConfig, VarInt};
use tcp::Tcp;
use tokio::runtime::{Builder, Runtime};

const ROUNDS: usize = 9;
/// 64 MiB in frames of 64 KiB.
const BULK: (u32, u32) = (1024, 65_536);
/// 8 KB messages, one after the other.
const MESSAGES: (u32, u32) = (4000, 8192);
const ECHO: (u32, u32) = (400, 8192);
const HANDSHAKES: u32 = 30;

pub(crate) fn identity(n: u8) -> Identity {
    Identity::from_seeds(ed25519::Seed::from_bytes(&[n; 32]), mlkem768::Seed::from_bytes(&[!n; 64]))
}

pub(crate) fn key(n: u8, policy: Policy) -> TransportKey {
    if policy.is_post_quantum() {
        TransportKey::new(&identity(n))
    } else {
        TransportKey::classical(&identity(n))
    }
}

fn main() {
    let asked = |word| std::env::args().any(|argument| argument == word);
    if asked("tune") {
        tune();
    } else if asked("windows") {
        windows();
    } else if asked("acks") {
        let ip = std::env::args().find_map(|argument| argument.parse().ok());
        acknowledgements(ip.expect("an address of this machine"));
    } else {
        transfer();
        handshake();
    }
}

/// A subject: its name, and the work that it does in one round.
type Subject<'a> = (&'a str, Box<dyn FnMut((u32, u32)) + 'a>);

fn transfer() {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let limits = Limits::default();
    let connect = |policy| runtime.block_on(Ours::connect(policy, &limits));
    let (hybrid, classical) = (connect(Policy::Hybrid), connect(Policy::Classical));
    let quinn = runtime.block_on(Plain::connect(Policy::Hybrid, |_| {}));
    let tcp = std::cell::RefCell::new(Tcp::connect(Policy::Hybrid));
    let names = ["endseal hybrid", "endseal classical", "plain quinn", "TCP + TLS 1.3"];
    let push: Vec<Subject<'_>> = vec![
        (names[0], Box::new(|(n, len)| runtime.block_on(hybrid.push(n, len)))),
        (names[1], Box::new(|(n, len)| runtime.block_on(classical.push(n, len)))),
        (names[2], Box::new(|(n, len)| runtime.block_on(quinn.push(n, len)))),
        (names[3], Box::new(|(n, len)| tcp.borrow_mut().push(n, len))),
    ];
    let mut push = push;
    compare(
        "bulk, 64 MiB",
        &mut push,
        BULK,
        |s| f64::from(BULK.0) * f64::from(BULK.1) / s / 1e6,
        "MB/s",
    );
    compare("8 KB messages", &mut push, MESSAGES, |s| f64::from(MESSAGES.0) / s, "a second");
    let mut echo: Vec<Subject<'_>> = vec![
        (names[0], Box::new(|(n, len)| runtime.block_on(hybrid.echo(n, len)))),
        (names[1], Box::new(|(n, len)| runtime.block_on(classical.echo(n, len)))),
        (names[2], Box::new(|(n, len)| runtime.block_on(quinn.echo(n, len)))),
        (names[3], Box::new(|(n, len)| tcp.borrow_mut().echo(n, len))),
    ];
    compare("8 KB echo", &mut echo, ECHO, |s| s * 1e6 / f64::from(ECHO.0), "us");
    println!(
        "packets lost: endseal {:.2} %, plain quinn {:.2} %",
        100.0 * hybrid.lost(),
        100.0 * quinn.lost()
    );
}

/// Sends the same bytes through the loopback device, once between its own addresses and once
/// between other addresses of this machine.
fn acknowledgements(ip: IpAddr) {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let subjects = [
        ("8 or 1 ms, 6,550 B", ours::LOOPBACK, 6550),
        ("QUIC's rule, 6,550 B", ip, 6550),
        ("8 or 1 ms, 1,452 B", ours::LOOPBACK, 1452),
        ("QUIC's rule, 1,452 B", ip, 1452),
    ];
    let connections = subjects.map(|(name, ip, mtu)| {
        let mut limits = Limits::default();
        limits.mtu = mtu;
        (name, runtime.block_on(Ours::connect_at(ip, Policy::Hybrid, &limits)))
    });
    let runtime = &runtime;
    for pair in connections.chunks(2) {
        let mut push: Vec<Subject<'_>> = Vec::new();
        let mut echo: Vec<Subject<'_>> = Vec::new();
        for (name, one) in pair {
            push.push((name, Box::new(|(n, len)| runtime.block_on(one.push(n, len)))));
            echo.push((name, Box::new(|(n, len)| runtime.block_on(one.echo(n, len)))));
        }
        let rate = |s| f64::from(BULK.0) * f64::from(BULK.1) / s / 1e6;
        compare("bulk, 64 MiB", &mut push, BULK, rate, "MB/s");
        let rate = |s| f64::from(MESSAGES.0) / s;
        compare("8 KB messages", &mut push, MESSAGES, rate, "a second");
        compare("8 KB echo", &mut echo, ECHO, |s| s * 1e6 / f64::from(ECHO.0), "us");
    }
}

/// Runs the subjects alternately and prints their results.
fn compare(
    title: &str,
    subjects: &mut [Subject<'_>],
    size: (u32, u32),
    figure: impl Fn(f64) -> f64,
    unit: &str,
) {
    let mut seconds = vec![Vec::new(); subjects.len()];
    for round in 0..=ROUNDS {
        for turn in 0..subjects.len() {
            let i = (turn + round) % subjects.len();
            let start = Instant::now();
            (subjects[i].1)(size);
            // The first round warms up.
            if round > 0 {
                seconds[i].push(start.elapsed().as_secs_f64());
            }
        }
    }
    println!("{title}");
    for (i, (name, _)) in subjects.iter().enumerate() {
        let speed: Vec<f64> = seconds[0].iter().zip(&seconds[i]).map(|(a, b)| a / b).collect();
        let value = figure(median(&seconds[i]));
        println!("  {name:<24} {value:>10.1} {unit:<10} speed x{:.2}", median(&speed));
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

/// CPU time with both sides on one thread; time to connect with as many threads as there are CPUs.
fn handshake() {
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    let multi = Builder::new_multi_thread().enable_all().build().unwrap();
    let policies = [Policy::Classical, Policy::Hybrid, Policy::MlKem768Only];
    let mut walls = vec![Vec::new(); policies.len()];
    let mut cpus = vec![Vec::new(); policies.len()];
    let mut sizes = vec![(0, 0); policies.len()];
    for _ in 0..ROUNDS {
        for (i, policy) in policies.into_iter().enumerate() {
            let before = cpu_time();
            // A single thread notices the completion at once; with several, one may go on probing
            // the path meanwhile.
            let (_, bytes) = single.block_on(handshakes(policy));
            cpus[i].push((cpu_time() - before).as_secs_f64() * 1e6 / f64::from(HANDSHAKES));
            let (wall, _) = multi.block_on(handshakes(policy));
            walls[i].push(wall);
            sizes[i] = bytes;
        }
    }
    let (base_wall, base_cpu) = (median(&walls[0]), median(&cpus[0]));
    println!("handshake, mutual, both sides");
    for (i, name) in ["classical", "hybrid", "mlkem768-only"].into_iter().enumerate() {
        let (wall, cpu, (sent, received)) = (median(&walls[i]), median(&cpus[i]), sizes[i]);
        println!(
            "  {name:<24} connect {wall:>6.0} us (x{:.2})  CPU {cpu:>6.0} us (x{:.2})  \
             client sent {sent} B, received {received} B",
            wall / base_wall,
            cpu / base_cpu
        );
    }
}

/// Returns the median time of one handshake, in microseconds, and the bytes that the client sent
/// and received.
async fn handshakes(policy: Policy) -> (f64, (u64, u64)) {
    let [client, server] = ours::endpoints(ours::LOOPBACK, policy, &Limits::default());
    let address = server.local_address().unwrap();
    let (mut times, mut sizes) = (Vec::new(), (0, 0));
    for _ in 0..HANDSHAKES {
        let connecting = client.connect(server.peer_id(), address);
        let (connected, accepted) = tokio::join!(connecting, server.accept());
        let (connected, _accepted) = (connected.unwrap(), accepted.unwrap());
        let facts = connected.handshake();
        times.push(facts.duration.as_secs_f64() * 1e6);
        sizes = (facts.bytes_sent, facts.bytes_received);
    }
    (median(&times), sizes)
}

/// Returns the CPU time of this thread so far (Linux).
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

/// Measures settings of quinn, one at a time, against its defaults in the same run.
fn tune() {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    type Tune = fn(&mut TransportConfig);
    const BUFFERS: [usize; 2] = [4 << 20, 4 << 20];
    let windows: Tune = |c| {
        c.stream_receive_window(VarInt::from_u32(4 << 20))
            .receive_window(VarInt::from_u32(8 << 20))
            .send_window(8 << 20);
    };
    let settings: [(&str, Tune, [usize; 2]); 11] = [
        ("quinn's defaults", |_| {}, [0, 0]),
        ("socket buffers 4 MiB", |_| {}, BUFFERS),
        ("windows 4/8/8 MiB", windows, [0, 0]),
        ("buffers and windows", windows, BUFFERS),
        (
            "windows 256 KiB",
            |c| {
                c.stream_receive_window(VarInt::from_u32(256 << 10));
            },
            BUFFERS,
        ),
        (
            "no GSO",
            |c| {
                c.enable_segmentation_offload(false);
            },
            BUFFERS,
        ),
        (
            "NewReno",
            |c| {
                c.congestion_controller_factory(Arc::new(NewRenoConfig::default()));
            },
            BUFFERS,
        ),
        (
            "BBR",
            |c| {
                c.congestion_controller_factory(Arc::new(BbrConfig::default()));
            },
            BUFFERS,
        ),
        (
            "acks every 10",
            |c| {
                let mut acks = AckFrequencyConfig::default();
                acks.ack_eliciting_threshold(VarInt::from_u32(10));
                c.ack_frequency_config(Some(acks));
            },
            BUFFERS,
        ),
        (
            "MTU 1200",
            |c| {
                c.mtu_discovery_config(None);
            },
            BUFFERS,
        ),
        (
            "MTU 8952",
            |c| {
                let mut discovery = quinn::MtuDiscoveryConfig::default();
                discovery.upper_bound(8952);
                c.mtu_discovery_config(Some(discovery));
            },
            BUFFERS,
        ),
    ];
    let connections: Vec<(&str, Plain)> = settings
        .iter()
        .map(|(name, tune, buffers)| {
            (*name, runtime.block_on(Plain::connect_on(Policy::Hybrid, tune, *buffers)))
        })
        .collect();
    let subjects =
        || -> Vec<Subject<'_>> { connections.iter().map(|one| pushing(&runtime, one)).collect() };
    let rate = |s| f64::from(BULK.0) * f64::from(BULK.1) / s / 1e6;
    compare("bulk, 64 MiB", &mut subjects(), BULK, rate, "MB/s");
    compare("8 KB messages", &mut subjects(), MESSAGES, |s| f64::from(MESSAGES.0) / s, "a second");
    for (name, connection) in &connections {
        println!("  {name:<24} {:.2} % lost", 100.0 * connection.lost());
    }
}

/// Measures windows and buffers of ours against plain quinn in the same run.
fn windows() {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let kib = |stream: u32, connection: u32, send: u32, buffer: usize| {
        let mut limits = Limits::default();
        limits.stream_window = stream << 10;
        limits.connection_window = connection << 10;
        limits.send_window = send << 10;
        limits.socket_buffer = buffer << 10;
        limits
    };
    let settings = [
        ("4, 8, 8, buffers 4 MiB", kib(4096, 8192, 8192, 4096)),
        ("2, 4, 4, buffers 4 MiB", kib(2048, 4096, 4096, 4096)),
        ("1.25, 4, 2, buffers 4", kib(1280, 4096, 2048, 4096)),
        ("1, 2, 1, buffers 4 MiB", kib(1024, 2048, 1024, 4096)),
        ("0.5, 1, 0.5, buffers 4", kib(512, 1024, 512, 4096)),
        ("4, 8, 1, buffers 4 MiB", kib(4096, 8192, 1024, 4096)),
        ("4, 8, 8, buffers 1 MiB", kib(4096, 8192, 8192, 1024)),
        ("2, 4, 4, buffers 208 KiB", kib(2048, 4096, 4096, 208)),
    ];
    let plain = runtime.block_on(Plain::connect(Policy::Hybrid, |_| {}));
    let ours = settings
        .map(|(name, limits)| (name, runtime.block_on(Ours::connect(Policy::Hybrid, &limits))));
    let (runtime, plain) = (&runtime, &plain);
    let subjects = || {
        let base: Subject<'_> =
            ("plain quinn", Box::new(|(n, len)| runtime.block_on(plain.push(n, len))));
        let mut subjects = vec![base];
        for (name, connection) in &ours {
            subjects.push((name, Box::new(|(n, len)| runtime.block_on(connection.push(n, len)))));
        }
        subjects
    };
    let rate = |s| f64::from(BULK.0) * f64::from(BULK.1) / s / 1e6;
    compare("bulk, 64 MiB", &mut subjects(), BULK, rate, "MB/s");
    compare("8 KB messages", &mut subjects(), MESSAGES, |s| f64::from(MESSAGES.0) / s, "a second");
    for (name, connection) in &ours {
        println!("  {name:<24} {:.2} % lost", 100.0 * connection.lost());
    }
}

fn pushing<'a>(runtime: &'a Runtime, (name, connection): &'a (&'static str, Plain)) -> Subject<'a> {
    (name, Box::new(|(n, len)| runtime.block_on(connection.push(n, len))))
}
