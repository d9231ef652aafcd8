// SPDX-License-Identifier: Apache-2.0
public import APNS

/// A broadcast channel of an app.
public struct Channel: Sendable, Equatable {
  /// Base64, as in `apns-channel-id`.
  public let id: String
  public let app: String
  public let environment: Environment
  /// Keeps its newest message (policy 1) or none (policy 0).
  public let storesMessages: Bool
  /// Messages published.
  public internal(set) var published = 0
  /// The newest one, while it is kept.
  public internal(set) var stored: StoredBroadcast?
}

/// The message that a channel keeps.
public struct StoredBroadcast: Sendable, Equatable {
  public let body: [UInt8]
  /// Milliseconds since the epoch.
  public let until: Int64

  public init(body: [UInt8], until: Int64) {
    self.body = body
    self.until = until
  }
}

/// The broadcast channels of every app (Apple, "Sending channel management requests to APNs").
/// Channels of one environment are not known in the other.
public struct ChannelRegistry: Sendable {
  private struct Key: Hashable, Sendable {
    let app: String
    let environment: Environment
  }

  /// In the order of creation.
  private var channels: [Key: [String]] = [:]
  private var byID: [String: Channel] = [:]
  private var disabledApps: Set<String> = []

  /// The longest time that a message is kept, in ms.
  public static let longest: Int64 = 8 * 3_600_000
  /// A longer channel id is a bad one. Apple's are not of a fixed size.
  public static let idLimit = 128

  public init() {}

  public var all: [Channel] {
    byID.values.sorted { ($0.app, $0.id) < ($1.app, $1.id) }
  }

  public func isEnabled(_ app: String) -> Bool { !disabledApps.contains(app) }

  /// Switches the capability of an app on or off, as in the developer portal; off deletes its channels.
  public mutating func enable(_ app: String, _ isEnabled: Bool) {
    guard !isEnabled else {
      disabledApps.remove(app)
      return
    }
    disabledApps.insert(app)
    for environment in Environment.allCases {
      let ids = channels.removeValue(forKey: Key(app: app, environment: environment)) ?? []
      for id in ids { byID[id] = nil }
    }
  }

  /// Makes a channel.
  ///
  /// - Parameter id: New and random: an id is never issued twice.
  public mutating func create(
    _ id: String, app: String, _ environment: Environment, storesMessages: Bool,
    _ rules: GatewayRules
  ) -> Refusal? {
    guard isEnabled(app) else { return Refusal(.featureNotEnabled) }
    let place = Key(app: app, environment: environment)
    guard channels[place, default: []].count < rules.channelLimit else {
      return Refusal(.cannotCreateChannelConfig)
    }
    channels[place, default: []].append(id)
    byID[id] = Channel(
      id: id, app: app, environment: environment, storesMessages: storesMessages)
    return nil
  }

  public func find(_ id: String, app: String, _ environment: Environment) -> Channel? {
    guard let channel = byID[id], channel.app == app, channel.environment == environment else {
      return nil
    }
    return channel
  }

  public func list(app: String, _ environment: Environment) -> [String] {
    channels[Key(app: app, environment: environment)] ?? []
  }

  /// Deletes a channel; true if it existed.
  public mutating func delete(_ id: String, app: String, _ environment: Environment) -> Bool {
    guard find(id, app: app, environment) != nil else { return false }
    byID[id] = nil
    channels[Key(app: app, environment: environment)]?.removeAll { $0 == id }
    return true
  }

  /// A message was accepted for a channel.
  ///
  /// - Parameters:
  ///   - expiration: Seconds since the epoch; 0 is never kept.
  ///   - now: Milliseconds.
  public mutating func publish(_ id: String, body: [UInt8], expiration: Int64, now: Int64) {
    guard var channel = byID[id] else { return }
    channel.published += 1
    let longest = now + Self.longest
    let (milliseconds, overflow) = expiration.multipliedReportingOverflow(by: 1_000)
    let until = overflow ? longest : min(milliseconds, longest)
    if channel.storesMessages, until > now {
      channel.stored = StoredBroadcast(body: body, until: until)
    }
    byID[id] = channel
  }

  /// True if a text can be a channel id: base64 and not too long.
  public static func isChannelID(_ text: Span<UInt8>) -> Bool {
    guard text.count > 0, text.count <= idLimit else { return false }
    var padding = 0
    for index in 0..<text.count {
      switch text[index] {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "/"):
        if padding > 0 { return false }
      case UInt8(ascii: "="): padding += 1
      default: return false
      }
    }
    return text.count % 4 == 0 && padding <= 2
  }
}
