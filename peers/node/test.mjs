// Drives the peer as the harness does. `node test.mjs`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  createCipheriv, createDecipheriv, createPrivateKey, createPublicKey, diffieHellman,
} from 'node:crypto';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { ed25519 } from '@noble/curves/ed25519.js';
import { glibcWanted, isOlder, lowered } from './elf-versions.mjs';
import { prepare } from './envelope.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const SUBJECTS = [
  'seed-noble',
  'seed-noble-json',
  'seed-native',
  'libsignal',
  'libsodium-sealed-box',
  'libsodium-sealed-box-x25519',
  'core-crypto',
  'nostr-tools',
  'nostr-tools-cached',
];
const BUN_SUBJECTS = ['seed-noble-bun', 'seed-noble-json-bun', 'seed-native-bun'];
/** Bun as npm installs it for this CPU. */
const BUN = join(
  HERE, `node_modules/@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}/bin/bun`,
);
/** Those of the suite `envelope`. */
const SEALERS = SUBJECTS.slice(0, SUBJECTS.indexOf('core-crypto'));
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

function start(folder = HERE, environment = {}, program = process.execPath) {
  const env = { ...process.env, ...environment };
  const child = spawn(program, ['main.mjs'], { cwd: folder, env });
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
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async end(bytes = '') {
      child.stdin.end(bytes);
      return { code: await ended, errors, more: (await answers.next()).value };
    },
  };
}

test('every_case_of_every_subject_is_checked_run_and_released', () =>
  everyCase(start(), SUBJECTS, SEALERS));

test('bun_runs_the_subjects_of_the_published_baseline', () =>
  everyCase(start(HERE, {}, BUN), BUN_SUBJECTS, BUN_SUBJECTS));

