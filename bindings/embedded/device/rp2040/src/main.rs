//! The signer device on an RP2040: serial port at GP0 and GP1, button between GP2 and ground, light
//! at GP25, as on a Raspberry Pi Pico.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod board;
#[allow(unsafe_code)]
mod platform;

use endseal_device::{Buffers, Device};

use crate::platform::Flash;

#[rp2040_hal::entry]
fn main() -> ! {
    // A start whose clock or port fails starts again.
    let (Some(board), Some(buffers)) =
        (board::Pico::new(), cortex_m::singleton!(: Buffers = Buffers::new()))
    else {
        cortex_m::peripheral::SCB::sys_reset()
    };
    let mut device = Device::new(board, Flash, platform::STORE, buffers);
    loop {
        device.poll();
    }
}

/// No input causes a panic; one is a defect. The start wipes nothing, but answers again.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cortex_m::peripheral::SCB::sys_reset()
}
