// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import TestSupport
import Testing

/// `martlet campaign start --tokens`: a file of device tokens as a campaign's audience.
@Suite struct CampaignFileTests {
  private let fixture: KafkaFixture
  private let names: TopicNames
  private let folder = TemporaryFolder()

  init() throws {
    fixture = try KafkaFixture()
    names = TopicNames(prefix: fixture.prefix)
    for topic in names.all {
      try fixture.createTopic(
        String(topic.name.dropFirst(fixture.prefix.count)), partitions: 2,
        compacted: topic.cleanup == .compact)
    }
  }

  private static func token(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  private var cluster: [String] {
    ["--kafka", fixture.configuration.bootstrap, "--topic-prefix", fixture.prefix]
  }

  private func start(_ tokens: String, audience: String = "") throws -> (Int32, String) {
    let (campaign, file) = (folder.file("c.json"), folder.file("tokens.txt"))
    let json =
      #"{"campaign":"sale","request":{"app":"a.b","payload":{"aps":{"alert":"x"}}}\#(audience)}"#
    try File.write(campaign, Array(json.utf8))
    try File.write(file, Array(tokens.utf8))
    return try BuiltProgram.run(
      ChildProcess.sibling("martlet"),
      ["campaign", "start", campaign, "--tokens", file, "--no-progress"] + cluster, in: folder)
  }

  private func ends(_ topic: String) throws -> Int64 {
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let all = (0..<2).map { TopicPartition(topic: topic, partition: $0) }
    return try admin.watermarks(all, timeoutMilliseconds: 30_000).reduce(0) { $0 + $1.high }
  }

  @Test func `each token of a file is addressed once, through kills of the scheduler`() throws {
    let count = 200_000
    let text = (0..<count).map(Self.token).joined(separator: "\r\n")
    let (status, output) = try start(text)
    #expect(status == 0 && output.contains("200000 device tokens written"), "\(output)")
    let database = folder.file("s.db")
    func scheduler() throws -> BuiltProgram {
      try BuiltProgram.start(
        "martlet-scheduler", ["--database", database, "--http", "off"] + cluster,
        in: folder)
    }
    var program = try scheduler()
    for _ in 0..<2 {
      let before = try ends(names.campaignRequests)
      _ = try eventually {
        try ends(names.campaignRequests) > before || before >= 200
      }
      program.signal(SIGKILL)
      _ = program.wait()
      program = try scheduler()
    }
    var (tokens, addressed) = (Set<String>(), 0)
    let isWhole = try fixture.configuration.read(
      names.campaignRequests,
      { record in
        let value = String(decoding: record.value, as: UTF8.self)
        let some = try JSONDocument(value).root["tokens"]?.array?.compactMap(\.string) ?? []
        addressed += some.count
        tokens.formUnion(some)
      }, until: { _ in tokens.count == count })
    #expect(isWhole)
    #expect(tokens == Set((0..<count).map(Self.token)))
    // A kill repeats ten pages at most, with the same ids.
    #expect(addressed <= count + 20_000)
    #expect(program.stop() == 0)
  }

  @Test func `a payload that devices would ignore in part is started with a warning`() throws {
    let campaign = folder.file("c.json")
    let json =
      #"{"campaign":"sale","request":{"app":"a.b","payload":{"aps":{"alert":"x","thread_id":"y"}}},"#
      + #""audience":{}}"#
    try File.write(campaign, Array(json.utf8))
    let (status, output) = try BuiltProgram.run(
      ChildProcess.sibling("martlet"), ["campaign", "start", campaign] + cluster, in: folder)
    #expect(status == 0 && output.contains("campaign sale is to start, unless "), "\(output)")
    #expect(
      output.contains("warning: payload.aps.thread-id is spelled in another way"), "\(output)")
  }

  @Test func `nothing is written of a file with a line that is no token`() throws {
    let (status, output) = try start("\(Self.token(1))\n\nhello\n\(Self.token(2))\nabc\n")
    #expect(status == 1 && output.contains("line 3: has no hexadecimal digit"), "\(output)")
    #expect(output.contains("line 5: has an odd number of digits (3)"))
    #expect(output.contains("has 2 lines that are no device token"))
    let (second, words) = try start("\n")
    #expect(second == 1 && words.contains("has no device token"), "\(words)")
    let (third, text) = try start(Self.token(1), audience: #","audience":{"locale":"de"}"#)
    #expect(third == 2 && text.contains("leave it out, or name the topic"), "\(text)")
    #expect(try ends(names.audiences) == 0 && ends(names.schedule) == 0)
  }
}