async function everyCase(peer, subjects, sealers) {
  const hello = await peer.ask({ op: 'hello', protocol: 1 });
  assert.deepEqual(hello.subjects.map(({ subject }) => subject), subjects);
  for (const { subject, properties } of hello.subjects) {
    if (!sealers.includes(subject)) {
      continue;
    }
    const known = subject.replace(/-bun$/, '');
    for (const members of [1, 5, 100]) {
      for (const name of CASES) {
        if (known === 'seed-noble-json' && name.startsWith('seal')) {
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
        assert.equal(check.sealed_bytes, SIZES[known]?.(members) ?? check.sealed_bytes, at);
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
}

test('steps_of_the_baseline_are_told_and_add_up', async () => {
  const peer = start();
  const params = { members: 20, bytes: 10240 };
  const request = { op: 'prepare', subject: 'seed-noble', case: 'breakdown', params, inputs: 2 };
  const { handle } = await peer.ask(request);
  const { round_trip: roundTrip, figures } = await peer.ask({ op: 'check', handle });
  assert.equal(roundTrip, true);
  const steps = ['content', 'conversion', 'agreement', 'wrap', 'encoding'];
  for (const direction of ['seal', 'open']) {
    const least = (step) => Math.min(...figures[`${direction}_${step}`]);
    const sum = steps.map(least).reduce((a, b) => a + b);
    const share = sum / least('total');
    assert.ok(share > 0.5 && share < 2, `${direction}: ${share}`);
  }
  assert.equal((await peer.ask({ op: 'run', handle, iterations: 1 })).error, 'unsupported');
  for (const subject of ['libsignal', 'libsodium-sealed-box', 'seed-noble-json']) {
    assert.equal((await peer.ask({ ...request, subject })).error, 'unsupported', subject);
  }
  assert.equal((await peer.end()).code, 0);
});

test('empty_and_large_contents_are_sealed', async () => {
  const peer = start();
  for (const subject of SEALERS) {
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

test('cases_of_nostr_are_checked_and_run', async () => {
  const peer = start();
  const [plain, kept] = ['nostr-tools', 'nostr-tools-cached'];
  const cases = [
    ['aes_encrypt', { bytes: 1000 }, [plain]],
    ['aes_decrypt', { bytes: 1000 }, [plain]],
    ['nip04_encrypt', { bytes: 1000 }, [plain]],
    ['nip04_decrypt', { bytes: 1000 }, [plain]],
    ['nip44_encrypt', { bytes: 1000, cached: 0 }, [plain]],
    ['nip44_decrypt', { bytes: 1000, cached: 0 }, [plain]],
    ['nip44_encrypt', { bytes: 65_537, cached: 1 }, [kept]],
    ['nip44_decrypt', { bytes: 1, cached: 1 }, [kept]],
    ['conversation_key', {}, [plain]],
    ['sign', {}, [plain, kept]],
    ['sign', { bytes: 0 }, [plain, kept]],
    ['verify', { bytes: 100 }, [plain, kept]],
    ['flow', { bytes: 1000 }, [plain, kept]],
    ['flow', { bytes: 60_001 }, []],
    ['nip44_encrypt', { bytes: 1 }, []],
    ['nip44_encrypt', { bytes: 0, cached: 0 }, []],
    ['conversation_key', { bytes: 1 }, []],
    ['seal', { members: 1, bytes: 1 }, []],
  ];
  for (const [name, params, have] of cases) {
    for (const subject of [plain, kept]) {
      const at = `${subject} ${name} ${JSON.stringify(params)}`;
      const request = { op: 'prepare', subject, case: name, params, inputs: 3 };
      const { handle, error, message } = await peer.ask(request);
      assert.equal(error, have.includes(subject) ? undefined : 'unsupported', `${at}: ${message}`);
      if (handle === undefined) {
        continue;
      }
      const check = await peer.ask({ op: 'check', handle });
      assert.equal(check.round_trip, true, `${at}: ${check.message}`);
      assert.equal(check.tamper_refused, /^(nip44|sign|ver|flow)/.test(name) || null, at);
      // More than there are inputs.
      const run = await peer.ask({ op: 'run', handle, iterations: 4 });
      assert.ok(run.wall_ns > 0 && run.cpu_ns > 0, `${at}: ${run.message}`);
    }
  }
  assert.deepEqual(await peer.end(), { code: 0, errors: '', more: undefined });
});

const BATCH = {
  messages: 9, conversations: 2, per_commit: 4, engine: 1, threads: 1, members: 2,
};

function backlog(subject, change = {}, inputs = 2) {
  const params = { ...BATCH, ...change };
  return { op: 'prepare', subject, case: 'decrypt_batch', params, inputs };
}

test('backlogs_of_every_engine_are_checked_run_and_released', async () => {
  const peer = start();
  const cases = [
    ['libsignal', { per_commit: 1 }],
    ['libsignal', { per_commit: 1, messages: 1, conversations: 1 }],
    ['core-crypto', {}],
    ['core-crypto', { per_commit: 1 }],
    ['core-crypto', { per_commit: 9, conversations: 1 }],
    ['core-crypto', { conversations: 10 }],
    ['core-crypto', { engine: 2 }],
    ['core-crypto', { engine: 2, members: 5, per_commit: 9 }],
  ];
  for (const [subject, change] of cases) {
    const at = `${subject} ${JSON.stringify(change)}`;
    const { ok, handle, message } = await peer.ask(backlog(subject, change));
    assert.ok(ok, `${at}: ${message}`);
    const check = await peer.ask({ op: 'check', handle });
    assert.equal(check.round_trip && check.tamper_refused, true, `${at}: ${check.message}`);
    assert.ok(check.sealed_bytes > 100 && check.sealed_bytes < 600, at);
    const { bytes_written: written, state_bytes: state, recovered_percent: back } = check.figures;
    if (subject === 'core-crypto') {
      // A group comes back after an abort; of the pairwise sessions that is Wire's to say.
      assert.ok(back.every((percent) => [0, 50, 100].includes(percent)), at);
      assert.ok(change.engine !== 2 || back[0] === 100, at);
      assert.ok(state[0] > 4096, at);
      assert.ok(process.platform !== 'linux' || written[0] > 4096, at);
    } else {
      assert.deepEqual([state, back], [undefined, undefined], at);
    }
    // More iterations than there are backlogs: each finds the receiver as it was.
    for (const iterations of [1, 3]) {
      const run = await peer.ask({ op: 'run', handle, iterations });
      assert.equal(run.iterations, iterations, `${at}: ${run.message}`);
      assert.ok(run.wall_ns > 0 && run.cpu_ns > 0, at);
    }
    assert.deepEqual(await peer.ask({ op: 'release', handle }), { ok: true });
    assert.equal((await peer.ask({ op: 'run', handle, iterations: 1 })).error, 'protocol');
  }
  assert.deepEqual(await peer.end(), { code: 0, errors: '', more: undefined });
});

test('backlogs_that_a_subject_has_not_are_unsupported', async () => {
  const peer = start();
  const wrong = [
    ['libsignal', { per_commit: 2 }], ['libsignal', { per_commit: 1, engine: 2 }],
    ['core-crypto', { engine: 0 }], ['core-crypto', { engine: 3 }],
    ['core-crypto', { threads: 2 }], ['core-crypto', { members: 3 }],
    ['core-crypto', { engine: 2, members: 1 }], ['core-crypto', { per_commit: 0 }],
    ['core-crypto', { per_commit: 10 }], ['core-crypto', { messages: 1e9 }],
    ['core-crypto', { conversations: 0 }], ['core-crypto', { bytes: 100 }],
    ['core-crypto', { threads: undefined }], ['core-crypto', { engine: undefined }],
    ['seed-noble', {}],
  ];
  for (const [subject, change] of wrong) {
    const answer = await peer.ask(backlog(subject, change));
    assert.equal(answer.error, 'unsupported', `${subject} ${JSON.stringify(change)}`);
  }
  for (const inputs of [0, 1e6]) {
    assert.equal((await peer.ask(backlog('core-crypto', {}, inputs))).error, 'unsupported');
  }
  assert.equal((await peer.ask({ ...backlog('core-crypto'), case: 'seal' })).error, 'unsupported');
  for (const change of [{ engine: 'mls' }, { engine: null }, { threads: 'all' }, { messages: 1.5 }]) {
    assert.equal((await peer.ask(backlog('core-crypto', change))).error, 'protocol');
  }
  assert.equal((await peer.end()).code, 0);
});

test('nothing_of_core_crypto_stays_behind_even_of_a_peer_that_is_killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'peer-'));
  try {
    for (const end of ['end', 'kill']) {
      const peer = start(HERE, { TMPDIR: folder });
      const { handle } = await peer.ask(backlog('core-crypto'));
      assert.ok((await peer.ask({ op: 'run', handle, iterations: 1 })).ok);
      assert.equal((await readdir(folder)).length, 1);
      await peer[end]();
      for (let left = 100; left > 0 && (await readdir(folder)).length > 0; left -= 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      assert.deepEqual(await readdir(folder), [], end);
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a_worn_out_process_of_core_crypto_is_replaced', async () => {
  const workers = await import('./core-crypto/workers.mjs');
  const { default: subject } = await import('./subjects/core-crypto.mjs');
  const job = await subject.sessions.make({ ...BATCH, engine: 'pairwise' }, 1);
  await workers.call(1e6, 'own', undefined);
  assert.ok(workers.isFresh());
  assert.ok((await job.measure(0)).wall > 0);
  assert.ok(!workers.isFresh());
  assert.equal((await job.check()).round_trip, true);
  job.release();
  workers.stop();
});

test('a_library_is_made_to_ask_for_an_older_glibc_or_left_alone', () => {
  const native = 'node_modules/@wireapp/core-crypto/dist/native/libcore_crypto_ffi.so';
  const library = readFileSync(join(HERE, native));
  const older = lowered(library, '2.36');
  assert.equal(glibcWanted(older), '2.34');
  // One symbol's name, and one version's hash and name.
  const changed = library.filter((byte, i) => byte !== older[i]).length;
  assert.ok(changed <= 12 && changed > 0 === (glibcWanted(library) === '2.38'), `${changed}`);
  assert.deepEqual(lowered(older, '2.36'), older);
  assert.deepEqual(lowered(library, '2.40'), library);
  assert.throws(() => lowered(library, '2.33'), /it needs \w+ of glibc 2.34, and here is 2.33/);
  assert.ok(isOlder('2.9', '2.38') && !isOlder('2.38', '2.38') && isOlder('2', '2.1'));
  const broken = [Buffer.alloc(0), Buffer.alloc(64), library.subarray(0, 4096)];
  const odd = Buffer.from(library);
  odd.writeUInt16LE(183, 18); // AArch64
  for (const bytes of [...broken, odd]) {
    assert.throws(() => glibcWanted(bytes));
  }
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
