//! Opening.

use endseal_facade as facade;
use endseal_facade::{AgeLimit, DetachedOpenStream, Error, OpenOptions, OpenStream};
use endseal_wasm_abi::Answer;

use crate::module::{Module, publics, words};
use crate::record;

/// Arguments of all calls that open.
#[derive(Clone, Copy)]
pub(crate) struct Opening {
    pub(crate) identity: u32,
    pub(crate) context_len: usize,
    /// Length of the numbers of accepted senders in bytes, or `None` for all senders.
    pub(crate) senders_len: Option<usize>,
    /// In milliseconds, negative for none.
    pub(crate) max_age: f64,
    /// In milliseconds since 1970.
    pub(crate) now: f64,
    pub(crate) requires_post_quantum: bool,
}

impl Opening {
    fn options(self, module: &mut Module) -> Result<OpenOptions, Error> {
        let senders = match self.senders_len {
            Some(len) => {
                let numbers = module.buffers.input.get(self.context_len..self.context_len + len);
                Some(publics(&mut module.publics, numbers.unwrap_or_default())?)
            }
            None => None,
        };
        let limit = || AgeLimit { now: self.now as u64, max: self.max_age as u64 };
        Ok(OpenOptions {
            identity: module.identities.get(self.identity)?.clone(),
            context: module.buffers.split(self.context_len)?.0.to_vec(),
            senders,
            age: (self.max_age >= 0.0).then(limit),
            requires_post_quantum: self.requires_post_quantum,
        })
    }

    /// Length of what is before the envelope in the input.
    fn len(self) -> usize {
        self.context_len + self.senders_len.unwrap_or(0)
    }
}

impl Module {
    /// The input is context, senders and the envelope; the output is facts and the content.
    pub(crate) fn open(&mut self, opening: Opening) -> Answer {
        let options = opening.options(self)?;
        let opened = facade::open(self.buffers.split(opening.len())?.1, &options)?;
        record::append(&opened.info, &mut self.buffers.output);
        self.buffers.output.extend_from_slice(&opened.content);
        Ok(0)
    }

    /// The input is context, senders, the lengths of the envelopes, and the envelopes. The output
    /// is for each one its length, 1, facts and content, or its length, 0 and an error.
    pub(crate) fn open_many(&mut self, opening: Opening, count: usize) -> Answer {
        let options = opening.options(self)?;
        let (lens, mut rest) = self
            .buffers
            .split(opening.len())?
            .1
            .split_at_checked(4 * count)
            .ok_or_else(|| Error::argument("the input is too short"))?;
        let mut envelopes = Vec::with_capacity(count);
        for len in words(lens) {
            let (envelope, behind) = rest.split_at(rest.len().min(len as usize));
            envelopes.push(envelope);
            rest = behind;
        }
        let results = facade::open_many(&envelopes, &options);
        let mut output = Vec::with_capacity(self.buffers.input.len());
        for result in results {
            let start = output.len();
            output.extend([0; 5]);
            match result {
                Ok(opened) => {
                    output[start + 4] = 1;
                    record::append(&opened.info, &mut output);
                    output.extend_from_slice(&opened.content);
                }
                Err(error) => output.extend(format!("{}: {error}", error.code()).into_bytes()),
            }
            let len = u32::try_from(output.len() - start - 5).unwrap_or(u32::MAX);
            output[start..start + 4].copy_from_slice(&len.to_le_bytes());
        }
        self.buffers.output = output;
        Ok(0)
    }

    /// The input is context and senders.
    pub(crate) fn open_stream(&mut self, opening: Opening) -> Answer {
        let options = opening.options(self)?;
        self.open_streams.insert(OpenStream::new(&options)?)
    }

    /// The input is bytes of the envelope, the output content.
    pub(crate) fn feed(&mut self, stream: u32) -> Answer {
        self.buffers.output = self.open_streams.get(stream)?.feed(&self.buffers.input)?;
        Ok(0)
    }

    /// The output is the rest of the content.
    pub(crate) fn finish_opening(&mut self, stream: u32) -> Answer {
        self.buffers.output = self.open_streams.get(stream)?.finish()?;
        Ok(0)
    }

    /// Returns 1 if the facts are known, which are then the output.
    pub(crate) fn facts(&mut self, stream: u32) -> Answer {
        let Some(info) = self.open_streams.get(stream)?.info() else { return Ok(0) };
        record::append(info, &mut self.buffers.output);
        Ok(1)
    }

    /// The input is context and senders. JavaScript decrypts the chunks.
    pub(crate) fn open_detached(&mut self, opening: Opening) -> Answer {
        let options = opening.options(self)?;
        self.detached_streams.insert(DetachedOpenStream::new(&options)?)
    }

    /// The input is bytes of header and slots. Returns how many it took; the output is the key of
    /// the chunks and the first nonce, when there are no more slots.
    pub(crate) fn feed_detached(&mut self, stream: u32) -> Answer {
        let (taken, begin) = self.detached_streams.get(stream)?.feed(&self.buffers.input)?;
        self.buffers.output = begin.unwrap_or_default();
        Ok(i32::try_from(taken).unwrap_or(i32::MAX))
    }

    /// The input is plaintexts of chunks, the output content.
    pub(crate) fn take_detached(&mut self, stream: u32) -> Answer {
        self.buffers.output = self.detached_streams.get(stream)?.take(&self.buffers.input)?;
        Ok(0)
    }

    /// The input is the plaintext of the last chunk, the output the rest of the content.
    pub(crate) fn finish_detached(&mut self, stream: u32) -> Answer {
        self.buffers.output = self.detached_streams.get(stream)?.finish(&self.buffers.input)?;
        Ok(0)
    }

    /// Returns 1 if the facts are known, which are then the output.
    pub(crate) fn detached_facts(&mut self, stream: u32) -> Answer {
        let Some(info) = self.detached_streams.get(stream)?.info() else { return Ok(0) };
        record::append(info, &mut self.buffers.output);
        Ok(1)
    }

    /// The input is an envelope; the output is the length of its content as an `f64` (NaN if it
    /// was cut short) and the name of its suite. Returns the number of slots.
    pub(crate) fn inspect(&mut self) -> Answer {
        let facade::Inspected { suite, slots, content_len } = facade::inspect(&self.buffers.input)?;
        let content_len = content_len.map_or(f64::NAN, |it| it as f64);
        self.buffers.output = [&content_len.to_le_bytes()[..], suite.as_bytes()].concat();
        Ok(i32::try_from(slots).unwrap_or(i32::MAX))
    }
}
