// Proteus: a session for each conversation, all between the same two devices. The receiver's work
// and state are the same as with as many senders.

import { randomBytes } from 'node:crypto';

const names = (conversations) => Array.from({ length: conversations }, (_, i) => `session-${i}`);

/** Sessions that have carried one message in each direction. */
export async function establish(sender, receiver, { conversations }) {
  const both = [sender, receiver];
  for (const client of both) {
    await client.transaction((context) => context.proteusInit());
  }
  const hello = randomBytes(16);
  const sessions = names(conversations);
  const bundles = await receiver.transaction((context) =>
    inTurn(sessions, (_, i) => context.proteusNewPrekey(i + 1)));
  const first = await sender.transaction((context) =>
    inTurn(sessions, async (session, i) => {
      await context.proteusSessionFromPrekey(session, bundles[i]);
      return context.proteusEncrypt(session, hello);
    }));
  const second = await receiver.transaction((context) =>
    inTurn(sessions, async (session, i) => {
      await context.proteusSessionFromMessage(session, first[i]);
      return context.proteusEncrypt(session, hello);
    }));
  await sender.transaction((context) =>
    inTurn(sessions, (session, i) => context.proteusDecrypt(session, second[i])));
  return { sessions };
}

/** Makes an opened client ready; gives how it seals and opens in the conversation `i`. */
export async function join(client, { sessions }) {
  await client.transaction((context) => context.proteusInit());
  return {
    seal: (context, i, content) => context.proteusEncrypt(sessions[i], content),
    // Its documentation: for many messages of a session that exists, rather this than the safe one.
    open: (context, i, message) => context.proteusDecrypt(sessions[i], message),
  };
}

async function inTurn(list, work) {
  const results = [];
  for (const [i, item] of list.entries()) {
    results.push(await work(item, i));
  }
  return results;
}
