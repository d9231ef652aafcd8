// SPDX-License-Identifier: Apache-2.0
public import APNS
import HTTPClient
public import JSON

/// The simulator's administration, as the demo uses it.
public final class DemoGateway {
  /// A device that the gateway called unregistered, for one app.
  public struct Device: Hashable, Sendable {
    public let token: String
    public let app: String

    public init(token: String, app: String) {
      self.token = token
      self.app = app
    }
  }

  private let client = HTTPClient(timeoutMilliseconds: 30_000)
  private let base: String

  /// - Parameter address: `host:port` of the admin port.
  public init(address: String) { base = "http://\(address)" }

  /// True if the simulator answers.
  public var answers: Bool { (try? client.get("\(base)/health"))?.status == 200 }

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
    var unregistered: Set<Device> = []
    try forEachRequest { request in
      if let id = request.id { ledger.answered(id, status: request.status) }
      if request.status == 410, let device = request.device { unregistered.insert(device) }
    }
    return unregistered
  }

  /// Calls `body` with every request that the gateway has recorded, in the order of arrival (of one loop).
  public func forEachRequest(_ body: @escaping (GatewayRequest) -> Void) throws {
    var cutter = LineCutter()
    let parser = JSONParser()
    var unreadable = 0
    let answer = try client.stream("\(base)/requests") { part in
      cutter.append(part) { line in
        if let request = GatewayRequest(line, parser) { body(request) } else { unreadable += 1 }
      }
    }
    guard answer.status == 200, unreadable == 0 else {
      throw HTTPStatusError(
        description: "the simulator's report is unreadable (status \(answer.status),"
          + " \(unreadable) lines)")
    }
  }

  /// Makes the gateway misbehave by these rules, beside those it has; throws what it has against them.
  public func addFaults(_ script: JSONValue) throws {
    try check(try client.post("\(base)/faults", script.text))
  }

  /// Connections that clients have begun so far, refused ones included.
  public func connectionCount() throws -> Int {
    let counters = try JSONDocument(try client.get("\(base)/counters").body).root
    return ["connections", "connections_refused"].reduce(0) { $0 + Int(counters[$1]?.int ?? 0) }
  }

  /// Ends all misbehaviour.
  public func clearFaults() throws { try check(try client.delete("\(base)/faults")) }

  private func check(_ answer: HTTPAnswer) throws {
    guard answer.status == 200 else {
      throw HTTPStatusError(description: "the simulator answers \(answer.status): \(answer.text)")
    }
  }
}

/// An answer that is not what was asked for.
struct HTTPStatusError: Error, CustomStringConvertible {
  let description: String
}

/// One request as the gateway recorded it.
public struct GatewayRequest {
  /// nil where the request had none that is one.
  public let id: NotificationID?
  /// nil without a token or topic.
  public let device: DemoGateway.Device?
  /// The status of its answer; 0 for a request that was never answered.
  public let status: Int
  public let reason: String?
  /// Milliseconds since the epoch.
  public let time: Int64

  /// Reads a line of the simulator's report; nil for one that is no JSON object.
  init?(_ line: UnsafeRawBufferPointer, _ parser: JSONParser) {
    guard let entry = try? parser.parse(line), entry.object != nil else { return nil }
    status = Int(entry["status"]?.int ?? 0)
    id = entry["apns_id"]?.string.flatMap { NotificationID($0) }
    reason = entry["reason"]?.string
    time = entry["time"]?.int ?? 0
    if let token = entry["token"]?.string, let topic = entry["topic"]?.string {
      let type = entry["type"]?.string.flatMap { PushType($0) } ?? .alert
      device = .init(token: token, app: Self.app(topic, type))
    } else {
      device = nil
    }
  }

  /// The bundle id of a topic: without its push type's suffix.
  private static func app(_ topic: String, _ type: PushType) -> String {
    let suffix = type.topicSuffix.description
    return topic.hasSuffix(suffix) ? String(topic.dropLast(suffix.count)) : topic
  }
}

/// Cuts a stream of bytes into lines.
struct LineCutter {
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
