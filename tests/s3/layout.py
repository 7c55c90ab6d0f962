"""Which functions run in `endseal s3 serve`, for the linker to put side by side.

callgrind counts them in a proxy before versitygw: first what objects need, the ones that execute
most in front, then what only a start needs, then what is asked for seldom. The linker script has a
pattern for each: what differs from one build to the next, the hashes in names, is left open.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

import boto3
from botocore.config import Config
from content import KIB, MIB, content, same
from main import built
from processes import stop_at_exit
from proxy import ACCESS, SECRET, Proxy, new_ring
from servers import REGION, Versitygw

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
OUT = os.path.join(ROOT, "crates", "endseal-cli", "served.ld")
BUCKET = "layout"
# valgrind has no AVX-512, so that what most machines use of it is not seen; nor is a log that is
# none, as the proxy here has one.
UNSEEN = ["*endseal_crypto*3low4vaes*", "_ZN8crc_fast*avx512*", "*endseal_s3proxy..log..Silent*"]
# AWS-LC's assembly, which has a section a file.
ASSEMBLY = ["sha256", "aesni", "aesni-gcm", "ghash", "rdrand"]
# Bytes of functions of one name, for each byte of those that ran.
MOST_ALIKE = 2
# Whose objects have what ran of generic functions that have more types than that.
CRATES = ["endseal_s3proxy", "endseal_crypto", "hyper", "tokio", "alloc", "core", "std"]

HEAD = """\
/* Functions that run in `endseal s3 serve`, the busiest first: side by side in the program, so that
   a server has fewer pages of it in memory and in the TLB. Written by tests/s3/layout, which says
   how; docs/design/s3-proxy-tuning.md has what it is worth. A name that is no more does no harm. */
SECTIONS
{
  .text.served :
  {
"""
FOOT = """\
  }
}
INSERT BEFORE .text;
"""


class Counted(Proxy):
    """A proxy under callgrind."""

    def __init__(self, binary, counts, *rest):
        folder = os.path.dirname(counts)
        wrapper = os.path.join(folder, "counted")
        with open(os.open(wrapper, os.O_WRONLY | os.O_CREAT, 0o700), "w") as script:
            script.write(
                "#!/bin/sh\nexec valgrind --tool=callgrind --demangle=no --quiet "
                f"--callgrind-out-file='{counts}' '{binary}' \"$@\"\n"
            )
        super().__init__(wrapper, *rest)

    def dump(self):
        """Begins a new file; the one before is `counts`.1, `counts`.2."""
        subprocess.run(
            ["callgrind_control", "--dump", str(self.process.child.pid)],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


def client(url, **config):
    return boto3.client(
        "s3",
        endpoint_url=url,
        aws_access_key_id=ACCESS,
        aws_secret_access_key=SECRET,
        region_name=REGION,
        config=Config(
            signature_version="s3v4",
            s3={"addressing_style": "path"},
            read_timeout=300,
            retries={"total_max_attempts": 1},
            **config,
        ),
    )


def often(url):
    """Mostly small objects, as these are where time goes to functions and not to kernels."""
    s3 = client(url)
    # With a checksum behind the content and without, whole and in chunks.
    plain = client(url, request_checksum_calculation="when_required")
    for writer in (s3, plain):
        for number in range(60):
            body = content(4 * KIB, number)
            writer.put_object(Bucket=BUCKET, Key=f"small/{number}", Body=body)
            got = writer.get_object(Bucket=BUCKET, Key=f"small/{number}")["Body"].read()
            same(got, body)
            writer.head_object(Bucket=BUCKET, Key=f"small/{number}")
        body = content(24 * MIB)
        writer.put_object(Bucket=BUCKET, Key="large", Body=body)
        same(writer.get_object(Bucket=BUCKET, Key="large")["Body"].read(), body)
    got = s3.get_object(Bucket=BUCKET, Key="large", Range="bytes=70000-99999")["Body"].read()
    same(got, body[70000:100000], "range")


def seldom(url):
    """An upload in parts, a copy, lists, and an end."""
    s3, body = client(url), content(24 * MIB)
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="parts")["UploadId"]
    parts = []
    for number, begin in enumerate(range(0, len(body), 9 * MIB), 1):
        part = body[begin : begin + 9 * MIB]
        reply = s3.upload_part(
            Bucket=BUCKET, Key="parts", UploadId=upload, PartNumber=number, Body=part
        )
        parts.append({"PartNumber": number, "ETag": reply["ETag"]})
    s3.list_parts(Bucket=BUCKET, Key="parts", UploadId=upload)
    s3.complete_multipart_upload(
        Bucket=BUCKET, Key="parts", UploadId=upload, MultipartUpload={"Parts": parts}
    )
    same(s3.get_object(Bucket=BUCKET, Key="parts")["Body"].read(), body, "parts")
    s3.copy_object(Bucket=BUCKET, Key="copy", CopySource={"Bucket": BUCKET, "Key": "small/1"})
    listed = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    names = [{"Key": it["Key"]} for it in listed]
    s3.delete_objects(Bucket=BUCKET, Delete={"Objects": names})
    s3.delete_bucket(Bucket=BUCKET)


def executed(counts):
    """Instructions of each function by itself, by its symbol."""
    names, cost = {}, collections.Counter()
    function, is_call = None, False
    with open(counts) as lines:
        for line in lines:
            if named := re.match(r"(c?)fn=\((\d+)\)(?: (.*))?$", line):
                callee, number, name = named.groups()
                if name:
                    # A function that calls itself has a number behind.
                    names[number] = name.split("'")[0]
                if not callee:
                    function = number
            elif line.startswith("calls="):
                is_call = True
            elif line[0] in "+-*0123456789":
                # The line below `calls=` is what the called function took.
                if not is_call:
                    cost[names[function]] += int(line.split()[1])
                is_call = False
    return cost


def own(binary):
    """The functions of the program, not of libraries, with their lengths."""
    listed = subprocess.run(
        ["nm", "--defined-only", "--print-size", binary],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    fields = (line.split() for line in listed.stdout.splitlines())
    return {it[3]: int(it[1], 16) for it in fields if len(it) == 4 and it[2] in "tTwW"}


def pattern(symbol):
    """A symbol of any build: hashes, numbers of crates and of LLVM, AWS-LC's version are open."""
    symbol = re.sub(r"^aws_lc_\d+_\d+_\d+_", "aws_lc_*_", symbol)
    symbol = re.sub(r"\.llvm\.\d+$", "*", symbol)
    symbol = re.sub(r"17h[0-9a-f]{16}E\*?", "17h????????????????E*", symbol)
    return re.sub(r"Cs[0-9A-Za-z]+_(?=\d)", "Cs*_", symbol)


