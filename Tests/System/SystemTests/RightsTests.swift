// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EmbeddedKafka
import EventLoop
import HTTPClient
import Kafka
import ServiceKit
import TestSupport
import Testing

/// Each program as a process, whose Kafka user lacks rights at its start and loses them while it works: each is named
/// in an error, the process is not ready, and well again without a restart when they are granted.
@Suite(.serialized) struct RightsTests {
  private static let flags = [
    "--kafka.consumer.session.timeout.ms=4000", "--kafka.consumer.heartbeat.interval.ms=500",
    "--kafka.consumer.max.poll.interval.ms=10000",
  ]

  /// A process with a user of its own.
  private struct Place {
    let program: KafkaUser
    let user: RestrictedUser
    let rights: [KafkaRight]
    let process: BuiltProgram

    /// What the process says that it needs, for each topic and group that it may do nothing with.
    var words: [String] {
      rights.map { right in
        let operations = right.operations.filter { $0 != .describeConfigs }.map(\.rawValue)
          .joined(separator: " and ")
        // Of the groups of a program that has several their beginning is named.
        return switch right.resource {
        case .topic(let name): "\(operations) on topic \(name)"
        case .group(let name): "\(operations) on group \(name)"
        }
      }
    }

    func revokeAll() { change { user.revoke($0, $1) } }
    func grantAll() { change { user.grant($0, $1) } }

    private func change(_ apply: (KafkaRight.Operation, KafkaRight.Resource) -> Void) {
      for right in rights {
        for operation in right.operations { apply(operation, right.resource) }
      }
    }

    /// The reasons for which it is not ready; nil when it is.
    func obstacles() throws -> String? {
      guard let url = StatusPageURL.find(in: process.output) else { return "no status pages yet" }
      guard let answer = try? HTTPClient(timeoutMilliseconds: 30_000).get(url + "/readyz") else {
        return "the status pages are away"
      }
      return answer.status == 200 ? nil : answer.text
    }
  }

  private let rig: PipelineRig
  /// In this process, where the test changes its users' rights.
  private let broker: EmbeddedBroker

  init() throws {
    rig = try PipelineRig()
    broker = try EmbeddedBroker(
      rig.names.all.map { .init($0.name, partitions: Int($0.partitions)) })
  }

  private func flags(_ program: KafkaUser) throws -> [String] {
    switch program {
    case .webhooks:
      let file = rig.folder.file("subscriptions.json")
      let entry = #"[{"name":"crm","url":"https://127.0.0.1:1/","events":["*"],"#
      let secret = #""secrets":["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"]}]"#
      try File.write(file, Array((entry + secret).utf8), mode: 0o600)
      return Self.flags + ["--subscriptions", file]
    case .api:
      let keys = rig.folder.file("keys.json")
      let digest = SHA256Digest.of("martlet_rights").map { byte in
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }.joined()
      try File.write(
        keys, Array(#"[{"name":"test","sha256":"\#(digest)","apps":["*"]}]"#.utf8), mode: 0o600)
      return ["--keys", keys, "--listen", "127.0.0.1:0"]
    case .scheduler: return Self.flags + ["--database", rig.folder.file("schedule.db")]
    default: return Self.flags
    }
  }

  /// Starts a program that may do nothing yet.
  private func start(_ program: KafkaUser) throws -> Place {
    var rights = KafkaRights(of: program, rig.names).all
    if program == .webhooks {
      rights.append(KafkaRight(.group(rig.names.webhookGroup("crm")), [.read]))
      rights.removeAll { $0.resource == .group(rig.names.group(.webhooks)) }
    }
    let user = RestrictedUser(broker, name: program.rawValue, rights: [])
    try rig.start(program.rawValue, try flags(program) + user.flags, kafka: broker.bootstrap)
    return Place(program: program, user: user, rights: rights, process: rig[program.rawValue])
  }

  @Test func `each right of each program, at its start and while it works`() throws {
    let places = try [KafkaUser.ingest, .feedback, .api, .webhooks, .signer, .sender, .scheduler]
      .map(start)
    for place in places { try expectNamed(place, "at the start", since: 0) }
    for place in places { place.grantAll() }
    for place in places { try expectReady(place, "at the start") }
    let before = places.map(\.process.output.utf8.count)
    for place in places { place.revokeAll() }
    for (place, length) in zip(places, before) { try expectNamed(place, "later", since: length) }
    for place in places { place.grantAll() }
    for place in places { try expectReady(place, "later") }
    rig.stop()
  }

  private func expectNamed(_ place: Place, _ time: String, since length: Int) throws {
    let name = place.program.rawValue
    var unnamed: [String] = []
    let isNamed = try eventually(withinMilliseconds: 45_000) {
      let text = String(decoding: place.process.output.utf8.dropFirst(length), as: UTF8.self)
      let errors = text.split(separator: "\n").filter { $0.contains(" error ") }
      unnamed = place.words.filter { words in
        !errors.contains { $0.contains(ServiceKitLog.rightMissing.rawValue) && $0.contains(words) }
      }
      // Whoever may not see a topic does not get as far as to ask for its group.
      unnamed.removeAll { $0.contains(" on group ") }
      return try unnamed.isEmpty && place.obstacles()?.contains("needs ") == true
    }
    let obstacles = try place.obstacles() ?? "ready"
    #expect(isNamed, "\(name) \(time): \(unnamed), \(obstacles)")
  }

  private func expectReady(_ place: Place, _ time: String) throws {
    let isReady = try eventually {
      let obstacles = try place.obstacles()
      // Nobody mints for the sender while the signer waits for its first turn.
      return obstacles.map { !$0.contains("needs ") && $0.contains("provider token") } ?? true
    }
    let obstacles = try place.obstacles() ?? "ready"
    #expect(
      isReady,
      "\(place.program.rawValue) \(time): \(obstacles), \(place.process.output.suffix(1_000))")
  }
}
