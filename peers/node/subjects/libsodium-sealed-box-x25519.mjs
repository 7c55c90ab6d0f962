// libsodium's sealed boxes for members whose keys are X25519 from the start: what its documentation
// advises where one can choose ("use distinct keys for signing and for encryption").
//
// Follows https://doc.libsodium.org/public-key_cryptography/sealed_boxes. The format is that of
// `libsodium-sealed-box`.

import { sealedBox } from './libsodium-sealed-box.mjs';

export default sealedBox({
  subject: 'libsodium-sealed-box-x25519',
  about: 'a sealed box of the content key a member, from X25519 keys; the content in a secret box',
  settings: 'https://doc.libsodium.org/public-key_cryptography/sealed_boxes',
  ed25519: false,
});
