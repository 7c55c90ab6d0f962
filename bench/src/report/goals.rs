//! The goals of the project, by suite.

use super::verdict::Bound::{AtLeast, AtMost};
use super::verdict::Judge;
use crate::case::OURS;

const HYBRID: &str = "endseal-hybrid";
const PASS_THROUGH: &str = "pass-through";

/// Judges all goals of a suite, in the order in which they are printed.
pub(super) fn judge(suite: &str, goals: &mut Judge<'_>) {
    match suite {
        "envelope" => envelope(goals),
        "codec" => codec(goals),
        "transport" => transport(goals),
        "s3" => s3(goals),
        "nostr" => nostr(goals),
        "sessions" => sessions(goals),
        "node" => node(goals),
        _ => {}
    }
}

fn envelope(goals: &mut Judge<'_>) {
    const TO_100: &str = "seal members=100 bytes=1K";
    let beside = [("seed-noble", 100.0), ("seed-noble-bun", 30.0), ("age-hybrid", 1.0)];
    for (other, least) in beside.into_iter().chain([("hpke-xwing", 1.0)]) {
        let what = format!("Seal 1 KB to 100 people, post-quantum, beside {other}");
        goals.factor(what, least, HYBRID, TO_100, other);
    }
    for (other, least) in [
        ("seed-noble", 300.0),
        ("seed-noble-bun", 100.0),
        ("libsignal", 35.0),
        ("age", 18.0),
        ("hpke", 22.0),
        ("straight", 8.0),
    ] {
        let what = format!("Seal 1 KB to 100 people, X25519, beside {other}");
        goals.factor(what, least, OURS, TO_100, other);
    }
    let what = "Seal 1 KB to 1,000 people, X25519, beside seed-noble-bun";
    goals.factor(what, 100.0, OURS, "seal members=1000 bytes=1K", "seed-noble-bun");
    let what = "Open it as one of 100, X25519, beside libsignal";
    goals.factor(what, 2.5, OURS, "open members=100 bytes=1K", "libsignal");
    let each = |goals: &Judge<'_>, subject: &str| {
        let large = goals.value(subject, "seal.size members=1000 bytes=1K");
        let small = goals.value(subject, "seal.size members=100 bytes=1K");
        Some((large? - small?) / 900.0)
    };
    let what = "Bytes of one more person, X25519, of libsignal's";
    goals.exact(what, AtMost(0.53), "×", |it| {
        let (ours, theirs) = (each(it, OURS), each(it, "libsignal"));
        Some(ours? / theirs?)
    });
    for (members, most) in [
        ("10", 60_000.0),
        ("25", 100_000.0),
        ("50", 150_000.0),
        ("100", 270_000.0),
        ("1000", 2_500_000.0),
        ("10000", 26_000_000.0),
    ] {
        let what = format!("Seal 1 KB to {members} people, X25519, signed");
        let figure = format!("seal members={members} bytes=1K");
        goals.timed(what, AtMost(most), "ns", |it| it.ours(&figure));
    }
    goals.note(6, "Set for a CPU with AVX-512 IFMA that does four vector operations a cycle.");
    let what = "Bytes of one more person, X25519";
    goals.exact(what, AtMost(36.0), "B", |it| each(it, OURS));
    for (what, figure) in [
        ("Open, signed, as one of 100", "open members=100 bytes=1K"),
        ("Open, signed, as one of 1,000", "open members=1000 bytes=1K"),
        ("Open a view, signed, as one of 100,000", "open_view members=100000 bytes=1K"),
    ] {
        goals.timed(what, AtMost(50_000.0), "ns", |it| it.ours(figure));
    }
    let figure = "seal members=3 bytes=16M";
    goals.timed("Content of 16 MB sealed to 3", AtLeast(15.0), "GB/s", |it| {
        Some(f64::from(16 << 20) / it.ours(figure)?)
    });
}

