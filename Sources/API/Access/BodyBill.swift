// SPDX-License-Identifier: Apache-2.0

/// The charge for a body against its key's rate, and the judgement whether it is one of requests at all. A small body may
/// be a large one packed, and a line of one byte costs a verdict of a hundred: whatever a key makes the API look at counts.
public struct BodyBill: Sendable, Equatable {
  /// Unpacked bytes that cost at least as much as one request.
  static let bytesPerRequest = 64 << 10
  /// Beyond so many requests that were refused and empty lines, more must have been accepted.
  static let tolerance = 1_000

  /// Requests that were looked at, and empty lines.
  public var requests = 0
  public var emptyLines = 0
  /// Those of the requests that were refused.
  public var refused = 0
  /// Unpacked.
  public var bytes = 0
  private var charged = 0

  public init() {}

  /// True if something was charged: a body's first request is looked at without a wait.
  public var isBegun: Bool { charged > 0 }

  /// Requests to be charged since the last call.
  public mutating func due() -> Int {
    let owed = max(requests + emptyLines, bytes / Self.bytesPerRequest)
    defer { charged = max(charged, owed) }
    return max(0, owed - charged)
  }

  /// Most of it is no request: nothing more is looked at.
  public var isMostlyRefused: Bool {
    refused + emptyLines > Self.tolerance + requests - refused
  }
}
