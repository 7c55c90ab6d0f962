"""restic: a repository in a bucket, written, checked, restored and pruned."""

import json
import os
import shutil

import pytest

from commands import FILES, output, tree, write
from content import MIB, content, equal, same
from servers import REGION

pytestmark = pytest.mark.other_client


class Restic:
    def __init__(self, world):
        if not shutil.which("restic"):
            pytest.skip("restic is missing")
        self.environment = {
            "AWS_ACCESS_KEY_ID": world.access,
            "AWS_SECRET_ACCESS_KEY": world.secret,
            "AWS_DEFAULT_REGION": REGION,
            "RESTIC_REPOSITORY": f"s3:{world.url}/{world.bucket('restic')}/there",
            "RESTIC_PASSWORD": "of the repository",
        }

    def __call__(self, *arguments, folder=None):
        # Without its cache, so that everything it reads comes from the bucket.
        return output(
            ["restic", "--no-cache", *arguments], environment=self.environment, folder=folder
        )


def test_backups_are_checked_restored_and_pruned(world):
    restic = Restic(world)
    restic("init")
    folder = world.temporary()
    for name, size in {**FILES, **{f"many/{it}": it * 100 for it in range(300)}}.items():
        write(folder, name, content(size, name))
    restic("backup", ".", folder=folder)
    first = tree(folder)
    write(folder, "later", content(20 * MIB, "later"))
    os.remove(os.path.join(folder, "a.txt"))
    restic("backup", ".", folder=folder)
    restic("check", "--read-data")
    snapshots = [it["id"] for it in json.loads(restic("snapshots", "--json"))]
    for snapshot, expected in zip(snapshots, (first, tree(folder)), strict=True):
        back = world.temporary()
        restic("restore", snapshot, "--target", back)
        equal(sorted(tree(back)), sorted(expected), "files restored")
        for name, data in tree(back).items():
            same(data, expected[name], name)
    restic("forget", "--keep-last", "1", "--prune")
    restic("check", "--read-data")