fn codec(goals: &mut Judge<'_>) {
    for (size, lists, base64) in [("8K", 230.0, 30.0), ("256K", 800.0, 90.0)] {
        for (other, least) in [("seed-json-array", lists), ("seed-json-base64", base64)] {
            let what = format!("Encode and decode {size}B of one letter, beside {other}");
            let figure = format!("roundtrip bytes={size} blob_percent=0 layer=3 letter=1");
            goals.factor(what, least, "endseal-direct", &figure, other);
        }
    }
    let note = "The published method encrypts at its layer 3 and endseal-direct leaves that to \
                the connection: unequal work, by which the goal was set.";
    goals.note(4, note);
    for (size, blob, raw) in
        [("8K", 0, 8606.0), ("64K", 0, 65_950.0), ("256K", 0, 262_558.0), ("8K", 75, 8633.0)]
    {
        let what = format!("Bytes of {size}B ({blob} % a blob) encoded, of those of its fields");
        let figure = format!("wire_size.size bytes={size} blob_percent={blob} layer=1");
        goals.exact(what, AtMost(1.01), "×", |it| Some(it.ours(&figure)? / raw));
    }
}

fn transport(goals: &mut Judge<'_>) {
    const CLASSICAL: &str = "endseal-classical";
    const JOBS: [(&str, &str); 4] = [
        ("Echo of 8 KB", "echo bytes=8K"),
        ("1,000 messages of 8 KB", "messages bytes=8K count=1000 collect=0"),
        ("1,000 messages of 8 KB, 64 KB collected", "messages bytes=8K count=1000 collect=64K"),
        ("Bulk, 64 MB", "bulk bytes=64M"),
    ];
    let beside = |what: &str| format!("Post-quantum handshake beside classical: {what}");
    goals.timed(beside("CPU of both ends"), AtMost(3.0), "×", |it| {
        it.ratio((OURS, "handshake.cpu"), (CLASSICAL, "handshake.cpu"))
    });
    goals.timed(beside("time"), AtMost(1.6), "×", |it| it.faster(CLASSICAL, "handshake", OURS));
    let payload = |it: &Judge<'_>, subject: &str| {
        let received = it.value(subject, "handshake.bytes_received");
        Some(it.value(subject, "handshake.bytes_sent")? + received?)
    };
    goals.exact(beside("UDP payload, both ways"), AtMost(4.0), "×", |it| {
        Some(payload(it, OURS)? / payload(it, CLASSICAL)?)
    });
    goals.exact(beside("round trips, to a tenth"), AtMost(1.1), "×", |it| {
        it.ratio((OURS, "handshake.round_trips"), (CLASSICAL, "handshake.round_trips"))
    });
    for (subject, other, how) in [
        (OURS, CLASSICAL, "beside classical keys"),
        (OURS, "quinn", "beside plain quinn"),
        ("endseal-ethernet", "quinn", "in packets as over Ethernet, beside plain quinn"),
    ] {
        for (job, figure) in JOBS {
            goals.factor(format!("{job}, {how}"), 0.95, subject, figure, other);
        }
    }
    let tls = |it: &Judge<'_>, figure: &str| {
        let both = ["tcp-tls", "tcp-tls-pq"].map(|other| it.faster(OURS, figure, other));
        Some(both[0]?.min(both[1]?))
    };
    let what = "Time of an echo of 8 KB, beside TCP and TLS 1.3";
    goals.timed(what, AtMost(1.4), "×", |it| Some(1.0 / tls(it, JOBS[0].1)?));
    for (job, least) in [(JOBS[1], 0.8), (JOBS[3], 0.35)] {
        let what = format!("{}, beside TCP and TLS 1.3", job.0);
        goals.timed(what, AtLeast(least), "×", |it| tls(it, job.1));
    }
    goals.note(3, "Beside the faster one of tcp-tls and tcp-tls-pq.");
    goals.exact("UDP payload of 8 KB, of its own bytes", AtMost(1.034), "×", |it| {
        Some(it.ours("wire_size.size bytes=8K")? / 8192.0)
    });
    let what = "UDP payload of a message of 8 KB with all its fields, as published";
    let figure = "message_size.size bytes=8K";
    goals.exact(what, AtMost(8472.0), "B", |it| it.ours(figure));
    let what = "The same, of three layers of JSON with Base64 (published: 51.4 % saved)";
    goals.exact(what, AtMost(0.486), "×", |it| {
        it.ratio((OURS, figure), ("quinn-json-base64", figure))
    });
}

