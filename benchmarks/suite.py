# SPDX-License-Identifier: Apache-2.0
"""What `benchmarks/run all` runs: by the name of the file in benchmarks/results/, the words of benchmarks/run.

Together about 37 minutes on two quiet cores, after the build; memory takes three of them and scale seven. The budgets come
first, so that a run that is ended early has them.
"""

RUNS = {
    name: words.split() for name, words in {
        "http2": "http2 --count 200000 --rounds 3",
        "sender": "sender --count 200000 --rounds 9",
        "ingest": "ingest --count 200000 --rounds 9",
        "simulator": "simulator --count 200000 --rounds 3",
        "feedback": "feedback --count 50000 --rounds 3",
        "feedback-memory": "feedback --count 100000 --rounds 5",
        "receipts": "feedback --keep-receipts --count 50000 --rounds 3",
        "receipts-postgres": "feedback --keep-receipts --postgres --count 50000 --rounds 3",
        "sender-partitions-paced": "sender --partitions 12,64 --rate 5000 --count 20000 --rounds 5",
        "sender-partitions": "sender --partitions 1,12,64 --count 200000 --rounds 9",
        "sender-apps": "sender --apps 1,100 --count 200000 --rounds 9",
        "sender-credentials": "sender --credentials 1,100,1000 --count 60000 --rounds 9",
        "guard": "guard",
        "demo": "demo --senders 2,4 --count 200000 --rounds 3",
        "start": "start --rounds 3",
        "idle": "idle",
        "latency": "latency --rounds 3",
        "lanes": "lanes",
        "pace": "pace --senders 1,2,3,4",
        "pace-fast": "pace --senders 1,2,3,4 --rate 50000",
        "governor": "governor",
        "pile": "pile",
        "states": "states --count 10000",
        "schedule": "schedule --count 1000000 --seconds 60",
        "people": "people --count 1000000 --rounds 2 --seconds 10",
        "campaign": "campaign --count 10000000 --kills 20",
        "campaign-postgres": "campaign --count 10000000 --kills 20 --postgres",
        "campaign-everybody": "campaign --count 400000 --share 1",
        "campaign-part": "campaign --count 2000000",
        "backlog": "backlog --partitions 64 --count 300000 --rounds 3",
        "pipeline": "pipeline --senders 1,2,4 --count 100000 --rounds 9",
        "connections": "connections --credentials 1,1000 --count 20000",
        "tokens": "tokens --rounds 3",
        "api": "api --count 200000 --rounds 3",
        "store": "store --count 100000 --rounds 3",
        "rebuild": "rebuild --count 300000 --rounds 1",
        "import": "import --count 1000000",
        "suppression": "suppression --count 1000000",
        "compare": "compare --count 50000 --rounds 3",
        "rebalance": "rebalance --partitions 12,128 --rounds 2",
        "memory": "memory --count 20000000",
        "scale": "scale --senders 1,2,4 --loops 1,2 --partitions 8,64 --credentials 1,1000 --count 60000 --rounds 3",
    }.items()
}
