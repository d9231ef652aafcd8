// SPDX-License-Identifier: Apache-2.0

internal import APNS
internal import Contract

/// Devices to which nothing is sent any more.
extension Workload {
  /// Ends a push unsent if since it was requested its device was removed, has changed its owner, or APNs has called it dead.
  mutating func suppress(_ slot: UInt32) -> Bool {
    guard pushes[slot].target.isDevice,
      let cause = devices.suppression(of: pushes[slot], now: turn.now)
    else { return false }
    finish(slot, .suppressed, cause)
    return true
  }

  /// Devices were removed, have changed their owner, or may be used again.
  mutating func update(_ news: [DeviceNews]) { devices.update(news, now: turn.now) }
}