fn s3(goals: &mut Judge<'_>) {
    for (other, most) in [(PASS_THROUGH, 1.6), ("rclone-crypt", 0.35)] {
        for size in ["100", "500"] {
            for (way, case) in [("Up", "put"), ("Down", "get")] {
                let what = format!("{way}, {size} MB: CPU per GB, beside {other}");
                let figure = format!("{case}.cpu_s_per_gb bytes={size}M backend=0");
                goals.timed(what, AtMost(most), "×", |it| {
                    it.ratio((OURS, &figure), (other, &figure))
                });
            }
        }
    }
    goals.note(4, "rclone copies between a file and the backend.");
    for size in ["100", "500"] {
        let what = format!("Up in chunks, {size} MB: CPU per GB, beside {PASS_THROUGH}");
        let figure = format!("put_chunked.cpu_s_per_gb bytes={size}M");
        let cpu = |it: &Judge<'_>| it.ratio((OURS, &figure), (PASS_THROUGH, &figure));
        goals.timed(what, AtMost(1.6), "×", cpu);
    }
    for (what, least, figure) in [
        ("Down, 100 MB", 0.85, "get bytes=100M backend=0"),
        ("Down, 500 MB", 0.85, "get bytes=500M backend=0"),
        ("Down, 100 MB, from a real server", 0.85, "get bytes=100M backend=1"),
        (
            "15 MB up in parts of 5 MB, 3 at a time, to a real server",
            0.8,
            "multipart bytes=15M part=5M streams=3 down=0 backend=1",
        ),
    ] {
        let what = format!("{what}: speed beside {PASS_THROUGH}");
        goals.factor(what, least, OURS, figure, PASS_THROUGH);
    }
    for (down, way) in [(0, "up"), (1, "down")] {
        let memory = |it: &Judge<'_>, megabytes: u32, streams: u32| {
            let stream = format!("down={down} streams={streams}");
            it.ours(&format!("memory.peak_rss_mb bytes={megabytes}M {stream}"))
        };
        let largest = |it: &Judge<'_>| memory(it, 5000, 1).or_else(|| memory(it, 1024, 1));
        goals.exact(format!("Most memory, 10 MB {way}, 1 stream"), AtMost(24.0), "MB", |it| {
            memory(it, 10, 1)
        });
        let what = format!("Most memory, 5,000 MB {way} (1,024 MB in a quick run), 1 stream");
        goals.exact(what, AtMost(24.0), "MB", largest);
        goals.exact(format!("Most memory, 64 MB {way}, 16 streams"), AtMost(48.0), "MB", |it| {
            memory(it, 64, 16)
        });
        let what = format!("Most memory, the largest {way}, beside 10 MB");
        goals.exact(what, AtMost(1.1), "×", |it| Some(largest(it)? / memory(it, 10, 1)?));
    }
    let what = "One byte of 100 MB: bytes from the backend";
    goals.exact(what, AtMost(16_400.0), "B", |it| it.ours("range.backend_bytes bytes=100M"));
    goals.note(1, "One chunk of the format with its tag.");
    let what = "One byte of 100 MB: requests to the backend";
    goals.exact(what, AtMost(1.0), "1", |it| it.ours("range.backend_requests bytes=100M"));
}

