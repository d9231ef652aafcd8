// SPDX-License-Identifier: Apache-2.0

/// The charge for a body against its key's rate, and the check that it consists of requests. A small body may be a
/// large one compressed, and a line of one byte costs a verdict of a hundred: all work that a key causes is charged.
public struct BodyBill: Sendable, Equatable {
  /// The number of unpacked bytes charged like one request.
  static let bytesPerRequest = 64 << 10
  /// Beyond this many refused requests and empty lines, the accepted ones must outnumber them.
  static let tolerance = 1_000

  /// The number of requests processed, and of empty lines.
  public var requests = 0
  public var emptyLines = 0
  public var refused = 0
  public var bytes = 0
  private var charged = 0

  public init() {}

  /// True if something was charged: a body's first request is processed without a wait.
  public var isBegun: Bool { charged > 0 }

  /// The number of requests to charge since the last call.
  public mutating func due() -> Int {
    let owed = max(requests + emptyLines, bytes / Self.bytesPerRequest)
    defer { charged = max(charged, owed) }
    return max(0, owed - charged)
  }

  /// True if most of the body is not valid requests: processing ends.
  public var isMostlyRefused: Bool {
    refused + emptyLines > Self.tolerance + requests - refused
  }
}
