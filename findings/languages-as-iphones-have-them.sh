#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A phone in Taiwan says zh-Hant-TW of the language that its person reads, and one in Hong Kong zh-Hant-HK: Chinese in
# traditional characters. The texts of a push are in English and in two kinds of Chinese, of which a library picks one,
# the same for both phones. None is English, the default:
#
#   the texts are in                                      zh, zh-Hant    zh-Hans, zh-Hant    zh-CN, zh-TW
#   negotiate_locale of Babel 2.19.0                      zh             none                none
#   best_match of Werkzeug 3.1.9                          zh             none                none
#   lookup of WebOb 1.8.11                                zh-Hant        zh-Hant             none
#   get_supported_language_variant of Django 5.2.19       zh-hant        zh-hant             zh-cn
#   closest_match of langcodes 3.5.1                      zh-Hant        zh-Hant             zh-TW
#
# "zh" and "zh-CN" are in simplified characters. The first two ask for the whole, and then for what is before the first
# hyphen; Django takes the first that has the same beginning.
#
# Guessed before it was run: one of the two is in traditional characters, and that one is picked.
#
# Whoever keeps a device's language as it comes, and picks texts so, sends to Taiwan and Hong Kong what is written for
# Beijing, or English, though the right text is there.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: babel==2.19.0 werkzeug==3.1.9 \
  webob==1.8.11 django==5.2.19 langcodes==3.5.1
"$folder/python/bin/python" - <<'PYTHON'
import importlib.metadata

import babel
import django
import langcodes
import webob.acceptparse
import werkzeug.datastructures
import werkzeug.http
from django.conf import settings
from django.test import override_settings
from django.utils.translation import trans_real

settings.configure(USE_I18N=True, LANGUAGE_CODE="en")
django.setup()


def with_werkzeug(wanted, texts):
    return werkzeug.http.parse_accept_header(wanted, werkzeug.datastructures.LanguageAccept).best_match(texts)


def with_webob(wanted, texts):
    header = webob.acceptparse.create_accept_language_header(wanted)
    return header.lookup(texts, default=lambda: None)


def with_django(wanted, texts):
    with override_settings(LANGUAGES=[(text.lower(), text) for text in texts]):
        trans_real.reset_cache(setting="LANGUAGES", enter=True)
        return trans_real.get_supported_language_variant(wanted.lower())


TEXTS = [("zh", "zh-Hant"), ("zh-Hans", "zh-Hant"), ("zh-CN", "zh-TW")]
for name, pick, expected in (
    ("babel", lambda wanted, texts: babel.negotiate_locale([wanted], texts, sep="-"), ["zh", None, None]),
    ("werkzeug", with_werkzeug, ["zh", None, None]),
    ("webob", with_webob, ["zh-Hant", "zh-Hant", None]),
    ("django", with_django, ["zh-hant", "zh-hant", "zh-cn"]),
    ("langcodes", lambda wanted, texts: langcodes.closest_match(wanted, texts)[0], ["zh-Hant", "zh-Hant", "zh-TW"]),
):
    seen = [[pick(wanted, ["en", *texts]) for texts in TEXTS] for wanted in ("zh-Hant-TW", "zh-Hant-HK")]
    print(f"{name} {importlib.metadata.version(name)}: {seen[0]}")
    assert seen == [expected, expected], seen
PYTHON
