"""endseal s3 import --from: objects that rclone and s3-encryption-proxy sealed."""

import base64
import json
import os
import shlex
import signal
import subprocess
import time

import pytest

import proxy as proxies
from commands import output, run, write
from content import MIB, content, equal, same
from processes import Process
from servers import REGION
from test_maintenance import tags_of
from world import keys

pytestmark = [pytest.mark.needs_proxy, pytest.mark.with_names]

HERE = os.path.dirname(os.path.abspath(__file__))

# Sealed in boxes of 64 KiB.
FILES = {
    "empty": b"",
    "one": b"1",
    "dir/a b+c ö.txt": content(70_000, 1),
    "dir/deep/64 KiB": content(65_536, 2),
    "dir/deep/two-v2001-02-03-040506-123.txt": content(131_072, 3),
    "long": content(3 * MIB + 7, 4),
}

REMOTES = {
    "standard": "",
    "no-salt": "",
    "base64": "filename_encoding = base64\n",
    "base32768": "filename_encoding = base32768\n",
    "plain-folders": "directory_name_encryption = false\n",
    "obfuscate": "filename_encryption = obfuscate\n",
    "off": "filename_encryption = off\n",
    "suffix": "filename_encryption = off\nsuffix = .enc\n",
    "same-names": "filename_encryption = off\nsuffix = none\n",
}


def version(program):
    """Major and minor number of rclone."""
    first = output([program, "version"]).split("v", 1)[1]
    return tuple(int(it) for it in first.split(".")[:2])


class Crypt:
    """rclone with a crypt remote at the server behind the proxy."""

    def __init__(self, world, bucket, kind="standard"):
        self.program = os.environ.get("ENDSEAL_RCLONE", "rclone")
        if kind in ("suffix", "same-names") and version(self.program) < (1, 61):
            pytest.skip("this rclone has no suffixes")
        self.folder = world.temporary()
        obscured = [output([self.program, "obscure", it]).strip() for it in ("word ü", "salt")]
        passwords = f"password = {obscured[0]}\n"
        if kind != "no-salt":
            passwords += f"password2 = {obscured[1]}\n"
        server = world.server
        text = (
            "[it]\ntype = s3\nprovider = Other\n"
            f"access_key_id = {server.access}\nsecret_access_key = {server.secret}\n"
            f"endpoint = {server.url}\nregion = {REGION}\nforce_path_style = true\n"
            f"chunk_size = 5Mi\nupload_cutoff = 5Mi\n\n"
            f"[hidden]\ntype = crypt\nremote = it:{bucket}/below\n{passwords}{REMOTES[kind]}"
        )
        self.config = write(self.folder, "rclone.conf", text.encode())
        os.chmod(self.config, 0o600)

    def __call__(self, *arguments):
        return output([self.program, "--config", self.config, "--retries", "1", *arguments])

    def upload(self, files):
        source = os.path.join(self.folder, "files")
        for name, data in files.items():
            write(source, name, data)
        self("copy", source, "hidden:")


def import_(world, bucket, *options, expect=0):
    configuration = world.proxy.configuration
    return proxies.command(
        world.binary, "import", bucket, "--config", configuration, *options, expect=expect
    )


def from_crypt(world, bucket, crypt, *options, expect=0):
    named = ["--from", "rclone-crypt", "--rclone-config", crypt.config, "--remote", "hidden"]
    return import_(world, bucket, *named, *options, expect=expect)


def compare(world, bucket, files):
    equal(sorted(keys(world.s3, bucket)), sorted(files), "keys")
    for key, data in files.items():
        same(world.s3.get_object(Bucket=bucket, Key=key)["Body"].read(), data, key)


def raw(world, bucket):
    """What lies at the server: keys and entity tags."""
    listed = world.back.list_objects_v2(Bucket=bucket).get("Contents", [])
    return {it["Key"]: it["ETag"] for it in listed}


