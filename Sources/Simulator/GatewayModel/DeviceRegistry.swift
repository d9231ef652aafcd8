// SPDX-License-Identifier: Apache-2.0
public import APNS

/// The declared state of one device token.
public struct DeclaredToken: Sendable, Equatable {
  public enum State: Sendable, Equatable {
    case active
    /// The app was removed at `timestamp` (ms); answered with 410 and one of its two reasons.
    case gone(Reason, timestamp: Int64)
    /// Not a token of this environment.
    case bad
    /// Active, but the device is offline.
    case offline
    /// Active, but only priority 10 reaches the device now.
    case powerRestricted
  }

  /// The token in lower-case hexadecimal digits.
  public let token: [UInt8]
  public let state: State
  /// The only topic that the token is valid for; nil is any.
  public let topic: [UInt8]?
  /// The only environment that the token is valid for; nil is both.
  public let environment: Environment?
  /// Budgets of this device instead of the gateway's.
  public let budgets: BudgetLimits?

  public init(
    token: String, state: State, topic: String? = nil, environment: Environment? = nil,
    budgets: BudgetLimits? = nil
  ) {
    self.budgets = budgets
    self.token = Array(token.lowercased().utf8)
    self.state = state
    self.topic = topic.map { Array($0.utf8) }
    self.environment = environment
  }

  private init(_ old: DeclaredToken, state: State) {
    token = old.token
    self.state = state
    topic = old.topic
    environment = old.environment
    budgets = old.budgets
  }

  public func with(_ state: State) -> DeclaredToken { DeclaredToken(self, state: state) }
}

/// The declared device tokens. A value type: each loop has a copy.
public struct DeviceRegistry: Sendable {
  private var entries: [DeclaredToken] = []
  private var places: [UInt64: Int] = [:]

  public init() {}

  public var count: Int { entries.count }
  public var isEmpty: Bool { entries.isEmpty }

  /// Adds a token or replaces its declaration.
  public mutating func declare(_ token: DeclaredToken) {
    var slot = Self.hash(token.token.span)
    // A token whose hash is taken uses the next free one.
    while let place = places[slot] {
      if entries[place].token == token.token {
        entries[place] = token
        return
      }
      slot &+= 1
    }
    places[slot] = entries.count
    entries.append(token)
  }

  /// Returns the declaration of a token, in upper or lower case.
  public func find(_ token: Span<UInt8>) -> DeclaredToken? {
    guard !entries.isEmpty else { return nil }
    var slot = Self.hash(token)
    while let place = places[slot] {
      let entry = entries[place]
      if Self.isSame(entry.token, token) { return entry }
      slot &+= 1
    }
    return nil
  }

  /// FNV-1a over the digits in lower case.
  public static func hash(_ token: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<token.count {
      hash = (hash ^ UInt64(token[index] | 0x20)) &* 0x0000_0100_0000_01B3
    }
    return hash
  }

  private static func isSame(_ known: [UInt8], _ token: Span<UInt8>) -> Bool {
    guard known.count == token.count else { return false }
    for index in 0..<known.count where known[index] != token[index] | 0x20 { return false }
    return true
  }
}
