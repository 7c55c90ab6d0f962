// Reads the vectors of docs/spec/codec.md with protobufjs and the types of proto/:
// node run-vectors.mjs [VECTOR_DIR]
//
// Every success is decoded and compared with its JSON value; the value is encoded, and compared byte
// for byte where the vector is canonical. Refusals are counted: a library that merges repeated fields
// accepts some of them.

import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';

import Long from 'long';
import protobuf from 'protobufjs';

// 64-bit numbers lose nothing.
protobuf.util.Long = Long;
protobuf.configure();

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const folder = process.argv[2] ?? join(root, 'vectors', 'codec');
const contract = await protobuf.load(join(root, 'proto', 'endseal', 'v1', 'message.proto'));

// The JSON mapping of Protocol Buffers.
const MAPPING = { longs: String, enums: String, bytes: String };

function problems(type, encoded, vector) {
  const found = [];
  const value = withoutDefaults(type, type.toObject(type.decode(encoded), MAPPING));
  if (!isDeepStrictEqual(value, vector.value)) {
    found.push(`reads ${JSON.stringify(value)}, not ${JSON.stringify(vector.value)}`);
  }
  const written = Buffer.from(type.encode(type.fromObject(vector.value)).finish());
  const again = withoutDefaults(type, type.toObject(type.decode(written), MAPPING));
  if (!isDeepStrictEqual(again, vector.value)) {
    found.push('does not read what it writes');
  }
  if (vector.canonical && !written.equals(encoded)) {
    found.push(`writes ${written.toString('hex')}`);
  }
  return found;
}

// protobufjs shows a field without presence that was on the wire, though it has its default value;
// the mapping leaves it out.
function withoutDefaults(type, object) {
  const kept = {};
  for (const [name, value] of Object.entries(object)) {
    const field = type.fields[name];
    const inner = field.resolvedType instanceof protobuf.Type ? field.resolvedType : null;
    if (field.map || (field.repeated && !inner)) {
      kept[name] = value;
    } else if (field.repeated) {
      kept[name] = value.map((element) => withoutDefaults(inner, element));
    } else if (inner) {
      kept[name] = withoutDefaults(inner, value);
    } else if (field.hasPresence || ![0, '0', '', false].includes(value)) {
      kept[name] = value;
    }
  }
  return kept;
}

let [successes, identical, failures, refused, wrong] = [0, 0, 0, 0, 0];
for (const name of readdirSync(folder).sort()) {
  const vector = JSON.parse(readFileSync(join(folder, name), 'utf8'));
  const type = contract.lookupType(`endseal.v1.${vector.message}`);
  const encoded = Buffer.from(vector.hex, 'hex');
  if (vector.expect !== 'ok') {
    failures += 1;
    try {
      type.decode(encoded);
    } catch {
      refused += 1;
    }
    continue;
  }
  successes += 1;
  identical += vector.canonical ? 1 : 0;
  for (const problem of problems(type, encoded, vector)) {
    wrong += 1;
    console.log(`${name}: ${problem}`);
  }
}
console.log(
  `node: ${successes} messages read, ${identical} of them written anew; ` +
    `${refused} of ${failures} refusals shared; ${wrong} problems`,
);
if (successes < 30 || failures < successes) {
  console.log('too few vectors');
  process.exit(1);
}
process.exit(wrong > 0 ? 1 : 0);
