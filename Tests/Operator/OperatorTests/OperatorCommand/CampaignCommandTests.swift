// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Store
import TestSupport
import Testing

@testable import OperatorCommand

/// `martlet campaign start`.
@Suite struct CampaignCommandTests {
  /// What a scheduler's database has of a campaign.
  private static func store(_ campaign: CampaignRecord, _ location: String) throws {
    let store = try ScheduleStore(TokenStore(location, now: 0))
    let value = campaign.value
    let row = ScheduleRow(
      offset: 1, identity: ScheduleRow.identity(of: value), kind: .campaign(revision: 0))
    try store.transaction { () throws(StoreError) in
      try store.put(
        0,
        [
          ScheduledEntry(
            key: "\(campaign.key)", row: row, value: String(decoding: value, as: UTF8.self))
        ])
      try store.setPosition(0, 2)
    }
  }

  @Test func `a start with a name that is in use fails, and its own is recognised`() throws {
    let fixture = try KafkaFixture(topics: [("schedule", 1)])
    let folder = TemporaryFolder()
    let (file, database) = (folder.file("c.json"), folder.file("s.db"))
    let json =
      #"{"campaign":"sale","request":{"app":"a.b","payload":{"aps":{"alert":"x"}}},"audience":{}}"#
    try File.write(file, Array(json.utf8))
    let values = try CampaignStartCommand.values([
      file, "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
      "--database", database,
    ])
    let context = ServiceContext(values)
    var settings = try CampaignStartCommand.settings(values)
    try Self.store(settings.campaign, database)
    try CampaignStartCommand.run(settings, context)
    #expect(
      try fixture.read(fixture.name("schedule"), count: 1).first?.key
        == "campaign:sale:a.b:production")
    while settings.campaign.at == (try CampaignStartCommand.settings(values)).campaign.at {}
    settings = try CampaignStartCommand.settings(values)
    let failure = #expect(throws: ServiceFailure.self) {
      try CampaignStartCommand.run(settings, context)
    }
    #expect("\(failure!)".contains("a.b has a campaign of this name, started "))
  }

  @Test func `tokens from a pipe, which can be read only once, are refused`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let tokens = String(repeating: "ab", count: 32) + "\n"
    try #require(write(ends[1], tokens, tokens.utf8.count) == tokens.utf8.count)
    close(ends[1])
    defer { close(ends[0]) }
    let path = "/proc/self/fd/\(ends[0])"
    let context = try ServiceContext.test()
    let failure = #expect(throws: ServiceFailure.self) {
      try AudienceFile(path, showsProgress: false, context).check()
    }
    #expect("\(failure!)".contains("no regular file"))
  }

  @Test(arguments: ["", "\r\n"])
  func `a byte order mark at the beginning of a file of tokens is nobody's mistake`(
    end: String
  ) throws {
    let folder = TemporaryFolder()
    let token = String(repeating: "ab", count: 32)
    func check(_ text: String) throws {
      try File.write(folder.file("tokens"), Array(text.utf8))
      try AudienceFile(folder.file("tokens"), showsProgress: false, .test()).check()
    }
    try check("\u{FEFF}\(end)\(token)\r\n")
    #expect(throws: ServiceFailure.self) { try check("\(token)\n\u{FEFF}\(token)\n") }
  }

  /// A cancelled campaign does not go on: one that is not meant must not be among them.
  @Test(
    arguments: [
      ([], ["a.b:production", "a.b:sandbox", "a.c:production"]),
      (["--app", "a.c"], ["a.c:production"]),
      (["--app", "a.b", "--environment", "sandbox"], ["a.b:sandbox"]),
      (["--environment", "production"], ["a.b:production", "a.c:production"]),
      (["--app", "a.d"], []),
    ] as [([String], [String])])
  func `of those that somebody has started, only the app's and the environment's are cancelled`(
    flags: [String], keys: [String]
  ) throws {
    func campaign(_ app: String, _ environment: String, by: String) throws -> CampaignRecord {
      let request =
        #"{"app":"\#(app)","environment":"\#(environment)","payload":{"aps":{"alert":"x"}}}"#
      let json = #"{"campaign":"sale","request":\#(request),"audience":{}}"#
      return try Array(json.utf8).withUnsafeBytes {
        try CampaignRecord(json: $0, at: 1_795_000_000_000, by: by, parser: JSONParser())
      }
    }
    let all = try [
      campaign("a.c", "production", by: "ann"), campaign("a.b", "production", by: "key ann"),
      campaign("a.b", "sandbox", by: "ann"), campaign("a.b", "production", by: "bob"),
    ]
    let target = try CampaignCancelCommand.settings(
      CampaignCancelCommand.values(["--kafka", "127.0.0.1:1", "--by", "ann"] + flags))
    let meant = target.started(by: "ann", among: all, now: 1_795_000_000_000)
    #expect(meant.map { "\($0.key)" } == keys.map { "campaign:sale:\($0)" })
  }
}
