// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Sender
import ServiceKit
import Settings
import TestSupport
import Testing

/// The rule by which KEDA scales senders.
@Suite struct ScalingTests {
  private func scaling() throws -> JSONValue {
    try #require(try DeployedFiles.documents(in: "kubernetes/scaling.yaml").first?.value["spec"])
  }

  private func trigger() throws -> JSONValue {
    try #require(try scaling()["triggers"]?.array?.first { $0["type"] == "prometheus" })
  }

  @Test func `the query is the one that promtool tests, and asks for declared metrics`() throws {
    let query = try #require(try trigger()["metadata"]?["query"]?.string)
    #expect(MetricsPage.unknownMetrics(in: query).isEmpty)
    let tests = try DeployedFiles.documents(in: "kubernetes/scaling-tests.yaml").first?.value
    let asked = (tests?["tests"]?.array ?? []).flatMap { $0["promql_expr_test"]?.array ?? [] }
    #expect(!asked.isEmpty)
    for test in asked { #expect(test["expr"]?.string == query) }
    let run = try BuiltProgram.run(
      SystemProgram.promtool(),
      ["test", "rules", "\(DeployedFiles.folder)/kubernetes/scaling-tests.yaml"],
      in: TemporaryFolder())
    #expect(run.status == 0, "\(run.output)")
  }

  /// Kafka's lag would scale on a single push that hangs; the age of one stays below the threshold.
  @Test func `senders scale by age, which one hanging push does not bring to the threshold`() throws
  {
    let trigger = try trigger()
    #expect(trigger["metricType"] == "Value")
    let threshold = try #require(trigger["metadata"]?["threshold"]?.string.flatMap { Int64($0) })
    let query = try #require(trigger["metadata"]?["query"]?.string)
    #expect(query.hasSuffix("vector(\(threshold))"), "what it answers in an outage changes nothing")
    #expect(SenderSettings().requestTimeoutMilliseconds < threshold * 1_000)
    let types = try scaling()["triggers"]?.array?.compactMap { $0["type"]?.string }
    #expect(types == ["prometheus", "cpu"])
  }

  @Test func `there are never more senders than partitions, and apply does not undo it`() throws {
    let names = TopicNames()
    let lane = try #require(names.all.first { $0.name == names.prefix + "notifications" })
    #expect(try scaling()["maxReplicaCount"]?.int == Int64(lane.partitions))
    #expect(try scaling()["scaleTargetRef"] == ["kind": "StatefulSet", "name": "sender"])
    let sender = try DeployedFiles.documents(in: "kubernetes/sender.yaml").first {
      $0.kind == "StatefulSet"
    }
    #expect(sender?.name == "sender" && sender?.value["spec"]?["replicas"] == nil)
  }
}
