#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A gateway's certificate is from an intermediate authority, and the gateway sends both. A client is given one file of
# authorities to trust, which holds
#
#                                                the intermediate    the gateway's own certificate
# - curl 7.88.1, over OpenSSL                    takes it            takes it
# - GnuTLS 3.7.9, `gnutls-cli`                   takes it            refuses
# - OpenSSL 3.0, `s_client`                      refuses             refuses
# - Python 3.11, `create_default_context`        refuses             refuses
# - httpx 0.28.1 with such a context             refuses             refuses
# - Node.js 20.20.2, `ca`                        refuses             refuses
#
# With the root all take it. curl has OpenSSL take a chain that ends with any certificate in the file
# (X509_V_FLAG_PARTIAL_CHAIN), and the others over OpenSSL want one that is signed by itself.
#
# Guessed before it was run: who takes a file of what to trust trusts what is in it; at any rate those over OpenSSL agree.
#
# Whoever gives a program the one certificate that `openssl s_client -showcerts` shows last, tried with curl, has "unable
# to get issuer certificate" in the program.
#
# Fails if a client does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
curl --version | grep -q '^curl 7\.88\.1 .*OpenSSL/3\.0\.'
openssl version | grep '^OpenSSL 3\.0\.'
python3 --version | grep '^Python 3\.11\.'
nodejs --version | grep -x 'v20\.20\.2'
cd "$folder"
apt-get -qq download gnutls-bin=3.7.9* 2> /dev/null
dpkg -x gnutls-bin_*.deb gnutls
python3 -m venv python
python/bin/pip -q install --disable-pip-version-check --only-binary :all: httpx==0.28.1
key=(-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes)
openssl req -x509 "${key[@]}" -days 9 -subj /CN=root -keyout root.key -out root.pem 2> /dev/null

certify() { # whose, by whom, and the extensions
  openssl req "${key[@]}" -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2> /dev/null
  openssl x509 -req -in "$1.csr" -CA "$2.pem" -CAkey "$2.key" -CAcreateserial -days 5 -extfile <(printf '%b' "$3") \
    -out "$1.pem" 2> /dev/null
}

certify intermediate root 'basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n'
certify localhost intermediate 'subjectAltName=DNS:localhost\n'
cat localhost.pem intermediate.pem > chain.pem
cat > get.js << 'JS'
const [url, file] = process.argv.slice(2);
const ca = require("fs").readFileSync(file);
require("https").get(url, { ca }, (answer) => answer.resume()).on("error", (error) => {
  console.log(error.code);
  process.exit(1);
});
JS

python/bin/python - <<'PYTHON'
import socket
import ssl
import subprocess
import threading
import urllib.request

import httpx

tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
tls.load_cert_chain("chain.pem", "localhost.key")


def serve(plain):
    try:
        with tls.wrap_socket(plain, server_side=True) as peer:
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    except OSError:
        pass  # the client does not trust it


def accept():
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=accept, daemon=True).start()
port = listener.getsockname()[1]
url = f"https://localhost:{port}/"


def program(*line):
    return subprocess.run(line, input=b"", capture_output=True, timeout=20).returncode == 0


def with_python(trust):
    try:
        context = ssl.create_default_context(cafile=trust)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        return opener.open(url, timeout=20).read() == b"ok"
    except urllib.error.URLError as error:
        assert isinstance(error.reason, ssl.SSLCertVerificationError)
        return False


def with_httpx(trust):
    try:
        return httpx.get(url, verify=ssl.create_default_context(cafile=trust), trust_env=False).status_code == 200
    except httpx.ConnectError as error:
        assert "CERTIFICATE_VERIFY_FAILED" in str(error)
        return False


clients = {
    "curl": lambda trust: program("curl", "-sS", "--noproxy", "*", "--max-time", "20", "--cacert", trust, url),
    "GnuTLS": lambda trust: program(
        "gnutls/usr/bin/gnutls-cli", "--x509cafile", trust, "--port", str(port), "localhost"
    ),
    "OpenSSL": lambda trust: program(
        "openssl", "s_client", "-verify_return_error", "-CAfile", trust, "-connect", f"localhost:{port}"
    ),
    "Python": with_python,
    "httpx": with_httpx,
    "Node.js": lambda trust: program("nodejs", "get.js", url, trust),
}
expected = {
    "root.pem": list(clients),
    "intermediate.pem": ["curl", "GnuTLS"],
    "localhost.pem": ["curl"],
}
for trust, takers in expected.items():
    seen = [name for name, takes in clients.items() if takes(trust)]
    print(f"{trust}: taken by {', '.join(seen)}")
    assert seen == takers, (trust, seen)
PYTHON
