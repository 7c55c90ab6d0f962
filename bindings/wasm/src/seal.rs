//! Sealing.

use endseal_facade as facade;
use endseal_facade::{Error, SealOptions, SealStream, SuiteChoice};
use endseal_wasm_abi::{Answer, WebRandom};

use crate::module::Module;

/// Arguments of all calls that seal.
#[derive(Clone, Copy)]
pub(crate) struct Sealing {
    pub(crate) sender: u32,
    pub(crate) recipients: u32,
    pub(crate) context_len: usize,
    /// In milliseconds since 1970, 0 for none.
    pub(crate) time: f64,
    pub(crate) hybrid: bool,
    pub(crate) hides_count: bool,
}

impl Sealing {
    fn options(self, module: &mut Module) -> Result<SealOptions, Error> {
        let time = self.time as u64;
        Ok(SealOptions {
            sender: module.identities.get(self.sender)?.clone(),
            recipients: module.recipients.get(self.recipients)?.clone(),
            context: module.buffers.split(self.context_len)?.0.to_vec(),
            time: (time > 0).then_some(time),
            suite: if self.hybrid { SuiteChoice::Hybrid } else { SuiteChoice::X25519 },
            hides_count: self.hides_count,
        })
    }
}

impl Module {
    /// The input is the context and the content, the output the envelope.
    pub(crate) fn seal(&mut self, sealing: Sealing) -> Answer {
        let options = sealing.options(self)?;
        let (_, content) = self.buffers.split(sealing.context_len)?;
        self.buffers.output = facade::seal(content, &options, &mut WebRandom)?;
        Ok(0)
    }

    /// The input is the context.
    pub(crate) fn seal_stream(&mut self, sealing: Sealing) -> Answer {
        let options = sealing.options(self)?;
        self.seal_streams.insert(SealStream::new(&options, &mut WebRandom)?)
    }

    /// The input is the context; the output is the key of the records (32 bytes), header and slots.
    /// The outputs of the stream are then records, which JavaScript encrypts.
    pub(crate) fn seal_detached(&mut self, sealing: Sealing) -> Answer {
        let options = sealing.options(self)?;
        let (stream, begin) = SealStream::new_detached(&options, &mut WebRandom)?;
        self.buffers.output = begin;
        self.seal_streams.insert(stream)
    }

    /// The input is content, the output bytes of the envelope.
    pub(crate) fn push(&mut self, stream: u32) -> Answer {
        self.buffers.output = self.seal_streams.get(stream)?.push(&self.buffers.input)?;
        Ok(0)
    }

    /// The output is the end of the envelope.
    pub(crate) fn finish_sealing(&mut self, stream: u32) -> Answer {
        self.buffers.output = self.seal_streams.get(stream)?.finish()?;
        Ok(0)
    }
}
