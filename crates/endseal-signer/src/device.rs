//! Hosts of signer devices (`docs/spec/signer-device.md`): a serial port, requests and answers.

mod client;
mod port;

pub use client::{DeviceClient, DeviceError, TIMEOUT};
pub use port::{Port, PortError};
