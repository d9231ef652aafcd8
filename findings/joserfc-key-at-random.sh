#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Two keys for provider tokens are in one set, as while one takes the place of the other, and a token is signed with the
# set: `jwt.encode({"alg": "ES256"}, claims, keys)`. joserfc 1.8.0 and Authlib 1.9.10 take a key of the set at random,
# for each token anew, and write its `kid` into the header: of 200 tokens about half are signed with each. jwcrypto
# 1.6.1 refuses to sign with a set, and PyJWT 2.15.1 too.
#
# Guessed before it was run: the first key of the set.
#
# Whoever adds a new key to the set, so that it is there when it is needed, signs half of the tokens with it from then
# on. APNs refuses those, if it does not know it yet, and the half with the old one, when that is revoked; a program
# that makes a token an hour fails in some hours and not in others.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: joserfc==1.8.0 authlib==1.9.10 \
  jwcrypto==1.6.1 pyjwt==2.15.1 cryptography==50.0.2
"$folder/python/bin/python" -W ignore - <<'PYTHON'
import base64
import collections
import importlib.metadata
import json

import authlib.jose
import joserfc.jwk
import joserfc.jwt
import jwcrypto.jwk
import jwcrypto.jwt
import jwt

claims = {"iss": "ABCDE12345", "iat": 1795000000}
made = [joserfc.jwk.ECKey.generate_key("P-256", {"kid": kid}) for kid in ("OLD4567890", "NEW4567890")]
keys = [key.as_dict(private=True) for key in made]


def with_joserfc():
    return joserfc.jwt.encode({"alg": "ES256"}, claims, joserfc.jwk.KeySet(made))


def with_authlib():
    keyset = authlib.jose.JsonWebKey.import_key_set({"keys": keys})
    return authlib.jose.jwt.encode({"alg": "ES256"}, claims, keyset).decode()


def with_jwcrypto():
    token = jwcrypto.jwt.JWT({"alg": "ES256"}, claims)
    token.make_signed_token(jwcrypto.jwk.JWKSet.from_json(json.dumps({"keys": keys})))
    return token.serialize()


def with_pyjwt():
    return jwt.encode(claims, jwt.PyJWKSet.from_dict({"keys": keys}), "ES256")


def named(token):
    first = token.split(".")[0]
    return json.loads(base64.urlsafe_b64decode(first + "=" * (-len(first) % 4))).get("kid")


for way in (with_joserfc, with_authlib):
    seen = collections.Counter(named(way()) for _ in range(200))
    print(f"{way.__name__} {importlib.metadata.version(way.__name__[5:])}: {dict(seen)}")
    assert set(seen) == {"OLD4567890", "NEW4567890"} and min(seen.values()) > 50, seen
for way in (with_jwcrypto, with_pyjwt):
    try:
        seen = way()
    except Exception as error:
        seen = f"{type(error).__name__}: {error}"
    print(f"{way.__name__} {importlib.metadata.version(way.__name__[5:])}: {seen}")
    assert seen.startswith(("ValueError: ", "TypeError: ")), seen
PYTHON
