// SPDX-License-Identifier: Apache-2.0

/// The version of a library, as in 2.0.2.
public struct LibraryVersion: Sendable, Hashable, Comparable, CustomStringConvertible {
  private let parts: [Int]

  public init(_ major: Int, _ minor: Int, _ patch: Int) { parts = [major, minor, patch] }

  public static func < (left: Self, right: Self) -> Bool {
    left.parts.lexicographicallyPrecedes(right.parts)
  }

  public var description: String { parts.map(String.init).joined(separator: ".") }
}
