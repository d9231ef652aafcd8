// SPDX-License-Identifier: Apache-2.0

/// Which names of zones exist here, with a memory: most registrations have one of a few hundred.
public struct ZoneNames {
  /// Names of each kind that are remembered.
  private static let most = 1_000

  private let hasDatabase = ZoneFile.rules(of: "UTC") != nil
  // By their bytes: names come from outside.
  private var known: Set<[UInt8]> = []
  private var unknown: Set<[UInt8]> = []

  public init() {}

  /// What a name is.
  public enum Verdict: Sendable {
    case exists
    /// It does not.
    case isUnknown
    /// The same, and it is seen for the first time, as far as is remembered.
    case isNew
  }

  /// Looks a name up. Where there is no time zone database at all every name exists.
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
