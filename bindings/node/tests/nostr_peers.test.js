// endseal/nostr with others: the signer of the program ENDSEAL_PROGRAM, over the relay
// ENDSEAL_RELAY, with the runtimes that ENDSEAL_RUNTIMES names; and nostr-tools, in ENDSEAL_TOOLS.

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';

const { NostrKey, verifyEvent } = await import('endseal/nostr');

const require = createRequire(join(process.env.ENDSEAL_TOOLS, 'main.js'));
const [nip44, nip49, nip59] = ['nip44', 'nip49', 'nip59'].map((it) => require(`nostr-tools/${it}`));
const { finalizeEvent, generateSecretKey, getPublicKey, verifyEvent: isAuthentic } = require('nostr-tools/pure');

const folder = mkdtempSync(join(tmpdir(), 'endseal-'));
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(ENDSEAL_|XDG_|HOME)/.test(name)),
);
const passphrase = join(folder, 'passphrase');
const children = [];
const user = generateSecretKey();
/** URL of a relay, and of one that demands a log-in to read. */
const relays = [];

async function endseal(words, typed = '') {
  const common = ['--home', join(folder, 'home'), '--passphrase-file', passphrase, '--json'];
  const running = promisify(execFile)(process.env.ENDSEAL_PROGRAM, [...common, 'signer', ...words], {
    env: environment, timeout: 60_000,
  });
  running.child.stdin.end(typed);
  return (await running).stdout;
}

async function serve(command, words) {
  const child = spawn(command, words, { stdio: ['pipe', 'pipe', 'ignore'], env: environment });
  children.push(child);
  const [line] = await once(createInterface(child.stdout), 'line');
  return line;
}

before(async () => {
  writeFileSync(passphrase, 'a passphrase of the tests\n', { mode: 0o600 });
  relays.push(await serve(process.env.ENDSEAL_RELAY, []), await serve(process.env.ENDSEAL_RELAY, ['--auth']));
  await endseal(['init']);
  await endseal(['import'], `${Buffer.from(user).toString('hex')}\n`);
  const common = ['--home', join(folder, 'home'), '--passphrase-file', passphrase, '--json'];
  const named = relays.flatMap((it) => ['--relay', it]);
  await serve(process.env.ENDSEAL_PROGRAM, [...common, 'signer', 'run', ...named]);
});

after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

async function invited(name, rules) {
  const said = JSON.parse((await endseal(['invite', name, '--allow', rules, '--for', '1d'])).split('\n')[0]);
  return Object.values(said).find((it) => String(it).startsWith('bunker://'));
}

const runtimes = Object.entries(JSON.parse(process.env.ENDSEAL_RUNTIMES));
for (const [at, [name, [command, ...words]]] of runtimes.entries()) {
  test(`the signer answers ${name}`, { timeout: 60_000 }, async () => {
    const uri = await invited(`app ${at}`, 'sign:1,nip44_encrypt,nip44_decrypt');
    // The first app is behind the log-in.
    const query = uri.split('?')[1].split('&').filter((it) => !it.startsWith('relay='));
    const one = `${uri.split('?')[0]}?${[`relay=${encodeURIComponent(relays[at === 0 ? 1 : 0])}`, ...query].join('&')}`;
    const client = ['nostr_client.js', one];
    const ws = /node/.test(name) ? { ENDSEAL_WS: require.resolve('ws') } : {};
    const { stdout } = await promisify(execFile)(command, [...words, ...client], {
      env: { ...process.env, DENO_NO_UPDATE_CHECK: '1', ...ws }, timeout: 50_000,
    });
    const { event, user: found, ...rest } = JSON.parse(stdout);
    assert.equal(found, getPublicKey(user));
    assert(isAuthentic(event) && event.pubkey === found, JSON.stringify(event));
    assert.deepEqual([event.content, event.tags], ['é "\\\n', [['t', 'a"b']]]);
    assert.deepEqual(rest, {
      kind: rest.kind, read: 'at noon', back: 'at one', refused: 'refused', unknown: 'timeout',
      known: true, closed: 'closed', many: '0123456789',
    });
  });
}

