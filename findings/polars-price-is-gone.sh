#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A price is put into the text of each alert, `pl.col("title").str.replace("PRICE", "$12.99")`. "Now PRICE!" becomes
#
# - "Now $12.99!" with polars 1.31.0;
# - "Now .99!" with polars 2.1.0, with no error. "$5 off" leaves " off", and of "$name" nothing is left. "US$" stays.
#
# So it is with `replace_all`, and where the price is a column. A $ before a digit or a letter stands for a group of the
# pattern. Before, that was so only if the pattern had one of the characters that make it more than a text: "P.ICE" has
# "Now .99!" in both. With `literal=True` both have "Now $12.99!", and so has pandas 3.1.1, whose `str.replace` is
# literal.
#
# What one would guess: what worked with a plain word goes on working, as there is no group in it.
#
# Whoever has filled in prices so for years tells all customers of an offer without its dollars after an upgrade.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

look() {
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" -q install --disable-pip-version-check --only-binary :all: "polars==$1" pandas==3.1.1
  "$folder/$1/bin/python" - "${@:2}" <<'PYTHON'
import sys

import pandas
import polars as pl

PRICES = ["$12.99", "$5 off", "$name", "US$"]
whole, expected = [f"Now {price}!" for price in PRICES], sys.argv[1:]
column = pl.col("title").str
alerts = pl.DataFrame({"title": ["Now PRICE!"] * 4, "price": PRICES})


def filled(replace):
    return [alerts.select(replace(price)).item(0, 0) for price in PRICES]


seen = filled(lambda price: column.replace("PRICE", price))
print(f"polars {pl.__version__}: {seen}")
assert seen == expected, seen
assert filled(lambda price: column.replace_all("PRICE", price)) == expected
assert alerts.select(column.replace("PRICE", pl.col("price"))).to_series().to_list() == expected
assert filled(lambda price: column.replace("PRICE", price, literal=True)) == whole
assert filled(lambda price: column.replace("P.ICE", price))[0] == "Now .99!"
assert [pandas.Series(["Now PRICE!"]).str.replace("PRICE", price)[0] for price in PRICES] == whole
PYTHON
}

look 1.31.0 "Now \$12.99!" "Now \$5 off!" "Now \$name!" "Now US\$!"
look 2.1.0 "Now .99!" "Now  off!" "Now !" "Now US\$!"
