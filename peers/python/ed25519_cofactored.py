"""Ed25519 verification as the envelope specification defines it, in plain integers.

Section "Ed25519 verification": canonical encodings only, no low-order public key, S < L, and the
equation with the cofactor, 8 S B = 8 R + 8 k A.  Nothing here is constant time and nothing here
handles a secret.
"""

import hashlib

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_MINUS_ONE = pow(2, (P - 1) // 4, P)
IDENTITY = (0, 1, 1, 0)  # extended coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, x y = T/Z


def decompress(encoding):
    """The point of a canonical encoding (RFC 8032, 5.1.3), or None."""
    if len(encoding) != 32:
        return None
    y = int.from_bytes(encoding, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * v**3 * pow(u * v**7, (P - 5) // 8, P) % P
    if v * x * x % P == -u % P:
        x = x * SQRT_MINUS_ONE % P
    if v * x * x % P != u:
        return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = P - x
    return (x, y, 1, x * y % P)


def compress(point):
    x, y, z, _ = point
    inverse = pow(z, -1, P)
    return ((y * inverse % P) | ((x * inverse % P & 1) << 255)).to_bytes(32, "little")


def add(p, q):
    """Complete addition on -x^2 + y^2 = 1 + d x^2 y^2 (RFC 8032, 5.1.4)."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def double(p):
    a, b, c = p[0] * p[0] % P, p[1] * p[1] % P, 2 * p[2] * p[2] % P
    h = a + b
    e, g = h - (p[0] + p[1]) ** 2, a - b
    f = c + g
    return (e * f % P, g * h % P, f * g % P, e * h % P)


def negate(p):
    return (-p[0] % P, p[1], p[2], -p[3] % P)


def multiply(scalar, point):
    result = IDENTITY
    for bit in bin(scalar)[2:]:
        result = double(result)
        if bit == "1":
            result = add(result, point)
    return result


def is_identity(p):
    return p[0] % P == 0 and (p[1] - p[2]) % P == 0


def times_eight(p):
    return double(double(double(p)))


def is_low_order(p):
    """Returns true if p is one of the eight points of the torsion subgroup."""
    return is_identity(times_eight(p))


BASE = decompress((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def verify(public_key, signature, message):
    """Section "Ed25519 verification", conditions 1 to 3."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    a, r = decompress(public_key), decompress(signature[:32])
    if a is None or r is None or is_low_order(a):
        return False
    s = int.from_bytes(signature[32:], "little")
    if s >= L:
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    k = int.from_bytes(digest, "little") % L
    difference = add(multiply(s, BASE), negate(add(r, multiply(k, a))))
    return is_identity(times_eight(difference))


def recipient_u(public_key):
    """Section "Keys": the X25519 public key of a recipient, or None if the key must be refused."""
    point = decompress(public_key)
    if point is None or is_low_order(point):
        return None
    y = point[1]
    return ((1 + y) * pow(1 - y, -1, P) % P).to_bytes(32, "little")