fn nostr(goals: &mut Judge<'_>) {
    for (name, case) in [("Encrypt", "nip44_encrypt"), ("Decrypt", "nip44_decrypt")] {
        for bytes in [16, 64, 256, 1024, 4096, 8192, 65_535] {
            let large = bytes >= 8192;
            let beside = [
                ("rust-nostr-cached", if large { 1.8 } else { 1.6 }),
                ("go-nostr-cached", 2.5),
                ("nostr-tools-cached", 35.0),
            ];
            // The goals beside the slower ones are of three sizes.
            let few = if [16, 1024, 65_535].contains(&bytes) { 3 } else { 1 };
            for (other, least) in &beside[..few] {
                let what = format!("{name} {bytes} B, key kept, beside {other}");
                let figure = format!("{case} bytes={bytes} cached=1");
                goals.factor(what, *least, OURS, &figure, other);
            }
        }
    }
    let what = "Encrypt 1 KB to a peer again, beside rust-nostr's one call";
    goals.timed(what, AtLeast(15.0), "×", |it| {
        let one_call = ("rust-nostr", "nip44_encrypt bytes=1K cached=0");
        it.ratio(one_call, (OURS, "nip44_encrypt bytes=1K cached=1"))
    });
    goals.note(1, "Two cases of one run: a ratio of medians, not of rounds.");
    for (what, figure, other) in [
        ("A conversation key", "conversation_key", "rust-nostr"),
        ("Sign an event", "sign bytes=100", "rust-nostr-cached"),
        ("Verify an event", "verify bytes=100", "rust-nostr"),
    ] {
        let what = format!("{what}: time, of {other}'s");
        goals.timed(what, AtMost(1.1), "×", |it| it.faster(other, figure, OURS));
    }
    for (what, figure) in [
        ("Encrypt 1 KB", "nip44_encrypt.allocations bytes=1K cached=1"),
        ("Decrypt 1 KB", "nip44_decrypt.allocations bytes=1K cached=1"),
        ("10 rounds in 8 + 16 KB", "fragmentation.allocations rounds=10"),
        ("10,000 rounds in 8 + 16 KB", "fragmentation.allocations rounds=10000"),
    ] {
        goals.exact(format!("{what}: allocations"), AtMost(0.0), "1", |it| it.ours(figure));
    }
    chips(goals);
    for in_flight in [1, 32] {
        for (other, most) in [("go-nostr-signer", 0.6), ("ndk-signer", 0.1)] {
            let what = format!("Sign behind a relay, {in_flight} in flight: CPU, of {other}'s");
            let figure = format!("bunker_sign.cpu in_flight={in_flight} count=256");
            goals.timed(what, AtMost(most), "×", |it| it.ratio((OURS, &figure), (other, &figure)));
        }
    }
    goals.note(4, "Ours alone keeps a durable log. A ratio of medians, not of rounds.");
    let what = "Memory of a signer with 100 apps that ask nothing";
    goals.exact(what, AtMost(30e6), "B", |it| it.ours("bunker_idle.idle_memory apps=100"));
    let what = "Answer a request with 1 KB: time with the decision, of that without";
    goals.timed(what, AtMost(1.15), "×", |it| it.faster(OURS, "flow bytes=1K", "endseal-policy"));
}

/// Goals of microcontrollers, judged by the instructions in docs/bench/firmware.tsv.
fn chips(goals: &mut Judge<'_>) {
    // 16 B and 32 B are padded to the same length and take the same instructions.
    for (what, least, figure, of_16) in [
        ("ESP32-S3 at 240 MHz: AES-256-CBC, 16 B", 10_000.0, "aes_rate isa=3 bytes=16", 1.0),
        ("ESP32-S3 at 240 MHz: NIP-44, 16 B", 3_000.0, "derived_rate isa=3 bytes=16", 1.0),
        ("ESP32-S3 at 240 MHz: NIP-44, 32 B", 3_000.0, "derived_rate isa=3 bytes=16", 2.0),
        ("ESP32-S3 at 240 MHz: NIP-44, 1 KB", 50_000.0, "derived_rate isa=3 bytes=1K", 1.0),
        ("ESP32-C3 at 160 MHz: NIP-44, 32 B", 3_000.0, "derived_rate isa=1 bytes=16", 2.0),
        ("nRF52840 at 64 MHz: NIP-44, 32 B", 3_000.0, "derived_rate isa=2 bytes=16", 2.0),
    ] {
        goals.exact(format!("{what}, key derived each time"), AtLeast(least), "B/s", |it| {
            Some(it.ours(&format!("mcu.{figure}"))? * of_16)
        });
    }
    goals.note(6, "By the instructions in docs/bench/firmware.tsv at one cycle each. Nothing ran on the chip.");
    let chips = [
        (1, "RV32IMC", 190_000.0, 62_000.0),
        (2, "Cortex-M4", 130_000.0, 40_000.0),
        (3, "Xtensa LX7 code in QEMU", 220_000.0, 70_000.0),
    ];
    for (isa, chip, large, small) in chips {
        for (what, figure, most, unit) in [
            ("instructions to encrypt 1 KB", "instructions bytes=1K", large, "1"),
            ("instructions to encrypt 16 B", "instructions bytes=16", small, "1"),
            ("stack of encrypting 8 KB", "stack bytes=8K", 8192.0, "B"),
        ] {
            let figure = format!("mcu.{figure} isa={isa}");
            goals.exact(format!("{chip}: {what}"), AtMost(most), unit, |it| it.ours(&figure));
        }
    }
}

