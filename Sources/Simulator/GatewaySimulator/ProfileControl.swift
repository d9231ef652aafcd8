// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import Synchronization

/// The current profile and the change to another one. Used by one thread at a time: at the start, then by the admin
/// API.
final class ProfileControl: Sendable {
  private let world: GatewayWorld
  private let faults: FaultControl
  private let isFast: Bool
  private let initial: GatewayProfile?
  /// Switches that were set along with `initial`; at the start they override the profile's.
  private let given: Set<String>
  private let current: Mutex<GatewayProfile?>

  /// The name of the profile without faults.
  static let full = "full"
  /// The name of the profile for benchmarks.
  static let fast = "fast"

  init(_ settings: SimulatorSettings, _ world: GatewayWorld, _ faults: FaultControl) throws {
    self.world = world
    self.faults = faults
    isFast = settings.isFast
    initial = settings.profile
    given = settings.givenSwitches
    current = Mutex(nil)
    try restart()
  }

  /// Without a profile, for tests of parts of the admin API.
  init(_ world: GatewayWorld, _ faults: FaultControl) {
    self.world = world
    self.faults = faults
    (isFast, initial, given) = (false, nil, [])
    current = Mutex(nil)
  }

  var name: String { isFast ? Self.fast : current.withLock { $0?.name } ?? Self.full }

  /// Restarts the initial profile. Behaviours must be the initial ones.
  func restart() throws { try start(initial, except: given) }

  /// Replaces the current profile: behaviours, latency and service state are the initial ones plus its own, and its
  /// faults start to count.
  func choose(_ name: String) throws(GatewayFileError) {
    let profile = try Self.profile(name)
    guard !isFast else {
      throw GatewayFileError(
        description: "profile cannot be changed: the gateway was started with --profile fast")
    }
    world.restoreBehaviours()
    do { try start(profile) } catch {
      throw GatewayFileError(description: "\(error)")
    }
  }

  /// The profile with this name; nil for `full`.
  static func profile(_ name: String) throws(GatewayFileError) -> GatewayProfile? {
    if name == full { return nil }
    if name == fast {
      throw GatewayFileError(description: "profile can be fast from the start only: --profile fast")
    }
    if let profile = GatewayProfile(name) { return profile }
    let names = ([full] + GatewayProfile.all.map(\.name)).joined(separator: ", ")
    throw GatewayFileError(description: "profile must be one of \(names), not \(name)")
  }

  private func start(_ profile: GatewayProfile?, except kept: Set<String> = []) throws {
    let rules = try profile?.faultRules() ?? []
    if let profile { try world.apply(ProfileChange(profile, except: kept)) }
    if profile != nil || current.withLock({ $0 != nil }) {
      try faults.setProfile(rules, after: world.connectionCount)
      faults.waitForLoops()
    }
    current.withLock { $0 = profile }
  }
}
