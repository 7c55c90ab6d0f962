// The published method.

import noble from '../peer/subjects/seed-noble.mjs';

export async function cases(members, bytes) {
  const group = noble.setup(members);
  const content = noble.content(bytes);
  const sealed = await noble.seal(group, content);
  return {
    seal: () => noble.seal(group, content),
    open: () => noble.open(group, members >> 1, sealed),
  };
}
