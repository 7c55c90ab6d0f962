"""The proxy's own TLS listener: boto3, aws-cli and rclone do over https what they do without it."""

import os
import socket

import botocore.exceptions
import pytest
import trustme

import test_aws_cli
import test_multipart
import test_objects
import test_rclone
from commands import CommandFailed

pytestmark = pytest.mark.needs_proxy


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Certificate, key and authority."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost", "127.0.0.1")
    paths = [str(folder / name) for name in ("certificate", "key", "authority")]
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(paths[0], append=True)
    certificate.private_key_pem.write_to_path(paths[1])
    os.chmod(paths[1], 0o600)
    authority.cert_pem.write_to_path(paths[2])
    return paths


@pytest.fixture
def secure(world, files):
    return world.by_tls(files)


@pytest.mark.parametrize(
    "test",
    [
        test_objects.test_put_and_get_of_every_size,
        test_multipart.test_parts_in_parallel,
        test_aws_cli.test_put_get_and_remove,
        test_aws_cli.test_streams,
        test_aws_cli.test_synchronisation_transfers_nothing_twice,
        test_rclone.test_put_get_and_delete,
        test_rclone.test_parts_are_sent_eight_at_a_time,
        test_rclone.test_synchronisation_transfers_nothing_twice,
    ],
    ids=lambda it: f"{it.__module__}-{it.__name__}",
)
def test_over_tls(secure, test):
    assert secure.url.startswith("https://")
    test(secure)


def test_clients_that_do_not_know_the_authority_ask_nothing(secure):
    with pytest.raises(botocore.exceptions.SSLError):
        secure.client(secure.url).list_buckets()
    secure.authority = None
    for client in (test_aws_cli.Aws(secure), test_rclone.Rclone(secure)):
        with pytest.raises(CommandFailed, match="certificate"):
            client("s3", "ls") if isinstance(client, test_aws_cli.Aws) else client("lsd", "it:")


def test_a_request_without_tls_gets_no_answer_and_others_do(secure):
    with socket.create_connection(("127.0.0.1", secure.front.port), timeout=10) as plain:
        plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = plain.recv(1000)
    assert not answer.startswith(b"HTTP"), answer
    secure.s3.list_buckets()
