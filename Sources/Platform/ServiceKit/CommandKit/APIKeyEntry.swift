// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
public import Records
import Telemetry

/// An entry of the file of API keys, before it has a key.
public struct APIKeyEntry: Sendable {
  /// The smallest limit of a body that a key may have, in bytes.
  public static let leastBody = 1_024

  public let name: String
  let apps: [String]
  var readable: [String]?
  var rate = 0
  var maxBody = 0
  /// Milliseconds since the epoch.
  var expires: Int64?
  var paces = false
  var campaigns = false

  /// - Parameters:
  ///   - readable: apps of which it may read; nil for the same.
  ///   - rate: most requests per second; 0 for no limit.
  ///   - maxBody: bytes of the largest body; 0 leaves it to `martlet-api`.
  ///   - expires: milliseconds since the epoch; nil for no end.
  public init(
    name: String, apps: [String], readable: [String]? = nil, rate: Int = 0, maxBody: Int = 0,
    expires: Int64? = nil, paces: Bool = false, campaigns: Bool = false
  ) {
    self.name = name
    self.apps = apps
    self.readable = readable
    self.rate = rate
    self.maxBody = maxBody
    self.expires = expires
    self.paces = paces
    self.campaigns = campaigns
  }

  /// 256 random bits, with a beginning by which secret scanners can know it.
  public static func freshKey() -> String {
    "martlet_" + hex((0..<32).map { _ in UInt8.random(in: .min ... .max) })
  }

  private static func hex(_ bytes: [UInt8]) -> String {
    var text = ByteBuffer(capacity: 2 * bytes.count)
    bytes.withUnsafeBytes { text.append(hex: $0) }
    return String(decoding: text.bytes, as: UTF8.self)
  }

  public func json(of key: String) -> JSONValue {
    var object = JSONObject()
    object.append("name", .string(name))
    object.append("sha256", .string(Self.hex(SHA256Digest.of(key))))
    object.append("apps", .array(apps.map { .string($0) }))
    if let readable { object.append("read", .array(readable.map { .string($0) })) }
    if rate > 0 { object.append("rate", .integer(Int64(rate))) }
    if maxBody > 0 { object.append("max_body", .integer(Int64(maxBody))) }
    if let expires { object.append("expires", .string(Timestamp.text(milliseconds: expires))) }
    if paces { object.append("paces", .bool(true)) }
    if campaigns { object.append("campaigns", .bool(true)) }
    return .object(object)
  }

  /// Adds an entry to a file, which is made if it is not there, and else keeps its owner and mode.
  ///
  /// - Parameter show: shows the key, once the entry can be added; if it throws, nothing is changed.
  public static func add(
    _ entry: JSONValue, named name: String, to file: String,
    show: () throws(ServiceFailure) -> Void = {}
  ) throws(ServiceFailure) {
    try orFail {
      try File.edit(file) { content in
        let edited = try text(of: content, with: entry, named: name, file)
        try show()
        return edited
      }
    }
  }

  private static func text(
    of content: [UInt8]?, with entry: JSONValue, named name: String, _ file: String
  ) throws(ServiceFailure) -> [UInt8] {
    var entries: [JSONValue] = []
    if let content {
      let root: JSONValue
      do { root = try JSONDocument(content).root } catch {
        throw ServiceFailure("\(file): \(error); nothing was changed")
      }
      guard let list = root.array else {
        throw ServiceFailure("\(file) is not a JSON array of keys; nothing was changed")
      }
      entries = list
    }
    guard !entries.contains(where: { $0["name"]?.string == name }) else {
      throw ServiceFailure(
        "\(file) has a key \"\(name)\" already; choose another name, or remove that entry first")
    }
    let lines = (entries + [entry]).map { String(decoding: $0.text, as: UTF8.self) }
    return Array("[\n  \(lines.joined(separator: ",\n  "))\n]\n".utf8)
  }
}