test('the signer answers Chromium', { timeout: 150_000 }, async () => {
  const uri = await invited('page', 'sign:1,nip44_encrypt,nip44_decrypt');
  // The relay behind a log-in knows the first app alone.
  writeFileSync('bunker.txt', uri.replace(`&relay=${encodeURIComponent(relays[1])}`, ''));
  const { stdout } = await promisify(execFile)(process.execPath, ['chromium.js', '.', 'nostr_page']);
  assert.match(stdout, /^1 passed, 0 failed$/m);
});

test('the signer accepts an invitation', { timeout: 60_000 }, async () => {
  const child = spawn(process.execPath, ['nostr_client.js', '--invite', relays[0]], {
    stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ENDSEAL_WS: require.resolve('ws') },
  });
  children.push(child);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const { value: uri } = await lines.next();
  assert.match(uri, /^nostrconnect:/);
  await endseal(['connect', uri, '--name', 'invited', '--allow', 'sign:1', '--for', '1d']);
  const event = JSON.parse((await lines.next()).value);
  assert(isAuthentic(event) && event.pubkey === getPublicKey(user) && event.content === 'invited');
});

test('the example of README runs where there is a WebSocket', { timeout: 60_000 }, async () => {
  const readme = readFileSync(process.env.ENDSEAL_README, 'utf8');
  const [, source] = /^```js signer\n([^]*?)^```/m.exec(readme);
  writeFileSync('readme_signer.js', source);
  const uri = await invited('README', 'sign:1');
  const [command] = JSON.parse(process.env.ENDSEAL_RUNTIMES).bun;
  const { stdout } = await promisify(execFile)(command, ['readme_signer.js'], {
    env: { ...process.env, BUNKER: uri }, timeout: 50_000,
  });
  const event = JSON.parse(stdout);
  assert(isAuthentic(event) && event.pubkey === getPublicKey(user) && event.content === 'hello');
});

test('nostr-tools reads what we make, and the other way round', async () => {
  const theirs = generateSecretKey();
  const [peer, ours] = [getPublicKey(theirs), NostrKey.generate()];
  const shared = nip44.getConversationKey(theirs, ours.publicKey);
  for (const text of ['a', 'é 😀 "\\\n', 'x'.repeat(60_000)]) {
    assert.equal(nip44.decrypt(await ours.encrypt(peer, text), shared), text);
    assert.equal(await ours.decrypt(peer, nip44.encrypt(text, shared)), text);
    const { rumor, copies } = await ours.wrap(text.slice(0, 20_000), { to: [peer] });
    assert.deepEqual({ ...nip59.unwrapEvent(copies[0].event, theirs) }, { ...rumor });
    const draft = { kind: 14, content: text.slice(0, 20_000), tags: [['p', ours.publicKey]] };
    const wrapped = nip59.wrapEvent(draft, theirs, ours.publicKey);
    const opened = await ours.unwrap(JSON.parse(JSON.stringify(wrapped)));
    assert.deepEqual([opened.rumor.content, opened.rumor.pubkey], [draft.content, peer]);
    const event = await ours.sign({ kind: 1, content: text });
    assert(isAuthentic(event));
    await verifyEvent(JSON.stringify(finalizeEvent({ kind: 1, content: text, tags: [], created_at: 1 }, theirs)));
  }
  const text = await ours.lock('correct horse caf\u00e9');
  assert.equal(getPublicKey(nip49.decrypt(text, 'correct horse cafe\u0301')), ours.publicKey);
  const locked = nip49.encrypt(theirs, 'correct horse', 4);
  assert.equal((await NostrKey.unlock(locked, 'correct horse')).publicKey, peer);
});