fn sessions(goals: &mut Judge<'_>) {
    const OTHER: &str = "core-crypto";
    const BACKLOGS: [(u32, u32); 3] = [(2000, 1), (1000, 5), (5000, 6)];
    let of = |(messages, conversations): (u32, u32), per_commit: u32, metric: &str| {
        format!(
            "decrypt_batch.{metric} messages={messages} conversations={conversations} \
             per_commit={per_commit} engine=1 threads=1 members=2"
        )
    };
    let named = |backlog: (u32, u32), what: &str| {
        format!("{} messages, {} conversations: {what}", backlog.0, backlog.1)
    };
    for backlog in BACKLOGS {
        let figure = of(backlog, backlog.0, "time");
        let what = named(backlog, "beside CoreCrypto's one transaction");
        goals.factor(what, 10.0, OURS, &figure, OTHER);
    }
    let medians = "CoreCrypto's calls follow each other on one thread, or come one by one: a ratio \
                   of medians of the same run, not of rounds.";
    for backlog in &BACKLOGS[..2] {
        let what = named(*backlog, "beside CoreCrypto's one for each message");
        let each = of(*backlog, 1, "time");
        goals.timed(what, AtLeast(80.0), "×", |it| {
            it.ratio((OTHER, &each), (OURS, &of(*backlog, backlog.0, "time")))
        });
    }
    goals.note(2, medians);
    let groups = |conversations: u32, threads: u32| {
        format!(
            "decrypt_batch messages=1000 conversations={conversations} per_commit=1000 engine=2 \
             threads={threads} members=10"
        )
    };
    let what = "1,000 messages, a group of 10, beside CoreCrypto's one transaction";
    goals.factor(what, 2.5, OURS, &groups(1, 1), OTHER);
    let what = "1,000 messages, 5 groups of 10, on 2 threads, beside CoreCrypto's on one";
    goals.timed(what, AtLeast(4.0), "×", |it| {
        it.ratio((OTHER, &groups(5, 1)), (OURS, &groups(5, 2)))
    });
    goals.note(1, medians);
    let beside = |it: &Judge<'_>, backlog: (u32, u32), chunk: u32| {
        it.ratio((OURS, &of(backlog, chunk, "time")), (OURS, &of(backlog, backlog.0, "time")))
    };
    for backlog in &BACKLOGS[..2] {
        let what = named(*backlog, "one transaction beside one for each");
        goals.timed(what, AtLeast(40.0), "×", |it| beside(it, *backlog, 1));
    }
    for backlog in BACKLOGS {
        let what = named(backlog, "chunks of 100 beside one transaction");
        goals.timed(what, AtMost(2.5), "×", |it| beside(it, backlog, 100));
    }
    for backlog in BACKLOGS {
        let what = named(backlog, "beside the bare cryptography and one fsync");
        let figure = of(backlog, backlog.0, "time");
        goals.timed(what, AtMost(1.5), "×", |it| it.faster("bare", &figure, OURS));
    }
    for backlog in BACKLOGS {
        let what = named(backlog, "bytes written, of CoreCrypto's");
        let figure = of(backlog, backlog.0, "bytes_written");
        goals.exact(what, AtMost(8.0), "×", |it| it.ratio((OURS, &figure), (OTHER, &figure)));
    }
    goals.note(3, "Ours keeps the contents, CoreCrypto does not.");
    let whole = "messages=5000 conversations=6 engine=1 threads=1 members=2";
    let what = "Sending while a backlog is on its way, 99 of 100 within";
    goals.timed(what, AtMost(10e6), "ns", |it| {
        it.ours(&format!("send_during.wait_p99 {whole} per_commit=256"))
    });
    let what = "Memory of 5,000 messages in one transaction";
    goals.exact(what, AtMost(f64::from(32 << 20)), "B", |it| {
        it.ours(&format!("memory.rss_growth {whole} per_commit=5000"))
    });
    let what = "Delivered again after an aborted transaction: recovered";
    let figure = of(BACKLOGS[0], BACKLOGS[0].0, "recovered");
    goals.exact(what, AtLeast(100.0), "%", |it| it.ours(&figure));
}

