"""The local API of a node, version 1: an independent reader of docs/spec/node-api.md."""

import json
import re
import unicodedata

import endseal_identity

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
MAX_U32, MAX_U64 = (1 << 32) - 1, (1 << 64) - 1
# Of an id that is a text, in bytes.
MAX_ID_LEN = 1024
# Of the name of a device, in bytes.
MAX_NAME = 64


class Refused(Exception):
    """`code` is that of the error; `id` is the id of the request if it could be read."""

    def __init__(self, code, id=None):
        super().__init__(code)
        self.code, self.id = code, id


def check(condition, code, id=None):
    if not condition:
        raise Refused(code, id)


# ------------------------------------------------------------------------------------- JSON


class Object(list):
    """The members of an object, of which a name may be there twice."""


class Fraction:
    """A number that is not written as a natural one, or is greater than all that are used."""


def natural(digits):
    """The number, without conversion of very long ones."""
    return int(digits) if digits.isdigit() and len(digits) <= 20 else Fraction()


def no_number(_):
    raise ValueError("no number of JSON")


def parse(line):
    try:
        return json.loads(
            line.decode("utf-8"),
            object_pairs_hook=Object,
            parse_int=natural,
            parse_float=lambda _: Fraction(),
            parse_constant=no_number,
        )
    except ValueError:
        raise Refused(PARSE) from None


def is_text(value):
    """Python's parser accepts half of a pair of surrogates."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def is_number(value, most):
    return isinstance(value, int) and not isinstance(value, bool) and value <= most


def members(value):
    """The members of an object as a dictionary, or None if it is none or has a name twice."""
    if not isinstance(value, Object):
        return None
    found = dict(value)
    return found if len(found) == len(value) else None


# ------------------------------------------------------------------------------------- parameters


def u32(value):
    return value if is_number(value, MAX_U32) else None


def u64(value):
    return value if is_number(value, MAX_U64) else None


def positive(value):
    return u64(value) or None


def text(value):
    return value if is_text(value) else None


def each(of):
    def read(value):
        # An object is a list of its members here.
        if not isinstance(value, list) or isinstance(value, Object):
            return None
        found = [of(item) for item in value]
        return None if None in found else found

    return read


def person(value):
    """The short form of an identity."""
    try:
        public = endseal_identity.public_identity(value) if is_text(value) else None
    except endseal_identity.IdentityError:
        return None
    return public and endseal_identity.bech32m(endseal_identity.SHORT, public.ed25519)


def truth(value):
    return value if isinstance(value, bool) else None


def conversation(value):
    is_group = is_text(value) and re.fullmatch("[0-9a-f]{32}", value)
    return value if is_group else person(value)


def device_name(value):
    """1 to 64 bytes without control characters, and without white space at its ends."""
    if not is_text(value) or not 1 <= len(value.encode()) <= MAX_NAME:
        return None
    is_plain = not any(unicodedata.category(it) == "Cc" for it in value)
    return value if is_plain and value == value.strip() else None


METHODS = {
    "version": {},
    "status": {},
    "say": {"to": conversation, "texts": each(text)},
    "answer": {"number": u64, "texts": each(text)},
    "sync": {"attempts": u32},
    "unread": {"after": u64},
    "mark_read": {"numbers": each(u64)},
    "history": {"with": conversation, "after": u64, "limit": positive},
    "unsent": {"after": u64},
    "unsend": {"to": conversation, "numbers": each(u64)},
    "unsend_all": {"to": conversation},
    "delete_texts": {"with": conversation, "numbers": each(u64)},
    "delete_texts_before": {"with": conversation, "time": u64},
    "requests": {"after": u64},
    "accept": {"person": person},
    "block": {"person": person},
    "unblock": {"person": person},
    "mute": {"person": person, "is_muted": truth},
    "verify": {"person": person, "is_verified": truth},
    "persons": {},
    "teams": {},
    "members": {"team": conversation, "after": u64},
    "leave": {"team": conversation},
    "departures": {},
    "problems": {},
    "forget_problems": {"last": u64},
    "devices": {"person": person},
    "name_device": {"device": u32, "name": device_name},
    "device_changes": {},
    "mark_changes_seen": {"last": u64},
    "follow": {"after": u64},
    "backup": {},
}


def request(line):
    """The id, the method and the parameters of a line, in the order of the specification."""
    line = members(parse(line))
    check(line is not None, REQUEST)
    check(line.keys() <= {"jsonrpc", "id", "method", "params"}, REQUEST)
    check(line.get("jsonrpc") == "2.0", REQUEST)
    id, method = line.get("id"), line.get("method")
    check(is_text(id) or is_number(id, MAX_U64), REQUEST)
    check(not is_text(id) or len(id.encode()) <= MAX_ID_LEN, REQUEST)
    check(is_text(method), REQUEST)
    check(method in METHODS, METHOD, id)
    params = line.get("params")
    params = {} if params is None else members(params)
    check(params is not None, PARAMS, id)
    fields = METHODS[method]
    check(params.keys() == fields.keys(), PARAMS, id)
    values = {name: read(params[name]) for name, read in fields.items()}
    check(None not in values.values(), PARAMS, id)
    return id, method, values


def written(id, method, params):
    """A request as endseal writes it, without the end of the line."""
    value = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
