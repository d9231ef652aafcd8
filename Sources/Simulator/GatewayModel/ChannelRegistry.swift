// SPDX-License-Identifier: Apache-2.0
public import Contract

/// A broadcast channel of an app.
public struct Channel: Sendable, Equatable {
  /// Base64, as in `apns-channel-id`.
  public let id: String
  public let app: String
  public let environment: Environment
  /// Whether the channel keeps its newest message (policy 1) or none (policy 0).
  public let storesMessages: Bool
  /// The number of published messages.
  public internal(set) var published = 0
  /// The newest message, while it is stored.
  public internal(set) var stored: StoredBroadcast?
}

/// The message that a channel stores.
public struct StoredBroadcast: Sendable, Equatable {
  public let body: [UInt8]
  /// Expiration, in milliseconds since the epoch.
  public let until: Int64

  public init(body: [UInt8], until: Int64) {
    self.body = body
    self.until = until
  }
}

/// The effect of an accepted request on the channels. It takes place only if no fault rejects the request.
public enum ChannelChange: Sendable, Equatable {
  case create(String, app: String, Environment, storesMessages: Bool)
  case delete(String, app: String, Environment)
  /// Publishes a body to a channel until a time in seconds since the epoch.
  case publish(String, [UInt8], expiration: Int64)
}

/// The broadcast channels of every app (Apple, "Sending channel management requests to APNs"). Each environment has its
/// own.
public struct ChannelRegistry: Sendable {
  private struct Key: Hashable, Sendable {
    let app: String
    let environment: Environment
  }

  /// The channel ids in the order of creation.
  private var channels: [Key: [String]] = [:]
  private var byID: [String: Channel] = [:]
  private var disabledApps: Set<String> = []

  /// The longest time that a message is stored, in ms.
  public static let longest: Int64 = 8 * 3_600_000
  /// The longest channel id that is accepted. Apple does not document a size.
  public static let idLimit = 128

  public init() {}

  public var all: [Channel] { byID.values.sorted { ($0.app, $0.id) < ($1.app, $1.id) } }

  public func isEnabled(_ app: String) -> Bool { !disabledApps.contains(app) }

  /// Enables or disables broadcasts for an app, as in the developer portal; disabling deletes its channels.
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

  /// Carries out a change at `now` (ms since the epoch).
  ///
  /// - Returns: the reason why a channel is not created after all: others have been since its request was judged.
  @discardableResult
  public mutating func apply(
    _ change: ChannelChange, _ rules: GatewayRules, now: Int64
  ) -> Refusal? {
    switch change {
    case .create(let id, let app, let environment, let storesMessages):
      return create(id, app: app, environment, storesMessages: storesMessages, rules)
    case .delete(let id, let app, let environment): _ = delete(id, app: app, environment)
    case .publish(let id, let body, let expiration):
      publish(id, body: body, expiration: expiration, now: now)
    }
    return nil
  }

  /// Returns the reason why the app cannot have another channel; nil if it can.
  public func refusal(
    ofAnotherFor app: String, _ environment: Environment, _ rules: GatewayRules
  ) -> Refusal? {
    guard isEnabled(app) else { return Refusal(.featureNotEnabled) }
    let isFull = list(app: app, environment).count >= rules.channelLimit
    return isFull ? Refusal(.cannotCreateChannelConfig) : nil
  }

  /// Creates a channel.
  ///
  /// - Parameter id: A new random id; ids are never reused.
  public mutating func create(
    _ id: String, app: String, _ environment: Environment, storesMessages: Bool,
    _ rules: GatewayRules
  ) -> Refusal? {
    if let refusal = refusal(ofAnotherFor: app, environment, rules) { return refusal }
    channels[Key(app: app, environment: environment), default: []].append(id)
    byID[id] = Channel(id: id, app: app, environment: environment, storesMessages: storesMessages)
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

  /// Deletes a channel; returns whether it existed.
  public mutating func delete(_ id: String, app: String, _ environment: Environment) -> Bool {
    guard find(id, app: app, environment) != nil else { return false }
    byID[id] = nil
    channels[Key(app: app, environment: environment)]?.removeAll { $0 == id }
    return true
  }

  /// Publishes a message to a channel.
  ///
  /// - Parameters:
  ///   - expiration: Seconds since the epoch; with 0 the message is never stored.
  ///   - now: Milliseconds since the epoch.
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

  /// Whether a text is a valid channel id: base64 and not too long.
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
