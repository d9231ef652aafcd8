// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import Telemetry

@testable import LabCommand
@testable import OperatorCommand

/// What the operator's commands read: anyone may have written it, and a person's terminal shows it.
extension FuzzTarget {
  private static let now: Int64 = 1_795_224_000_000

  /// A dead letter: lines `header=value` (the record's key is one of them, `key`), an empty line, the value.
  /// What is shown keeps device tokens short and steers no terminal; what is replayed can be read.
  static func deadLetter() -> FuzzTarget {
    let parser = JSONParser()
    let names = TopicNames()
    let planner = ReplayPlanner(names, parser)
    return FuzzTarget("dead-letter") { bytes in
      let letter = letter(Array(bytes))
      let written = DeadLetter(letter.letter.kafkaHeaders)
      guard DeadLetter(written.kafkaHeaders) == written else { return "headers read as others" }
      let text = DeadLetterText(revealsTokens: false, parser: parser)
      for line in text.whole(letter) + [text.row(letter)] {
        if let problem = unfit(line, showsTokens: false) { return problem }
      }
      if let problem = unfit(text.json(letter), parser) ?? unfit(text.wholeJSON(letter), parser) {
        return problem
      }
      guard case .send(let topic, _, let value?) = planner.plan(letter, now: now) else {
        return nil
      }
      switch letter.stage {
      case DeadLetterStage.sender.rawValue: return changed(letter, value, topic, names)
      case DeadLetterStage.ingest.rawValue where names.notifications.contains(topic):
        return changed(letter, value, topic, names)
      case DeadLetterStage.ingest.rawValue:
        guard let object = (try? parser.parse(value))?.object else {
          return "a request that is no JSON object is replayed"
        }
        guard [names.requests, names.campaignRequests].contains(topic) else {
          return "replayed to \(topic)"
        }
        return object["id"] != nil || object["apns_id"] != nil || letter.origin.isEmpty
          ? nil : "a request loses its name"
      default:
        let own = [names.feedback, names.devices, names.schedule]
        return own.contains(topic) ? nil : "replayed to \(topic)"
      }
    }
  }

  private static func letter(_ bytes: [UInt8]) -> DeadLetterEntry {
    var rest = bytes[...]
    var headers: [KafkaHeader] = []
    while !rest.isEmpty {
      let line = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest.dropFirst(line.count + 1)
      if line.isEmpty { break }
      let name = line.prefix { $0 != UInt8(ascii: "=") }
      headers.append(
        KafkaHeader(String(decoding: name, as: UTF8.self), Array(line.dropFirst(name.count + 1))))
    }
    return DeadLetterEntry(
      partition: 3, offset: 14, timestamp: now, key: headers.last { $0.name == "key" }?.value,
      value: Array(rest), headers: headers)
  }

  /// A replayed notification is the same one as if it were new.
  private static func changed(
    _ letter: DeadLetterEntry, _ value: [UInt8], _ topic: String, _ names: TopicNames
  ) -> String? {
    guard let old = letter.envelope, let given = letter.value else { return "replayed unread" }
    do throws(EnvelopeError) {
      let new = try Envelope.parse(value.span, types: .any)
      let isSame =
        new.id == old.id && new.attempt == 0 && new.firstSeen == nil && new.created == now
        && new.expiration == old.expiration && new.target == old.target
        && value.withUnsafeBytes({ !new.carried(in: $0)[.replay].isEmpty })
        && topic == names.notifications(old.lane)
        && value[new.app.indices] == given[old.app.indices]
        && value[new.requestID.indices] == given[old.requestID.indices]
        && value[new.bodyStart...] == given[old.bodyStart...]
      return isSame ? nil : "another notification is replayed"
    } catch {
      return "a replayed notification is refused: \(error)"
    }
  }

  /// JSON for a program, in which the places of tokens are short.
  private static func unfit(_ text: String, _ parser: JSONParser) -> String? {
    guard let object = (try? parser.parse(text))?.object else { return "shown as no JSON object" }
    if let problem = unfit(text, showsTokens: true) { return problem }
    for name in ["detail", "token", "envelope", "payload", "value"] {
      if let shown = object[name]?.string, holdsToken(shown, 32) { return "a token in \(name)" }
    }
    return nil
  }

  /// A line for a terminal.
  private static func unfit(_ line: String, showsTokens: Bool) -> String? {
    if line.unicodeScalars.contains(where: { TerminalText.isHarmful($0.value) }) {
      return "a control character for the terminal"
    }
    if !showsTokens && holdsToken(line, 32) { return "a device token" }
    return nil
  }

