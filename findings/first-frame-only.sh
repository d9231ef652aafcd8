#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A log of pushes, to which a program adds what it has compressed, hour by hour: the file is one compressed piece after
# the other, which gzip, bzip2, xz, zstd and lz4 allow, and their tools read as one. What Python's libraries make of two
# hours of two lines each:
#
# - zstandard 0.25.0: `decompress` and `read_to_iter` return the first hour, and no error. `open`, `stream_reader` and
#   `copy_stream` of the same library return both.
# - lz4 4.4.5: `lz4.frame.decompress` returns the first hour, and no error. `lz4.frame.open` returns both.
# - `decompress` of Python's gzip, bz2 and lzma, and of cramjam 2.14.0 for zstd and lz4, return both.
#
# Guessed before it was run: all of it, or an error about what is left over; and the ways of one library agree.
#
# Whoever counts what was sent in a day counts the first hour, and less each time the program is started anew.
#
# Fails if a version answers otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: zstandard==0.25.0 lz4==4.4.5 \
  cramjam==2.14.0
"$folder/python/bin/python" - "$folder" <<'PYTHON'
import bz2
import gzip
import io
import lzma
import sys

import cramjam
import lz4.frame
import zstandard

hours = [
    b'{"token":"aa","status":200}\n{"token":"bb","status":200}\n',
    b'{"token":"cc","status":410}\n{"token":"dd","status":200}\n',
]


def log(compress):
    return b"".join(map(compress, hours))


def copied(data):
    output = io.BytesIO()
    zstandard.ZstdDecompressor().copy_stream(io.BytesIO(data), output)
    return output.getvalue()


def opened(library, data):
    with open(f"{sys.argv[1]}/log", "wb") as file:
        file.write(data)
    with library.open(f"{sys.argv[1]}/log", "rb") as file:
        return file.read()


in_zstd, in_lz4 = log(zstandard.compress), log(lz4.frame.compress)
zstd = zstandard.ZstdDecompressor
for name, data, lines in (
    ("gzip.decompress", gzip.decompress(log(gzip.compress)), 4),
    ("bz2.decompress", bz2.decompress(log(bz2.compress)), 4),
    ("lzma.decompress", lzma.decompress(log(lzma.compress)), 4),
    ("cramjam.zstd.decompress", bytes(cramjam.zstd.decompress(in_zstd)), 4),
    ("cramjam.lz4.decompress", bytes(cramjam.lz4.decompress(in_lz4)), 4),
    ("zstandard.decompress", zstandard.decompress(in_zstd), 2),
    ("zstandard, read_to_iter", b"".join(zstd().read_to_iter(io.BytesIO(in_zstd))), 2),
    ("zstandard, stream_reader", zstd().stream_reader(io.BytesIO(in_zstd)).read(), 4),
    ("zstandard, copy_stream", copied(in_zstd), 4),
    ("zstandard.open", opened(zstandard, in_zstd), 4),
    ("lz4.frame.decompress", lz4.frame.decompress(in_lz4), 2),
    ("lz4.frame.open", opened(lz4.frame, in_lz4), 4),
):
    seen = data.count(b"\n")
    print(f"{name}: {seen} of 4 lines")
    assert seen == lines and b"".join(hours).startswith(data), (name, data)
PYTHON