@pytest.mark.parametrize("kind", REMOTES)
def test_a_crypt_remote_is_sealed_in_another_bucket(world, kind):
    source, bucket = world.bucket("crypt"), world.bucket("sealed")
    crypt = Crypt(world, source, kind)
    crypt.upload(FILES)
    before = raw(world, source)
    size = sum(map(len, FILES.values()))
    would = from_crypt(world, bucket, crypt, "--dry-run")
    equal((would["sealed"], would["bytes"], would["complete"]), (len(FILES), size, True), "dry")
    equal(keys(world.back, bucket), [], "after a dry run")
    some = from_crypt(world, bucket, crypt, "--prefix", "dir/deep/")
    equal((some["sealed"], some["authentic"]), (2, 2), str(some))
    report = from_crypt(world, bucket, crypt)
    equal((report["sealed"], report["present"]), (len(FILES) - 2, 2), str(report))
    equal((report["authentic"], report["complete"]), (len(FILES), True), str(report))
    equal(report["unauthenticated"], 0, str(report))
    compare(world, bucket, FILES)
    equal(raw(world, source), before, "the source")
    # rclone finds the time of a file in its metadata, and no digest of the sealed bytes.
    metadata = world.s3.head_object(Bucket=bucket, Key="long")["Metadata"]
    assert "mtime" in metadata and "md5chksum" not in metadata, metadata
    again = from_crypt(world, bucket, crypt, "--into", "old/")
    equal((again["sealed"], again["authentic"]), (len(FILES), len(FILES)), str(again))
    both = {**FILES, **{"old/" + key: data for key, data in FILES.items()}}
    compare(world, bucket, both)


@pytest.mark.parametrize("kind", ["standard", "off", "same-names"])
def test_a_crypt_remote_is_sealed_in_its_bucket(world, kind):
    bucket = world.bucket("crypt")
    crypt = Crypt(world, bucket, kind)
    crypt.upload(FILES)
    into = ["--into", "below/"] if kind == "same-names" else []
    report = from_crypt(world, bucket, crypt, *into)
    equal((report["sealed"], report["complete"]), (len(FILES), True), str(report))
    under = into[1] if into else ""
    compare(world, bucket, {under + key: data for key, data in FILES.items()})
    equal(len(keys(world.back, bucket)), len(FILES), "objects at the server")


def test_a_damaged_object_is_named_and_nothing_is_written(world):
    source, bucket = world.bucket("crypt"), world.bucket("sealed")
    crypt = Crypt(world, source, "off")
    crypt.upload(FILES)

    def change(name, how):
        at = {"Bucket": source, "Key": f"below/{name}.bin"}
        data = bytearray(world.back.get_object(**at)["Body"].read())
        world.back.put_object(Body=bytes(how(data)), **at)

    def flip(at):
        def flipped(data):
            data[at] ^= 1
            return data

        return flipped

    change("one", flip(-1))
    change("dir/a b+c ö.txt", lambda data: data[:-1])
    change("dir/deep/64 KiB", flip(9))
    # The last byte of the last box: everything before it is right.
    change("long", flip(-1))
    change("empty", lambda data: data[:31])
    before = raw(world, source)
    damaged = {"one", "dir/a b+c ö.txt", "dir/deep/64 KiB", "long", "empty"}
    for into in (bucket, source):
        report = from_crypt(world, into, crypt, expect=1)
        equal((report["sealed"], report["not_authentic"]), (1, len(damaged)), str(report))
        named = {it["key"] for it in report["problems"] if "damaged" in it["problem"]}
        equal(named, damaged, str(report))
        whole = set(FILES) - damaged
        if into == bucket:
            compare(world, bucket, {key: FILES[key] for key in whole})
            equal(raw(world, source), before, "the source")
    after = raw(world, source)
    for name in damaged:
        equal(after[f"below/{name}.bin"], before[f"below/{name}.bin"], name)


def test_what_is_none_of_the_remote_is_left_alone(world):
    source, bucket = world.bucket("crypt"), world.bucket("sealed")
    crypt = Crypt(world, source)
    crypt.upload({"a": b"1"})
    world.back.put_object(Bucket=source, Key="below/readme.txt", Body=b"not sealed")
    (stored,) = [it for it in raw(world, source) if not it.endswith(".txt")]
    world.s3.put_object(Bucket=bucket, Key="a", Body=b"another")
    report = from_crypt(world, bucket, crypt, expect=1)
    equal((report["sealed"], report["skipped"]), (0, 2), str(report))
    said = {it["key"]: it["problem"] for it in report["problems"]}
    assert "another object has the name" in said["a"], said
    assert "does not open" in said["below/readme.txt"], said
    compare(world, bucket, {"a": b"another"})
    # Another password: the names do not open.
    other = Crypt(world, source, "no-salt")
    report = from_crypt(world, bucket, other, expect=1)
    equal((report["sealed"], report["skipped"]), (0, 2), str(report))
    assert stored in raw(world, source)


