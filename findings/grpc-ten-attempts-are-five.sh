#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A client of gRPC has a policy of retries in its service configuration, `"maxAttempts": 10`, and a server that is
# started anew and answers UNAVAILABLE. The server sees five attempts, with grpcio 1.60.2 and 1.85.3. With 6 it sees
# five, with 2, 4 and 5 as many as were asked for. The call fails with UNAVAILABLE, as it would after ten. With 1, which
# is not allowed either, each call fails with INVALID_ARGUMENT.
#
# Five is the most that gRPC allows, and what is above is taken for five; a line "clamped" on standard error, when the
# channel reads its configuration, is all that says so.
#
# Guessed before it was run: ten attempts.
#
# Whoever works out from pauses and attempts how long a restart a client outlives is wrong by half.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"

cat > "$folder/look.py" <<'PYTHON'
import concurrent.futures
import json

import grpc

attempts = []


class Gateway(grpc.GenericRpcHandler):
    def service(self, _):
        def push(request, context):
            attempts.append(request)
            context.abort(grpc.StatusCode.UNAVAILABLE, "a restart")

        return grpc.unary_unary_rpc_method_handler(push)


server = grpc.server(concurrent.futures.ThreadPoolExecutor(4))
server.add_generic_rpc_handlers((Gateway(),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()


def push(most):
    policy = {
        "maxAttempts": most,
        "initialBackoff": "0.01s",
        "maxBackoff": "0.02s",
        "backoffMultiplier": 1,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    configuration = json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": policy}]})
    attempts.clear()
    with grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.service_config", configuration)]) as channel:
        try:
            channel.unary_unary("/Pushes/Send")(b"push", timeout=30)
        except grpc.RpcError as error:
            return error.code().name, len(attempts)


seen = {most: push(most) for most in (2, 4, 5, 6, 10)}
print(f"grpcio {grpc.__version__}: {seen}; with 1: {push(1)}")
assert push(1) == ("INVALID_ARGUMENT", 0)
assert seen == {most: ("UNAVAILABLE", min(most, 5)) for most in seen}, seen
server.stop(None)
PYTHON

for version in 1.60.2 1.85.3; do
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "grpcio==$version"
  "$folder/python/bin/python" "$folder/look.py" 2> "$folder/errors"
  grep -q 'clamped' "$folder/errors"
done
