// The symbol versions that a shared library of 64-bit Linux asks of the C library, and how to lower
// one of them.
//
// A C compiler with glibc 2.38 or newer turns `strtol` and its kin into `__isoc23_strtol`, which
// differs in one point: it reads numbers that begin with `0b`. A library built there does not load
// with an older glibc, though `strtol` is in all of them. `lowered` gives such a symbol its old
// name, which is the end of the new one and so in the table of names already, and its old version.
//
// Everything is said in the ELF specification (gABI, chapters 4 and 5) and in the Linux Standard
// Base (Core, 10.7, Symbol Versioning).

const LITTLE_ENDIAN_64 = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
const X86_64 = 62;
/** The version of all symbols that glibc had when it came to x86-64. */
const BASE = 'GLIBC_2.2.5';
const C23 = '__isoc23_';

const SHT_DYNSYM = 11;
const SHT_GNU_VERNEED = 0x6ffffffe;
const SHT_GNU_VERSYM = 0x6fffffff;
const SYMBOL_BYTES = 24;

/** The newest glibc that a library asks for, such as `2.38`. */
export function glibcWanted(library) {
  const wanted = needs(parse(library)).map(({ version }) => release(version)).filter(Boolean);
  return wanted.sort(byRelease).at(-1) ?? '0';
}

/** True if release `a` of glibc, such as `2.36`, is older than `b`. */
export function isOlder(a, b) {
  return byRelease(a, b) < 0;
}

/**
 * A copy of the library that loads with that release of glibc. Throws if it asks for more than the
 * C23 names of functions that are in every glibc.
 */
export function lowered(library, glibc) {
  const copy = Buffer.from(library);
  const elf = parse(copy);
  const all = needs(elf);
  for (const need of all) {
    const wanted = release(need.version);
    if (!wanted || !isOlder(glibc, wanted)) {
      continue;
    }
    const base = all.find(({ file, version }) => file === need.file && version === BASE);
    for (const symbol of symbolsOf(elf, need.index)) {
      if (!base || !symbol.name.startsWith(C23)) {
        throw new Error(`it needs ${symbol.name} of glibc ${wanted}, and here is ${glibc}`);
      }
      copy.writeUInt32LE(symbol.nameOffset + C23.length, symbol.at);
    }
    // Elf64_Vernaux: the hash and the name of the version; the index that symbols have stays.
    copy.copy(copy, need.at, base.at, base.at + 4);
    copy.copy(copy, need.at + 8, base.at + 8, base.at + 12);
  }
  return copy;
}

function parse(bytes) {
  if (!bytes.subarray(0, 6).equals(LITTLE_ENDIAN_64) || bytes.readUInt16LE(18) !== X86_64) {
    throw new Error('this is no library for x86-64');
  }
  const start = Number(bytes.readBigUInt64LE(40));
  const [size, count] = [bytes.readUInt16LE(58), bytes.readUInt16LE(60)];
  const sections = Array.from({ length: count }, (_, i) => {
    const at = start + i * size;
    return {
      type: bytes.readUInt32LE(at + 4),
      offset: Number(bytes.readBigUInt64LE(at + 24)),
      bytes: Number(bytes.readBigUInt64LE(at + 32)),
      link: bytes.readUInt32LE(at + 40),
    };
  });
  const section = (type) => {
    const found = sections.find((one) => one.type === type);
    if (!found) {
      throw new Error('this library says nothing about versions of symbols');
    }
    return found;
  };
  const name = (table, offset) => {
    const at = sections[table].offset + offset;
    return bytes.toString('latin1', at, bytes.indexOf(0, at));
  };
  return { bytes, section, name };
}

/** All versions that are needed, each with the offset of its entry (Elf64_Vernaux). */
function needs({ bytes, section, name }) {
  const { offset, link } = section(SHT_GNU_VERNEED);
  const found = [];
  for (let at = offset, more = true; more; at += bytes.readUInt32LE(at + 12)) {
    const file = name(link, bytes.readUInt32LE(at + 4));
    let entry = at + bytes.readUInt32LE(at + 8);
    for (let left = bytes.readUInt16LE(at + 2); left > 0; left -= 1) {
      const index = bytes.readUInt16LE(entry + 6);
      found.push({ file, at: entry, index, version: name(link, bytes.readUInt32LE(entry + 8)) });
      entry += bytes.readUInt32LE(entry + 12);
    }
    more = bytes.readUInt32LE(at + 12) !== 0;
  }
  return found;
}

/** The dynamic symbols that have the version with that index. */
function symbolsOf({ bytes, section, name }, index) {
  const symbols = section(SHT_DYNSYM);
  const versions = section(SHT_GNU_VERSYM);
  const found = [];
  for (let i = 0; i < symbols.bytes / SYMBOL_BYTES; i += 1) {
    if ((bytes.readUInt16LE(versions.offset + 2 * i) & 0x7fff) === index) {
      const at = symbols.offset + i * SYMBOL_BYTES;
      const nameOffset = bytes.readUInt32LE(at);
      found.push({ at, nameOffset, name: name(symbols.link, nameOffset) });
    }
  }
  return found;
}

/** `2.38` of `GLIBC_2.38`, and nothing of other versions. */
function release(version) {
  return version.match(/^GLIBC_(\d+(?:\.\d+)*)$/)?.[1];
}

function byRelease(a, b) {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  const longest = Math.max(left.length, right.length);
  for (let i = 0; i < longest; i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}