def test_an_import_that_was_killed_goes_on(world):
    source, bucket = world.bucket("crypt"), world.bucket("sealed")
    crypt = Crypt(world, source)
    files = {f"{number:03}": content(MIB, number) for number in range(100)}
    crypt.upload(files)
    named = ["--from", "rclone-crypt", "--rclone-config", crypt.config, "--remote", "hidden"]
    for into in (bucket, source):
        command = [world.binary, "s3", "import", into, "--config", world.proxy.configuration]
        process = subprocess.Popen(
            [*command, *named], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 60
        while sum(not key.startswith("below/") for key in raw(world, into)) < 5:
            assert time.monotonic() < deadline and process.poll() is None, "nothing is sealed"
        process.send_signal(signal.SIGKILL)
        process.wait()
        report = from_crypt(world, into, crypt)
        equal((report["complete"], report["authentic"]), (True, len(files)), str(report))
        assert 0 < report["sealed"] < len(files), report
        compare(world, into, files)
    equal(len(keys(world.back, source)), len(files), "objects at the server")


def test_memory_does_not_grow_with_the_object(world):
    source, bucket = world.bucket("crypt"), world.bucket("sealed")
    crypt = Crypt(world, source)
    length = (1024 if world.full else 256) * MIB
    crypt.upload({"long": content(MIB, 1) * (length // MIB)})
    command = [world.binary, "s3", "import", bucket, "--config", world.proxy.configuration]
    named = ["--from", "rclone-crypt", "--rclone-config", crypt.config, "--remote", "hidden"]
    process = Process([*command, *named], os.path.join(crypt.folder, "import.log"))
    peak = 0
    while process.alive():
        try:
            peak = max(peak, process.memory("VmHWM"))
        except (OSError, RuntimeError):
            pass  # It ends.
        time.sleep(0.02)
    print(f"\n    {length / MIB:.0f} MiB with a peak of {peak / MIB:.1f} MiB")
    equal(process.stop(), 0, "status")
    assert 0 < peak <= 64 * MIB, f"{peak} bytes"
    equal(world.s3.head_object(Bucket=bucket, Key="long")["ContentLength"], length, "length")


def stored_by_s3ep():
    """Objects that the program itself sealed, and its keys."""
    with open(os.path.join(HERE, "s3ep", "objects.json")) as file:
        return json.load(file)


def put_s3ep(world, bucket, key, sealed, metadata):
    world.back.put_object(
        Bucket=bucket,
        Key=key,
        Body=sealed,
        ContentType="text/x",
        Metadata={**metadata, "own": "a b"},
    )


def key_files(world, vectors):
    folder = world.temporary()
    files = [write(folder, name, vectors[name].encode()) for name in ("aes_key", "rsa_key")]
    for file in files:
        os.chmod(file, 0o600)
    return [it for file in files for it in ("--key-file", file)]


def s3ep_bucket(world):
    vectors = stored_by_s3ep()
    bucket = world.bucket("s3ep")
    for it in vectors["objects"]:
        put_s3ep(world, bucket, it["key"], base64.b64decode(it["sealed"]), it["metadata"])
    contents = {it["key"]: it["content"].encode() for it in vectors["objects"]}
    return bucket, contents, key_files(world, vectors)


def test_objects_of_s3ep_are_sealed_in_place_and_elsewhere(world):
    source, contents, key_options = s3ep_bucket(world)
    bucket = world.bucket("sealed")
    tagged = {"TagSet": [{"Key": "t", "Value": "v w"}]}
    try:
        world.back.put_object_tagging(Bucket=source, Key="dir/aes ctr", Tagging=tagged)
    except world.back.exceptions.ClientError:
        tagged = None
    options = ["--from", "s3ep", *key_options]
    size = sum(map(len, contents.values()))
    before = raw(world, source)
    would = import_(world, source, *options, "--dry-run")
    equal((would["sealed"], would["bytes"], would["unauthenticated"]), (6, size, 2), str(would))
    for into, more in ((bucket, ["--source", source]), (source, [])):
        # Nothing authenticates CTR alone.
        careful = import_(world, into, *options, *more, "--authentic-only", expect=1)
        equal((careful["sealed"], careful["skipped"]), (4, 2), str(careful))
        report = import_(world, into, *options, *more)
        equal((report["sealed"], report["present"]), (2, 4), str(report))
        equal((report["unauthenticated"], report["authentic"]), (2, 6), str(report))
        compare(world, into, contents)
        for key in contents:
            got = world.s3.head_object(Bucket=into, Key=key)
            equal((got["ContentType"], got["Metadata"]), ("text/x", {"own": "a b"}), key)
        if into == bucket:
            equal(raw(world, source), before, "the source")
        if tagged:
            equal(tags_of(world.s3, into, "dir/aes ctr"), {"t": "v w"}, "tags")
    equal(len(keys(world.back, source)), len(contents), "objects at the server")


def test_damaged_objects_of_s3ep_are_named_and_nothing_is_replaced(world):
    vectors = stored_by_s3ep()
    bucket = world.bucket("s3ep")
    vectors["objects"] = [it for it in vectors["objects"] if not it["key"].endswith(" ctr")]
    for it in vectors["objects"]:
        key, sealed = it["key"], bytearray(base64.b64decode(it["sealed"]))
        for name, changed in (
            ("flip", bytes(sealed[:-1] + bytes([sealed[-1] ^ 1]))),
            ("cut", bytes(sealed[:-1])),
            ("none", b""),
            # The name is bound where content is under AES-GCM.
            ("moved", bytes(sealed) if "gcm" in key else b"x" + bytes(sealed)),
        ):
            put_s3ep(world, bucket, f"{key}/{name}", changed, it["metadata"])
    first = vectors["objects"][0]
    for name, value in (
        ("s3ep-kek-fingerprint", "0" * 64),
        ("s3ep-dek-algorithm", "aes-xts"),
        ("s3ep-encrypted-dek", "AAAA"),
        ("s3ep-encrypted-dek", "no base64"),
    ):
        key = f"metadata/{name}/{value[:4]}"
        sealed = base64.b64decode(first["sealed"])
        put_s3ep(world, bucket, key, sealed, {**first["metadata"], name: value})
    world.back.put_object(Bucket=bucket, Key="plain", Body=b"not sealed")
    before = raw(world, bucket)
    options = ["--from", "s3ep", *key_files(world, vectors)]
    report = import_(world, bucket, *options, expect=1)
    equal((report["sealed"], report["unauthenticated"]), (0, 0), str(report))
    equal((report["not_authentic"], report["failed"], report["skipped"]), (19, 1, 1), str(report))
    equal(len(report["problems"]), len(before), str(report))
    assert any("0000" in it["problem"] and "--key-file" in it["problem"] for it in report["problems"])
    equal(raw(world, bucket), before, "the bucket")


@pytest.mark.skipif("ENDSEAL_S3EP" not in os.environ, reason="no $ENDSEAL_S3EP: see README.md")
def test_the_program_s3ep_itself_seals_what_is_read(world):
    vectors = stored_by_s3ep()
    bucket = world.bucket("s3ep")
    options = key_files(world, vectors)
    folder, contents = world.temporary(), {}
    for kind, file in (("aes", options[1]), ("rsa", options[3])):
        for mode in ("gcm", "ctr", "ctr-hmac"):
            for length in (0, 1, 65_536, 5 * MIB + 3):
                key, data = f"{kind}/{mode}/{length}", content(length, mode)
                beside = os.path.join(folder, "metadata")
                program = [os.environ["ENDSEAL_S3EP"], kind, file, mode, key, beside]
                sealed = run(program, stdin=data).stdout
                with open(beside) as file_:
                    put_s3ep(world, bucket, key, sealed, json.load(file_))
                contents[key] = data
    report = import_(world, bucket, "--from", "s3ep", *options)
    equal((report["sealed"], report["unauthenticated"]), (24, 8), str(report))
    equal((report["complete"], report["authentic"]), (True, 24), str(report))
    compare(world, bucket, contents)


def documented():
    page = os.path.join(HERE, "..", "..", "docs", "s3-import.md")
    with open(page, encoding="utf-8") as file:
        return [it.strip() for it in file if it.startswith("    endseal s3 import ")]


def test_the_documented_commands_do_what_they_say(world):
    source, contents, options = s3ep_bucket(world)
    old, sealed = world.bucket("crypt"), world.bucket("sealed")
    crypt = Crypt(world, old)
    crypt.upload(FILES)
    home = world.temporary()
    for name, file in (
        ("endseal/s3.toml", world.proxy.configuration),
        ("rclone/rclone.conf", crypt.config),
        ("aes.key", options[1]),
        ("rsa.pem", options[3]),
    ):
        with open(file, "rb") as content_:
            os.chmod(write(home, name, content_.read()), 0o600)
    below = world.bucket("below")
    dry, crypted, in_place, elsewhere = documented()
    aes = {key.removeprefix("dir/"): it for key, it in contents.items() if "aes" in key}
    for line, into, expected in (
        (dry, sealed, {}),
        (crypted, sealed, FILES),
        (elsewhere.replace("old/2024/", f"{source}/dir/"), below, aes),
        (in_place, source, contents),
    ):
        words = shlex.split(line.replace("photos", into))
        # The RSA objects of the source have another key.
        expect = 1 if line.startswith(elsewhere.split(" old")[0]) else 0
        run([world.binary, *words[1:]], {"XDG_CONFIG_HOME": home}, home, expect=expect)
        compare(world, into, expected)
