"""boto3 and awscrt: parts as they are read, listed and transferred by managers."""

import io
import os

import awscrt.auth
import boto3.s3.transfer
import botocore.session
import s3transfer.crt as crt

from content import MIB, content, equal, same
from servers import REGION
from test_multipart import PART, begin, check, complete, put_part, upload
from world import refused


def test_an_upload_is_resumed_from_the_list_of_its_parts(world):
    bucket = world.bucket("multipart")
    upload_id = begin(world, bucket, "k")
    pieces = {1: content(PART, 1), 2: content(PART + 9, 2), 3: content(500, 3)}
    for number in (3, 1):
        put_part(world, bucket, "k", upload_id, number, pieces[number])
    found = world.s3.list_parts(Bucket=bucket, Key="k", UploadId=upload_id)["Parts"]
    sizes = {it["PartNumber"]: it["Size"] for it in found}
    equal(sizes, {n: len(pieces[n]) for n in (1, 3)}, "sizes of the parts")
    parts = [{"PartNumber": it["PartNumber"], "ETag": it["ETag"]} for it in found]
    parts.append(put_part(world, bucket, "k", upload_id, 2, pieces[2]))
    complete(world, bucket, "k", upload_id, parts)
    check(world, bucket, "k", pieces[1] + pieces[2] + pieces[3])


def test_the_list_of_parts_has_pages(world):
    bucket = world.bucket("multipart")
    upload_id = begin(world, bucket, "k")
    for number in (1, 4, 9):
        put_part(world, bucket, "k", upload_id, number, content(PART + number, number))
    pages = list(
        world.s3.get_paginator("list_parts").paginate(
            Bucket=bucket, Key="k", UploadId=upload_id, PaginationConfig={"PageSize": 2}
        )
    )
    found = [(it["PartNumber"], it["Size"]) for page in pages for it in page.get("Parts", [])]
    equal(found, [(n, PART + n) for n in (1, 4, 9)], "parts")
    equal([page["IsTruncated"] for page in pages], [True, False], "pages")
    world.s3.abort_multipart_upload(Bucket=bucket, Key="k", UploadId=upload_id)


def test_parts_are_read_by_their_number(world):
    bucket = world.bucket("multipart")
    lengths = [PART, PART + 3, 100]
    data = upload(world, bucket, "k", lengths)
    at = 0
    for number, length in enumerate(lengths, 1):
        got = world.s3.get_object(Bucket=bucket, Key="k", PartNumber=number)
        same(got["Body"].read(), data[at : at + length], f"part {number}")
        equal(got["PartsCount"], 3, "number of parts")
        equal(got["ContentRange"], f"bytes {at}-{at + length - 1}/{len(data)}", "content-range")
        head = world.s3.head_object(Bucket=bucket, Key="k", PartNumber=number)
        equal((head["ContentLength"], head["PartsCount"]), (length, 3), "HEAD of a part")
        at += length
    with refused((400, 416)):
        world.s3.get_object(Bucket=bucket, Key="k", PartNumber=4)


def test_a_whole_object_is_its_own_first_part(world):
    bucket = world.bucket("multipart")
    data = content(50_000)
    world.s3.put_object(Bucket=bucket, Key="k", Body=data)
    same(world.s3.get_object(Bucket=bucket, Key="k", PartNumber=1)["Body"].read(), data)
    with refused((400, 416)):
        world.s3.get_object(Bucket=bucket, Key="k", PartNumber=2)


def test_attributes_name_the_parts(world):
    bucket = world.bucket("multipart")
    lengths = [PART, PART + 3, 100]
    upload(world, bucket, "k", lengths)
    answer = world.s3.get_object_attributes(
        Bucket=bucket, Key="k", ObjectAttributes=["ETag", "ObjectParts", "ObjectSize"]
    )
    equal(answer["ObjectSize"], sum(lengths), "size")
    equal(answer["ObjectParts"]["TotalPartsCount"], 3, "number of parts")
    # S3 itself lists parts one by one only when they carry checksums.
    if "Parts" in answer["ObjectParts"]:
        equal([it["Size"] for it in answer["ObjectParts"]["Parts"]], lengths, "sizes of the parts")


def test_attributes_of_a_whole_object(world):
    bucket = world.bucket("multipart")
    tag = world.s3.put_object(Bucket=bucket, Key="k", Body=content(50_000))["ETag"]
    answer = world.s3.get_object_attributes(
        Bucket=bucket, Key="k", ObjectAttributes=["ETag", "ObjectSize", "StorageClass"]
    )
    equal(answer["ObjectSize"], 50_000, "size")
    equal(answer["ETag"].strip('"'), tag.strip('"'), "entity tag")


def test_running_uploads_are_listed(world):
    bucket = world.bucket("multipart")
    begin(world, bucket, "a/1")
    upload_id = begin(world, bucket, "b")
    put_part(world, bucket, "b", upload_id, 1, b"short")
    found = world.s3.list_multipart_uploads(Bucket=bucket)
    equal([it["Key"] for it in found["Uploads"]], ["a/1", "b"], "keys")
    found = world.s3.list_multipart_uploads(Bucket=bucket, Prefix="a/")
    equal([it["Key"] for it in found["Uploads"]], ["a/1"], "keys")
    # A program that cleans up takes the id from the list.
    for one in world.s3.list_multipart_uploads(Bucket=bucket)["Uploads"]:
        world.s3.abort_multipart_upload(Bucket=bucket, Key=one["Key"], UploadId=one["UploadId"])
    equal(world.back.list_multipart_uploads(Bucket=bucket).get("Uploads", []), [], "uploads left")


def test_the_transfer_manager_goes_both_ways(world):
    bucket = world.bucket("multipart")
    data = content(33 * MIB + 5)
    config = boto3.s3.transfer.TransferConfig(
        multipart_threshold=PART, multipart_chunksize=7 * MIB, max_concurrency=4
    )
    world.s3.upload_fileobj(io.BytesIO(data), bucket, "k", Config=config)
    check(world, bucket, "k", data)
    back = io.BytesIO()
    world.s3.download_fileobj(bucket, "k", back, Config=config)
    same(back.getvalue(), data, "download in ranges")


def test_the_runtime_in_c_goes_both_ways(world):
    """Another implementation of uploads: parallel parts, checksums in trailers, ranges in reading.

    Not by way of boto3, which would leave out the endpoint and ask Amazon.
    """
    bucket = world.bucket("multipart")
    lengths = (1, 100_000, 33 * MIB + 5)
    path = os.path.join(world.temporary(), "up")
    provider = awscrt.auth.AwsCredentialsProvider.new_static(world.access, world.secret)
    client = crt.create_s3_crt_client(
        region=REGION, crt_credentials_provider=provider, use_ssl=False, part_size=6 * MIB
    )
    serializer = crt.BotocoreCRTRequestSerializer(
        botocore.session.get_session(), {"region_name": REGION, "endpoint_url": world.url}
    )
    with crt.CRTTransferManager(client, serializer) as manager:
        for length in lengths:
            with open(path, "wb") as file:
                file.write(content(length))
            manager.upload(path, bucket, f"k{length}").result()
            manager.download(bucket, f"k{length}", f"{path}.{length}").result()
    for length in lengths:
        same(world.s3.get_object(Bucket=bucket, Key=f"k{length}")["Body"].read(), content(length))
        with open(f"{path}.{length}", "rb") as file:
            same(file.read(), content(length), "download")
