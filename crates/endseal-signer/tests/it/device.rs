//! A host and a device at the two ends of a pseudoterminal.

use core::time::Duration;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::thread;

use endseal_signer::device::{DeviceClient, DeviceError, Port, PortError};
use endseal_testing::Scratch;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The end of the device, and the path at which the host finds the other one.
fn terminal() -> (File, PathBuf) {
    let ours: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    (File::from(ours), path.into())
}

/// Reads the next request that has an id, and returns the id and the line.
fn request(device: &mut File) -> (String, String) {
    loop {
        let mut line = Vec::new();
        let mut byte = [0];
        while byte != *b"\n" {
            device.read_exact(&mut byte).unwrap();
            line.extend(byte);
        }
        let line = String::from_utf8(line).unwrap();
        if let Some(rest) = line.strip_prefix("{\"id\":\"") {
            return (rest.split('"').next().unwrap().to_owned(), line);
        }
    }
}

/// Answers one request with a member of an answer.
fn answer(device: &mut File, member: &str) -> String {
    let (id, line) = request(device);
    device.write_all(format!("{{\"id\":\"{id}\",{member}}}\n").as_bytes()).unwrap();
    line
}

/// Runs a device beside a host that is connected with it. The device stays plugged in until the
/// host has ended, if `device` returns true.
fn with<T>(
    device: impl FnOnce(&mut File) -> bool + Send,
    host: impl FnOnce(DeviceClient) -> T,
) -> T {
    let (mut ours, path) = terminal();
    thread::scope(|scope| {
        scope.spawn(move || {
            answer(&mut ours, "\"result\":\"pong\"");
            if device(&mut ours) {
                while ours.read(&mut [0; 64]).is_ok() {}
            }
        });
        host(DeviceClient::connect(&path).unwrap())
    })
}

#[test]
fn results_and_errors_come_through_noise() {
    let long = "x".repeat(70_000);
    let device = |device: &mut File| {
        let (id, line) = request(device);
        assert!(
            line.ends_with("\"method\":\"nip44_encrypt\",\"params\":[\"a\\n\\\"\"]}\n"),
            "{line}"
        );
        let other = "{\"id\":\"1\",\"result\":\"of another host\"}";
        let own = format!("{{\"id\":\"{id}\",\"result\":\"\u{fc}\"}}");
        device.write_all(format!("noise\n{other}\n{long}\n{own}\n").as_bytes()).unwrap();
        answer(device, "\"error\":\"not allowed\"");
        answer(device, "\"error\":\"the device has no key\"");
        answer(device, "\"result\":\"no key\"");
        true
    };
    with(device, |mut host| {
        assert_eq!(host.call("nip44_encrypt", &["a\n\""]).unwrap().as_str(), "\u{fc}");
        let refused = host.call("sign_event", &["{}"]);
        assert!(matches!(refused, Err(DeviceError::Answer(text)) if text == "not allowed"));
        assert!(matches!(host.public_key(), Ok(None)));
        assert!(matches!(host.public_key(), Err(DeviceError::Malformed)));
    });
}

#[test]
fn a_device_that_is_unplugged_within_a_request_is_lost_at_once() {
    let device = |device: &mut File| {
        request(device);
        false
    };
    with(device, |mut host| {
        let started = std::time::Instant::now();
        let lost = host.call("sign_event", &["{}"]).unwrap_err();
        assert!(matches!(lost, DeviceError::Port(PortError::Disconnected)), "{lost}");
        assert!(lost.is_lost() && started.elapsed() < Duration::from_secs(5));
    });
}

#[test]
fn a_request_is_withdrawn_by_a_line_feed() {
    let device = |device: &mut File| {
        let (id, _) = request(device);
        let mut byte = [0];
        device.read_exact(&mut byte).unwrap();
        assert_eq!(byte, *b"\n");
        let line = format!("{{\"id\":\"{id}\",\"error\":\"withdrawn\"}}\n");
        device.write_all(line.as_bytes()).unwrap();
        true
    };
    with(device, |mut host| {
        let withdrawn = host.call_until("sign_event", &["{}"], &mut || true);
        assert!(matches!(withdrawn, Err(DeviceError::Answer(text)) if text == "withdrawn"));
    });
}

#[test]
fn a_request_that_is_too_long_is_not_sent() {
    with(
        |_| true,
        |mut host| {
            let error = host.call("nip44_encrypt", &["x".repeat(33_000).as_str()]).unwrap_err();
            assert!(matches!(error, DeviceError::TooLong) && !error.is_lost());
        },
    );
}

#[test]
fn a_port_in_use_a_file_and_nothing_are_errors() {
    let (_ours, path) = terminal();
    let first = Port::open(&path).unwrap();
    assert!(matches!(Port::open(&path), Err(PortError::Busy)));
    drop(first);
    drop(Port::open(&path).unwrap());
    let scratch = Scratch::new();
    let file = scratch.path("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(Port::open(&file), Err(PortError::NoTerminal)));
    assert!(matches!(Port::open(&scratch.path("none")), Err(PortError::Open(_))));
}

#[test]
fn a_port_without_a_device_is_silent() {
    let (_ours, path) = terminal();
    assert!(matches!(DeviceClient::connect(&path), Err(DeviceError::Silent)));
}
