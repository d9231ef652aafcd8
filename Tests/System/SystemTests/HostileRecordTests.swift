// SPDX-License-Identifier: Apache-2.0
import API
import Contract
import Crypto
import EventLoop
import HTTPClient
import Kafka
import Records
import TestSupport
import Testing

/// Whoever may write a topic ends no process: each number of each kind of record, at the ends of its range and beyond, on
/// every topic of a pipeline that runs.
@Suite(.serialized) struct HostileRecordTests {
  private static let numbers = [
    "0", "-1", "\(Int64.max)", "\(Int64.min)", "\(Int64.max / 2)", "9223372036854775808",
    "253402300799999", "253402300800000", "4294967296", "1e300", "-1e300",
  ]

  private struct Example {
    let topic: String
    let key: String
    let value: String
    var headers: [KafkaHeader] = []

    /// The record with each run of digits that is a number replaced by one of another size.
    var hostile: [Example] {
      let bytes = Array(value.utf8)
      func isPart(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      }
      var found: [Example] = [self]
      var start = 0
      while start < bytes.count {
        guard isPart(bytes[start]) else {
          start += 1
          continue
        }
        let end = bytes[start...].firstIndex { !isPart($0) } ?? bytes.count
        if bytes[start..<end].allSatisfy({ (0x30...0x39).contains($0) }) {
          for number in HostileRecordTests.numbers {
            var changed = self
            changed = Example(
              topic: topic, key: key,
              value: String(
                decoding: bytes[..<start] + Array(number.utf8) + bytes[end...], as: UTF8.self),
              headers: headers)
            found.append(changed)
          }
        }
        start = end
      }
      return found
    }
  }

