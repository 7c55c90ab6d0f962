// A Nostr relay in memory for events that are not stored (NIP-01): prints its URL.
import { WebSocketServer } from 'ws';

const relay = new WebSocketServer({ host: '127.0.0.1', port: 0 });
relay.on('listening', () => console.log(`ws://127.0.0.1:${relay.address().port}`));
/** Filters of all subscriptions, by their sockets and ids. */
const subscriptions = new Map();

function matches(filter, event) {
  const tagged = (name) => event.tags.filter((tag) => tag[0] === name).map((tag) => tag[1]);
  return Object.entries(filter).every(([name, wanted]) => {
    switch (name) {
      case 'kinds':
        return wanted.includes(event.kind);
      case 'authors':
        return wanted.includes(event.pubkey);
      case 'since':
        return event.created_at >= wanted;
      case 'limit':
        return true;
      default:
        return name[0] === '#' && tagged(name.slice(1)).some((value) => wanted.includes(value));
    }
  });
}

relay.on('connection', (socket) => {
  const own = new Map();
  subscriptions.set(socket, own);
  socket.on('close', () => subscriptions.delete(socket));
  socket.on('message', (text) => {
    const [kind, first, ...rest] = JSON.parse(text);
    if (kind === 'REQ') {
      own.set(first, rest);
      socket.send(JSON.stringify(['EOSE', first]));
    } else if (kind === 'CLOSE') {
      own.delete(first);
    } else if (kind === 'EVENT') {
      socket.send(JSON.stringify(['OK', first.id, true, '']));
      for (const [other, of] of subscriptions) {
        for (const [id, filters] of of) {
          if (filters.some((filter) => matches(filter, first))) {
            other.send(JSON.stringify(['EVENT', id, first]));
          }
        }
      }
    }
  });
});
