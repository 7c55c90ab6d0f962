// Writes libolm.txt: the first messages of an Olm session by libolm, with keys that are known.
//
//     npm install @matrix-org/olm@3.2.15 && node libolm.mjs > libolm.txt
import { createRequire } from "node:module";

let draws = 0;
// Each draw is a run of one byte: 1 is Alice's account, 2 Bob's, 3 his one-time key, 4 the session.
const getRandomValues = (array) => array.fill(++draws);
Object.defineProperty(globalThis, "crypto", { value: { getRandomValues } });
globalThis.window = globalThis;
const Olm = createRequire(import.meta.url)("@matrix-org/olm");
await Olm.init();
const hex = (text) => Buffer.from(text, "base64").toString("hex");

const [alice, bob] = [new Olm.Account(), new Olm.Account()];
alice.create();
bob.create();
bob.generate_one_time_keys(1);
const theirs = JSON.parse(bob.identity_keys()).curve25519;
const [oneTime] = Object.values(JSON.parse(bob.one_time_keys()).curve25519);
const session = new Olm.Session();
session.create_outbound(alice, theirs, oneTime);
console.log("# libolm 3.2.15: Alice's key, then a message and its text in each line, in the order of sending.");
console.log(hex(JSON.parse(alice.identity_keys()).curve25519));
for (const text of ["first", "second", "", "a block of 16 by", "\u00fcber einen Block hinaus", "last"]) {
  const { type, body } = session.encrypt(text);
  if (type !== 0) throw new Error("no pre-key message");
  console.log(hex(body), Buffer.from(text, "utf8").toString("hex"));
}
