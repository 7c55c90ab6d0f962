// Runs the program of the RP2040 in a simulator, from its boot ROM on:
//
//   node run.mjs IMAGE BOOTROM STORE [--stuck] [--cut STEPS]
//
// Standard input and output are the serial port. STORE is a file with the last two sectors of the
// flash, made if it does not exist. Descriptor 3 is the board: it takes the line `press MS`, and
// gives the lines `light` when the light goes on, `released` after a press, and `flash` when the flash
// was changed.
// With --stuck the ring oscillator gives ones alone; with --cut the power fails when so many bytes
// of the flash were changed.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';

import { board, STORE_LEN } from './chip.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { stuck: { type: 'boolean' }, cut: { type: 'string' } },
});
const [image, bootrom, path] = positionals;

/** Instructions between two looks at the clock and the ports: about a millisecond. */
const SLICE = 20_000;
/** Instructions of the start. */
const START = 10_000_000;
/** Nanoseconds of the chip's clock that pass at once: on a busy machine, time on the chip is slower. */
const MAX_TICK = 5e6;
const NANOS_PER_BYTE = 1e10 / 115_200;
const BUTTON = 2;
const LIGHT = 25;

const hand = new Socket({ fd: 3 });
hand.on('error', () => process.exit(0));
const tell = (line) => hand.write(`${line}\n`);

function save(store) {
  writeFileSync(`${path}.new`, store);
  renameSync(`${path}.new`, path);
}

let steps = values.cut === undefined ? Infinity : Number(values.cut);
const chip = board({
  image: readFileSync(image),
  bootrom: readFileSync(bootrom),
  store: existsSync(path) ? readFileSync(path) : new Uint8Array(STORE_LEN).fill(0xff),
  isStuck: values.stuck,
  onStep: () => {
    if (steps === 0) {
      save(chip.flash.subarray(2 * 1024 * 1024 - STORE_LEN, 2 * 1024 * 1024));
      process.exit(9);
    }
    steps -= 1;
  },
  onChange: (store) => {
    save(store);
    tell('flash');
  },
});

const release = () => {
  chip.gpio[BUTTON].setInputValue(true);
  tell('released');
};
chip.gpio[BUTTON].setInputValue(true);
const released = chip.clock.createAlarm(release);
createInterface({ input: hand }).on('line', (line) => {
  const [, milliseconds] = /^press (\d+)$/.exec(line) ?? process.exit(2);
  chip.gpio[BUTTON].setInputValue(false);
  released.schedule(Number(milliseconds) * 1e6);
});
chip.gpio[LIGHT].addListener((now) => now === 1 && tell('light'));

let input = Buffer.alloc(0);
let output = [];
/** True while a line is worked on, so that a board without work takes no time of this machine. */
let isBusy = true;
let instructions = 0;
process.stdin.on('data', (bytes) => {
  input = Buffer.concat([input, bytes]);
});
process.stdin.on('end', () => process.exit(0));
process.stdout.on('error', () => process.exit(0));
chip.uart[0].onByte = (byte) => {
  output.push(byte);
  isBusy &&= byte !== 0x0a;
};

let before = process.hrtime.bigint();
let credit = 0;
function slice() {
  for (let i = 0; i < SLICE; i += 1) {
    chip.core.executeInstruction();
  }
  instructions += SLICE;
  const now = process.hrtime.bigint();
  const nanos = Math.min(Number(now - before), MAX_TICK);
  before = now;
  chip.clock.tick(nanos);
  // Bytes come at the speed of the port. A full queue loses them, as the chip's does.
  credit = input.length === 0 ? 0 : Math.min(credit + nanos / NANOS_PER_BYTE, 16);
  for (; credit >= 1 && input.length > 0; credit -= 1) {
    isBusy = true;
    chip.uart[0].feedByte(input[0]);
    input = input.subarray(1);
  }
  if (output.length > 0) {
    process.stdout.write(Buffer.from(output));
    output = [];
  }
  if (isBusy || input.length > 0 || instructions < START) {
    setImmediate(slice);
  } else {
    setTimeout(slice, 2);
  }
}
slice();
