#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# A name has four addresses, as APNs' has several, with a TTL of 60 s, and its server puts another first in each answer,
# so that connections are spread. A program looks it up twelve times in a row with `getaddrinfo` of one DNSResolver:
#
# - aiodns 3.2.0 with pycares 4.4.0 (c-ares 1.18.1) asks twelve times. Each address is first three times.
# - aiodns 4.0.4 with pycares 5.2.1 (c-ares 1.34.9) asks once. One address is first each time, until the TTL is over.
#
# So is `query` of each. dnspython 2.9.2 asks each time, without a cache of one's own. c-ares caches since 1.31.0; no
# argument of DNSResolver turns it off. With a TTL of 0 both ask each time.
#
# Guessed before it was run: a stub resolver asks its server each time, which has the cache, as that of the C library.
#
# Whoever opens a pool of connections with it opens all to one address, and opens them there again for the rest of the
# TTL, which may be an hour, when that address is the one that fails.
#
# Fails if a version does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/look.py" <<'PYTHON'
import asyncio
import collections
import socket
import sys
import threading

import aiodns
import dns.message
import dns.resolver
import dns.rrset
import pycares

addresses = [f"127.0.0.{last}" for last in (1, 2, 3, 4)]
ttl, asked = 60, 0
listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("127.0.0.1", 0))
port = listener.getsockname()[1]


def serve():
    global asked
    while True:
        wire, peer = listener.recvfrom(4096)
        question = dns.message.from_wire(wire)
        name = question.question[0].name
        answer = dns.message.make_response(question)
        first = asked % len(addresses)
        asked += 1
        # One set for each address keeps their order.
        for address in addresses[first:] + addresses[:first]:
            answer.answer.append(dns.rrset.from_text(name, ttl, "IN", "A", address))
        listener.sendto(answer.to_wire(), peer)


threading.Thread(target=serve, daemon=True).start()


async def with_aiodns():
    resolver = aiodns.DNSResolver(nameservers=["127.0.0.1"], udp_port=port, tcp_port=port)
    found = []
    for _ in range(12):
        answer = await resolver.getaddrinfo("gateway.example.com", family=socket.AF_INET, port=443)
        found.append([node.addr[0].decode() for node in answer.nodes][0])
    return found


async def with_query():
    resolver = aiodns.DNSResolver(nameservers=["127.0.0.1"], udp_port=port, tcp_port=port)
    return [(await resolver.query("gateway.example.com", "A"))[0].host for _ in range(12)]


async def with_dnspython():
    resolver = dns.resolver.Resolver(configure=False)
    resolver.nameservers, resolver.port = ["127.0.0.1"], port
    return [resolver.resolve("gateway.example.com", "A")[0].address for _ in range(12)]


def look(client, times, spread):
    global asked
    asked = 0
    first = sorted(collections.Counter(asyncio.run(client())).values())
    name = client.__name__.removeprefix("with_")
    print(f"  {name}, TTL {ttl}: asked {asked} time(s), each address was first {first} times")
    assert (asked, first) == (times, spread), (times, spread)


version, caches = sys.argv[1], sys.argv[2] == "caches"
print(f"aiodns {aiodns.__version__}, pycares {pycares.__version__}, c-ares {pycares.ARES_VERSION}")
assert pycares.ARES_VERSION == version
each = [3, 3, 3, 3]
look(with_aiodns, *((1, [12]) if caches else (12, each)))
look(with_query, *((1, [12]) if caches else (12, each)))
look(with_dnspython, 12, each)
ttl = 0
look(with_aiodns, 12, each)
PYTHON

look() {
  python3 -m venv --clear "$folder/python"
  "$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: "aiodns==$1" "pycares==$2" \
    dnspython==2.9.2
  "$folder/python/bin/python" -W ignore "$folder/look.py" "$3" "$4"
}

look 3.2.0 4.4.0 1.18.1 asks
look 4.0.4 5.2.1 1.34.9 caches
