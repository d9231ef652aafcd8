#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Pushes are small and alike, so they are compressed with a dictionary, here the text of older pushes, which the reader
# has to have too. The reader has that of another day, of the same form, in which the word is "ticket" and not "parcel".
# What it reads of "Your order 7 parcel is on its way":
#
# - zstandard 0.25.0, pyzstd 0.20.0 and backports.zstd 1.8.0, with the dictionary as raw content: "Your order 7 ticket
#   is on its way", and no error. So does `lz4.block` of lz4 4.4.5.
# - zstandard with `write_checksum=True`: an error; so with pyzstd and backports.zstd and their checksum flag. So with a
#   dictionary that was trained, which has an id, and the three say that it is another.
# - zlib of Python, whose format has a sum of the dictionary: an error.
#
# What is compressed says "copy so many bytes from there", and the reader copies what it has there. The libraries write
# no sum of the content unless they are asked for it; the tool zstd does by itself.
#
# Guessed before it was run: an error for each, as with a wrong key.
#
# Whoever makes a new dictionary of last week's pushes, and does not change all programs in one moment, sends texts that
# nobody has written, to the right devices.
#
# Fails if a library reads otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: zstandard==0.25.0 pyzstd==0.20.0 \
  backports.zstd==1.8.0 lz4==4.4.5
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata
import json
import zlib

import lz4.block
import pyzstd
import zstandard
from backports import zstd


def push(number, what):
    body = f"Your order {number} {what} is on its way"
    return json.dumps({"aps": {"alert": {"title": what, "body": body}, "sound": "default", "badge": number}}).encode()


ours, theirs = (b"".join(push(number, what) for number in range(20)) for what in ("parcel", "ticket"))
original = push(7, "parcel")


def with_zstandard(of, **options):
    dictionaries = [zstandard.ZstdCompressionDict(text, dict_type=of) for text in (ours, theirs)]
    packed = zstandard.ZstdCompressor(dict_data=dictionaries[0], **options).compress(original)
    return [zstandard.ZstdDecompressor(dict_data=which).decompress for which in dictionaries], packed


def with_another(library, checksum):
    dictionaries = [library.ZstdDict(text, is_raw=True) for text in (ours, theirs)]
    kind = getattr(library, "CompressionParameter", None) or library.CParameter
    flag = getattr(kind, "checksum_flag", None) or kind.checksumFlag
    options = {"options": {flag: 1}} if library is zstd else {"level_or_option": {flag: 1}}
    packed = library.compress(original, zstd_dict=dictionaries[0], **(options if checksum else {}))
    return [lambda data, which=which: library.decompress(data, zstd_dict=which) for which in dictionaries], packed


def with_lz4():
    packed = lz4.block.compress(original, dict=ours)
    return [lambda data, which=which: lz4.block.decompress(data, dict=which) for which in (ours, theirs)], packed


def with_zlib():
    packer = zlib.compressobj(zdict=ours)
    packed = packer.compress(original) + packer.flush()
    unpack = [lambda data, which=which: zlib.decompressobj(zdict=which).decompress(data) for which in (ours, theirs)]
    return unpack, packed


def with_trained():
    dictionaries = []
    for what in ("parcel", "ticket"):
        samples = [push(number * 7919 % 100003, f"{what} {number}") for number in range(4000)]
        dictionaries.append(zstandard.train_dictionary(2048, samples))
    assert dictionaries[0].dict_id() != dictionaries[1].dict_id() and dictionaries[0].dict_id() > 0
    packed = zstandard.ZstdCompressor(dict_data=dictionaries[0]).compress(original)
    readers = [zstandard.ZstdDecompressor(dict_data=which).decompress for which in dictionaries]
    for library in (pyzstd, zstd):
        try:
            library.decompress(packed, zstd_dict=library.ZstdDict(dictionaries[1].as_bytes()))
            raise SystemExit(f"{library.__name__} reads it")
        except library.ZstdError:
            pass
    return readers, packed


print(*(f"{name} {importlib.metadata.version(name)};" for name in ("zstandard", "pyzstd", "backports.zstd", "lz4")))
raw = zstandard.DICT_TYPE_RAWCONTENT
for name, made, silent in (
    ("zstandard", with_zstandard(raw), True),
    ("pyzstd", with_another(pyzstd, False), True),
    ("backports.zstd", with_another(zstd, False), True),
    ("lz4.block", with_lz4(), True),
    ("zstandard with a checksum", with_zstandard(raw, write_checksum=True), False),
    ("pyzstd with a checksum", with_another(pyzstd, True), False),
    ("backports.zstd with a checksum", with_another(zstd, True), False),
    ("a trained dictionary", with_trained(), False),
    ("zlib", with_zlib(), False),
):
    (right, wrong), packed = made
    assert right(packed) == original
    try:
        seen = json.loads(wrong(packed))["aps"]["alert"]["body"]
    except (zstandard.ZstdError, pyzstd.ZstdError, zstd.ZstdError, zlib.error) as error:
        seen = f"{type(error).__name__}: {error}"
    print(f"  {name}, {len(packed)} bytes of {len(original)}: {seen}")
    assert (seen == "Your order 7 ticket is on its way") if silent else "rror: " in seen, seen
PYTHON
