"""Client libraries and programs of others, each with the same few operations.

    put(key, path)            uploads a file, whole if the client is able to
    parts(key, path)          uploads a file in parts of 5 MiB
    get(key)                  the content
    range(key, first, last)   some of the content; both positions are inclusive
    list(prefix)              keys and lengths
    copy(from, to)            a copy that the server makes
    delete(key)
    folder(key)               makes a marker of a folder

An operation that the client does not have is not there. No client tries a request twice: that would hide a
fault. A program (`Program`) gets the operation and its inputs as arguments, the rest as S3_ENDPOINT, S3_ACCESS,
S3_SECRET and S3_BUCKET; `get` and `range` have a file to write to as last argument, and `list` prints lines of
length, tab, key.
"""

import os
import shutil
import urllib.parse

import minio
import opendal
import pyarrow.fs
import urllib3

from commands import output, read
from content import MIB
from servers import REGION, cache

PART = 5 * MIB


class Client:
    def __init__(self, world, bucket):
        self.world, self.bucket = world, bucket
        self.folder_of_files = world.temporary()
        self.host = urllib.parse.urlsplit(world.url).netloc
        if reason := self.missing():
            raise FileNotFoundError(reason)
        self.connect()

    def missing(self):
        return None

    def connect(self):
        pass

    def file(self):
        return os.path.join(self.folder_of_files, "got")


class MinioPy(Client):
    def connect(self):
        pool = urllib3.PoolManager(retries=False, timeout=60)
        account = {"access_key": self.world.access, "secret_key": self.world.secret}
        self.api = minio.Minio(self.host, **account, secure=False, region=REGION, http_client=pool)

    def put(self, key, path):
        self.api.fput_object(self.bucket, key, path)

    def parts(self, key, path):
        self.api.fput_object(self.bucket, key, path, part_size=PART)

    def _read(self, key, **some):
        with self.api.get_object(self.bucket, key, **some) as answer:
            return answer.read()

    def get(self, key):
        return self._read(key)

    def range(self, key, first, last):
        return self._read(key, offset=first, length=last - first + 1)

    def list(self, prefix):
        entries = self.api.list_objects(self.bucket, prefix, recursive=True)
        return {it.object_name: it.size for it in entries}

    def copy(self, source, key):
        self.api.copy_object(self.bucket, key, minio.commonconfig.CopySource(self.bucket, source))

    def delete(self, key):
        self.api.remove_object(self.bucket, key)


class OpenDal(Client):
    def connect(self):
        self.api = opendal.Operator(
            "s3",
            bucket=self.bucket,
            endpoint=self.world.url,
            region=REGION,
            access_key_id=self.world.access,
            secret_access_key=self.world.secret,
            disable_config_load="true",
            disable_ec2_metadata="true",
        )

    def put(self, key, path):
        self.api.write(key, read(path))

    def parts(self, key, path):
        self.api.write(key, read(path), chunk=PART)

    def get(self, key):
        return bytes(self.api.read(key))

    def range(self, key, first, last):
        return bytes(self.api.read(key, offset=first, size=last - first + 1))

    def list(self, prefix):
        entries = self.api.list(prefix, recursive=True)
        paths = [it.path for it in entries if not it.path.endswith("/")]
        return {it: self.api.stat(it).content_length for it in paths}

    def copy(self, source, key):
        self.api.copy(source, key)

    def delete(self, key):
        self.api.delete(key)

    def folder(self, key):
        self.api.create_dir(f"{key}/")


