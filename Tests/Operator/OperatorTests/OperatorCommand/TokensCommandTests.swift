// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import OperatorCommand
@testable import Store

@Suite struct TokensImportTests {
  private let folder = TemporaryFolder()
  private let token = String(repeating: "ab", count: 32)

  @Test func `a check reads the file and names what is wrong with it`() throws {
    func check(_ content: String) throws -> [Finding.Status] {
      let file = folder.file("checked")
      try File.write(file, Array(content.utf8))
      let context = try TokensImportCommand.context([file, "--app", "a.b", "--progress=false"])
      return try TokensImportCommand.check(TokensImportCommand.settings(context.values), context)
        .map(\.status)
    }
    #expect(try check("\(token)\n") == [.ok])
    #expect(try check("\(token)\nno token\n") == [.error])
  }

  private func run(
    _ content: String, _ fixture: KafkaFixture? = nil, flags: [String] = []
  ) throws -> TokenImportResult {
    let file = folder.file("tokens-\(UInt32.random(in: .min ... .max))")
    try File.write(file, Array(content.utf8))
    let prefix = fixture.map { ["--topic-prefix", $0.prefix] } ?? ["--dry-run"]
    let context = try TokensImportCommand.context([file, "--progress=false"] + prefix + flags)
    let settings = try TokensImportCommand.settings(context.values)
    let output = try fixture.map {
      try TokenProducer(KafkaCluster($0.configuration, context), TopicNames(prefix: $0.prefix))
    }
    return try TokenImporter(LineSource(file), settings, output, context).run()
  }

  @Test
  func `tokens of a list become registrations of 1970, so that answers of APNs count`() throws {
    let fixture = try KafkaFixture(topics: [("devices", 2), ("feedback", 2)])
    let result = try run(
      "\n\(token.uppercased())\n<abcd 0123>\nno token\n", fixture, flags: ["--app", "a.b"])
    #expect(result.devices == 2 && result.problems == 1 && result.invalid == 0)
    let records = try fixture.read(fixture.name("devices"), count: 2)
    #expect(Set(records.map(\.key)) == ["\(token):a.b:production", "abcd0123:a.b:production"])
    #expect(records.allSatisfy { $0.value?.contains("\"registered_at\":0") == true })
  }

  @Test func `invalid tokens are answers of APNs, and others are registrations`() throws {
    let fixture = try KafkaFixture(topics: [("devices", 1), ("feedback", 1)])
    let text = """
      {"token":"\(token)","invalid_since":1793527200000}
      {"token":"\(token)","registered_at":1790848800000,"user":"ann"}
      """
    let result = try run(text, fixture, flags: ["--app", "a.b", "--environment", "sandbox"])
    #expect(result.devices == 1 && result.invalid == 1 && result.problems == 0)
    let invalidation = try #require(try fixture.read(fixture.name("feedback"), count: 1).first)
    #expect(invalidation.key == "\(token):a.b:sandbox")
    let answer = try Array((invalidation.value ?? "").utf8).withUnsafeBytes {
      try FeedbackRecord($0, parser: JSONParser())
    }
    #expect(answer.status == 410 && answer.timestamp == 1_793_527_200_000)
    let device = try #require(try fixture.read(fixture.name("devices"), count: 1).first?.value)
    #expect(device.contains("\"user\":\"ann\"") && device.contains("1790848800000"))
  }

