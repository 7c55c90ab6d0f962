// Drives the peer as the harness does. `node test.mjs`

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const SUBJECTS = [
  'seed-noble',
  'seed-native',
  'libsignal',
  'libsodium-sealed-box',
  'libsodium-sealed-box-x25519',
];
const SIZES = {
  5: { 'seed-noble': 2202, 'seed-native': 2202, 'libsodium-sealed-box': 1468 },
  100: { 'seed-noble': 15787, 'seed-native': 15787, 'libsodium-sealed-box': 9068 },
};

function start(folder = HERE) {
  const child = spawn(process.execPath, ['main.mjs'], { cwd: folder });
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
      for (const name of ['seal', 'open', 'seal_many', 'open_many']) {
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
        assert.equal(check.sealed_bytes, SIZES[members]?.[subject] ?? check.sealed_bytes, at);
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
  assert.equal((await peer.end('{"op":"hello"')).code, 0);
});

test('what_a_subject_has_not_is_unsupported', async () => {
  const peer = start();
  const params = { members: 2, bytes: 8 };
  const good = { op: 'prepare', subject: 'seed-native', case: 'seal', params, inputs: 1 };
  const wrong = [
    { subject: 'none' }, { case: 'stream' }, { case: 'constructor' }, { inputs: 0 },
    { params: { members: 0, bytes: 8 } }, { params: { members: 2 } }, { case: 'open_many' },
    { params: { members: 1e9, bytes: 8 } }, { params: { members: 2, bytes: 2 ** 52 } },
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

test('both_seed_subjects_read_each_other', async () => {
  const [noble, native] = await Promise.all(
    SUBJECTS.slice(0, 2).map(async (name) => (await import(`./subjects/${name}.mjs`)).default),
  );
  const content = Buffer.from('the same format');
  for (const [reader, writer] of [[noble, native], [native, noble]]) {
    const group = reader.setup(3);
    assert.deepEqual(Buffer.from(reader.open(group, 1, writer.seal(group, content))), content);
    const other = reader.setup(1);
    assert.throws(() => reader.open(other, 0, writer.seal(group, content)), /no entry/);
  }
});
