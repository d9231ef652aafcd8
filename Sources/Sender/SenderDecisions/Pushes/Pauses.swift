// SPDX-License-Identifier: Apache-2.0
public import Contract

/// What is held: the apps and lanes that an operator has paused, as the keys of `push.controls` name them, and campaigns.
public struct Pauses: Sendable, Equatable {
  private struct App: Hashable, Sendable {
    let hash: UInt64
    let environment: Environment
  }

  private let lanes: Lanes
  private var apps: Set<App> = []
  /// What is asked for each notification is read without a call.
  var isAnyApp = false
  /// Campaigns whose pushes are not sent.
  public var campaigns = CampaignHolds()
  /// As bits by place.
  private var pausedLanes: UInt8 = 0

  public init(_ lanes: Lanes) { self.lanes = lanes }

  public var appCount: Int { apps.count }
  public var laneCount: Int { pausedLanes.nonzeroBitCount }

  /// Whether any app is paused: asked before each look.
  public var hasApps: Bool { isAnyApp }

  /// Whether any lane is paused.
  public var hasLanes: Bool { pausedLanes != 0 }

  public func contains(_ lane: Lane) -> Bool { pausedLanes & 1 << lane.place != 0 }

  /// - Parameter app: the hash of the bundle id, as `AppHash` makes it.
  public func contains(app: UInt64, _ environment: Environment) -> Bool {
    apps.contains(App(hash: app, environment: environment))
  }

  /// Notes that a subject is paused, or is not any more.
  ///
  /// - Returns: false if it is to be paused and is a lane that is none of the list's.
  @discardableResult
  public mutating func set(_ subject: PauseSubject, isPaused: Bool) -> Bool {
    switch subject {
    case .app(let name, let environment):
      let app = App(hash: AppHash.of(name.utf8.span), environment: environment)
      if isPaused { apps.insert(app) } else { apps.remove(app) }
      isAnyApp = !apps.isEmpty
    case .lane(let name):
      guard let lane = lanes.find(name) else { return !isPaused }
      let bit = UInt8(1) << lane.place
      if isPaused { pausedLanes |= bit } else { pausedLanes &= ~bit }
    }
    return true
  }
}
