// Drives the peer as the harness does. `node test.mjs`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  createCipheriv, createDecipheriv, createPrivateKey, createPublicKey, diffieHellman,
} from 'node:crypto';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ed25519 } from '@noble/curves/ed25519.js';
import { prepare } from './envelope.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const SUBJECTS = [
  'seed-noble',
  'seed-noble-json',
  'seed-native',
  'libsignal',
  'libsodium-sealed-box',
  'libsodium-sealed-box-x25519',
];
// 158 bytes a member, 48 of them in what names it; 1 KB in base64url; the rest are fixed names.
const SEED_SIZE = (members) => 1671 + 158 * members;
const SIZES = {
  'seed-noble': SEED_SIZE,
  'seed-noble-json': SEED_SIZE,
  'seed-native': SEED_SIZE,
  'libsodium-sealed-box': (members) => 1068 + 80 * members,
  'libsodium-sealed-box-x25519': (members) => 1068 + 80 * members,
};
const CASES = ['seal', 'open', 'seal_many', 'open_many'];

const children = new Set();
// A failed test leaves its peer waiting for more.
after(() => children.forEach((child) => child.kill()));

function start(folder = HERE) {
  const child = spawn(process.execPath, ['main.mjs'], { cwd: folder });
  children.add(child);
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise((resolve) => child.on('close', resolve));
  let errors = '';
  child.stderr.on('data', (text) => (errors += text));
  return {
    async raw(bytes) {
      child.stdin.write(bytes);
      return JSON.parse((await answers.next()).value);
    },
    ask(request) {
      return this.raw(`${JSON.stringify(request)}\n`);
    },
    async end(bytes = '') {
      child.stdin.end(bytes);
      return { code: await ended, errors, more: (await answers.next()).value };
    },
  };
}

test('every_case_of_every_subject_is_checked_run_and_released', async () => {
  const peer = start();
  const hello = await peer.ask({ op: 'hello', protocol: 1 });
  assert.deepEqual(hello.subjects.map(({ subject }) => subject), SUBJECTS);
  for (const { subject, properties } of hello.subjects) {
    for (const members of [1, 5, 100]) {
      for (const name of CASES) {
        if (subject === 'seed-noble-json' && name.startsWith('seal')) {
          continue;
        }
        const count = name.endsWith('many') ? { count: 3 } : {};
        const prepared = await peer.ask({
          op: 'prepare', subject, case: name, params: { members, bytes: 1024, ...count }, inputs: 4,
        });
        const { ok, handle } = prepared;
        const at = `${subject} ${name} ${members}`;
        assert.ok(ok, `${at}: ${prepared.message}`);
        const check = await peer.ask({ op: 'check', handle });
        assert.equal(check.round_trip, true, at);
        assert.equal(check.tamper_refused, properties.includes('authenticated') || null, at);
        assert.equal(check.sealed_bytes, SIZES[subject]?.(members) ?? check.sealed_bytes, at);
        assert.ok(check.sealed_bytes > 1024 + 32 * members, at);
        for (const iterations of [1, 3]) {
          const run = await peer.ask({ op: 'run', handle, iterations });
          assert.equal(run.iterations, iterations, at);
          assert.ok(run.wall_ns > 0 && run.cpu_ns > 0, at);
        }
        assert.deepEqual(await peer.ask({ op: 'release', handle }), { ok: true });
        assert.equal((await peer.ask({ op: 'run', handle, iterations: 1 })).error, 'protocol');
      }
    }
  }
  assert.deepEqual(await peer.end(), { code: 0, errors: '', more: undefined });
});

test('empty_and_large_contents_are_sealed', async () => {
  const peer = start();
  for (const subject of SUBJECTS) {
    for (const bytes of [0, 1 << 20]) {
      const params = { members: 2, bytes };
      const request = { op: 'prepare', subject, case: 'open', params, inputs: 1 };
      const { handle } = await peer.ask(request);
      const check = await peer.ask({ op: 'check', handle });
      assert.equal(check.round_trip && check.tamper_refused, true, `${subject} ${bytes}`);
    }
  }
  assert.equal((await peer.end()).code, 0);
});

