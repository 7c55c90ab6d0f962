// The stores that libsignal needs from its user. These are in memory and hold objects.

import * as signal from '@signalapp/libsignal-client';

export const DEVICE = 1;

/** Returns the keys that a member publishes: its identity, and prekeys that all members may share. */
export function bundle({ secret, registration }, { ec, kem }) {
  const [ecPublic, kemPublic] = [ec.getPublicKey(), kem.getPublicKey()];
  return signal.PreKeyBundle.new(
    registration, DEVICE, 1, ecPublic, 1, ecPublic, secret.sign(ecPublic.serialize()),
    secret.getPublicKey(), 1, kemPublic, secret.sign(kemPublic.serialize()),
  );
}

export class Identities extends signal.IdentityKeyStore {
  secret = signal.PrivateKey.generate();
  registration = 1 + Math.floor(Math.random() * 0x3ffe);
  #known = new Map();

  async getIdentityKey() {
    return this.secret;
  }
  async getLocalRegistrationId() {
    return this.registration;
  }
  async saveIdentity(address, key) {
    this.#known.set(address.toString(), key);
    return signal.IdentityChange.NewOrUnchanged;
  }
  async isTrustedIdentity() {
    return true;
  }
  async getIdentity(address) {
    return this.#known.get(address.toString()) ?? null;
  }
}

export class Sessions extends signal.SessionStore {
  #records = new Map();

  async saveSession(address, record) {
    this.#records.set(address.toString(), record);
  }
  async getSession(address) {
    return this.#records.get(address.toString()) ?? null;
  }
  async getExistingSessions(addresses) {
    return addresses.map((address) => this.#records.get(address.toString()));
  }
}
