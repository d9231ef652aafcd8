// SPDX-License-Identifier: Apache-2.0
import APNS
import Random

extension SeededGenerator {
  /// Generates a random UUID (version 4).
  mutating func nextID() -> NotificationID {
    NotificationID(
      high: next() & 0xFFFF_FFFF_FFFF_0FFF | 0x4000,
      low: next() & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000)
  }
}

extension NotificationID {
  /// Writes the 36 characters, in upper case like the ids that APNs generates, or in lower case.
  func write(to place: UnsafeMutablePointer<UInt8>, isUpper: Bool) {
    let characters = characters
    for index in 0..<NotificationID.textLength {
      let byte = characters[index]
      place[index] = isUpper && byte >= UInt8(ascii: "a") ? byte & 0xDF : byte
    }
  }
}
