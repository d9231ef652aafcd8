// SPDX-License-Identifier: Apache-2.0

/// A named set of switches and faults: one kind of trouble that a test suite can run its client against. The
/// declaration holds its entry in `docs/simulator.md`.
public struct GatewayProfile: Sendable, Equatable {
  /// A field of `PUT /profile` and its value as an operator writes it.
  public struct Switch: Sendable, Equatable {
    public let name: String
    public let value: String
  }

  /// The name after `--profile` and in `PUT /profile`: `slow-night`.
  public let name: String
  /// What the gateway does, in one sentence.
  public let does: String
  /// The client errors that it reveals.
  public let catches: String
  public let switches: [Switch]
  /// Rules of a fault script, each as JSON.
  public let rules: [String]

  init(
    _ name: String, does: String, catches: String, switches: [(String, String)] = [],
    rules: [String] = []
  ) {
    self.name = name
    self.does = does
    self.catches = catches
    self.switches = switches.map { Switch(name: $0.0, value: $0.1) }
    self.rules = rules
  }

  /// All profiles, by kind.
  public static let all: [GatewayProfile] = answers + connections + streams + credentials

  /// The profile with this name, or nil.
  public init?(_ name: String) {
    guard let found = Self.all.first(where: { $0.name == name }) else { return nil }
    self = found
  }
}
