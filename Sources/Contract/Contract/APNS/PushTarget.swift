// SPDX-License-Identifier: Apache-2.0

/// The kind of a notification's address, and of its record's key.
public enum PushTarget: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  /// A device token.
  case device
  /// A broadcast channel, with any number of subscribed devices.
  case channel

  /// True for a device token. For hot paths: `==` of another module's enumeration is a call through a table.
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
