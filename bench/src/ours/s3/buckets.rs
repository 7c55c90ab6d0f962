//! The buckets of the suite on a real server.

use core::net::SocketAddr;
use core::time::Duration;
use std::thread::sleep;
use std::time::Instant;

use crate::s3::{DROP, Failure, KEEP, client, signer};

/// Time limit until a server is ready.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Creates the buckets of the suite, and retries until the server is ready.
pub(super) fn make_buckets(server: SocketAddr) -> Result<(), Failure> {
    let start = Instant::now();
    for bucket in [KEEP, DROP] {
        let target = format!("/{bucket}");
        loop {
            let head = client::head(&signer(), server, "PUT", &target, &[])?;
            let (status, _, body) = client::Connection::open(server)?.ask(&head, &[])?;
            match status {
                200..300 => break,
                // The server listens before it is ready.
                503 if start.elapsed() < TIMEOUT => sleep(Duration::from_millis(50)),
                _ => {
                    let why = String::from_utf8_lossy(&body).into_owned();
                    return Err(format!("a bucket was not made: {status} {why}").into());
                }
            }
        }
    }
    Ok(())
}
