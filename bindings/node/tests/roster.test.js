// README's example of a group, with the program ENDSEAL_PROGRAM.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

const folder = mkdtempSync(join(tmpdir(), 'endseal-'));
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(ENDSEAL_|XDG_|HOME)/.test(name)),
);

async function run(name, ...words) {
  const options = { env: environment, timeout: 60_000 };
  const running = promisify(execFile)(process.env.ENDSEAL_PROGRAM, ['--home', join(folder, name), ...words], options);
  running.child.stdin.end();
  return (await running).stdout.trim();
}

test('the program opens what README seals to a group', { timeout: 120_000 }, async () => {
  try {
    for (const name of ['alice', 'bob']) await run(name, 'init', '--no-passphrase');
    await run('alice', 'contacts', 'add', '--local', 'bob', await run('bob', 'id', 'show', '--pq'));
    await run('alice', 'group', 'create', 'team');
    await run('alice', 'group', 'export', 'team', '-o', 'first.roster', '--force');
    await run('alice', 'group', 'add', 'team', 'bob');
    await run('alice', 'group', 'export', 'team', '-o', 'second.roster', '--force');
    const owner = await run('alice', 'id', 'show');
    const readme = readFileSync(process.env.ENDSEAL_README, 'utf8');
    const [, source] = /^```js roster\n([^]*?)^```/m.exec(readme);
    const head = "import { Identity, seal } from 'endseal';\n"
      + "const [alice, context] = [Identity.generate(), 'endseal/file@v1 content'];\n";
    const tail = "\nexport { alice, minutes, team };\n";
    writeFileSync('readme_roster.js', head + source.replace(/'endseal1…'/, `'${owner}'`) + tail);
    const { alice, minutes, team } = await import(join(process.cwd(), 'readme_roster.js'));
    assert.deepEqual(team.members.map((it) => it.name), ['bob', 'owner']);
    assert.deepEqual([team.group, team.epoch, String(team.owner)], ['team', 2n, owner]);
    const envelope = join(folder, 'minutes.es');
    writeFileSync(envelope, minutes);
    await run('bob', 'contacts', 'add', '--local', 'author', String(alice.public));
    assert.equal(await run('bob', 'open', '--from', 'author', envelope), 'minutes');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
