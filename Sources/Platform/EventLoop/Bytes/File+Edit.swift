// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension File {
  /// Replaces the content of a file as a whole by what `body` makes of it, while nobody else does the same.
  ///
  /// The file keeps its owner, group and mode, and a symbolic link stays: what it points to is replaced. A file that is
  /// not there is made, for its owner only.
  ///
  /// Throws what `body` throws, and when the group cannot be kept; then nothing is changed.
  ///
  /// - Parameter body: gets the content; nil when there is no file.
  public static func edit(_ path: String, _ body: ([UInt8]?) throws -> [UInt8]) throws {
    let target = resolved(path)
    let folder = parent(of: target)
    let lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard lock >= 0 else { throw SystemError.last("cannot open the folder \(folder)") }
    // Ends the lock.
    defer { close(lock) }
    while flock(lock, LOCK_EX) != 0 {
      guard errno == EINTR else { throw SystemError.last("cannot lock the folder \(folder)") }
    }
    var status = stat()
    guard stat(target, &status) == 0 else {
      guard errno == ENOENT else { throw SystemError.last("cannot look at \(target)") }
      return try write(target, try body(nil))
    }
    try write(
      target, try body(try read(target)), mode: UInt32(status.st_mode) & 0o7777,
      owner: (user: status.st_uid, group: status.st_gid))
  }

  /// What a path with symbolic links leads to; the path itself when there is nothing.
  private static func resolved(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  /// Gives a draft to an owner and group. A user other than root can only keep the group, as one of its members.
  static func give(
    _ descriptor: Int32, _ owner: (user: uid_t, group: gid_t), _ draft: String
  ) throws(SystemError) {
    if fchown(descriptor, owner.user, owner.group) == 0 { return }
    guard fchown(descriptor, uid_t.max, owner.group) == 0 else {
      throw .last("cannot give \(draft) to group \(owner.group)")
    }
  }
}
