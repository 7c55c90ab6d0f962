// The suite `sessions` with libsignal: PQXDH, then the triple ratchet (Double Ratchet and SPQR).
//
// There is no store and no transaction in libsignal. It asks for a session's record before each
// message and gives the new one back after it; here each is kept in memory as bytes, as in the
// package's own tests, so both calls turn a record into bytes or back. Every conversation is with
// another device. The names of both ends, which are service ids, stand in each message.

import { randomBytes, randomUUID } from 'node:crypto';
import * as signal from '@signalapp/libsignal-client';
import { examine, iterate, someContents } from '../sessions.mjs';
import { DEVICE, Identities, bundle } from './stores.mjs';

export async function make({ messages, conversations, per_commit: perCommit }, inputs) {
  const world = new World(await sessions(conversations), messages);
  for (let n = 0; n < inputs; n += 1) {
    await world.seal(n);
  }
  return {
    measure: (n) => iterate(world, n % inputs, perCommit),
    check: () => examine(world, perCommit),
    release() {},
  };
}

/** The two ends of each conversation, after one message in each direction. */
async function sessions(conversations) {
  const receiver = end();
  const senders = [];
  const records = new Records();
  for (let i = 0; i < conversations; i += 1) {
    const sender = { ...end(), records: new Records() };
    await introduce(sender, { ...receiver, records });
    senders.push(sender);
  }
  return { senders, receiver, records };
}

function end() {
  const address = signal.ProtocolAddress.new(randomUUID(), DEVICE);
  return { address, identities: new Identities() };
}

async function introduce(sender, receiver) {
  const prekeys = { ec: signal.PrivateKey.generate(), kem: signal.KEMKeyPair.generate() };
  await signal.processPreKeyBundle(
    bundle(receiver.identities, prekeys), receiver.address, sender.address, sender.records,
    sender.identities,
  );
  const hello = randomBytes(16);
  const first = await encrypt(sender, receiver.address, hello);
  const stores = prekeyStores(receiver.identities.secret, prekeys);
  await signal.signalDecryptPreKey(
    signal.PreKeySignalMessage.deserialize(first), sender.address, receiver.address,
    receiver.records, receiver.identities, ...stores,
  );
  await decrypt(sender, receiver.address, await encrypt(receiver, sender.address, hello));
}

async function encrypt({ address, records, identities }, to, content) {
  const message = await signal.signalEncrypt(content, to, address, records, identities);
  return message.serialize();
}

function decrypt({ address, records, identities }, from, message) {
  const parsed = signal.SignalMessage.deserialize(message);
  return signal.signalDecrypt(parsed, from, address, records, identities);
}

class World {
  #senders;
  #receiver;
  #records;
  #messages;
  #backlogs = [];

  constructor({ senders, receiver, records }, messages) {
    [this.#senders, this.#receiver, this.#records] = [senders, receiver, records];
    this.#messages = messages;
  }

  async seal(n) {
    const contents = someContents(this.#messages);
    const senders = this.#senders.map((one) => ({ ...one, records: one.records.copy() }));
    const messages = [];
    for (const [i, content] of contents.entries()) {
      const sender = senders[i % senders.length];
      messages.push(await encrypt(sender, this.#receiver.address, content));
    }
    this.#backlogs[n] = { contents, messages };
  }

  backlog(n) {
    return this.#backlogs[n].messages;
  }

  contents(n) {
    return this.#backlogs[n].contents;
  }

  open() {
    const receiver = { ...this.#receiver, records: this.#records.copy() };
    return new Receiver(receiver, this.#senders.map(({ address }) => address));
  }
}

class Receiver {
  #self;
  #senders;

  constructor(self, senders) {
    [this.#self, this.#senders] = [self, senders];
  }

  async decrypt(messages) {
    const contents = [];
    for (const [i, message] of messages.entries()) {
      contents.push(await decrypt(this.#self, this.#senders[i % this.#senders.length], message));
    }
    return contents;
  }

  async decryptEach(messages) {
    const contents = [];
    for (const [i, message] of messages.entries()) {
      const from = this.#senders[i % this.#senders.length];
      try {
        contents.push(await decrypt(this.#self, from, message));
      } catch {
        contents.push(null);
      }
    }
    return contents;
  }

  close() {}
}

/** Sessions as bytes, by their other end. */
class Records extends signal.SessionStore {
  #bytes;

  constructor(bytes = new Map()) {
    super();
    this.#bytes = bytes;
  }
  copy() {
    return new Records(new Map(this.#bytes));
  }
  async saveSession(address, record) {
    this.#bytes.set(address.toString(), record.serialize());
  }
  async getSession(address) {
    const bytes = this.#bytes.get(address.toString());
    return bytes ? signal.SessionRecord.deserialize(bytes) : null;
  }
  async getExistingSessions(addresses) {
    return Promise.all(addresses.map((address) => this.getSession(address)));
  }
}

/** The stores that answer for the receiver's prekeys; none is used up, since each has one use. */
function prekeyStores(secret, { ec, kem }) {
  class PreKeys extends signal.PreKeyStore {
    async getPreKey(id) {
      return signal.PreKeyRecord.new(id, ec.getPublicKey(), ec);
    }
    async savePreKey() {}
    async removePreKey() {}
  }
  class SignedPreKeys extends signal.SignedPreKeyStore {
    async getSignedPreKey(id) {
      const key = ec.getPublicKey();
      return signal.SignedPreKeyRecord.new(id, Date.now(), key, ec, secret.sign(key.serialize()));
    }
    async saveSignedPreKey() {}
  }
  class KyberPreKeys extends signal.KyberPreKeyStore {
    async getKyberPreKey(id) {
      const signature = secret.sign(kem.getPublicKey().serialize());
      return signal.KyberPreKeyRecord.new(id, Date.now(), kem, signature);
    }
    async saveKyberPreKey() {}
    async markKyberPreKeyUsed() {}
  }
  return [new PreKeys(), new SignedPreKeys(), new KyberPreKeys()];
}
