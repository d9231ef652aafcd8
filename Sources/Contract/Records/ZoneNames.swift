// SPDX-License-Identifier: Apache-2.0

/// Checks which time zone names exist here, with a cache: most registrations have one of a few hundred.
public struct ZoneNames {
  /// The most names of each kind in the cache.
  private static let most = 1_000

  private let hasDatabase = ZoneFile.rules(of: "UTC") != nil
  // Compared by bytes: names come from outside.
  private var known: Set<[UInt8]> = []
  private var unknown: Set<[UInt8]> = []

  public init() {}

  /// The result of a lookup.
  public enum Verdict: Sendable {
    case exists
    /// The zone does not exist.
    case isUnknown
    /// The zone does not exist, and is new to the cache.
    case isNew
  }

  /// Looks up a name. Without any time zone database, every name counts as existing.
  public mutating func look(_ name: String) -> Verdict {
    guard hasDatabase else { return .exists }
    let bytes = Array(name.utf8)
    if known.contains(bytes) { return .exists }
    if unknown.contains(bytes) { return .isUnknown }
    if ZoneFile.rules(of: name) != nil {
      if known.count >= Self.most { known = [] }
      known.insert(bytes)
      return .exists
    }
    if unknown.count >= Self.most { unknown = [] }
    unknown.insert(bytes)
    return .isNew
  }
}
