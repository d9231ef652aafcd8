// SPDX-License-Identifier: Apache-2.0

internal import APNS

/// The last reason of a record that was made from a dead letter: which letter it was.
package enum ReplayMark {
  private static let word = "replay "

  /// The mark for the dead letter at this place of its topic.
  package static func text(partition: Int32, offset: Int64) -> String {
    "\(word)\(partition)/\(offset)"
  }

  /// The id under which a record with this last reason counts as taken: another one for each replay.
  static func mix(_ id: NotificationID, _ reason: Span<UInt8>) -> NotificationID {
    guard reason.count > word.utf8.count,
      reason.extracting(0..<word.utf8.count).spells(word)
    else { return id }
    // FNV-1a of the mark.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<reason.count { hash = (hash ^ UInt64(reason[index])) &* 0x0000_0100_0000_01B3 }
    return NotificationID(high: id.high ^ hash, low: id.low)
  }
}
