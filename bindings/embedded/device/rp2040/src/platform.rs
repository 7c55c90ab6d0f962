//! The flash of the chip, and the second stage of its boot loader.

use core::convert::Infallible;

use embedded_storage::nor_flash::{ErrorType, NorFlash, ReadNorFlash};
use endseal_device::{SECTOR, STORE_LEN};

/// Bytes of the flash of a Pico.
const LEN: u32 = 2 << 20;
/// Address at which the chip reads its flash.
const MAPPED: usize = 0x1000_0000;
/// Bytes that are programmed at once.
const PAGE: usize = 256;
/// Offset of the store: the last two sectors. The program ends before it (`memory.x`).
pub(crate) const STORE: u32 = LEN - STORE_LEN;

/// Makes the flash readable at its address. The boot ROM copies it to RAM and calls it.
#[unsafe(link_section = ".boot2")]
#[used]
static BOOT2: [u8; 256] = rp2040_boot2::BOOT_LOADER_GENERIC_03H;

/// The flash chip. There is one, and nothing else uses it: no interrupt, no second core, no DMA.
pub(crate) struct Flash;

impl ErrorType for Flash {
    type Error = Infallible;
}

impl ReadNorFlash for Flash {
    const READ_SIZE: usize = 1;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Infallible> {
        if is_in_store(offset, bytes.len()) {
            for (at, byte) in (MAPPED + offset as usize..).zip(bytes) {
                // SAFETY: the address is within the mapped flash. The read is volatile because the
                // chip's content changes.
                *byte = unsafe { core::ptr::with_exposed_provenance::<u8>(at).read_volatile() };
            }
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        LEN as usize
    }
}

impl NorFlash for Flash {
    const WRITE_SIZE: usize = PAGE;
    const ERASE_SIZE: usize = SECTOR as usize;

    fn erase(&mut self, from: u32, to: u32) -> Result<(), Infallible> {
        let len = to.saturating_sub(from);
        if is_in_store(from, len as usize)
            && from.is_multiple_of(SECTOR)
            && len.is_multiple_of(SECTOR)
        {
            // SAFETY: the sectors are those of the store. Nothing else accesses the flash: there is
            // one core, no interrupt is enabled, and DMA is not used.
            unsafe { rp2040_flash::flash::flash_range_erase(from, len, true) };
        }
        Ok(())
    }

    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Infallible> {
        if is_in_store(offset, bytes.len())
            && (offset as usize).is_multiple_of(PAGE)
            && bytes.len().is_multiple_of(PAGE)
        {
            // SAFETY: as for `erase`. The bytes are in RAM: the store writes a page that it made.
            unsafe { rp2040_flash::flash::flash_range_program(offset, bytes, true) };
        }
        Ok(())
    }
}

fn is_in_store(offset: u32, len: usize) -> bool {
    let end = (offset as usize).checked_add(len);
    offset >= STORE && end.is_some_and(|end| end <= LEN as usize)
}
