"""S3 servers of other projects."""

import http.client
import os
import shutil
import ssl

from children import clean_environment, free_port
from processes import Process

ACCESS = "backendaccess"
SECRET = "backend-secret-0123456789abcdefghij"
REGION = "us-east-1"


def cache():
    return os.environ["ENDSEAL_S3_CACHE"]


def answers(port, path="/", statuses=range(200, 500), authority=None):
    """Returns true if a GET of the path has one of the statuses, by TLS if there is an authority for it."""
    if authority:
        context = ssl.create_default_context(cafile=authority)
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status in statuses
    except OSError:
        return False
    finally:
        connection.close()


class Server:
    """One server with a folder of its own. `start` after `kill` finds the same objects again."""

    name = None
    access, secret = ACCESS, SECRET
    # `trailers` of the proxy's [backend]; true is its default.
    trailers = True

    def __init__(self, folder):
        self.folder = os.path.join(folder, self.name)
        os.makedirs(self.folder, exist_ok=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = os.path.join(folder, f"{self.name}.log")
        self.process = None

    def missing(self):
        """Why it cannot be started, or None."""
        raise NotImplementedError

    def start(self):
        raise NotImplementedError

    def kill(self):
        self.process.kill()

    def stop(self):
        self.process.stop()

    def _binary(self):
        return os.path.join(cache(), "bin", self.name)

    def _binary_missing(self):
        return None if os.access(self._binary(), os.X_OK) else f"{self.name} is not installed"

    def data(self):
        """The folder below which everything lies that was given to the server, or None."""
        return os.path.join(self.folder, "data")


class Versitygw(Server):
    name = "versitygw"

    def missing(self):
        return self._binary_missing()

    def start(self):
        for folder in ("data", "versions", "accounts"):
            os.makedirs(os.path.join(self.folder, folder), exist_ok=True)
        self.process = Process(
            [
                self._binary(),
                "--port",
                f"127.0.0.1:{self.port}",
                "--region",
                REGION,
                "--quiet",
                "--keep-alive",
                # A relative path is taken from a folder of its own choice.
                "--iam-dir",
                os.path.join(self.folder, "accounts"),
                "posix",
                "--versioning-dir",
                os.path.join(self.folder, "versions"),
                self.data(),
            ],
            self.log,
            {"ROOT_ACCESS_KEY": self.access, "ROOT_SECRET_KEY": self.secret},
            lambda: answers(self.port),
        )


class Minio(Server):
    name = "minio"

    def missing(self):
        return self._binary_missing()

    def start(self):
        os.makedirs(self.data(), exist_ok=True)
        self.process = Process(
            [
                self._binary(),
                "server",
                "--quiet",
                "--address",
                f"127.0.0.1:{self.port}",
                "--console-address",
                f"127.0.0.1:{free_port()}",
                "--certs-dir",
                os.path.join(self.folder, "certificates"),
                self.data(),
            ],
            self.log,
            {
                "MINIO_ROOT_USER": self.access,
                "MINIO_ROOT_PASSWORD": self.secret,
                "MINIO_REGION_NAME": REGION,
                "MINIO_DOMAIN": "localhost",
                # It would ask the world for a newer release.
                "MINIO_UPDATE": "off",
                "MINIO_BROWSER": "off",
            },
            lambda: answers(self.port, "/minio/health/ready", (200,)),
        )


class S3proxy(Server):
    """gaul's S3Proxy over its store in memory: a kill loses all objects."""

    name = "s3proxy"
    # It wants the checksums of parts at completion, and lists none.
    trailers = False

    def _jar(self):
        return os.path.join(cache(), "lib", "s3proxy.jar")

    def missing(self):
        if shutil.which("java", path=clean_environment().get("PATH")) is None:
            return "java is missing"
        return None if os.path.exists(self._jar()) else "s3proxy is not installed"

    def start(self):
        properties = os.path.join(self.folder, "s3proxy.properties")
        with open(properties, "w") as file:
            file.write(
                f"s3proxy.endpoint={self.url}\n"
                "s3proxy.authorization=aws-v2-or-v4\n"
                f"s3proxy.identity={self.access}\n"
                f"s3proxy.credential={self.secret}\n"
                "jclouds.provider=transient-nio2\n"
                "jclouds.identity=none\n"
                "jclouds.credential=none\n"
            )
        self.process = Process(
            ["java", "-jar", self._jar(), "--properties", properties],
            self.log,
            ready=lambda: answers(self.port),
        )

    def data(self):
        return None


SERVERS = {it.name: it for it in (Versitygw, Minio, S3proxy)}
