// SPDX-License-Identifier: Apache-2.0
import API
import ConsumerGroup
import Contract
import Crypto
import Records
import SenderDecisions
import SignerDecisions
import Webhooks

@testable import Feedback
@testable import OperatorCommand
@testable import Sender
@testable import Signer
@testable import WebhookDelivery

/// What stands behind the parsers: whatever a record says, nothing that works on it traps.
extension FuzzTarget {
  /// `push.token-requests` and `push.provider-tokens`, read by a signer and by a sender.
  static func signerRecords() -> FuzzTarget {
    let parser = JSONParser()
    let credential = signerCredential()
    return FuzzTarget("signer-records") { bytes in
      guard let credential else { return "no key" }
      var script = HostileRecord(bytes)
      var issuer = TokenIssuer([credential])
      var book = ProviderTokenBook()
      var watch = ProviderTokenWatch()
      var now = HostileRecord.now / 1_000
      var offset: Int64 = 0
      while !script.isAtEnd {
        offset += 1
        now += script.pick([0, 1, 60, 1_200, 2_700, 3_600, -3_600, 86_400])
        switch script.byte() % 4 {
        case 0: request(&script, parser, &issuer, now)
        case 1:
          issuer.removed(credential.id, at: offset)
          _ = book.apply(.lost(credential: credential.id), now: now * 1_000)
        case 2: issuer.startOver()
        default: token(&script, parser, credential, &issuer, &book, offset, now)
        }
        guard let work = try? issuer.work(0, now: now) else { continue }
        // One that is published again may be of a clock that was a little ahead.
        if work.record.issuedAt > now + ProviderTokenStamp.futureTolerance {
          return "a token of the future is published"
        }
        issuer.answered(work.record, isStored: script.byte() & 1 == 0, at: offset)
        _ = issuer.machine.isSettled(wall: now)
        _ = watch.look(at: book, now: now * 1_000, wall: now * 1_000)
        _ = book.refresh(now: now * 1_000)
      }
      return nil
    }
  }

  private static func signerCredential() -> Credential? {
    guard let key = try? SigningKey.generate(),
      let minter = try? ProviderTokenMinter(key: key, teamID: "TEAM000001", keyID: "KEY0000001")
    else { return nil }
    return Credential(
      teamID: "TEAM000001", keyID: "KEY0000001", scope: .any, apps: ["a"], keyPath: "",
      minter: minter)
  }

  private static func request(
    _ script: inout HostileRecord, _ parser: JSONParser, _ issuer: inout TokenIssuer, _ now: Int64
  ) {
    let reason = script.pick(["missing", "aging", "ExpiredProviderToken"])
    let subject = script.pick([
      #""credential":"TEAM000001/KEY0000001/any""#, #""app":"a","environment":"sandbox""#,
    ])
    let text = "{\(subject),\"reason\":\"\(reason)\"\(script.member("at"))}"
    guard let request = try? text.utf8Bytes({ try TokenRequest($0, parser: parser) }) else {
      return
    }
    _ = TokenIssuer.secondsAhead(request, now: now * 1_000)
    _ = issuer.requested(request, now: now)
  }

