"""The aws-chunked encodings of an upload, signed and not, with and without a trailer."""

import wire


def chunks(data, size):
    return [data[at : at + size] for at in range(0, len(data), size)]


def signed(signer, seed, data, size, trailer=None, tamper=None):
    """Chunks that are each signed over the one before; `tamper(number, chunk)` comes afterwards."""
    out = []
    signature = seed
    for number, chunk in enumerate(chunks(data, size) + [b""]):
        signature = signer.chunk(signature, chunk)
        if tamper:
            chunk = tamper(number, chunk)
        out.append(f"{len(chunk):x};chunk-signature={signature}\r\n".encode() + chunk)
        if chunk:
            out.append(b"\r\n")
    if trailer:
        name, value = trailer
        last = signer.trailer(signature, f"{name}:{value}\n")
        out.append(f"{name}:{value}\r\nx-amz-trailer-signature:{last}\r\n\r\n".encode())
    else:
        out.append(b"\r\n")
    return b"".join(out)


def unsigned(data, size, trailer):
    out = [f"{len(it):x}\r\n".encode() + it + b"\r\n" for it in chunks(data, size)]
    name, value = trailer
    out.append(f"0\r\n{name}:{value}\r\n\r\n".encode())
    return b"".join(out)


def put(wire_, target, data, form, size=8192, trailer=None, decoded=None, tamper=None, extra=None):
    """Uploads in one of the forms. The answer."""
    signer = wire_.signer()
    headers = {
        "host": wire_.host,
        "content-encoding": "aws-chunked",
        "x-amz-decoded-content-length": str(len(data) if decoded is None else decoded),
        **(extra or {}),
    }
    if trailer:
        headers["x-amz-trailer"] = trailer[0]

    def encode(seed):
        if form == wire.UNSIGNED_TRAILER:
            return unsigned(data, size, trailer)
        return signed(signer, seed, data, size, trailer, tamper)

    # The length of the encoding does not depend on the signatures in it.
    headers["content-length"] = str(len(encode("0" * 64)))
    headers, seed = signer.header("PUT", target, headers, form)
    exchange = wire.Exchange(wire_.port, "PUT", target, headers)
    try:
        exchange.send(encode(seed))
    except OSError:
        pass
    return exchange.reply()
