//! Writers whose output returns an error.

use std::io::{self, Write};

use endseal_crypto::random::OsRandom;
use endseal_envelope::{Opener, Policy, Recipients, Sealer, Suite};

use crate::{CONTEXT, data, identity};

/// An output that refuses one call when it has `at` bytes or more, and accepts all other calls.
struct FailsOnce {
    bytes: Vec<u8>,
    at: usize,
    in_flush: bool,
    kind: io::ErrorKind,
    has_failed: bool,
}

impl FailsOnce {
    fn new(at: usize, in_flush: bool, kind: io::ErrorKind) -> Self {
        Self { bytes: Vec::new(), at, in_flush, kind, has_failed: false }
    }

    fn call(&mut self, is_flush: bool) -> io::Result<()> {
        if self.has_failed || is_flush != self.in_flush || self.bytes.len() < self.at {
            return Ok(());
        }
        self.has_failed = true;
        Err(self.kind.into())
    }
}

impl Write for FailsOnce {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.call(false)?;
        self.bytes.extend_from_slice(data);
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.call(true)
    }
}

#[test]
fn an_error_of_the_output_is_the_end_of_the_envelope() {
    const BLOCK: usize = 4 << 20;
    let (sender, reader) = (identity(1), identity(2));
    let list = Recipients::from_identities([reader.public()]).unwrap();
    let sealer = Sealer::new(&sender, &list, CONTEXT).suite(Suite::X25519);
    let content = data("content", BLOCK + 50_000);
    // The second chunk, the chunk with the first signature, and the chunk after it.
    for at in [136 + 16_400, 136 + 256 * 16_400, 136 + 257 * 16_400] {
        for in_flush in [false, true] {
            for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::StorageFull] {
                let mut output = FailsOnce::new(at, in_flush, kind);
                let mut writer = sealer.writer(&mut output, &mut OsRandom).unwrap();
                let failed = content
                    .chunks(10_000)
                    .find_map(|piece| writer.write_all(piece).and_then(|()| writer.flush()).err());
                assert_eq!(failed.unwrap().kind(), kind, "{at}");
                // The output would accept it now, but the writer must stay failed.
                assert_eq!(writer.write(b"more").unwrap_err().kind(), io::ErrorKind::Other);
                assert!(writer.write_all(b"more").is_err());
                assert!(writer.flush().is_err());
                assert!(writer.finish().is_err(), "no end is written to an envelope with a gap");
                let opened = Opener::new(&reader, CONTEXT).open(&output.bytes, &mut Policy::new());
                assert!(opened.is_err());
            }
        }
    }
}