  private static func token(
    _ script: inout HostileRecord, _ parser: JSONParser, _ credential: Credential,
    _ issuer: inout TokenIssuer, _ book: inout ProviderTokenBook, _ offset: Int64, _ now: Int64
  ) {
    let content = script.pick([#","token":"eyJ""#, #","sealed":"v1.a.b""#, #","removed":true"#])
    let text =
      #"{"credential":"\#(credential.id)","team_id":"TEAM000001","key_id":"KEY0000001","#
      + #""environment":"any","apps":["a","*"]\#(content)"#
      + script.member("issued_at") + script.member("generation") + "}"
    let read = try? text.utf8Bytes {
      try ProviderTokenRecord($0, key: credential.id, parser: parser)
    }
    guard let record = read else {
      _ = issuer.readStranger(credential.id, at: offset)
      return
    }
    _ = issuer.read(record, at: offset, now: now)
    _ = book.apply(
      record.isRemoved
        ? .removed(credential: record.credential) : .token(record.entry), now: now * 1_000)
  }

  /// `push.feedback`, `push.devices` and `push.invalid-tokens`, judged as feedback judges them.
  static func feedbackRecords() -> FuzzTarget {
    let names = TopicNames()
    let reader = JobReader(names)
    let parser = JSONParser()
    return FuzzTarget("feedback-records") { bytes in
      var script = HostileRecord(bytes)
      var book = JudgedDevice()
      while !script.isAtEnd {
        let timestamp = script.integer()
        let isDevice = script.byte() & 1 == 0
        let text = isDevice ? device(&script) : feedback(&script)
        let key = Array("\(HostileRecord.token):a:production".utf8)
        let content = key.withUnsafeBytes { key in
          text.utf8Bytes { value in
            reader.content(
              isDevice ? names.devices : names.feedback, key: key, value: value,
              timestamp: max(-1, min(timestamp, OutsideTime.last)), now: HostileRecord.now)
          }
        }
        if let problem = book.take(content) { return problem }
        let mark =
          "{\(subject)\(script.member("invalid_since"))\(script.member("at"))\(script.member("alive_from"))}"
        if let record = try? mark.utf8Bytes({ try InvalidTokenRecord($0, parser: parser) }) {
          book.follow(record.mark.bounded(by: HostileRecord.now))
        }
      }
      return book.problem
    }
  }

  private static let subject =
    #""token":"\#(HostileRecord.token)","app":"a","environment":"production""#

  private static func device(_ script: inout HostileRecord) -> String {
    "{\(subject)\(script.member(script.pick(["registered_at", "removed_at"])))}"
  }

  private static func feedback(_ script: inout HostileRecord) -> String {
    let status = script.pick(["410", "400", "200", script.number()])
    let reason = script.pick(["Unregistered", "BadDeviceToken", "", "DeviceTokenNotForTopic"])
    return #"{\#(subject),"topic":"a","status":\#(status),"reason":"\#(reason)""#
      + script.member("timestamp") + script.member("sent_at") + script.member("at") + "}"
  }

  /// `push.receipts`, `push.devices` and `push.invalid-tokens`, on their way to an endpoint.
  static func webhookRecords() -> FuzzTarget {
    let names = TopicNames()
    var subscription = Subscription(
      name: "a", url: "http://localhost", keys: [[1]], kinds: Set(EventKind.allCases))
    subscription.since = 1
    let (wanted, reader) = (subscription, EventReader(subscription, names))
    return FuzzTarget("webhook-records") { bytes in
      var script = HostileRecord(bytes)
      let source = Source(topic: 0, partition: 0)
      var machine = EndpointMachine(wanted, topics: ["t"], window: 60_000, laneBytes: 1 << 20)
      machine.begin([source])
      var (now, offset): (UInt64, Int64) = (1_000, 0)
      while !script.isAtEnd {
        offset += 1
        now += script.pick([1, 1_000, 60_000, 86_400_000])
        let time = ["at", "invalid_since", script.pick(["registered_at", "removed_at"])]
          .map { script.member($0) }.joined()
        let text = #"{\#(subject),"outcome":"delivered","reason":"x"\#(time)}"#
        let recordedAt = max(-1, min(script.integer(), OutsideTime.last))
        let kind = script.pick(EventSource.allCases)
        let events = "\(HostileRecord.token):a:production".utf8Bytes { key in
          text.utf8Bytes { value in
            reader.read(
              kind, key: key, value: value, partition: 0, offset: offset, recordedAt: recordedAt
            ).events
          }
        }
        machine.add(events, of: source, now: now)
        if let oldest = machine.oldest, oldest < 0 || oldest > OutsideTime.last {
          return "an event of \(oldest)"
        }
        while let action = machine.next(now: now, wall: HostileRecord.now) {
          switch action {
          case .send:
            let answer = script.pick([WebhookAnswer.status(200, retryAfter: nil), .none])
            _ = machine.answered(source, answer, now: now, random: UInt64(script.byte()))
          case .bury: _ = machine.buried(source)
          }
        }
      }
      return nil
    }
  }

  /// What the operator's commands show: traces, and what is paused.
  static func operatorRecords() -> FuzzTarget {
    let reader = TraceReader()
    let contents: [TraceReader.Content] = [
      .requests, .notifications, .retries("5s"), .receipts, .feedback, .deadLetters, .devices,
      .invalidTokens,
    ]
    let id = "00000000-0000-0000-0000-000000000001"
    return FuzzTarget("operator-records") { bytes in
      var script = HostileRecord(bytes)
      var hops: [TraceHop] = []
      let subject = TraceSubject(.token(HostileRecord.token))
      while !script.isAtEnd {
        let content = script.pick(contents)
        let times = ["at", "created", "registered_at", "removed_at", "timestamp", "attempts"]
          .map { script.member($0) }.joined()
        let text: String
        switch content {
        case .notifications, .retries:
          text =
            "M2\ttransactional\tproduction\ta\ta\talert\t10\t\(script.number())\t\(id)\t\(script.number())"
            + "\t\t\(script.number())\t\(script.number())\t\n{}"
        default: text = #"{\#(self.subject),"outcome":"delivered","apns_id":"\#(id)"\#(times)}"#
        }
        let timestamp = max(-1, min(script.integer(), OutsideTime.last))
        let key = Array("\(HostileRecord.token)".utf8)
        key.withUnsafeBytes { key in
          text.utf8Bytes { value in
            let record = ShownRecord(
              partition: 0, offset: 1, timestamp: timestamp, key: key, value: value)
            reader.read(record, of: "t", content, subject, to: &hops)
            _ = ControlTopic.author(value)
          }
        }
      }
      let stories = TraceStory.stories(of: hops)
      for line in TraceText.lines(stories) + stories.flatMap(TraceText.json)
      where line.contains("\n") {
        return "a line with a line break"
      }
      return nil
    }
  }

  /// Requests of gorush: what becomes one of ours is read as any other.
  static func foreignRequests() -> FuzzTarget {
    let gorush = GorushTranslator(app: "a", environment: .production, types: .builtIn)
    let (reader, parser) = (RequestReader(), JSONParser())
    return FuzzTarget("foreign-requests") { bytes in
      var script = HostileRecord(bytes)
      while !script.isAtEnd {
        let numbers = [
          "expiration", "badge", "timestamp", "stale-date", "volume", "relevance-score",
        ].map { script.member($0) }.joined()
        let text =
          #"{"notifications":[{"platform":1,"tokens":["\#(HostileRecord.token)"],"message":"x""#
          + "\(numbers),\"data\":{\"x\":\(script.number())}}]}"
        let created = OutsideTime.received(recordTime: script.integer(), now: HostileRecord.now)
        guard let body = try? parser.parse(text),
          let notifications = try? GorushNotification.all(in: body, limit: 10)
        else { continue }
        for request in notifications.flatMap({ (try? gorush.requests($0)) ?? [] }) {
          request.text.withUnsafeBytes { bytes in
            guard let request = try? reader.read(bytes) else { return }
            var encoder = EnvelopeEncoder()
            encoder.begin(request, created: created)
          }
        }
      }
      return nil
    }
  }
}

/// One device as feedback judges it, without a database.
private struct JudgedDevice {
  private var state = DeviceState()
  private var suspicion: Suspicion?
  private var wave: BadTokenWave?
  private(set) var problem: String?

  mutating func follow(_ mark: DeviceState.Mark) {
    state.apply(mark)
    check()
  }

  mutating func take(_ content: Job.Content) -> String? {
    switch content {
    case .device(let record): state.apply(record.presence, record.details)
    case .feedback(let record): judge(record)
    case .forgotten: state.apply(DeviceState.Presence?.none)
    case .deadLetter, .receipts: break
    }
    check()
    return problem
  }

  private mutating func judge(_ record: FeedbackRecord) {
    var marks = DeviceMarks<Int>(clockSkew: 10_000)
    let answer = TokenAnswer(
      status: record.status, reason: record.reason, timestamp: record.timestamp,
      sentAt: record.sentAt, at: record.at)
    _ = marks.judge(answer, 1, state)
    for (_, mark) in marks.marks {
      suspicion = Suspicion.held(mark, known: suspicion) ?? suspicion
      state.apply(mark)
    }
    let waves = wave.map { [$0] } ?? []
    suspicion =
      Suspicion.cast(
        at: record.at, sentAt: record.sentAt, reason: record.reason, known: suspicion,
        registeredAt: state.registeredAt, waves: waves) ?? suspicion
    _ = suspicion?.isConfirmed(
      now: HostileRecord.now, registeredAt: state.registeredAt, waves: waves)
    if let peak = BadTokenWave.peak(of: [record.at, record.sentAt]) {
      wave = BadTokenWave.after(devices: 2, limit: 1, at: peak.at, newest: wave)
      wave?.decision = .init(.rejected, at: record.sentAt)
    }
  }

  /// Nothing holds for ever: what is registered once the clocks agree is alive.
  private mutating func check() {
    _ = (state.history.changes, DeviceHistory(text: state.history.text))
    var later = state
    later.apply(.registered(at: HostileRecord.now + OutsideTime.skew + 10_001))
    if later.isInvalid { problem = "dead for ever" }
  }
}

extension String {
  /// Lends the text's bytes.
  func utf8Bytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try Array(utf8).lend(body)
  }
}
