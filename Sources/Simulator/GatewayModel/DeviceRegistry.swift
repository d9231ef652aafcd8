// SPDX-License-Identifier: Apache-2.0
public import Contract

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

/// The declared device tokens. A value type: each loop has a copy, so a change copies the part that it is in.
public struct DeviceRegistry: Sendable {
  /// The tokens whose hashes have the same first byte.
  private struct Part: Sendable {
    var entries: [DeclaredToken] = []
    var places: [UInt64: Int] = [:]

    /// Adds a token or replaces its declaration; returns false if it replaces one.
    mutating func declare(_ token: DeclaredToken, _ hash: UInt64) -> Bool {
      var slot = hash
      // A token whose hash is taken uses the next free one.
      while let place = places[slot] {
        if entries[place].token == token.token {
          entries[place] = token
          return false
        }
        slot &+= 1
      }
      places[slot] = entries.count
      entries.append(token)
      return true
    }

    func find(_ token: Span<UInt8>, _ hash: UInt64) -> DeclaredToken? {
      var slot = hash
      while let place = places[slot] {
        let entry = entries[place]
        if DeviceRegistry.isSame(entry.token, token) { return entry }
        slot &+= 1
      }
      return nil
    }
  }

  private var parts = [Part](repeating: Part(), count: 256)
  public private(set) var count = 0

  public init() {}

  public var isEmpty: Bool { count == 0 }

  /// Adds a token or replaces its declaration.
  public mutating func declare(_ token: DeclaredToken) {
    let hash = Self.hash(token.token.span)
    if parts[Self.part(hash)].declare(token, hash) { count += 1 }
  }

  /// Returns the declaration of a token, in upper or lower case.
  public func find(_ token: Span<UInt8>) -> DeclaredToken? {
    guard count > 0 else { return nil }
    let hash = Self.hash(token)
    return parts[Self.part(hash)].find(token, hash)
  }

  private static func part(_ hash: UInt64) -> Int { Int(hash >> 56) }

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