  /// A run of so many hexadecimal digits.
  private static func holdsToken(_ text: String, _ length: Int) -> Bool {
    var run = 0
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x46, 0x61...0x66: run += 1
      default: run = 0
      }
      if run >= length { return true }
    }
    return false
  }

  /// `martlet inspect`: a byte that chooses the topic and how much is shown, the key, a newline, the value.
  static func inspection() -> FuzzTarget {
    let names = TopicNames()
    let parser = JSONParser()
    let topics = names.all.map(\.name)
    return FuzzTarget("inspect") { bytes in
      guard let choice = bytes.first else { return nil }
      let topic = topics[Int(choice >> 1) % topics.count]
      let isRaw = choice & 1 == 1
      let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      let key = rest.prefix { $0 != UInt8(ascii: "\n") }
      let record = ShownRecord(
        partition: 3, offset: 14, timestamp: now, key: UnsafeRawBufferPointer(rebasing: key),
        value: UnsafeRawBufferPointer(rebasing: rest.dropFirst(key.count + 1)),
        headers: [KafkaHeader(String(decoding: key, as: UTF8.self), Array(key))])
      var shown = ByteBuffer()
      for isJSON in [false, true] {
        let start = shown.count
        let printer = RecordPrinter(names, topic: topic, isRaw: isRaw, isJSON: isJSON)
        let count = printer.append(record, to: &shown)
        let text = UnsafeRawBufferPointer(rebasing: shown.bytes[start...])
        if text.count(where: { $0 == UInt8(ascii: "\n") }) != count {
          return "\(topic): torn lines"
        }
        guard isJSON else { continue }
        for line in text.split(separator: UInt8(ascii: "\n"))
        where (try? parser.parse(UnsafeRawBufferPointer(rebasing: line))) == nil {
          return "\(topic): no JSON"
        }
      }
      let lines = String(decoding: shown.bytes, as: UTF8.self).split(separator: "\n").map(
        String.init)
      for line in lines {
        if let problem = unfit(line, showsTokens: isRaw) { return "\(topic): \(problem)" }
        let words = Array(line.utf8).split { byte in
          switch byte {
          case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: false
          default: true
          }
        }
        if words.contains(where: { $0.starts(with: "eyJ".utf8) && $0.count > 40 }) {
          return "\(topic): a provider token"
        }
      }
      return nil
    }
  }

  /// The simulator's report, as the demo and the auditors read it: in pieces of any size the same lines.
  static func gatewayReport() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("gateway-report") { bytes in
      let piece = max(1, Int(bytes.first ?? 0))
      let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      var cutter = LineCutter()
      var lines: [[UInt8]] = []
      for start in stride(from: 0, to: rest.count, by: piece) {
        let part = UnsafeRawBufferPointer(rebasing: rest[start..<min(start + piece, rest.count)])
        cutter.append(part) { line in
          lines.append(Array(line))
          if let request = GatewayRequest(line, parser), let device = request.device {
            _ = device.app.count
          }
        }
      }
      let expected = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        .dropLast().filter { !$0.isEmpty }.map { Array($0) }
      return lines == expected ? nil : "other lines than were sent"
    }
  }

  /// The control port of the embedded broker: method and path in the first line, then the body.
  static func brokerControl() -> FuzzTarget {
    let parser = JSONParser()
    let broker = BrokerUnderControl()
    return FuzzTarget("broker-control") { bytes in
      let head = bytes.prefix { $0 != UInt8(ascii: "\n") }
      return broker.violation(
        String(decoding: head, as: UTF8.self), Array(bytes.dropFirst(head.count + 1)), parser)
    }
  }

  /// Status pages: what is read of them steers no terminal, and the JSON made of it can be read.
  static func statusPage() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("status-page") { bytes in
      guard let page = try? MetricPage(bytes.text) else { return nil }
      let name = page.series.first?.labels.values.first ?? "process"
      let state = ProcessReading.State.notReady(page.series.prefix(3).map(\.name))
      let reading = ProcessReading(process: name, state: state, page: page)
      let status = PipelineStatus([reading], before: [reading], seconds: 1, wall: 1_795_224_000)
      for line in StatusText.lines(status)
      where line.unicodeScalars.contains(where: { TerminalText.isHarmful($0.value) }) {
        return "a line steers the terminal"
      }
      return (try? parser.parse(StatusText.json(status))) == nil ? "the JSON cannot be read" : nil
    }
  }
}
