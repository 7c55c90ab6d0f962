// endseal/nostr in Node and Bun: native, or WebAssembly where there is no package of the platform.

import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

import { nostr } from './memory.js';
import { use } from './nostr-module.js';
import { moduleOf } from './nostr-wasm.js';
import { base, native } from './platform.js';
import { ofNode } from './worker-of.js';

export * from './nostr-api.js';

const worker = () => ofNode(new Worker(new URL('./nostr-worker-node.js', base)));

/** The module of WebAssembly. It is made at once, so that `require` works, too. */
function fallBack() {
  const module = new WebAssembly.Module(readFileSync(new URL('./nostr.wasm', base)));
  return moduleOf({ instance: new WebAssembly.Instance(module, nostr.imports), module }, worker);
}

/** Functions of Nostr have a prefix in the native module. */
function ofNative() {
  const names = ['PublicKey', 'Verify', 'Bunker'];
  const ofVectors = ['KeyFromBytes', 'ConversationKey', 'ConversationSeal', 'ConversationOpen'];
  const all = native.nostrKeyFromBytes ? [...names, ...ofVectors] : names;
  const found = all.map((it) => [it[0].toLowerCase() + it.slice(1), native[`nostr${it}`]]);
  return { NostrKey: native.NostrKey, ...Object.fromEntries(found) };
}

const isNative = native?.NostrKey !== undefined;
use(isNative ? ofNative() : fallBack());
export const backend = Object.freeze({ kind: isNative ? 'native' : 'wasm' });