test('garbage_is_a_protocol_error_and_the_peer_goes_on', async () => {
  const peer = start();
  const prepare = { op: 'prepare', subject: 'seed-native', case: 'seal', inputs: 1 };
  const garbage = [
    '\n', 'nonsense\n', '{\n', 'null\n', '[]\n', '7\n', '{}\n', '{"op":7}\n', '\u{1f600}\n',
    '{"op":"toString"}\n', '{"op":"__proto__"}\n', '{"op":"hello","protocol":2}\n',
    '{"op":"run","handle":1,"iterations":1}\n', '{"op":"check"}\n',
    '{"op":"release","handle":"1"}\n', Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
    `"${'x'.repeat(3 << 20)}"\n`, `${JSON.stringify(prepare)}\n`,
  ];
  for (const line of garbage) {
    const answer = await peer.raw(line);
    assert.deepEqual([answer.ok, answer.error], [false, 'protocol'], String(line).slice(0, 60));
    assert.match(answer.message, /^[^\n]{1,200}$/);
  }
  const params = { members: 2, bytes: 8 };
  const { handle } = await peer.ask({ ...prepare, params, extra: null });
  for (const iterations of [0, -1, 1.5, '1', null, 2 ** 53]) {
    assert.equal((await peer.ask({ op: 'run', handle, iterations })).error, 'protocol');
  }
  assert.ok((await peer.ask({ op: 'check', handle })).ok);
  const strange = [
    { inputs: '1', params }, { inputs: 1.5, params }, { params: { ...params, bytes: '8' } },
    { params: { ...params, members: null } }, { params: { ...params, bytes: 2 ** 53 } },
    { params: { ...params, members: -1 } },
  ];
  for (const change of strange) {
    assert.equal((await peer.ask({ ...prepare, ...change })).error, 'protocol');
  }
  assert.equal((await peer.end()).code, 0);
});

test('what_follows_the_last_line_end_is_not_answered', async () => {
  for (const rest of ['{"op":"hello","protocol":1}', '{"op"', 'x'.repeat(3 << 20)]) {
    const peer = start();
    assert.ok((await peer.ask({ op: 'hello', protocol: 1 })).ok);
    assert.deepEqual(await peer.end(rest), { code: 0, errors: '', more: undefined });
  }
});

test('what_a_subject_has_not_is_unsupported', async () => {
  const peer = start();
  const params = { members: 2, bytes: 8 };
  const good = { op: 'prepare', subject: 'seed-native', case: 'seal', params, inputs: 1 };
  const wrong = [
    { subject: 'none' }, { case: 'stream' }, { case: 'constructor' }, { inputs: 0 },
    { params: { members: 0, bytes: 8 } }, { params: { members: 2 } }, { case: 'open_many' },
    { params: { members: 2, bytes: 8, count: 1 } }, { params: { members: 2, bytes: 8, more: 1 } },
    { subject: 'seed-noble', params: { members: 2, bytes: 2 << 20 } },
    { subject: 'seed-noble-json' }, { params: { members: 1e9, bytes: 8 } },
    { params: { members: 2, bytes: 2 ** 52 } },
  ];
  for (const change of wrong) {
    const answer = await peer.ask({ ...good, ...change });
    assert.equal(answer.error, 'unsupported', JSON.stringify(change));
  }
  assert.ok((await peer.ask(good)).ok);
  assert.equal((await peer.end()).code, 0);
});

test('a_peer_keeps_64_handles_and_requests_may_come_in_pieces_or_together', async () => {
  const peer = start();
  const params = { members: 1, bytes: 1 };
  const request = { op: 'prepare', subject: 'seed-native', case: 'seal', params, inputs: 1 };
  for (let handle = 1; handle <= 64; handle += 1) {
    assert.deepEqual(await peer.ask(request), { ok: true, handle });
  }
  assert.ok((await peer.raw('{"op":"check","handle":1}\n{"op":"check",')).ok);
  assert.ok((await peer.raw('"handle":64}\n')).ok);
  assert.equal((await peer.end()).code, 0);
});

