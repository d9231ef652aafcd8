// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit

/// Checks that a folder's disk takes what a pipeline writes: keys, addresses, logs and the database. A process whose
/// log cannot be written says nothing, so its end of the disk has to be said for it.
struct DiskRoom {
  /// Bytes below which a pipeline is not started.
  static let needed: UInt64 = 64 << 20
  /// Bytes below which a running one has none.
  static let least: UInt64 = 1 << 20

  private let folder: String
  private let size: (String) -> UInt64?
  private var isLow = false

  /// - Parameter size: bytes that this user may still write to a folder's disk; nil if that is not known.
  init(_ folder: String, size: @escaping (String) -> UInt64? = DiskRoom.free) {
    self.folder = folder
    self.size = size
  }

  static func free(_ folder: String) -> UInt64? {
    var found = statvfs()
    guard statvfs(folder, &found) == 0 else { return nil }
    return UInt64(found.f_bavail) * UInt64(found.f_frsize)
  }

  /// - Throws: if there is not enough for a start.
  func demand() throws(ServiceFailure) {
    guard let free = size(folder), free < Self.needed else { return }
    throw ServiceFailure(
      "the disk of \(folder) has \(free >> 20) MiB left, and logs and the database need \(Self.needed >> 20):"
        + " free some, or name a folder on another disk with --dir")
  }

  /// The message to print now: nothing as long as there is room, and once when there is none any more.
  mutating func news() -> String? {
    guard let free = size(folder) else { return nil }
    defer { isLow = free < Self.least }
    guard free < Self.least, !isLow else { return nil }
    return "the disk of \(folder) is full: logs and the database are not written; free some space"
  }
}
