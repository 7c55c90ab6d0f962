// Is compiled by `tsc --strict`, and not run.

import { type Member, Node, NodeError, type Said, type Status, type Text } from 'endseal/node';

export async function uses(signal: AbortSignal): Promise<string | undefined> {
  const node = new Node({ home: '/home/bot', waitMs: 1000, timeoutMs: 1000 });
  const said: Said = await node.say('endseal1…', 'text');
  await node.say('endseal1…', ['one', 'two']);
  const status: Status = await node.status();
  const all: Text[] = [];
  for await (const text of node.history('endseal1…')) all.push(text);
  const members: Member[] = [];
  for (const { team } of await node.teams()) {
    for await (const member of node.members(team)) members.push(member);
  }
  try {
    for await (const text of node.follow(0, { signal })) {
      await node.answer(text.number, text.text === null ? [] : `you wrote: ${text.text}`);
    }
  } catch (error) {
    if (error instanceof NodeError && error.isRefusal) return error.code;
  }
  // @ts-expect-error: the number of the text comes first
  await node.answer('text', 'text');
  // @ts-expect-error: results are not changed
  status.unread = 0;
  void [said.numbers, members, all];
  return undefined;
}