test('a_subject_without_its_package_is_left_out_with_a_word', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'peer-'));
  try {
    const filter = (source) => !source.includes('node_modules');
    await cp(HERE, folder, { recursive: true, filter });
    const peer = start(folder);
    assert.deepEqual((await peer.ask({ op: 'hello', protocol: 1 })).subjects, []);
    const { code, errors } = await peer.end();
    assert.equal(code, 0);
    assert.deepEqual(
      errors.trim().split('\n').map((line) => line.match(/^subject (\S+) is left out: ./)?.[1]),
      SUBJECTS,
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('the_seed_subjects_read_each_other', async () => {
  const names = ['seed-noble', 'seed-native'];
  const [noble, native] = await Promise.all(
    names.map(async (name) => (await import(`./subjects/${name}.mjs`)).default),
  );
  const content = noble.content(100);
  assert.equal(Buffer.byteLength(content), 100);
  for (const [reader, writer] of [[noble, native], [native, noble]]) {
    const group = reader.setup(3);
    for (const seal of [writer.seal, writer.sealInput]) {
      const message = await seal(group, content);
      assert.equal(await reader.open(group, 1, message), content);
      await assert.rejects(reader.open(reader.setup(1), 0, message), /no entry/);
    }
  }
});

test('the_seed_lets_a_reader_write_for_its_sender', async () => {
  // Why its subjects do not claim `insider`: a wrap does not say which content it is for.
  const { default: native } = await import('./subjects/seed-native.mjs');
  const group = native.setup(3);
  const [sender, reader] = group.readers;
  const message = await native.seal(group, 'as sent');
  const bytes = (text) => Buffer.from(text, 'base64url');
  const raw = (prefix, type, key) => {
    const der = Buffer.concat([Buffer.from(prefix, 'hex'), key]);
    return { key: der, format: 'der', type };
  };
  const own = ed25519.utils.toMontgomerySecret(reader.seed);
  const theirs = ed25519.utils.toMontgomery(bytes(sender.publicKey));
  const shared = diffieHellman({
    privateKey: createPrivateKey(raw('302e020100300506032b656e04220420', 'pkcs8', own)),
    publicKey: createPublicKey(raw('302a300506032b656e032100', 'spki', theirs)),
  });
  const { encryptedKey, nonce } = message.encryptedKeys[reader.aid];
  const opener = createDecipheriv('aes-256-gcm', shared, bytes(nonce));
  const contentKey = opener.update(bytes(encryptedKey).subarray(0, 32));
  const cipher = createCipheriv('aes-256-gcm', contentKey, bytes(message.nonce));
  cipher.setAAD(bytes(message.aad));
  const forged = Buffer.concat([cipher.update('as forged'), cipher.final(), cipher.getAuthTag()]);
  const changed = { ...message, encryptedContent: forged.toString('base64url') };
  assert.equal(await native.open(group, 2, changed), 'as forged');
  assert.ok(!native.properties.includes('insider'));
});

test('a_many_case_takes_sets_of_different_messages', async () => {
  const opened = [];
  const subject = {
    properties: [],
    setup: () => null,
    content: (bytes) => `${(subject.made += 1)}`.padStart(bytes),
    made: 0,
    seal: (_group, content) => content,
    open: async (_group, _index, envelope) => opened.push(Number(envelope)),
    tamper: (envelope) => envelope,
  };
  const params = { members: 1, bytes: 4, count: 3 };
  const { step } = await prepare(subject, 'open_many', params, 2);
  for (const n of [0, 1, 2]) {
    assert.equal((await step(n)).length, 3);
  }
  assert.deepEqual(opened, [1, 2, 3, 2, 3, 4, 1, 2, 3]);
});