class PyArrow(Client):
    def connect(self):
        self.api = pyarrow.fs.S3FileSystem(
            access_key=self.world.access,
            secret_key=self.world.secret,
            endpoint_override=self.host,
            scheme="http",
            region=REGION,
            retry_strategy=pyarrow.fs.AwsStandardS3RetryStrategy(max_attempts=1),
        )

    def _path(self, key):
        return f"{self.bucket}/{key}"

    def put(self, key, path):
        with self.api.open_output_stream(self._path(key)) as stream:
            stream.write(read(path))

    parts = put  # It writes in parts what is longer than one.

    def get(self, key):
        with self.api.open_input_stream(self._path(key)) as stream:
            return stream.read()

    def range(self, key, first, last):
        with self.api.open_input_file(self._path(key)) as file:
            return file.read_at(last - first + 1, first)

    def list(self, prefix):
        selector = pyarrow.fs.FileSelector(self._path(prefix), recursive=True)
        found = self.api.get_file_info(selector)
        files = [it for it in found if it.type == pyarrow.fs.FileType.File]
        return {it.path.removeprefix(f"{self.bucket}/"): it.size for it in files}

    def copy(self, source, key):
        self.api.copy_file(self._path(source), self._path(key))

    def delete(self, key):
        self.api.delete_file(self._path(key))

    def folder(self, key):
        self.api.create_dir(self._path(key))


class S5cmd(Client):
    def _run(self, *arguments):
        environment = {
            "AWS_ACCESS_KEY_ID": self.world.access,
            "AWS_SECRET_ACCESS_KEY": self.world.secret,
            "AWS_REGION": REGION,
            "HOME": self.folder_of_files,
        }
        program = os.path.join(cache(), "venv", "bin", "s5cmd")
        common = ["--endpoint-url", self.world.url, "--retry-count", "0"]
        return output([program, *common, *arguments], environment=environment)

    def _url(self, key):
        return f"s3://{self.bucket}/{key}"

    def put(self, key, path):
        self._run("cp", path, self._url(key))

    def parts(self, key, path):
        self._run("cp", "--part-size", "5", path, self._url(key))

    def get(self, key):
        self._run("cp", self._url(key), self.file())
        return read(self.file())

    def list(self, prefix):
        found = {}
        for line in self._run("ls", self._url(f"{prefix}*")).splitlines():
            _, _, length, name = line.split(maxsplit=3)
            found[prefix + name] = int(length)
        return found

    def copy(self, source, key):
        self._run("cp", self._url(source), self._url(key))

    def delete(self, key):
        self._run("rm", self._url(key))


class Program(Client):
    """A program below clients/, built by install.sh."""

    def __call__(self, *arguments):
        environment = {
            "S3_ENDPOINT": self.world.url,
            "S3_ACCESS": self.world.access,
            "S3_SECRET": self.world.secret,
            "S3_BUCKET": self.bucket,
            "NODE_PATH": os.path.join(cache(), "js", "node_modules"),
        }
        return output([*self.command(), *arguments], environment=environment)

    def put(self, key, path):
        self("put", key, path)

    def parts(self, key, path):
        self("parts", key, path)

    def get(self, key):
        self("get", key, self.file())
        return read(self.file())

    def range(self, key, first, last):
        self("range", key, first, last, self.file())
        return read(self.file())

    def list(self, prefix):
        lines = [it.split("\t") for it in self("list", prefix).splitlines()]
        return {key: int(length) for length, key in lines}

    def copy(self, source, key):
        self("copy", source, key)

    def delete(self, key):
        self("delete", key)


class GoProgram(Program):
    def command(self):
        return [os.path.join(cache(), "bin", self.name)]

    def missing(self):
        return None if os.path.exists(self.command()[0]) else f"{self.name} is not built"


class AwsSdkGo(GoProgram):
    name = "aws-sdk-go"


class MinioGo(GoProgram):
    name = "minio-go"


class AwsSdkJs(Program):
    def command(self):
        here = os.path.dirname(os.path.abspath(__file__))
        return ["node", os.path.join(here, "clients", "js", "client.cjs")]

    def missing(self):
        if not shutil.which("node"):
            return "node is missing"
        there = os.path.join(cache(), "js", "node_modules", "@aws-sdk", "client-s3")
        return None if os.path.isdir(there) else "aws-sdk-js is not installed"


# Python packages, which are always there.
LIBRARIES = {"minio-py": MinioPy, "opendal": OpenDal, "pyarrow": PyArrow, "s5cmd": S5cmd}
# With --all.
PROGRAMS = {"aws-sdk-go": AwsSdkGo, "aws-sdk-js": AwsSdkJs, "minio-go": MinioGo}
