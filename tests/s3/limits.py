"""Known limits of servers: server, test, reason.

These tests run all the same and are expected to fail (`xfail`, strict): one that passes is a failure, so
that a line that is no longer true is found.

LIMITS hold with and without the proxy, because the proxy leaves the matter to the server.
DIRECT hold only with --direct: through the proxy these cases must pass before every server.
"""

FILES = "names of objects are names of files"

LIMITS = {
    "versitygw": {
        "names/key_with[double_slash]": FILES,
        "names/key_with[trailing_slash]": "a folder has no content",
        "names/key_with[leading_slash]": FILES,
        "names/key_with[one_dot]": FILES,
        "names/key_with[two_dots]": FILES,
        "names/a_key_may_be_the_folder_of_another": FILES,
        "listings/pages_of_versions_go_on_behind_parts_of_uploads": "begins with the marker",
    },
    "minio": {
        "names/key_with[double_slash]": "refuses empty components",
        "names/key_with[leading_slash]": "drops the slash",
        "names/key_with[one_dot]": "refuses such components",
        "names/key_with[two_dots]": "refuses such components",
        "part_reading/running_uploads_are_listed": "lists uploads only by their whole key",
        "multipart_refusals/abortion_of_unknown_uploads_is_refused": "answers 204",
    },
    "s3proxy": {
        "breakdowns/a_client_that_vanishes_while_it_completes_is_told_when_it_asks_again": (
            "answers a second completion with BadDigest"
        ),
        "conditions/an_object_has_one_tag_whatever_the_rule_of_its_bucket": "has no versions",
        "listings/pages_of_versions_go_on_behind_parts_of_uploads": "repeats common prefixes",
        "objects/raw_unicode_metadata_come_back": "signs other bytes than were sent",
        "objects/tags_come_back_and_change": "has no tags",
        "part_reading/the_list_of_parts_has_pages": "ignores the length of pages",
        "names/key_with[double_slash]": FILES,
        "names/key_with[trailing_slash]": "a folder has no content",
        "names/key_with[leading_slash]": FILES,
        "names/key_with[one_dot]": FILES,
        "names/key_with[two_dots]": FILES,
        "names/a_key_may_be_the_folder_of_another": FILES,
        "conditions/tags_decide_reads_of_a_whole_object": "HEAD does not know If-Match: *",
        "conditions/tags_decide_reads_of_a_multipart_object": "HEAD does not know If-Match: *",
        "checksums/a_wrong_checksum_of_a_part_in_the_list_is_refused": "does not compare them",
        "multipart_refusals/unknown_uploads_are_refused": "takes parts for any upload id",
    },
}

DIRECT = {
    "versitygw": {
        "clients/objects_of_every_size_go_both_ways[pyarrow]": "does not parse its completion",
        "rclone/presigned_upload": "does not parse this key in a presigned URL",
        "conditions/no_copies_of_what_is_known": "answers 304 where S3 answers 412",
        "connections/virtual_host_style_is_understood": "has path style only",
        "part_reading/attributes_name_the_parts": "does not name parts",
        "checksums/the_encoding_of_the_upload_is_none_of_the_content": "keeps aws-chunked",
        "checksums/chunked_uploads_keep_their_content_encoding": "keeps aws-chunked",
        "forms/the_file_name_goes_into_the_key": "does not know ${filename}",
        # Without a hash in the head and without a trailer a FIN counts as the end of the body.
        "breakdowns/a_client_that_vanishes_in_an_upload_leaves_nothing": "stores half an upload",
        "breakdowns/an_upload_that_ends_too_early_is_no_object": "stores half an upload",
    },
    "minio": {
        "checksums/the_checksum_of_the_creation_holds[CRC32]": "names no type",
        "checksums/the_checksum_of_the_creation_holds[CRC32C]": "names no type",
        "checksums/the_checksum_of_the_creation_holds[CRC64NVME]": "names no type",
        "checksums/the_checksum_of_the_creation_holds[SHA1]": "names no type",
        "checksums/the_checksum_of_the_creation_holds[SHA256]": "names no type",
        "checksums/a_checksum_of_the_full_object_that_is_wrong_is_refused": (
            "answers InvalidArgument"
        ),
        "checksums/a_checksum_type_that_the_algorithm_does_not_have_is_refused": (
            "takes a type without an algorithm"
        ),
    },
    "s3proxy": {
        "objects/metadata_above_the_limit_are_refused": "has no limit",
        "connections/an_upload_without_a_length_is_refused": "takes it",
        "connections/virtual_host_style_is_understood": "has no domain configured",
        "part_reading/parts_are_read_by_their_number": "cannot read parts",
        "part_reading/attributes_name_the_parts": "does not name parts",
        "ranges/a_range_that_is_none_gives_the_whole_object": "refuses it",
        "checksums/a_wrong_checksum_in_a_trailer_is_refused[CRC32]": "does not compare trailers",
        "checksums/a_wrong_checksum_in_a_trailer_is_refused[CRC32C]": "does not compare trailers",
        "checksums/a_wrong_checksum_in_a_trailer_is_refused[CRC64NVME]": "does not compare trailers",
        "checksums/a_wrong_checksum_in_a_trailer_is_refused[SHA1]": "does not compare trailers",
        "checksums/a_wrong_checksum_in_a_trailer_is_refused[SHA256]": "does not compare trailers",
        "checksums/a_wrong_decoded_length_is_refused": "takes it",
        "multipart_refusals/parts_in_falling_order_are_refused": "takes any order",
        "multipart_refusals/the_upload_of_another_key_is_refused": "does not tie uploads to keys",
    },
}


# Limits of the proxy itself, with every server.
PROXY = {
    "checksums/a_wrong_checksum_of_a_part_in_the_list_is_refused": (
        "knows the checksum of a part only while it passes"
    ),
}


# Cases that need names that are not encrypted.
NAMES = {
    "names/key_with[long]": "has no room once it is encrypted",
}


# Encrypted, these keys are like any other, and the proxy puts lists together.
WITHOUT_NAMES = {
    "names/key_with[one_dot]",
    "names/key_with[two_dots]",
    "listings/pages_of_versions_go_on_behind_parts_of_uploads",
}


def limits(server, direct, names=False):
    own = {**PROXY, **(NAMES if names else {})}
    found = {**LIMITS[server], **(DIRECT[server] if direct else own)}
    return {test: why for test, why in found.items() if not (names and test in WITHOUT_NAMES)}
