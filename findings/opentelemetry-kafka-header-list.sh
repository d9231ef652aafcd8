#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenTelemetry's instrumentation 0.66b1 of confluent-kafka 2.13.0 writes `traceparent` into the caller's own list of
# headers. Three messages that are produced with one list, a constant of the program, in three traces, have one, two and
# three such headers in Kafka, and the list has all three at the end. The consumer's side of the same instrumentation
# takes the first of several: it links the work on all three messages to the first one's trace. Whoever takes the last
# header of a name, as librdkafka's and Java's look-ups of one do, is right.
#
# Guessed before it was run: headers that are given as a list arrive as they are, with one `traceparent`, and each message
# continues the trace in which it was sent.
#
# Whoever sends many pushes with the same headers finds all of them in one trace; each message is larger than the last.
#
# Fails if it does otherwise than it did.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" -q install --disable-pip-version-check --only-binary :all: confluent-kafka==2.13.0 \
  opentelemetry-sdk==1.45.1 opentelemetry-instrumentation-confluent-kafka==0.66b1
"$folder/python/bin/python" - <<'PYTHON'
import confluent_kafka
from opentelemetry import trace
from opentelemetry.instrumentation.confluent_kafka import ConfluentKafkaInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

# The broker is the one inside librdkafka that it has for tests. This producer is made before the instrumentation.
mock = confluent_kafka.Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 0})
address = next(f"{broker.host}:{broker.port}" for broker in mock.list_topics(timeout=20).brokers.values())
mock.list_topics("pushes", timeout=20)

spans = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
ConfluentKafkaInstrumentor().instrument()
tracer = trace.get_tracer("shop")

HEADERS = [("source", b"shop")]
producer = confluent_kafka.Producer({"bootstrap.servers": address, "log_level": 0})
sent = []
for order in (b"order-1", b"order-2", b"order-3"):
    with tracer.start_as_current_span("order") as span:
        producer.produce("pushes", order, headers=HEADERS, partition=0)
        sent.append(span.get_span_context().trace_id)
assert producer.flush(20) == 0
assert len(set(sent)) == 3 and [name for name, _ in HEADERS] == ["source"] + ["traceparent"] * 3, HEADERS

consumer = confluent_kafka.Consumer({"bootstrap.servers": address, "group.id": "g", "log_level": 0})
consumer.assign([confluent_kafka.TopicPartition("pushes", 0, 0)])
for number in range(3):
    message = consumer.poll(20)
    parents = [int(value.split(b"-")[1], 16) for name, value in message.headers() if name == "traceparent"]
    print(message.value(), "has the traces of", [sent.index(parent) + 1 for parent in parents])
    assert parents == sent[: number + 1], (parents, sent)
consumer.close()

linked = [[link.context.trace_id for link in span.links] for span in spans.get_finished_spans() if "process" in span.name]
print("the work on them is linked to", [[sent.index(parent) + 1 for parent in parents] for parents in linked])
assert linked == [[sent[0]]] * 3, (linked, sent)
PYTHON
