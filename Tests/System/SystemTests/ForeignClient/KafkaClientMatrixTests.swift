// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// Client libraries that nobody here wrote, against `martlet broker`. A script has the checks.
@Suite(.serialized) struct KafkaClientMatrixTests {
  /// The clients, each with the checks that it has nothing for.
  private static let missing: [String: Set<String>] = [
    "confluent-kafka": ["admin_delete_offsets"],
    "confluent-kafka-old": ["admin_delete_offsets", "admin_delete_records"],
    "aiokafka": ["admin_delete_group", "admin_delete_offsets", "static_member"],
    "kafka-python": [],
    "kafka-python-old": [
      "admin_delete_offsets", "admin_delete_records", "produce_idempotent", "static_member",
      "transactions_refused",
    ],
    "kcat": [
      "admin_configs", "admin_create", "admin_delete_group", "admin_delete_offsets",
      "admin_delete_records", "admin_delete_topic", "admin_groups", "admin_partitions", "commit",
      "transactions_refused",
    ],
    "sarama": [
      "admin_delete_group", "admin_delete_offsets", "static_member", "transactions_refused",
    ],
  ]
  /// Checks of each client: records, groups, administration, a restart.
  private static let checks = 24

  @Test func `each client produces, reads in groups and administers, also after a restart`() throws
  {
    let folder = TemporaryFolder()
    let run = try PythonScript.run(
      "kafka_clients/matrix.py", ["--martlet", ChildProcess.sibling("martlet")], in: folder,
      withinMilliseconds: 400_000)
    let results = run.objects.filter { $0["check"] != nil }
    for result in results where result["result"]?.string == "failed" {
      Issue.record(
        "\(result["client"]?.string ?? "") \(result["check"]?.string ?? ""): \(result["detail"]?.string ?? "")"
      )
    }
    // Not every Debian has its package.
    let hasSarama = File.exists(Repository.path(".build/python-clients/sarama/operation"))
    for (client, missing) in Self.missing where client != "sarama" || hasSarama {
      let own = results.filter { $0["client"]?.string == client }
      let none = own.filter { $0["result"]?.string == "none" }.compactMap { $0["check"]?.string }
      #expect(own.count == Self.checks, "\(client)")
      #expect(Set(none) == missing, "\(client)")
    }
    #expect(run.status == 0, "it printed: \(run.output.suffix(2_000))")
  }

  @Test func `users authenticate, and do what they have rights to`() throws {
    let run = try PythonScript.run(
      "kafka_clients/users.py", ["--martlet", ChildProcess.sibling("martlet")],
      in: TemporaryFolder(), withinMilliseconds: 400_000)
    for result in run.objects where result["result"]?.string != "ok" { Issue.record("\(result)") }
    #expect(run.status == 0 && run.objects.count == 12, "it printed: \(run.output.suffix(2_000))")
  }

  @Test func `a broker that is killed under load loses nothing, repeats nothing, keeps the order`()
    throws
  {
    let folder = TemporaryFolder()
    let run = try PythonScript.run(
      "kafka_clients/kill_broker.py",
      ["--martlet", ChildProcess.sibling("martlet"), "--kills", "5"], in: folder,
      withinMilliseconds: 400_000)
    // Its first line has the seed, by which a failure is repeated.
    #expect(run.status == 0, "it printed: \(run.output.suffix(2_000))")
    let acknowledged = run.objects.last?["acknowledged"]?.int ?? 0
    #expect(acknowledged > 100, "it printed: \(run.output.suffix(2_000))")
  }

  @Test
  func `clients that are hostile or slow do not fill its memory, and others are served`() throws {
    let folder = TemporaryFolder()
    // Times are those of a busy machine and a debug build.
    let run = try PythonScript.run(
      "kafka_clients/hostile.py",
      [
        "--martlet", ChildProcess.sibling("martlet"), "--connections", "1000", "--frames", "2000",
        "--slowest", "20000",
      ], in: folder, withinMilliseconds: 400_000)
    #expect(run.status == 0, "it printed: \(run.output.suffix(2_000))")
    #expect(run.objects.count == 6, "it printed: \(run.output.suffix(2_000))")
  }
}
