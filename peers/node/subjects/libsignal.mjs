// libsignal's sealed sender v2 for many recipients, around one sender-key message: what Signal
// sends to a group.
//
// There is no documentation for use outside Signal; the calls and their order follow the package's
// own tests (`settings` below). Stores are in memory and hold records, not bytes, so that no call
// pays for parsing them.
//
// Outside the clock: a session with every member (PQXDH), the distribution of the sender key, and
// the server's cut of the sent message into the view of one recipient. Inside: for `seal`, the
// sender-key encryption and signature and the sealing; for `open`, the outer layer, the validation
// of the sender's certificate, and the sender-key decryption with its signature. The reader's
// sender-key state is the one just before the message, as if it came in order.

import { randomUUID } from 'node:crypto';
import * as signal from '@signalapp/libsignal-client';
import SentMessage from '@signalapp/libsignal-client/dist/SealedSenderMultiRecipientMessage.js';
import { DEVICE, Identities, Sessions, bundle } from '../libsignal/stores.mjs';
import { make } from '../libsignal/sessions.mjs';
import { versions } from '../packages.mjs';

const HOUR = 3_600_000;

export default {
  subject: 'libsignal',
  about:
    'sealed sender v2 around a sender-key message; sessions and sender keys exist already; ' +
    'seal_many: in turn, since each message moves the sender key on; open_many: Promise.all; ' +
    'decrypt_batch: sessions without sealed sender, which is in the clear then, and not ' +
    'committing; each record is saved in memory, as bytes',
  versions: versions('@signalapp/libsignal-client'),
  settings:
    'https://github.com/signalapp/libsignal/blob/main/node/ts/test/protocol/SealedSenderTest.ts',
  // The service ids of the recipients stand in the sent message. The reader derives the ephemeral
  // key anew from the message key, so one message has one content.
  properties: ['confidential', 'authenticated', 'sender', 'insider', 'sender-hidden', 'committing'],
  setup,
  seal,
  sealsInTurn: true,
  readerState,
  deliver,
  open,
  tamper,
  sessions: { engines: ['pairwise'], transactions: false, make },
};

async function setup(members) {
  const trustRoot = signal.PrivateKey.generate();
  const sender = {
    address: signal.ProtocolAddress.new(randomUUID(), DEVICE),
    identities: new Identities(),
    sessions: new Sessions(),
    keys: new SenderKeys(),
  };
  const prekeys = { ec: signal.PrivateKey.generate(), kem: signal.KEMKeyPair.generate() };
  const readers = [];
  for (let i = 0; i < members; i += 1) {
    const address = signal.ProtocolAddress.new(randomUUID(), DEVICE);
    const identities = new Identities();
    const published = bundle(identities, prekeys);
    const { sessions } = sender;
    await signal.processPreKeyBundle(
      published, address, sender.address, sessions, sender.identities,
    );
    readers.push({ address, identities });
  }
  const group = {
    sender,
    readers,
    recipients: readers.map(({ address }) => address),
    distribution: randomUUID(),
    certificate: certify(sender, trustRoot),
    trustRoot: trustRoot.getPublicKey(),
  };
  await readerState(group); // makes the sender key
  return group;
}

/** The server's word for who the sender is. */
function certify({ address, identities }, trustRoot) {
  const server = signal.PrivateKey.generate();
  const serverCertificate = signal.ServerCertificate.new(1, server.getPublicKey(), trustRoot);
  const key = identities.secret.getPublicKey();
  const expiry = Date.now() + 1000 * HOUR;
  return signal.SenderCertificate.new(
    address.name(), null, DEVICE, key, expiry, serverCertificate, server,
  );
}

async function seal({ sender, certificate, recipients, distribution }, content) {
  const message = await signal.groupEncrypt(sender.address, distribution, sender.keys, content);
  const { Implicit } = signal.ContentHint;
  return signal.sealedSenderMultiRecipientEncrypt({
    content: signal.UnidentifiedSenderMessageContent.new(message, certificate, Implicit, null),
    recipients,
    identityStore: sender.identities,
    sessionStore: sender.sessions,
  });
}

/** The sender key that every member has before the next message. */
async function readerState({ sender, distribution }) {
  const message = await signal.SenderKeyDistributionMessage.create(
    sender.address, distribution, sender.keys,
  );
  const keys = new SenderKeys();
  await signal.processSenderKeyDistributionMessage(sender.address, message, keys);
  return keys.record;
}

/** Returns the part of a sent message that the server passes to one recipient. */
function deliver({ readers }, index, sent, state) {
  const message = new SentMessage(sent);
  const recipient = message.recipientsByServiceIdString()[readers[index].address.name()];
  return { view: message.messageForRecipient(recipient), state };
}

async function open({ readers, trustRoot }, index, { view, state }) {
  const content = await signal.sealedSenderDecryptToUsmc(view, readers[index].identities);
  const certificate = content.senderCertificate();
  if (!certificate.validate(trustRoot, Date.now())) {
    throw new Error("the sender's certificate is not valid");
  }
  const sender = signal.ProtocolAddress.new(certificate.senderUuid(), certificate.senderDeviceId());
  return signal.groupDecrypt(sender, new SenderKeys(state), content.contents());
}

/** The same view with one bit of its sealed content changed; at its end is a tag of 16 bytes. */
function tamper({ view, state }) {
  const changed = Uint8Array.from(view);
  changed[changed.length - 20] ^= 1;
  return { view: changed, state };
}

/** The sender key of one sender and distribution. */
class SenderKeys extends signal.SenderKeyStore {
  constructor(record = null) {
    super();
    this.record = record;
  }
  async saveSenderKey(_sender, _distribution, record) {
    this.record = record;
  }
  async getSenderKey() {
    return this.record;
  }
}
