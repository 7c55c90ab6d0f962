"""Images in the place of those that deploy/s3/compose.yml takes from a registry.

versitygw stands for MinIO, and Debian's haproxy for its own image. The commands of MinIO and of its
client that compose.yml calls are scripts here.
"""

import shutil

from tools import s3_server, servers_root

MINIO = """#!/bin/bash
# minio server FOLDER
set -euo pipefail
mkdir -p /iam
export ROOT_ACCESS_KEY=$MINIO_ROOT_USER
ROOT_SECRET_KEY=$(cat "/run/secrets/$MINIO_ROOT_PASSWORD_FILE")
export ROOT_SECRET_KEY
exec versitygw --port :9000 --region us-east-1 --quiet --iam-dir /iam posix "$2"
"""
CLIENT = """#!/bin/bash
set -euo pipefail
case "$1 $2" in
    "ready local") curl --silent --output /dev/null http://127.0.0.1:9000/ ;;
    "alias set") printf '%s\\n' "$4" "$5" "$6" >/tmp/alias ;;
    "admin user")
        mapfile -t server </tmp/alias
        admin() {
            versitygw admin --access "${server[1]}" --secret "${server[2]}" --endpoint-url "${server[0]}" "$@"
        }
        # MinIO's client adds a user again without an error.
        admin list-users | grep -q "^$5 " || admin create-user --access "$5" --secret "$6" --role admin ;;
    "admin policy") ;;
    *) exit 1 ;;
esac
"""


def make(engine, compose):
    """Makes the images that `compose` names, except those of Prometheus and Grafana."""
    root = servers_root()
    folder = root / "usr/local/bin"
    for name, text in (("minio", MINIO), ("mc", CLIENT)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    shutil.copy(s3_server(), folder / "versitygw")
    engine.image_of(root, "servers:local")
    starts = {
        "minio": ("minio/minio:", 'ENTRYPOINT ["minio"]'),
        "minio-setup": ("minio/mc:", 'ENTRYPOINT ["mc"]'),
        "balancer": (
            "haproxy:",
            'CMD ["haproxy", "-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"]',
        ),
    }
    for service, (prefix, start) in starts.items():
        image = compose["services"][service]["image"]
        assert image.startswith(prefix), image
        engine.docker("build", "--quiet", "--tag", image, "-", stdin=f"FROM servers:local\n{start}\n".encode())
