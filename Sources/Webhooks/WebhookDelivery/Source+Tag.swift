// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup

extension Source {
  /// The source as one number.
  var tag: UInt64 { UInt64(topic) << 32 | UInt64(UInt32(bitPattern: partition)) }

  init(tag: UInt64) {
    self.init(topic: Int(tag >> 32), partition: Int32(bitPattern: UInt32(truncatingIfNeeded: tag)))
  }
}
