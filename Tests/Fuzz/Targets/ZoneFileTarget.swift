// SPDX-License-Identifier: Apache-2.0
import Contract

extension FuzzTarget {
  /// A file of the time zone database: no offset is longer than RFC 8536 allows.
  static func zoneFile() -> FuzzTarget {
    let times: [Int64] = [0, 1_795_000_000_000, 2_500_000_000_000, 253_402_300_799_999]
    return FuzzTarget("zone-file") { bytes in
      guard let rules = ZoneRules(Array(bytes)) else { return nil }
      let isFar = times.contains { abs(rules.instant(ofLocal: $0) - $0) > 26 * 3_600_000 }
      return isFar ? "an instant that is too far from its local time" : nil
    }
  }
}