  @Test func `an import that gives up tells the audit what Kafka has`() throws {
    let fixture = try KafkaFixture(topics: [("devices", 1), ("feedback", 1)], embedded: true)
    try fixture.broker?.setLeader(topic: fixture.name("feedback"), partition: 0, broker: -1)
    let file = folder.file("tokens")
    let text = """
      {"token":"\(token)","registered_at":1790848800000}
      {"token":"\(token)","invalid_since":1793527200000}
      """
    try File.write(file, Array(text.utf8))
    let context = try TokensImportCommand.context([file, "--app", "a.b", "--progress=false"])
    let output = try TokenProducer(
      KafkaCluster(fixture.configuration, context), TopicNames(prefix: fixture.prefix),
      standstill: Standstill(noticeable: 500, patience: 10_000))
    let importer = try TokenImporter(
      LineSource(file), TokensImportCommand.settings(context.values), output, context)
    #expect(throws: ServiceFailure.self) { try importer.run() }
    #expect(
      importer.deed
        == "1 registrations and removals, 0 invalid tokens from \(file); 1 more may be stored or not"
    )
  }

  @Test func `the audit of a revival has what Kafka has of what was asked for`() {
    let deed = TokensReviveCommand.deed(1, of: 3, ["ab…", "cd…", "ef…"], unanswered: 2)
    #expect(deed == "1 of 3 tokens: ab… cd… ef…; 2 more may be stored or not")
    #expect(TokensReviveCommand.deed(1, of: 1, ["ab…"], unanswered: 0) == "1 of 1 tokens: ab…")
  }

  @Test func `an interrupted revival does not say that what is under way was not registered`() {
    let words = TokensReviveCommand.registered(0, of: 3, unanswered: 3)
    #expect(words == "0 of 3 tokens were registered; 3 more may be stored or not")
  }

  @Test func `a dry run reads everything, produces nothing, and needs no Kafka`() throws {
    let result = try run("{\"token\":\"\(token)\",\"app\":\"a.b\"}\n{\"token\":\"xyz\"}\n")
    #expect(result.isDry && result.devices == 1 && result.problems == 1)
    #expect(result.text.contains("nothing was produced"))
  }

  @Test(arguments: ["", "\r\n"])
  func `a byte order mark at the beginning of a file is nobody's mistake`(end: String) throws {
    for line in [token, #"{"token":"\#(token)"}"#] {
      let result = try run("\u{FEFF}\(end)\(line)\r\n", flags: ["--app", "a.b"])
      #expect(result.devices == 1 && result.problems == 0, "\(line)")
    }
  }

  @Test(arguments: [
    "id,identifier,device_type", "[{\"deviceToken\":\"ab\"}]", "-- PostgreSQL database dump",
  ])
  func `an export of another service is refused as a whole, with what converts it`(line: String)
    throws
  {
    let error = #expect(throws: ServiceFailure.self) { try run("\n\(line)\n\(token)\n") }
    #expect(error?.description.contains("convert-tokens (docs/tokens.md)") == true)
  }

  /// 20,000 lines of each kind of mistake and not one of them ends the import.
  @Test func `what is wrong with each line is named, and the rest goes on`() throws {
    func problem(_ line: String) throws -> String {
      do throws(TokenRecords.Problem) {
        _ = try TokenRecords(
          TokenObjects().line(Array(line.utf8)),
          TokenDefaults(app: "a.b", now: 1_795_000_000_000))
        return ""
      } catch {
        return "\(error.field): \(error.text)"
      }
    }
    #expect(try problem(#"{"token":"\#(token)"}"#) == "")
    #expect(try problem("[]").hasPrefix("-: "))
    #expect(try problem("{}") == "token: is required")
    #expect(try problem(#"{"token":"abc"}"#).hasPrefix("token: has an odd number"))
    #expect(try problem(#"{"token":"ab","app":"a b"}"#).hasPrefix("app: "))
    #expect(try problem(#"{"token":"ab","environment":"x"}"#).hasPrefix("environment: "))
    #expect(try problem(#"{"token":"ab","registered_at":1795000000}"#).contains("is in seconds"))
    #expect(try problem(#"{"token":"ab","removed_at":-1}"#).hasPrefix("removed_at: "))
    // martlet-feedback would make dead letters of later ones.
    #expect(try problem(#"{"token":"\#(token)","registered_at":1795086400000}"#) == "")
    for field in ["registered_at", "removed_at"] {
      let ahead = try problem(#"{"token":"ab","\#(field)":1795086400001}"#)
      #expect(ahead.hasPrefix("\(field): is more than a day ahead"), "\(ahead)")
    }
    #expect(try problem(#"{"token":"ab","invalid_since":"x"}"#).hasPrefix("invalid_since: "))
    for (state, field) in [("removed", "removed_at"), ("invalid", "invalid_since")] {
      let untimed = try problem(#"{"token":"ab","state":"\#(state)"}"#)
      #expect(untimed == "\(field): is required: state is \(state)")
      #expect(try problem(#"{"token":"\#(token)","state":"\#(state)","\#(field)":0}"#) == "")
    }
    #expect(try problem(#"{"token":"\#(token)","state":"registered"}"#) == "")
    #expect(try problem(#"{"token":"ab","state":"gone"}"#).hasPrefix("state: must be "))
    #expect(try problem(#"{"token":"ab","user":5}"#).hasPrefix("user: "))
    #expect(try problem(#"{"token":"ab","colour":5}"#).hasPrefix("colour: "))
    let long = String(repeating: "x", count: 257)
    #expect(try problem(#"{"token":"ab","locale":"\#(long)"}"#).hasPrefix("locale: "))
    let lines = (0..<60_000).map { $0 % 3 == 0 ? #"{"token":"abcd"}"# : $0 % 3 == 1 ? "{" : "{}" }
    let result = try run(
      lines.joined(separator: "\n"), flags: ["--app", "a.b", "--format", "ndjson"])
    #expect(result.devices == 20_000 && result.problems == 40_000)
  }
}

@Suite struct TokensExportTests {
  private static func device(_ number: Int) -> DeviceKey {
    let digits = String(number + 0x1000, radix: 16)
    return DeviceKey(
      token: String(repeating: "0", count: 64 - digits.count) + digits, app: "a.b",
      environment: number % 2 == 0 ? .sandbox : .production)
  }

  /// What the topics make of what an import produces, as `martlet-feedback` applies and judges it.
  private func state(_ records: TokenRecords) -> DeviceState {
    var state = DeviceState()
    if let record = records.device {
      switch record.event {
      case .registered(let time): state.apply(.registered(at: time), record.details)
      case .removed(let time): state.apply(.removed(at: time))
      }
    }
    guard let answer = records.feedback else { return state }
    var marks = DeviceMarks<String>(clockSkew: 0)
    var judged = TokenAnswer(
      status: answer.status, reason: answer.reason, timestamp: answer.timestamp,
      sentAt: answer.sentAt, at: answer.at)
    judged.isJudged = answer.isImported
    _ = marks.judge(judged, "x", state)
    if let mark = marks.marks.first?.mark { state.apply(mark) }
    return state
  }

  @Test func `nothing is listed or exported while the database is not complete`() throws {
    let folder = TemporaryFolder()
    let location = folder.file("tokens.db")
    let store = try TokenStore(location, now: 1)
    let state = DeviceState(presence: .registered(at: 1), details: DeviceDetails(user: "ann"))
    try store.put(Self.device(1), state)
    func run<S: Service>(_ command: S.Type, _ flags: [String]) throws {
      let context = try S.context(["--database", location] + flags)
      try S.run(S.settings(context.values), context)
    }
    let token = Self.device(1).token
    let commands: [() throws -> Void] = [
      { try run(TokensListCommand.self, []) }, { try run(TokensListCommand.self, ["--count"]) },
      { try run(TokensListCommand.self, ["--user", "ann"]) },
      { try run(TokensShowCommand.self, [token]) },
      { try run(TokensListCommand.self, ["--json"]) },
      { try run(TokensReviveCommand.self, [token, "--kafka", "127.0.0.1:1", "--yes"]) },
    ]
    try store.startOver(at: 1)
    for command in commands {
      let failure = #expect(throws: ServiceFailure.self) { try command() }
      #expect(failure.map { "\($0)" }?.contains("is reading its topics") == true)
    }
    try store.setComplete(at: 2)
    for command in commands.dropLast() { try command() }
  }

  @Test func `only the tokens that are meant are counted`() throws {
    let folder = TemporaryFolder()
    let location = folder.file("tokens.db")
    let store = try TokenStore(location, now: 1)
    let registered = DeviceState(
      presence: .registered(at: 1), details: DeviceDetails(user: "ann"))
    for number in 0..<3 { try store.put(Self.device(number), registered) }
    try store.put(
      Self.device(3),
      DeviceState(mark: .init(since: 1, aliveFrom: 2, reason: "Unregistered", recordedAt: 3)))
    func counts(_ flags: [String]) throws -> [DeviceState.Word: Int] {
      let values = try TokensListCommand.values(["--database", location, "--count"] + flags)
      return try TokensListCommand.settings(values).counts(TokenStoreReader(location))
    }
    #expect(try counts(["--app", "a.c"]) == [:])
    #expect(try counts(["--app", "a.b"]) == [.registered: 3, .invalid: 1])
    #expect(try counts(["--environment", "sandbox"]) == [.registered: 2])
    #expect(try counts(["--state", "invalid"]) == [.invalid: 1])
    #expect(try counts(["--user", "ann", "--environment", "production"]) == [.registered: 1])
    #expect(try counts([]) == [.registered: 3, .removed: 0, .invalid: 1])
    let lines = TokensListCommand.lines([.registered: 3, .invalid: 1], isJSON: false)
    #expect(lines == ["registered 3", "removed 0", "invalid 1"])
    #expect(
      TokensListCommand.lines([.registered: 3], isJSON: true)
        == [#"{"registered":3,"removed":0,"invalid":0}"#])
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what is exported and imported again is what it was`(kind: DatabaseKind) throws {
    let folder = TemporaryFolder()
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let time: Int64 = 1_795_000_000_000
    let details = DeviceDetails(
      pushType: "voip", user: "a\"b\n", locale: "de", appVersion: "1", bundle: "x.y")
    let states = [
      DeviceState(presence: .registered(at: time), details: details),
      DeviceState(presence: .removed(at: time)),
      DeviceState(
        mark: .init(since: time, aliveFrom: time + 1, reason: "Unregistered", recordedAt: time + 9)),
      DeviceState(
        presence: .registered(at: time),
        mark: .init(
          since: time + 5, aliveFrom: time + 5, reason: "BadDeviceToken", recordedAt: time + 5),
        details: details),
      DeviceState(
        presence: .registered(at: time + 9),
        mark: .init(since: time, aliveFrom: time + 1, reason: "Unregistered", recordedAt: time + 2)),
      DeviceState(presence: .registered(at: 0)),
    ]
    for (number, state) in states.enumerated() { try store.put(Self.device(number), state) }
    var lines: [[UInt8]] = []
    try TokenStoreReader(location).forEachDevice(DeviceFilter()) { known in
      lines.append(JSONValue.object(known.exported).text)
      return true
    }
    #expect(lines.count == states.count)
    for (number, (line, expected)) in zip(lines, states).enumerated() {
      let records = try TokenRecords(TokenObjects().line(line), TokenDefaults())
      let state = state(records)
      #expect(state.presence == expected.presence, "\(number)")
      #expect(state.details == expected.details, "\(number)")
      #expect(state.word == expected.word, "\(number)")
      if expected.isInvalid { #expect(state.mark == expected.mark, "\(number)") }
    }
  }

  @Test func `what a registration says steers no terminal, and is the same when read`() throws {
    let details = DeviceDetails(user: "a\u{9B}2Jb\u{202E}c")
    let state = DeviceState(presence: .registered(at: 1), details: details)
    let known = KnownDevice(device: Self.device(1), state: state)
    for line in [known.exported.line, known.shown.line] {
      #expect(!line.unicodeScalars.contains { TerminalText.isHarmful($0.value) }, "\(line)")
      #expect(try JSONDocument(line).root["user"]?.string == details.user)
    }
  }

  @Test func `a removal of which only the mark is left does not come back registered`() throws {
    let state = DeviceState(mark: .init(removedAt: 1_795_000_000_000))
    let line = JSONValue.object(KnownDevice(device: Self.device(1), state: state).exported).text
    let records = try TokenRecords(TokenObjects().line(line), TokenDefaults())
    #expect(records.device?.event == .removed(at: 1_795_000_000_000) && records.feedback == nil)
  }

  @Test func `a user's tokens are listed with what they are for and their age`() {
    func sign(_ details: DeviceDetails, at time: Int64) -> String {
      TokensListCommand.signOfLife(
        DeviceState(presence: .registered(at: time), details: details), now: 300_000_000)
    }
    #expect(
      sign(DeviceDetails(pushType: "liveactivity", model: "iPad16,3", activity: "order-1"), at: 0)
        == "  liveactivity  order-1  iPad16,3  registered 3 d ago")
    #expect(sign(.none, at: 300_000_001) == "  registered 0 s ago")
    #expect(TokensListCommand.signOfLife(DeviceState(presence: .removed(at: 1)), now: 2).isEmpty)
  }

  @Test func `only the waves that were still undecided are said to be decided`() throws {
    let subject = "2 waves of a.b, production, with 9 held tokens"
    #expect(try TokensWavesCommand.decided(2, of: 2, subject) == subject)
    let some = try TokensWavesCommand.decided(1, of: 2, subject)
    #expect(some.hasPrefix("1 of \(subject); the others were decided meanwhile"))
    #expect(throws: ServiceFailure.self) { try TokensWavesCommand.decided(0, of: 2, subject) }
  }

  @Test func `a token is shown with its details and its history`() {
    var state = DeviceState()
    state.apply(.registered(at: 1_000), DeviceDetails(user: "ann"))
    state.apply(
      DeviceState.Mark(since: 2_000, aliveFrom: 2_001, reason: "Unregistered", recordedAt: 2_500))
    let known = KnownDevice(device: Self.device(1), state: state)
    let text = TokenText.lines(known).joined(separator: "\n")
    #expect(
      text.contains(
        "invalid since 1970-01-01T00:00:02.000Z (Unregistered), as APNs said at 1970-01-01T00:00:02.500Z"
      ))
    #expect(text.contains("user         ann"))
    #expect(text.contains("history      1970-01-01T00:00:01.000Z registered\n"))
    #expect(text.contains("1970-01-01T00:00:02.000Z invalid (Unregistered)"))
    let shown = JSONValue.object(known.shown)
    #expect(shown["history"]?.array?.map { $0["state"]?.string } == ["registered", "invalid"])
  }
}
