"""What servers are known not to do: server, case, reason.

These cases run all the same. A failure of one is shown as skipped with the reason; a success as
"though listed", so that a line that is no longer true is found.

LIMITS hold with and without the proxy, because the proxy leaves the matter to the server.
DIRECT hold only with --direct: through the proxy these cases must pass before every server.
"""

FILES = "names of objects are names of files"

LIMITS = {
    "versitygw": {
        "boto3/key_with_double_slash": FILES,
        "boto3/key_with_trailing_slash": "a folder has no content",
        "boto3/key_with_leading_slash": FILES,
        "boto3/key_with_one_dot": FILES,
        "boto3/key_with_two_dots": FILES,
        "boto3/a_key_may_be_the_folder_of_another": FILES,
        "boto3/no_copies_of_what_is_known": "answers 304 where S3 answers 412",
        "boto3/pages_of_versions_go_on_behind_parts_of_uploads": "begins with the marker",
    },
    "minio": {
        "boto3/key_with_double_slash": "refuses empty components",
        "boto3/key_with_leading_slash": "drops the slash",
        "boto3/key_with_one_dot": "refuses such components",
        "boto3/key_with_two_dots": "refuses such components",
        "boto3/running_uploads_are_listed": "lists uploads only by their whole key",
        "boto3/abortion_of_unknown_uploads_is_refused": "answers 204",
    },
    "s3proxy": {
        "wire/raw_unicode_metadata_come_back": "signs other bytes than were sent",
        "boto3/tags_come_back_and_change": "has no tags",
        "boto3/the_list_of_parts_has_pages": "ignores the length of pages",
        "awscrt/the_runtime_in_c_goes_both_ways": "has no checksums of parts at completion",
        "wire/head_of_a_range_tells_its_length": "ignores ranges of HEAD",
        "boto3/key_with_double_slash": FILES,
        "boto3/key_with_trailing_slash": "a folder has no content",
        "boto3/key_with_leading_slash": FILES,
        "boto3/key_with_one_dot": FILES,
        "boto3/key_with_two_dots": FILES,
        "boto3/a_key_may_be_the_folder_of_another": FILES,
        "boto3/tags_decide_reads_of_a_whole_object": "HEAD does not know If-Match: *",
        "boto3/tags_decide_reads_of_a_multipart_object": "HEAD does not know If-Match: *",
        "boto3/a_wrong_checksum_of_a_part_in_the_list_is_refused": "does not compare them",
        "boto3/unknown_uploads_are_refused": "takes parts for any upload id",
    },
}

DIRECT = {
    "versitygw": {
        "boto3/virtual_host_style_is_understood": "has path style only",
        "boto3/attributes_name_the_parts": "does not name parts",
        "wire/the_encoding_of_the_upload_is_none_of_the_content": "keeps aws-chunked",
        "wire/chunked_uploads_keep_their_content_encoding": "keeps aws-chunked",
        "form/the_file_name_goes_into_the_key": "does not know ${filename}",
        # Without a hash in the head and without a trailer a FIN counts as the end of the body.
        "breakdown/a_client_that_vanishes_in_an_upload_leaves_nothing": "stores half an upload",
        "breakdown/an_upload_that_ends_too_early_is_no_object": "stores half an upload",
    },
    "minio": {},
    "s3proxy": {
        "boto3/metadata_above_the_limit_are_refused": "has no limit",
        "wire/an_upload_without_a_length_is_refused": "takes it",
        "boto3/virtual_host_style_is_understood": "is told no domain",
        "boto3/parts_are_read_by_their_number": "cannot read parts",
        "boto3/attributes_name_the_parts": "does not name parts",
        "wire/a_range_that_is_none_gives_the_whole_object": "refuses it",
        "wire/wrong_crc32_in_a_trailer_is_refused": "does not compare trailers",
        "wire/wrong_crc32c_in_a_trailer_is_refused": "does not compare trailers",
        "wire/wrong_crc64nvme_in_a_trailer_is_refused": "does not compare trailers",
        "wire/wrong_sha1_in_a_trailer_is_refused": "does not compare trailers",
        "wire/wrong_sha256_in_a_trailer_is_refused": "does not compare trailers",
        "wire/a_wrong_decoded_length_is_refused": "takes it",
        "boto3/parts_in_falling_order_are_refused": "takes any order",
        "boto3/the_upload_of_another_key_is_refused": "does not tie uploads to keys",
    },
}


# What the proxy does not do, before every server.
PROXY = {
    "boto3/a_wrong_checksum_of_a_part_in_the_list_is_refused": (
        "knows the checksum of a part only while it passes"
    ),
}


ORDER = "takes lists for sorted, which are in the order of encrypted names"

# What clients and cases want of names that are not encrypted.
NAMES = {
    "boto3/key_with_long": "has no room once it is encrypted",
    "boto3/both_versions_list_the_same": ORDER,
    "boto3/folders_are_folded": ORDER,
    "boto3/pages_of_every_size": ORDER,
    "boto3/pages_of_folders": ORDER,
    "boto3/listings_begin_behind_a_key": ORDER,
    "aws-cli/listings": ORDER,
    "aws-cli/synchronisation_transfers_nothing_twice": ORDER,
}


def limits(server, direct, names=False):
    own = {**PROXY, **(NAMES if names else {})}
    return {**LIMITS[server], **(DIRECT[server] if direct else own)}
