// The runtime that this peer runs in, and its subjects. Names of subjects are unique across peers:
// those that Bun runs have `-bun` behind.

/** Subjects of the published baseline, which its authors timed in Bun. */
const BASELINE = ['seed-noble', 'seed-noble-json', 'seed-native'];

const NODE = {
  peer: 'node',
  runtime: `Node.js ${process.versions.node}`,
  versions: {},
  suffix: '',
  subjects: [
    ...BASELINE,
    'libsignal',
    'libsodium-sealed-box',
    'libsodium-sealed-box-x25519',
    'core-crypto',
    'nostr-tools',
    'nostr-tools-cached',
  ],
};

/** Its package, which the lock file pins. */
const PACKAGE = `@oven/bun-linux-${process.arch === 'arm64' ? 'aarch64' : process.arch}`;

const BUN = {
  peer: 'bun',
  runtime: `Bun ${process.versions.bun}`,
  versions: { [PACKAGE]: process.versions.bun },
  suffix: '-bun',
  subjects: BASELINE,
};

export const RUNTIME = process.versions.bun ? BUN : NODE;
