//! Messages in the clear, because the user asked for them.

use core::fmt::Write as _;
use std::io::{self, Write};

use endseal_crypto::secret::Zeroizing;

use crate::error::StoreError;
use crate::store::transaction::ReadTransaction;

impl ReadTransaction<'_> {
    /// Writes the messages of the inbox to `out`, one JSON object a line; how many. Names,
    /// identities and contents are hexadecimal:
    ///
    /// ```json
    /// {"seq":1,"conversation":"61","identity":"0101…","device":1,"kind":0,"message":"6d",
    ///  "plaintext":"…"}
    /// ```
    ///
    /// The output is not encrypted: the caller MUST have been asked for it.
    ///
    /// # Errors
    /// [`StoreError::Io`] also if `out` fails.
    pub fn export(&self, out: &mut impl Write) -> Result<u64, StoreError> {
        let (mut after, mut count) = (0, 0);
        loop {
            let messages = self.inbox(after, PIECE)?;
            let Some(last) = messages.last() else { return Ok(count) };
            after = last.seq;
            for message in &messages {
                let sender = self.address(message.sender)?.ok_or(StoreError::Reference)?;
                let mut line =
                    Zeroizing::new(String::with_capacity(2 * message.plaintext.len() + 512));
                // Writing to a string does not fail.
                let _ = write!(line, "{{\"seq\":{},\"conversation\":\"", message.seq);
                push_hex(&mut line, &self.conversation_name(message.conversation)?);
                line.push_str("\",\"identity\":\"");
                push_hex(&mut line, &sender.identity);
                let (device, kind) = (sender.device, message.kind);
                let _ = write!(line, "\",\"device\":{device},\"kind\":{kind},\"message\":\"");
                push_hex(&mut line, &message.message);
                line.push_str("\",\"plaintext\":\"");
                push_hex(&mut line, &message.plaintext);
                line.push_str("\"}\n");
                write(out, line.as_bytes())?;
                count += 1;
            }
        }
    }
}

fn write(out: &mut impl Write, line: &[u8]) -> Result<(), StoreError> {
    // Not `From`: that the output is full says nothing of the store's medium.
    out.write_all(line).map_err(|error: io::Error| StoreError::Io(error))
}

fn push_hex(line: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(line, "{byte:02x}");
    }
}

/// Messages that are in memory at once.
const PIECE: usize = 256;
