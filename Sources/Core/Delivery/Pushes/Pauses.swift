// SPDX-License-Identifier: Apache-2.0
public import APNS
public import Pipeline

/// What an operator has paused: apps and lanes, as the keys of `push.controls` name them.
public struct Pauses: Sendable, Equatable {
  /// Something that can be paused.
  public enum Subject: Sendable, Equatable, Hashable {
    case app(String, Environment)
    case lane(Lane)

    /// `lane:bulk`, or `com.example.app:production`; nil for anything else.
    public init?(key: String) {
      guard let colon = key.lastIndex(of: ":") else { return nil }
      let name = String(key[..<colon])
      let rest = String(key[key.index(after: colon)...])
      if name == "lane", let lane = Lane(rest) {
        self = .lane(lane)
      } else {
        guard let environment = Environment(rest), !name.isEmpty else { return nil }
        self = .app(name, environment)
      }
    }

    /// The key of its record.
    public var key: String {
      switch self {
      case .app(let app, let environment): "\(app):\(environment)"
      case .lane(let lane): "lane:\(lane)"
      }
    }
  }

  private struct App: Hashable, Sendable {
    let hash: UInt64
    let environment: Environment
  }

  private var apps: Set<App> = []
  /// What is asked for each notification is read without a call.
  var isAnyApp = false
  var isTransactional = false
  var isBulk = false

  public init() {}

  public var appCount: Int { apps.count }
  public var laneCount: Int { (isTransactional ? 1 : 0) + (isBulk ? 1 : 0) }

  /// Whether any app is paused: asked before each look.
  public var hasApps: Bool { isAnyApp }

  /// Whether any lane is paused.
  public var hasLanes: Bool { isTransactional || isBulk }

  public func contains(_ lane: Lane) -> Bool {
    switch lane {
    case .transactional: isTransactional
    case .bulk: isBulk
    }
  }

  /// - Parameter app: the hash of the bundle id, as `AppTable` makes it.
  public func contains(app: UInt64, _ environment: Environment) -> Bool {
    apps.contains(App(hash: app, environment: environment))
  }

  /// Notes that a subject is paused, or is not any more.
  public mutating func set(_ subject: Subject, isPaused: Bool) {
    switch subject {
    case .app(let name, let environment):
      let app = App(hash: AppTable.hash(name.utf8.span), environment: environment)
      if isPaused { apps.insert(app) } else { apps.remove(app) }
      isAnyApp = !apps.isEmpty
    case .lane(.transactional): isTransactional = isPaused
    case .lane(.bulk): isBulk = isPaused
    }
  }
}
