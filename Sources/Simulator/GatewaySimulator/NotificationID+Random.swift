// SPDX-License-Identifier: Apache-2.0
import Contract
import Waiting

extension SeededGenerator {
  /// Generates a random UUID (version 4).
  mutating func nextID() -> NotificationID { NotificationID(version4: next(), next()) }
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
