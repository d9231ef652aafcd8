// SPDX-License-Identifier: Apache-2.0
import APNS
import HTTPClient
import JSON

/// The simulator's administration, as the demo uses it.
final class DemoGateway {
  /// A device that the gateway called unregistered, for one app.
  struct Device: Hashable {
    let token: String
    let app: String
  }

  private let client = HTTPClient(timeoutMilliseconds: 30_000)
  private let base: String

  /// - Parameter address: `host:port` of the admin port.
  init(address: String) { base = "http://\(address)" }

  /// Declares devices unregistered since a moment, in milliseconds.
  func declare(_ devices: [(token: String, app: String)], since milliseconds: Int64) throws {
    let list = devices.map { device -> JSONValue in
      [
        "token": .string(device.token), "state": "unregistered",
        "timestamp": .integer(milliseconds), "topic": .string(device.app),
      ]
    }
    let answer = try client.put("\(base)/tokens", JSONValue.array(list).text)
    guard answer.status == 200 else {
      throw HTTPStatusError(description: "the simulator answers \(answer.status): \(answer.text)")
    }
  }

  /// Enters the gateway's list of everything that it received into the ledger.
  ///
  /// - Returns: the devices that it called unregistered.
  func report(into ledger: DemoLedger) throws -> Set<Device> {
    var cutter = LineCutter()
    var entries = GatewayEntries()
    let answer = try client.stream("\(base)/requests") { part in
      cutter.append(part) { entries.take($0, ledger) }
    }
    guard answer.status == 200, entries.unreadable == 0 else {
      throw HTTPStatusError(
        description: "the simulator's report is unreadable (status \(answer.status),"
          + " \(entries.unreadable) lines)")
    }
    return entries.unregistered
  }
}

/// An answer that is not what was asked for.
struct HTTPStatusError: Error, CustomStringConvertible {
  let description: String
}

/// Lines of the report.
private struct GatewayEntries {
  private let parser = JSONParser()
  private(set) var unregistered: Set<DemoGateway.Device> = []
  private(set) var unreadable = 0

  mutating func take(_ line: UnsafeRawBufferPointer, _ ledger: DemoLedger) {
    guard let entry = try? parser.parse(line), let status = entry["status"]?.int else {
      unreadable += 1
      return
    }
    if let id = entry["apns_id"]?.string.flatMap({ NotificationID($0) }) {
      ledger.answered(id, status: Int(status))
    }
    if status == 410, let token = entry["token"]?.string, let topic = entry["topic"]?.string {
      let type = entry["type"]?.string.flatMap { PushType($0) } ?? .alert
      unregistered.insert(.init(token: token, app: Self.app(topic, type)))
    }
  }
}

extension GatewayEntries {
  /// The bundle id of a topic: without its push type's suffix.
  private static func app(_ topic: String, _ type: PushType) -> String {
    let suffix = type.topicSuffix.description
    return topic.hasSuffix(suffix) ? String(topic.dropLast(suffix.count)) : topic
  }
}

/// Cuts a stream of bytes into lines.
private struct LineCutter {
  private var rest: [UInt8] = []

  mutating func append(_ part: UnsafeRawBufferPointer, _ line: (UnsafeRawBufferPointer) -> Void) {
    rest.append(contentsOf: part)
    var start = 0
    while let end = rest[start...].firstIndex(of: UInt8(ascii: "\n")) {
      rest[start..<end].withUnsafeBytes { if !$0.isEmpty { line($0) } }
      start = end + 1
    }
    rest.removeFirst(start)
  }
}