  /// A record of each kind: those of the fixtures, and what they lack.
  private static func examples(_ names: TopicNames) throws -> [Example] {
    let text = try Repository.text("Tests/Fixtures/Records/0.1.0.jsonl")
    var examples: [Example] = []
    for line in text.split(separator: "\n") {
      let object = try JSONDocument(String(line)).root
      guard let topic = object["topic"]?.string, let value = object["value"]?.string else {
        continue
      }
      let headers = (object["headers"]?.array ?? []).compactMap { header in
        header.array.map { KafkaHeader($0.first?.string ?? "", $0.last?.string ?? "") }
      }
      examples.append(
        Example(
          topic: names.prefix + topic, key: object["key"]?.string ?? "", value: value,
          headers: headers))
    }
    let campaign =
      #"{"campaign":"sale","request":{"app":"com.example.app","payload":{"aps":{"badge":1}}},"audience":{},"at":1795000000000,"#
      + #""by":"ann","first":{"percent":1,"wait_seconds":1},"stop":{"rejected_percent":1,"unregistered_times":2,"#
      + #""slower_than_ms":3},"pace":"200/s","progress":{"revision":4,"state":"running","total":10,"addressed":5,"#
      + #""first_ended_at":1795000000001,"ended_at":1795000000002},"outcomes":{"delivered":6,"rejected":7,"#
      + #""deduplicated":8},"rates":{"at":1795000000003,"addressed":9,"outcomes":11}}"#
    examples.append(
      Example(
        topic: names.schedule, key: "campaign:sale:com.example.app:production",
        value: "M1\n" + campaign))
    // Two that add up to more than 64 bits.
    let most = "\(Int64.max)"
    examples.append(
      Example(
        topic: names.schedule, key: "campaign:sum:com.example.app:production",
        value: "M1\n"
          + campaign.replacing("sale", with: "sum").replacing(":6,", with: ":\(most),")
          .replacing(":7,", with: ":\(most),")))
    examples.append(
      Example(
        topic: names.controls, key: "campaign:sale:com.example.app:production",
        value: #"{"paused":true,"at":1795000000000,"by":"ann"}"#))
    examples.append(
      Example(
        topic: names.controls, key: "pace:app:com.example.app:production",
        value: #"{"pace":"200/s","at":1795000000000,"by":"ann"}"#))
    examples.append(
      Example(
        topic: names.campaignRequests, key: "",
        value:
          #"{"id":"campaign:sale","group":"sale","campaign":"sale","app":"com.example.app","payload":{"aps":{"badge":1}},"tokens":["\#(String(repeating: "ab", count: 32))"]}"#
      ))
    return examples
  }

  @Test func `each topic has an example`() throws {
    let names = TopicNames()
    let topics = Set(try Self.examples(names).map(\.topic))
    // The retry topics have one form.
    let missing = names.all.map(\.name).filter { name in
      !topics.contains(name) && !(names.retries.contains(name) && topics.contains(names.retries[0]))
    }
    #expect(missing == [])
  }

  @Test func `no number on any topic ends a process, or what it does for others`() throws {
    let rig = try PipelineRig()
    try rig.startSimulator()
    let url = try start(rig)
    let examples = try Self.examples(rig.names).flatMap(\.hostile)
    #expect(examples.count > 1_000)
    let producer = try KafkaProducer(rig.configuration)
    defer { producer.close() }
    for example in examples {
      let topic = try producer.topic(named: example.topic)
      let isQueued = eventually {
        let result = producer.produce(
          topic, key: Array(example.key.utf8), value: Array(example.value.utf8),
          headers: example.headers, tag: 0)
        if case .queued = result { return true }
        _ = producer.drainDeliveries()
        return false
      }
      try #require(isQueued)
    }
    try #require(producer.flush(timeoutMilliseconds: 30_000))
    // What comes behind them on every partition is worked on.
    let (app, count) = ("com.example.other", 200)
    try rig.produce(rig.names.requests, 0..<count) { number in
      let token = PipelineRig.token(900_000 + number)
      return (
        token,
        #"{"id":"good-\#(number)","app":"\#(app)","token":"\#(token)","payload":{"aps":{"alert":"x"}}}"#
      )
    }
    var good: Set<String> = []
    let isDone = try rig.read(
      rig.names.receipts, withinMilliseconds: 120_000,
      { record in
        for line in (record.value ?? "").split(separator: "\n") {
          guard let receipt = try? JSONDocument(String(line)).root,
            receipt["outcome"] == "delivered", let id = receipt["id"]?.string, id.hasPrefix("good-")
          else { continue }
          good.insert(id)
        }
      }, until: { good.count == count })
    #expect(isDone, "\(good.count) of \(count)")
    try awaitReaders(rig)
    try expectAlive(rig, url)
    rig.stop()
  }

  private static let programs =
    PipelineRig.services + ["martlet-scheduler", "martlet-webhooks", "martlet-api"]

  /// - Returns: where the API listens.
  private func start(_ rig: PipelineRig) throws -> String {
    let secret = SHA256Digest.of("secret").map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    let keys = rig.folder.file("api-keys.json")
    try File.write(
      keys, Array(#"[{"name":"a","sha256":"\#(secret)","apps":["*"],"campaigns":true}]"#.utf8))
    let subscriptions = rig.folder.file("subscriptions.json")
    let entry =
      #"[{"name":"crm","url":"https://127.0.0.1:1/","events":["*"],"secrets":["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"]}]"#
    try File.write(
      subscriptions,
      Array(entry.replacing(#""*""#, with: #""notification.rejected","token.registered""#).utf8),
      mode: 0o600)
    let database = rig.folder.file("schedule.sqlite")
    for name in Self.programs {
      let notes = ["--crash-notes", rig.folder.file("\(name).notes")]
      switch name {
      case "martlet-scheduler": try rig.start(name, notes + ["--database", database])
      case "martlet-webhooks": try rig.start(name, notes + ["--subscriptions", subscriptions])
      case "martlet-api":
        try rig.start(
          name,
          notes + [
            "--keys", keys, "--listen", "127.0.0.1:0", "--database",
            rig.folder.file("tokens.sqlite"), "--schedule-database", database,
          ])
      default: try rig.start(name, notes)
      }
    }
    try rig.awaitServices()
    let api = rig["martlet-api"]
    return try #require(api.url(of: APILog.listening), "\(api.output)")
  }

  /// Waits for what is not behind the receipts.
  private func awaitReaders(_ rig: PipelineRig) throws {
    let admin = try KafkaAdmin(rig.configuration)
    defer { admin.close() }
    let readers: [(topic: String, group: ReaderGroup)] = [
      (rig.names.feedback, .feedback), (rig.names.devices, .feedback),
      (rig.names.schedule, .scheduler), (rig.names.tokenRequests, .signer),
    ]
    for (topic, group) in readers {
      let count = try admin.partitionCounts(timeoutMilliseconds: 30_000)[topic] ?? 0
      let partitions = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
      let end = try admin.watermarks(partitions, timeoutMilliseconds: 30_000)
        .reduce(0) { $0 + Int($1.high) }
      try expectEventually { try rig.committed(topic, by: group) >= end }
    }
  }

  private func expectAlive(_ rig: PipelineRig, _ url: String) throws {
    for name in Self.programs {
      #expect(rig[name].wait(withinMilliseconds: 0) == nil, "\(rig[name].output.suffix(3_000))")
      #expect(try File.read(rig.folder.file("\(name).notes")).isEmpty, "\(name)")
    }
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    let answer = try client.send(
      "GET", "\(url)/v1/campaigns", nil, contentType: "application/json",
      headers: ["Authorization: Bearer secret"])
    #expect(answer.status == 200, "\(answer.text)")
    for arguments in [
      ["campaign", "list", "--database", rig.folder.file("schedule.sqlite")],
      ["schedule", "list", "--database", rig.folder.file("schedule.sqlite")],
      ["pause", "--kafka", rig.kafka], ["pace", "--kafka", rig.kafka],
      ["dead-letters", "list", "--kafka", rig.kafka], ["trace", "good-1", "--kafka", rig.kafka],
    ] {
      let run = try BuiltProgram.run(ChildProcess.sibling("martlet"), arguments, in: rig.folder)
      #expect(run.status == 0, "\(arguments): \(run.output.suffix(2_000))")
    }
    // Each kind of record is shown, too.
    for topic in rig.names.all {
      let run = try BuiltProgram.run(
        ChildProcess.sibling("martlet"),
        [
          "inspect", String(topic.name.dropFirst(rig.names.prefix.count)), "--kafka", rig.kafka,
          "--json",
        ],
        in: rig.folder)
      #expect(run.status == 0, "\(topic.name): \(run.output.suffix(2_000))")
    }
  }
}