def script(costs, lengths):
    """The linker script; of several counts, what is in an earlier one comes earlier."""
    busiest = [it for cost in costs for it, _ in cost.most_common() if it in lengths]
    ran, all_alike = collections.Counter(), collections.Counter()
    for symbol in set(busiest):
        ran[pattern(symbol)] += lengths[symbol]
    for symbol, length in lengths.items():
        all_alike[pattern(symbol)] += length
    # dict: each once, in order.
    patterns = dict.fromkeys([*UNSEEN, *map(pattern, busiest)])
    tight, loose = [], []
    for it in patterns:
        # A generic function has one name for all its types: where most of them did not run, only
        # those that the crates of the server have made, and behind all others.
        if it in UNSEEN or all_alike[it] <= MOST_ALIKE * ran[it]:
            files = tight, ["*"]
        else:
            files = loose, [f"*{name}-*" for name in CRATES]
        # Functions that are called seldom may have a prefix.
        files[0].extend(f"    {file}(.text.{it} .text.unlikely.{it})\n" for file in files[1])
    assembly = [f"    *libaws_lc_sys-*:*-{it}-x86_64.o(.text)\n" for it in ASSEMBLY]
    return HEAD + "".join([*assembly, *tight, *loose]) + FOOT, len(patterns)


def main():
    parser = argparse.ArgumentParser(prog="tests/s3/layout", description=__doc__)
    parser.add_argument("--proxy-bin", default=built(), help="the program endseal, with symbols")
    parser.add_argument("--out", default=OUT, metavar="FILE", help="the linker script")
    options = parser.parse_args()
    if options.proxy_bin is None:
        parser.error("no proxy: build it, or name it by --proxy-bin")
    if shutil.which("valgrind") is None:
        parser.error("valgrind is missing")
    stop_at_exit()
    with tempfile.TemporaryDirectory() as folder:
        server = Versitygw(folder)
        server.start()
        ring = os.path.join(folder, "ring")
        new_ring(options.proxy_bin, ring)
        counts = os.path.join(folder, "counts")
        proxy = Counted(options.proxy_bin, counts, server, folder, ring)
        client(proxy.url).create_bucket(Bucket=BUCKET)
        proxy.dump()
        often(proxy.url)
        proxy.dump()
        seldom(proxy.url)
        status = proxy.stop()
        server.stop()
        if status != 0:
            raise RuntimeError(f"the proxy ended with {status}: {proxy.words()[-1500:]}")
        text, count = script(
            [executed(f"{counts}.2"), executed(f"{counts}.1"), executed(counts)],
            own(options.proxy_bin),
        )
    with open(options.out, "w") as file:
        file.write(text)
    print(f"{count} patterns written to {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
