// The parts of an RP2040 board that rp2040js does not have: a flash chip behind the SSI, the chip
// select that the boot ROM forces, and a ring oscillator with random bits.
import { randomBytes } from 'node:crypto';
import { BasePeripheral, RP2040, LogLevel, ConsoleLogger } from 'rp2040js';

export const STORE = 2 * 1024 * 1024 - 8192;
export const STORE_LEN = 8192;
const SECTOR = 4096;

/** Commands of SPI flash chips, as in the data sheet of a W25Q16JV. */
const Command = {
  pageProgram: 0x02,
  read: 0x03,
  writeDisable: 0x04,
  readStatus: 0x05,
  writeEnable: 0x06,
  sectorErase: 0x20,
  readId: 0x9f,
};

/** A flash chip. Each byte that is erased or programmed is a step, after which power may fail. */
export class FlashChip {
  constructor(bytes, onStep, onChange) {
    this.bytes = bytes;
    this.onStep = onStep;
    this.onChange = onChange;
    this.isSelected = false;
    this.isWritable = false;
    this.sent = [];
  }

  select(isSelected) {
    if (this.isSelected && !isSelected) {
      this.finish();
    }
    this.isSelected = isSelected;
    this.sent = [];
  }

  /** Takes a byte and returns the byte that the chip sends meanwhile. */
  transfer(byte) {
    if (!this.isSelected) {
      return 0xff;
    }
    this.sent.push(byte);
    const [command] = this.sent;
    const count = this.sent.length;
    switch (command) {
      case Command.read:
        return count > 4 ? this.bytes[(this.address + count - 5) % this.bytes.length] : 0;
      case Command.readStatus:
        return count > 1 ? Number(this.isWritable) << 1 : 0;
      case Command.readId:
        return [0, 0xef, 0x40, 0x15][Math.min(count - 1, 3)];
      default:
        return 0;
    }
  }

  get address() {
    return (this.sent[1] << 16) | (this.sent[2] << 8) | this.sent[3];
  }

  /** Executes the command when the chip is deselected. */
  finish() {
    const [command] = this.sent;
    const isChange = command === Command.pageProgram || command === Command.sectorErase;
    if (command === Command.writeEnable || command === Command.writeDisable) {
      this.isWritable = command === Command.writeEnable;
    } else if (isChange && this.isWritable && this.sent.length >= 4) {
      this.isWritable = false;
      if (command === Command.pageProgram) {
        this.program(this.address, this.sent.slice(4));
      } else {
        this.erase(this.address - (this.address % SECTOR));
      }
      this.onChange();
    }
  }

  program(address, bytes) {
    const page = address - (address % 256);
    for (const [at, byte] of bytes.entries()) {
      this.onStep();
      // Programming clears bits, and an address wraps within its page.
      this.bytes[page + ((address + at) % 256)] &= byte;
    }
  }

  erase(sector) {
    for (let at = sector + SECTOR - 1; at >= sector; at -= 1) {
      if (this.bytes[at] !== 0xff) {
        this.onStep();
        this.bytes[at] = 0xff;
      }
    }
  }
}

/** The synchronous serial interface to which the flash chip is connected. */
class FlashInterface extends BasePeripheral {
  constructor(rp2040, chip) {
    super(rp2040, 'SSI');
    this.chip = chip;
    this.received = [];
    this.registers = new Map();
  }

  readUint32(offset) {
    switch (offset) {
      case 0x20: // TXFLR: bytes are sent at once.
        return 0;
      case 0x24: // RXFLR
        return this.received.length;
      case 0x28: // SR: room to send, nothing to send, something received.
        return 0x6 | (this.received.length > 0 ? 0x8 : 0);
      case 0x60: // DR0
        return this.received.shift() ?? 0;
      default:
        return this.registers.get(offset) ?? 0;
    }
  }

  writeUint32(offset, value) {
    if (offset === 0x60) {
      this.received.push(this.chip.transfer(value & 0xff));
      return;
    }
    if (offset === 0x08 && value === 0) {
      this.received = [];
    }
    this.registers.set(offset, value);
  }
}

/** Registers that keep what is written, with values that reads get and functions that writes call. */
class Registers extends BasePeripheral {
  constructor(rp2040, name, reads = {}, writes = {}) {
    super(rp2040, name);
    this.values = new Map();
    this.reads = reads;
    this.writes = writes;
  }

  readUint32(offset) {
    return this.reads[offset]?.() ?? this.values.get(offset) ?? 0;
  }

  writeUint32(offset, value) {
    this.values.set(offset, value);
    this.writes[offset]?.(value);
  }
}

/** Puts the loadable segments of an ELF file into the flash. */
function load(flash, elf) {
  const [headers, size, count] = [elf.readUInt32LE(28), elf.readUInt16LE(42), elf.readUInt16LE(44)];
  for (let at = headers; at < headers + size * count; at += size) {
    const [offset, address, length] = [4, 12, 16].map((field) => elf.readUInt32LE(at + field));
    if (elf.readUInt32LE(at) === 1 && length > 0) {
      flash.set(elf.subarray(offset, offset + length), address - 0x10000000);
    }
  }
}

let pool = Buffer.alloc(0);
let used = 0;
function randomBit() {
  if (used === pool.length * 8) {
    [pool, used] = [randomBytes(1024), 0];
  }
  const bit = (pool[used >> 3] >> (used & 7)) & 1;
  used += 1;
  return bit;
}

/**
 * Makes a board that is about to leave reset. `image` is the ELF file of the program, `bootrom` the
 * boot ROM, `store` the last two sectors of the flash. `onStep` is called before each byte of the
 * flash changes, `onChange` with the store after each command that changed it.
 */
export function board({ image, bootrom, store, onStep, onChange, isStuck }) {
  const chip = new RP2040();
  chip.logger = new ConsoleLogger(LogLevel.Error, false);
  chip.loadBootrom(new Uint32Array(bootrom.buffer, bootrom.byteOffset, bootrom.length / 4));
  load(chip.flash, image);
  chip.flash.set(store, STORE);
  const changed = () => onChange(chip.flash.subarray(STORE, STORE + STORE_LEN));
  const flash = new FlashChip(chip.flash, onStep, changed);
  const peripherals = chip.peripherals;
  peripherals[0x18000] = new FlashInterface(chip, flash);
  // IO_QSPI: the override of the output of SS is the chip select, low if active.
  const select = (value) => flash.select(((value >> 8) & 3) === 2);
  peripherals[0x40018] = new Registers(chip, 'IO_QSPI', {}, { 0x0c: select });
  peripherals[0x14000] = new Registers(chip, 'XIP_CTRL', { 0x00: () => 0, 0x08: () => 0x2 });
  // BOOTSEL is not pressed.
  chip.qspi[1].padValue |= 0x40;
  chip.qspi[1].setInputValue(true);
  const bit = isStuck ? () => 1 : randomBit;
  const stable = () => 0x80001000;
  peripherals[0x40060] = new Registers(chip, 'ROSC', { 0x18: stable, 0x1c: bit });
  peripherals[0x40064] = new Registers(chip, 'VREG_AND_CHIP_RESET', { 0x08: () => 0x100 });
  return chip;
}
