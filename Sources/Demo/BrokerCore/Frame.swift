// SPDX-License-Identifier: Apache-2.0

/// A request received on a connection, without the length prefix.
public struct Request: Sendable {
  public var api: API
  public var version: Int16
  public var correlation: Int32
  public var clientID: String
  public var body: Value

  /// The reason why a request cannot be handled normally.
  public enum Problem: Error, Equatable {
    /// The connection is closed, as in Kafka.
    case malformed
    /// An ApiVersions request of an unknown version: answered in version 0 with error 35.
    case unknownVersions(correlation: Int32)
  }
}

extension Request {
  public init(_ frame: ArraySlice<UInt8>) throws(Problem) {
    var reader = MessageReader(frame)
    do {
      let key = Int16(truncatingIfNeeded: try reader.int(2))
      version = Int16(truncatingIfNeeded: try reader.int(2))
      correlation = Int32(truncatingIfNeeded: try reader.int(4))
      clientID = try reader.shortText() ?? ""
      guard let found = API.numbered(key) else { throw Problem.malformed }
      api = found
      guard api.versions.contains(version) else {
        throw key == 18 ? Problem.unknownVersions(correlation: correlation) : .malformed
      }
      let isFlexible = version >= api.flexibleFrom
      if isFlexible { try reader.skipTags() }
      // Trailing bytes are ignored, as in Kafka: librdkafka leaves some after its Metadata requests.
      body = try reader.message(api.request, version: version, isFlexible: isFlexible)
    } catch let problem as Problem {
      throw problem
    } catch {
      throw .malformed
    }
  }

  /// The frame of a response, including the length prefix.
  ///
  /// - Parameter load: Appends stored records; returns false to leave a gap for them.
  public static func answer(
    _ body: Value, to api: API, version: Int16, correlation: Int32,
    load: @escaping (StoredRange, inout [UInt8]) -> Bool = { _, _ in true }
  ) -> MessageWriter {
    var writer = MessageWriter(load: load)
    writer.int(0, 4)
    writer.int(Int64(correlation), 4)
    let isFlexible = version >= api.flexibleFrom
    if isFlexible, api.key != Self.versionsKey { writer.bytes.append(0) }
    writer.message(body, api.answer, version: version, isFlexible: isFlexible)
    writer.bytes.put(Int64(writer.count - 4), 4, at: 0)
    return writer
  }

  /// ApiVersions is answered with the old header, because the client does not know yet what the broker supports.
  private static let versionsKey: Int16 = 18

  /// Parses the response to this request from a frame without length prefix; nil if it is malformed.
  public func answer(in frame: ArraySlice<UInt8>) -> Value? {
    var reader = MessageReader(frame.dropFirst(4))
    let isFlexible = version >= api.flexibleFrom
    do {
      if isFlexible, api.key != Self.versionsKey { try reader.skipTags() }
      return try reader.message(api.answer, version: version, isFlexible: isFlexible)
    } catch {
      return nil
    }
  }
}
