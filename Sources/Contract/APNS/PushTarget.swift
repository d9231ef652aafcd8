// SPDX-License-Identifier: Apache-2.0

/// The kind of address that a notification has: the kind of its record's key.
public enum PushTarget: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  /// A device token.
  case device
  /// A broadcast channel, which any number of devices follow.
  case channel

  /// True for a device token. On hot paths: `==` of an enumeration of another module is a call through a table.
  public var isDevice: Bool { if case .device = self { true } else { false } }

  /// The spelling in envelopes.
  public var name: StaticString {
    switch self {
    case .device: "device"
    case .channel: "channel"
    }
  }

  public var description: String { name.description }

  /// The target with this name, or `nil`.
  public init?(_ name: Span<UInt8>) {
    if name.spells("device") {
      self = .device
    } else if name.spells("channel") {
      self = .channel
    } else {
      return nil
    }
  }
}