fn node(goals: &mut Judge<'_>) {
    const BATCH: &str = "sync frames=5000 senders=6 per_commit=5000";
    let what = "5,000 frames of 6 senders, beside decrypt-batch of the same backlog";
    goals.timed(what, AtMost(4.0), "×", |it| it.faster("decrypt-batch", BATCH, OURS));
    let what = "5,000 frames of 6 senders, beside one at a time";
    goals.timed(what, AtLeast(40.0), "×", |it| {
        it.ratio((OURS, "sync frames=5000 senders=6 per_commit=1"), (OURS, BATCH))
    });
    for (what, figure, most) in [
        ("frames down, each member", "team_text.down bytes=1K members=100", 1600.0),
        ("up", "team_text.up bytes=1K members=100", 1500.0),
    ] {
        let what = format!("A text to a team of 100: {what}");
        goals.exact(what, AtMost(most), "B", |it| it.ours(&format!("{figure} round_trip_ms=0")));
    }
    for (delay, most) in [(50, 125e6), (200, 350e6)] {
        let what = format!("A text to a team of 100, {delay} ms of round trip: the last inbox");
        let figure = format!("team_text bytes=1K members=100 round_trip_ms={delay}");
        goals.timed(what, AtMost(most), "ns", |it| it.ours(&figure));
    }
    goals.note(2, "All members share the processors of one machine.");
    let put = "bytes=1K frames=8000 senders=16";
    let what = "Durable frames of 1 KB from 16 senders, beside the bare insert loop";
    goals.timed(what, AtLeast(0.4), "×", |it| it.ours(&format!("put.of_insert_loop {put}")));
    let what = "Over PostgreSQL with one process, beside SQLite";
    goals.timed(what, AtLeast(0.3), "×", |it| {
        let put = format!("put {put}");
        it.ratio((OURS, &put), ("postgresql", &put))
    });
    goals.timed("At half of that rate: P99 beside the insert loop's", AtMost(5.0), "×", |it| {
        let [put_p99, insert_p99] =
            ["put_p99", "insert_p99"].map(|metric| format!("put_open.{metric} {put}"));
        it.ratio((OURS, &put_p99), (OURS, &insert_p99))
    });
    let memory = |it: &Judge<'_>, waiting: u32| {
        it.ours(&format!("memory.peak_rss idle=200 waiting={waiting}"))
    };
    let what = "Memory of a hub with 200 idle nodes";
    goals.exact(what, AtMost(f64::from(64 << 20)), "B", |it| memory(it, 10_000));
    let what = "Memory with 100,000 waiting frames, or a million in a full run, beside 10,000";
    goals.exact(what, AtMost(1.1), "×", |it| {
        let many = memory(it, 1_000_000).or_else(|| memory(it, 100_000));
        Some(many? / memory(it, 10_000)?)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::{Extent, SUITES};

    #[test]
    fn every_figure_of_a_goal_is_a_case_of_its_suite() {
        for suite in SUITES.iter() {
            let cases = suite.cases(Extent::Full);
            let mut goals = Judge::new(suite.name, None);
            judge(suite.name, &mut goals);
            assert!(goals.judged.len() >= 8, "{}", suite.name);
            for (_, asked) in goals.judged.iter().flat_map(|goal| &goal.asked) {
                assert!(cases.contains(asked), "{}: there is no {}", suite.name, asked.describe());
            }
        }
    }
}
