// SPDX-License-Identifier: Apache-2.0

internal import APNS

/// The two ways through the pipeline: a campaign in bulk never delays a one-time code.
public enum Lane: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case transactional
  case bulk

  /// True for the transactional lane. For hot paths, as `PushTarget.isDevice`.
  public var isTransactional: Bool {
    if case .transactional = self { true } else { false }
  }

  /// The spelling in requests, envelopes and receipts.
  public var name: StaticString {
    switch self {
    case .transactional: "transactional"
    case .bulk: "bulk"
    }
  }

  public var description: String { name.description }

  /// The lane with this name, or `nil`.
  public init?(_ name: Span<UInt8>) {
    if name.spells("transactional") {
      self = .transactional
    } else if name.spells("bulk") {
      self = .bulk
    } else {
      return nil
    }
  }

  /// The lane with this name, or `nil`.
  public init?(_ name: String) {
    self.init(name.utf8.span)
  }
}
