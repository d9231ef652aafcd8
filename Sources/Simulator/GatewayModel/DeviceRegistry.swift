// SPDX-License-Identifier: Apache-2.0
public import APNS

/// The declaration to the gateway about one device token.
public struct DeclaredToken: Sendable, Equatable {
  public enum State: Sendable, Equatable {
    case active
    /// The app is gone since `timestamp` (ms); answered with 410 and one of its two reasons.
    case gone(Reason, timestamp: Int64)
    /// Not a token of this environment.
    case bad
    /// Active, but nothing reaches the device now.
    case offline
    /// Active, but only priority 10 reaches the device now.
    case powerRestricted
  }

  /// Hexadecimal digits in lower case.
  public let token: [UInt8]
  public let state: State
  /// The only topic it is good for; nil is any.
  public let topic: [UInt8]?
  /// The only environment it is good for; nil is both.
  public let environment: Environment?
  /// Budgets of this device in place of the gateway's.
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

/// The device tokens that were declared. A value: loops have copies.
public struct DeviceRegistry: Sendable {
  private var entries: [DeclaredToken] = []
  private var places: [UInt64: Int] = [:]

  public init() {}

  public var count: Int { entries.count }
  public var isEmpty: Bool { entries.isEmpty }

  /// Adds a token or changes what is known about it.
  public mutating func declare(_ token: DeclaredToken) {
    var slot = Self.hash(token.token.span)
    // Different tokens with one hash take the following ones.
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

  /// The declaration about a token, in either case of its digits.
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

  /// FNV-1a over the digits, taken as lower case.
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
