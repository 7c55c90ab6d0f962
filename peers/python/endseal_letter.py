"""Letters, version 1: an independent reader of docs/spec/letter.md."""

import endseal_envelope as envelope
import endseal_node as node

ENVELOPE = 1
LABEL = b"endseal/letter@v1 envelope\0"
HEAD_LEN = node.ADDRESS_LEN + 16 + 8


def head(encoding):
    """Identity and number of the sender's device, group and epoch."""
    node.check(len(encoding) == HEAD_LEN, "form")
    identity, device = node.address(encoding[:36], "form")
    return identity, device, encoding[36:52], node.number(encoding[52:])


def opened(sealed, slot, roster, device, user_ed25519_seed, user_mlkem768_seed):
    """Head, id and content of a letter in a decoded SealedMessage."""
    node.check(sealed.scheme == ENVELOPE, "form")
    claims = head(sealed.context)
    try:
        view = envelope.attach(sealed.ciphertext, slot)
    except envelope.EnvelopeError:
        raise node.Refused("frame") from None
    context = LABEL + sealed.context + roster
    try:
        found = envelope.open_envelope(view, user_ed25519_seed, user_mlkem768_seed, context)
    except envelope.EnvelopeError:
        raise node.Refused("letter") from None
    node.check(found.sender == device, "letter")
    return *claims, device + found.message_id, found.content
