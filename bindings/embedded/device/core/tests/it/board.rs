//! A board and a flash in memory. The flash loses power at a chosen step.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use embedded_storage::nor_flash::{
    ErrorType, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};
use endseal_device::{Board, Buffers, Device, NoRandomness, SECTOR, STORE_LEN};

/// A person at the button, who does the same with each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Person {
    Allows,
    Refuses,
    IsAway,
}

pub(crate) struct Bench {
    pub(crate) input: VecDeque<u8>,
    pub(crate) output: Vec<u8>,
    pub(crate) person: Person,
    pub(crate) has_randomness: bool,
    /// Bytes that the host sends while a request waits.
    pub(crate) interruption: VecDeque<u8>,
    pub(crate) asked: u32,
    now: u32,
    pressed_from: Option<u32>,
    is_lit: bool,
    random: u64,
}

#[derive(Clone)]
pub(crate) struct TestBoard(pub(crate) Rc<RefCell<Bench>>);

impl TestBoard {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(Bench {
            input: VecDeque::new(),
            output: Vec::new(),
            person: Person::Allows,
            has_randomness: true,
            interruption: VecDeque::new(),
            asked: 0,
            // Soon the clock wraps.
            now: u32::MAX - 100_000,
            pressed_from: None,
            is_lit: false,
            random: 1,
        })))
    }
}

impl Board for TestBoard {
    fn read(&mut self) -> Option<u8> {
        let mut bench = self.0.borrow_mut();
        if bench.pressed_from.is_some() {
            return bench.interruption.pop_front();
        }
        bench.input.pop_front()
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.borrow_mut().output.extend(bytes);
    }

    fn now(&mut self) -> u32 {
        let mut bench = self.0.borrow_mut();
        bench.now = bench.now.wrapping_add(5);
        bench.now
    }

    fn is_pressed(&mut self) -> bool {
        let bench = self.0.borrow();
        let Some(from) = bench.pressed_from else { return false };
        let since = bench.now.wrapping_sub(from);
        match bench.person {
            Person::Allows => (2_000..2_300).contains(&since),
            Person::Refuses => since >= 2_000,
            Person::IsAway => false,
        }
    }

    fn light(&mut self, is_on: bool) {
        let mut bench = self.0.borrow_mut();
        if is_on && bench.pressed_from.is_none() {
            // The first flash: the person sees that a request waits.
            bench.asked += 1;
            bench.pressed_from = Some(bench.now);
        }
        bench.is_lit = is_on;
    }

    fn random(&mut self, out: &mut [u8; 32]) -> Result<(), NoRandomness> {
        let mut bench = self.0.borrow_mut();
        if !bench.has_randomness {
            return Err(NoRandomness);
        }
        for byte in out {
            bench.random = bench.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = bench.random.to_be_bytes()[0];
        }
        Ok(())
    }
}

/// Flash whose contents outlive the device. Each byte that changes is a step; when the steps are
/// used up, the power is off.
#[derive(Clone)]
pub(crate) struct TestFlash(pub(crate) Rc<RefCell<Chip>>);

pub(crate) struct Chip {
    pub(crate) bytes: Vec<u8>,
    pub(crate) steps: Option<u32>,
    pub(crate) used: u32,
    /// True if writes are lost, as those of a worn-out chip.
    pub(crate) is_worn: bool,
}

impl TestFlash {
    pub(crate) fn new() -> Self {
        let bytes = vec![0xff; STORE_LEN as usize];
        Self(Rc::new(RefCell::new(Chip { bytes, steps: None, used: 0, is_worn: false })))
    }
}

#[derive(Debug)]
pub(crate) struct PowerIsOff;

impl NorFlashError for PowerIsOff {
    fn kind(&self) -> NorFlashErrorKind {
        NorFlashErrorKind::Other
    }
}

impl Chip {
    fn step(&mut self) -> Result<(), PowerIsOff> {
        if let Some(steps) = &mut self.steps {
            *steps = steps.checked_sub(1).ok_or(PowerIsOff)?;
        }
        self.used += 1;
        Ok(())
    }
}

impl ErrorType for TestFlash {
    type Error = PowerIsOff;
}

impl ReadNorFlash for TestFlash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), PowerIsOff> {
        let offset = offset as usize;
        bytes.copy_from_slice(&self.0.borrow().bytes[offset..offset + bytes.len()]);
        Ok(())
    }

    fn capacity(&self) -> usize {
        STORE_LEN as usize
    }
}

impl NorFlash for TestFlash {
    const WRITE_SIZE: usize = 256;
    const ERASE_SIZE: usize = SECTOR as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), PowerIsOff> {
        assert!(from.is_multiple_of(SECTOR) && to == from + SECTOR);
        let mut chip = self.0.borrow_mut();
        // The bytes are erased in an order of the chip's own.
        for at in (from..to).rev() {
            if chip.bytes[at as usize] != 0xff {
                chip.step()?;
                chip.bytes[at as usize] = 0xff;
            }
        }
        chip.step()
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), PowerIsOff> {
        assert!(offset.is_multiple_of(256) && bytes.len().is_multiple_of(256));
        let mut chip = self.0.borrow_mut();
        for (at, byte) in (offset as usize..).zip(bytes) {
            chip.step()?;
            if !chip.is_worn {
                // Programming clears bits, and sets none.
                chip.bytes[at] &= byte;
            }
        }
        Ok(())
    }
}

/// A device that is switched on.
pub(crate) struct Rig {
    pub(crate) board: TestBoard,
    device: Device<'static, TestBoard, TestFlash>,
}

impl Rig {
    pub(crate) fn start(flash: &TestFlash) -> Self {
        let board = TestBoard::new();
        let buffers = Box::leak(Box::<Buffers>::default());
        let device = Device::new(board.clone(), flash.clone(), 0, buffers);
        Self { board, device }
    }

    /// Sends bytes and returns what the device answered.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> String {
        self.board.0.borrow_mut().input.extend(bytes);
        while !self.board.0.borrow().input.is_empty() {
            self.board.0.borrow_mut().pressed_from = None;
            self.device.poll();
        }
        // The byte that withdrew a request is taken without the board.
        self.board.0.borrow_mut().pressed_from = None;
        self.device.poll();
        String::from_utf8(std::mem::take(&mut self.board.0.borrow_mut().output)).unwrap()
    }

    /// Sends a request and returns its result, or its error.
    pub(crate) fn call(&mut self, method: &str, params: &[&str]) -> Result<String, String> {
        let request = serde_json::json!({ "id": "7", "method": method, "params": params });
        let answer = self.send(format!("{request}\n").as_bytes());
        assert_eq!(answer.matches('\n').count(), 1, "{answer}");
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], "7");
        match (answer["result"].as_str(), answer["error"].as_str()) {
            (Some(result), None) => Ok(result.to_owned()),
            (None, Some(error)) => Err(error.to_owned()),
            _ => panic!("{answer}"),
        }
    }
}
