//! The pins, the serial port, the clock and the oscillator of the chip.

use embedded_hal::digital::{InputPin as _, OutputPin as _};
use endseal_device::{Board, Conditioner, NoRandomness};
use rp2040_hal::clocks::{Clock as _, init_clocks_and_plls};
use rp2040_hal::fugit::RateExtU32 as _;
use rp2040_hal::gpio::bank0::{Gpio0, Gpio1, Gpio2, Gpio25};
use rp2040_hal::gpio::{
    FunctionSioInput, FunctionSioOutput, FunctionUart, Pin, Pins, PullDown, PullNone, PullUp,
};
use rp2040_hal::pac::{Peripherals, UART0};
use rp2040_hal::rosc::{Enabled as Oscillating, RingOscillator};
use rp2040_hal::uart::{DataBits, Enabled, StopBits, UartConfig, UartPeripheral};
use rp2040_hal::{Sio, Timer, Watchdog};

/// Frequency of the crystal in hertz.
const CRYSTAL: u32 = 12_000_000;
const BAUD: u32 = 115_200;

type Port = UartPeripheral<
    Enabled,
    UART0,
    (Pin<Gpio0, FunctionUart, PullNone>, Pin<Gpio1, FunctionUart, PullUp>),
>;

/// A Raspberry Pi Pico with a button.
pub(crate) struct Pico {
    port: Port,
    button: Pin<Gpio2, FunctionSioInput, PullUp>,
    light: Pin<Gpio25, FunctionSioOutput, PullDown>,
    timer: Timer,
    oscillator: RingOscillator<Oscillating>,
    conditioner: Conditioner,
}

impl Pico {
    /// Starts the clocks and the port. Returns `None` if one does not start, or if called twice.
    pub(crate) fn new() -> Option<Self> {
        let mut chip = Peripherals::take()?;
        let mut watchdog = Watchdog::new(chip.WATCHDOG);
        let clocks = init_clocks_and_plls(
            CRYSTAL,
            chip.XOSC,
            chip.CLOCKS,
            chip.PLL_SYS,
            chip.PLL_USB,
            &mut chip.RESETS,
            &mut watchdog,
        );
        let clocks = clocks.ok()?;
        let sio = Sio::new(chip.SIO);
        let pins = Pins::new(chip.IO_BANK0, chip.PADS_BANK0, sio.gpio_bank0, &mut chip.RESETS);
        let lines = (pins.gpio0.reconfigure(), pins.gpio1.reconfigure());
        let settings = UartConfig::new(BAUD.Hz(), DataBits::Eight, None, StopBits::One);
        let port = UartPeripheral::new(chip.UART0, lines, &mut chip.RESETS);
        let port = port.enable(settings, clocks.peripheral_clock.freq()).ok()?;
        Some(Self {
            port,
            button: pins.gpio2.reconfigure(),
            light: pins.gpio25.reconfigure(),
            timer: Timer::new(chip.TIMER, &mut chip.RESETS, &clocks),
            oscillator: RingOscillator::new(chip.ROSC).initialize(),
            conditioner: Conditioner::new(),
        })
    }
}

impl Board for Pico {
    fn read(&mut self) -> Option<u8> {
        let mut byte = [0];
        // A byte that came damaged makes its line malformed, and is dropped.
        let read = self.port.read_raw(&mut byte).ok()?;
        byte.first().copied().filter(|_| read > 0)
    }

    fn write(&mut self, bytes: &[u8]) {
        self.port.write_full_blocking(bytes);
    }

    fn now(&mut self) -> u32 {
        let milliseconds = self.timer.get_counter().ticks() / 1_000;
        // The count wraps, as the trait says.
        u32::try_from(milliseconds & u64::from(u32::MAX)).unwrap_or_default()
    }

    fn is_pressed(&mut self) -> bool {
        self.button.is_low().unwrap_or(false)
    }

    fn light(&mut self, is_on: bool) {
        // Neither call fails on this chip.
        let _ = if is_on { self.light.set_high() } else { self.light.set_low() };
    }

    fn random(&mut self, out: &mut [u8; 32]) -> Result<(), NoRandomness> {
        let Self { oscillator, conditioner, .. } = self;
        conditioner.fill(out, || oscillator.get_random_bit())
    }
}
