// Is compiled by `tsc --strict`, and not run.

import {
  type Code,
  EndsealError,
  Identity,
  type Opened,
  PublicIdentity,
  Recipients,
  backend,
  inspect,
  open,
  openMany,
  openStream,
  seal,
  sealStream,
} from 'endseal';
import { init } from 'endseal/init';

export async function uses(file: ReadableStream<Uint8Array>): Promise<Code | undefined> {
  using alice: Identity = Identity.generate();
  const bob = await Identity.unlock(await alice.lock('a passphrase'), 'a passphrase');
  const to = new Recipients([bob.public, 'endsealpq1…', PublicIdentity.parse('endseal1…')]);
  const context = 'example.org/chat';
  const envelope: Uint8Array<ArrayBuffer> = await seal('text', { from: alice, to, context, time: new Date() });
  const opened: Opened = await open(envelope, { as: bob, context, from: [alice.public] });
  const backlog: (Opened | EndsealError)[] = await openMany([envelope], { as: bob, context });
  const sealed: ReadableStream<Uint8Array> = file.pipeThrough(sealStream({ from: alice, to, context }));
  const { sender, content } = await openStream(sealed, { as: bob, context });
  const slots: number = inspect(envelope).slots;
  void [new Blob([envelope]), crypto.subtle.digest('SHA-256', opened.content)];
  // @ts-expect-error: a context is needed
  await seal('text', { from: alice, to });
  // @ts-expect-error: secrets cannot be made or read
  new Identity();
  // @ts-expect-error: no such suite
  await seal('text', { from: alice, to, context, suite: 'auto' });
  await init(new URL('https://example.org/endseal.wasm'));
  const kind: 'native' | 'wasm' = backend.kind;
  void [kind, opened.content, sender.key, content, slots];
  const [first] = backlog;
  return first instanceof EndsealError ? first.code : undefined;
}
