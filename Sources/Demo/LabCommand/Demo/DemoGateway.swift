// SPDX-License-Identifier: Apache-2.0
public import Contract
import HTTPClient
public import Records

/// A client of the simulator's admin API, for the demo.
public final class DemoGateway {
  /// A device that the gateway reported as unregistered, for one app.
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

  /// - Parameter address: `host:port` of the admin API.
  public init(address: String) { base = "http://\(address)" }

  /// Whether the simulator responds.
  public var answers: Bool { (try? client.get("\(base)/health"))?.status == 200 }

  /// Declares devices unregistered since a time in milliseconds.
  func declare(_ devices: [(token: String, app: String)], since milliseconds: Int64) throws {
    let list = devices.map { device -> JSONValue in
      [
        "token": .string(device.token), "state": "unregistered",
        "timestamp": .integer(milliseconds), "topic": .string(device.app),
      ]
    }
    try check(try client.put("\(base)/tokens", JSONValue.array(list).text))
  }

  /// Adds the gateway's list of all received requests to the ledger.
  ///
  /// - Returns: The devices that it reported as unregistered.
  func report(into ledger: DemoLedger) throws -> Set<Device> {
    var unregistered: Set<Device> = []
    try forEachRequest { request in
      if let id = request.id { ledger.answered(id, status: request.status) }
      if request.status == 410, let device = request.device { unregistered.insert(device) }
    }
    return unregistered
  }

  /// Calls `body` with every request that the gateway has recorded, in order of arrival within each loop.
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

  /// Adds fault rules to the gateway's; throws its error message if it rejects them.
  public func addFaults(_ script: JSONValue) throws {
    try check(try client.post("\(base)/faults", script.text))
  }

  /// The number of connections that clients have opened so far, including refused ones.
  public func connectionCount() throws -> Int {
    let counters = try JSONDocument(try client.get("\(base)/counters").body).root
    return ["connections", "connections_refused"].reduce(0) { $0 + Int(counters[$1]?.int ?? 0) }
  }

  /// Removes all faults.
  public func clearFaults() throws { try check(try client.delete("\(base)/faults")) }

  private func check(_ answer: HTTPAnswer) throws {
    guard answer.status == 200 else {
      throw HTTPStatusError(description: "the simulator answers \(answer.status): \(answer.text)")
    }
  }
}

/// A response with an unexpected status.
struct HTTPStatusError: Error, CustomStringConvertible {
  let description: String
}

/// A request as the gateway recorded it.
public struct GatewayRequest {
  /// The id; nil if the request had no valid one.
  public let id: NotificationID?
  /// The device; nil without a token or topic.
  public let device: DemoGateway.Device?
  /// The status of the response; 0 if there was none.
  public let status: Int
  public let reason: String?
  /// Milliseconds since the epoch.
  public let time: Int64

  /// Parses a line of the simulator's report; nil if it is not a JSON object.
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

  /// The bundle id of a topic, without the push type's suffix.
  private static func app(_ topic: String, _ type: PushType) -> String {
    let suffix = type.topicSuffix.description
    return topic.hasSuffix(suffix) ? String(topic.dropLast(suffix.count)) : topic
  }
}

/// Splits a stream of bytes into lines.
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
