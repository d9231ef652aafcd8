// SPDX-License-Identifier: Apache-2.0
import Glibc
import ServiceKit

/// Checks that a folder's disk has room for a pipeline's keys, addresses, logs and database. A process that cannot
/// write its log cannot report a full disk, so this does.
struct DiskRoom {
  /// The free space below which a pipeline is not started, in bytes.
  static let needed: UInt64 = 64 << 20
  /// The free space below which a running pipeline's disk counts as full, in bytes.
  static let least: UInt64 = 1 << 20

  private let folder: String
  private let size: (String) -> UInt64?
  private var isLow = false

  /// - Parameter size: Returns the bytes that this user can still write to a folder's disk; nil if unknown.
  init(_ folder: String, size: @escaping (String) -> UInt64? = DiskRoom.free) {
    self.folder = folder
    self.size = size
  }

  static func free(_ folder: String) -> UInt64? {
    var found = statvfs()
    guard statvfs(folder, &found) == 0 else { return nil }
    return UInt64(found.f_bavail) * UInt64(found.f_frsize)
  }

  /// - Throws: If there is not enough space for a start.
  func demand() throws(ServiceFailure) {
    guard let free = size(folder), free < Self.needed else { return }
    throw ServiceFailure(
      "the disk of \(folder) has \(free >> 20) MiB left, and logs and the database need \(Self.needed >> 20):"
        + " free some, or name a folder on another disk with --dir")
  }

  /// Whether the disk is full and was not at the last look.
  mutating func hasFilled() -> Bool {
    guard let free = size(folder) else { return false }
    defer { isLow = free < Self.least }
    return free < Self.least && !isLow
  }
}
