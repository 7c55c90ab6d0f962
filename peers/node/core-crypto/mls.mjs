// MLS: a group for each conversation, all with the same members. The sender makes the group and
// adds the others at once; those who are neither sender nor receiver only give key packages.

import { randomUUID } from 'node:crypto';
import { Client, library } from './client.mjs';

/** Groups in which all are. */
export async function establish(sender, receiver, { conversations, members }) {
  const ids = { sender: randomUUID(), receiver: randomUUID() };
  const groups = Array.from({ length: conversations }, () => randomUUID());
  const welcomes = [];
  const accepting = transport((bundle) => welcomes.push(bundle.welcome.serialize()));
  await enrol(sender, ids.sender, accepting);
  await enrol(receiver, ids.receiver, transport());
  const packages = [await keyPackages(receiver, conversations)];
  while (packages.length < members - 1) {
    const other = await Client.open(null);
    await enrol(other, randomUUID(), transport());
    packages.push(await keyPackages(other, conversations));
    await other.close();
  }
  const [credential] = await sender.findCredentials({});
  for (const [i, group] of groups.entries()) {
    const id = conversation(group);
    const others = packages.map((list) => new library.KeyPackage(list[i]));
    await sender.transaction(async (context) => {
      await context.createConversation(id, credential);
      await context.addClientsToConversation(id, others);
    });
    const welcome = new library.Welcome(welcomes.pop());
    await receiver.transaction((context) => context.processWelcomeMessage(welcome));
  }
  return { ids, groups };
}

/** Makes an opened client ready; gives how it seals and opens in the conversation `i`. */
export async function join(client, { ids, groups }, role) {
  const conversations = groups.map(conversation);
  await client.transaction((context) => context.mlsInit(clientId(ids[role]), transport()));
  return {
    seal: (context, i, content) => context.encryptMessage(conversations[i], content),
    open: async (context, i, message) => {
      const opened = await context.decryptMessage(conversations[i], message);
      return opened.inner.plaintext;
    },
  };
}

async function enrol(client, user, delivery) {
  const id = clientId(user);
  await client.transaction(async (context) => {
    await context.mlsInit(id, delivery);
    const suite = library.cipherSuiteDefault();
    await context.addCredential(library.Credential.basic(suite, id));
  });
}

async function keyPackages(client, count) {
  const [credential] = await client.findCredentials({});
  return client.transaction(async (context) => {
    const packages = [];
    for (let i = 0; i < count; i += 1) {
      packages.push((await context.generateKeyPackage(credential)).serialize());
    }
    return packages;
  });
}

/** The delivery service: it takes everything. */
function transport(take = () => {}) {
  return {
    sendCommitBundle: async (bundle) => take(bundle),
    prepareForTransport: async () => {
      throw new Error('history is not shared');
    },
  };
}

function clientId(user) {
  const { ClientId, DeviceId, Uuid } = library;
  return new ClientId(new Uuid(user), new DeviceId(1n), 'example.org');
}

function conversation(id) {
  return new library.ConversationId(new TextEncoder().encode(id));
}
