// SPDX-License-Identifier: Apache-2.0
public import Contract

/// Something that happens in the gateway and may be answered with a fault.
public struct FaultEvent: Sendable, Equatable {
  public var stage: FaultStage
  /// Milliseconds since the gateway started.
  public var time: UInt64
  public var environment: Environment
  /// The address that the client connected to, without the port; empty if irrelevant.
  public var address: String
  /// The connection's number: 1, 2, 3… in order of acceptance.
  public var connection: UInt64
  /// Milliseconds since the connection was accepted.
  public var age: UInt64
  /// Milliseconds since data was last received on the connection.
  public var idle: UInt64
  /// The request, at the stages `request` and `answer`.
  public var request: FaultRequest?

  public init(
    _ stage: FaultStage, time: UInt64, environment: Environment = .production,
    address: String = "", connection: UInt64 = 0, age: UInt64 = 0, idle: UInt64 = 0,
    request: FaultRequest? = nil
  ) {
    self.stage = stage
    self.time = time
    self.environment = environment
    self.address = address
    self.connection = connection
    self.age = age
    self.idle = idle
    self.request = request
  }
}

/// The parts of a request that a fault can depend on.
public struct FaultRequest: Sendable, Equatable {
  /// The device token in the path, in lower-case digits; empty if there is none.
  public var token: [UInt8]
  /// The `apns-topic`; empty if there is none.
  public var topic: [UInt8]
  public var pushType: PushType?
  /// The status that the gateway responds with by itself, or did at the stage `answer`.
  public var status: UInt16
  /// Whether that response is `BadDeviceToken`, which the gateway tolerates least.
  public var isBadDeviceToken: Bool
  public var streamID: Int32
  /// The size of the header list (RFC 9113 §6.5.2): names, values and 32 bytes per field.
  public var headerListSize: Int
  /// The fields that may have been added to the HPACK dynamic table.
  public var indexed: IndexedFields = []

  public init(
    token: [UInt8] = [], topic: [UInt8] = [], pushType: PushType? = nil, status: UInt16 = 200,
    isBadDeviceToken: Bool = false, streamID: Int32 = 1, headerListSize: Int = 0
  ) {
    self.token = token
    self.topic = topic
    self.pushType = pushType
    self.status = status
    self.isBadDeviceToken = isBadDeviceToken
    self.streamID = streamID
    self.headerListSize = headerListSize
  }
}

/// Header fields that a client should not add to the HPACK dynamic table: those that were not sent as never-indexed
/// literals (RFC 7541 §6.2.3).
public struct IndexedFields: OptionSet, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The provider token.
  public static let authorization = IndexedFields(rawValue: 1)
  /// The device token.
  public static let path = IndexedFields(rawValue: 2)

  static let names: [(name: String, field: IndexedFields)] = [
    ("authorization", .authorization), (":path", .path),
  ]
}
