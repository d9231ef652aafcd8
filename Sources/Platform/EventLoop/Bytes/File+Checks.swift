// SPDX-License-Identifier: Apache-2.0

internal import Glibc

extension File {
  /// Throws when there is no file that this user may read. Does not open it.
  public static func checkReadable(_ path: String) throws(SystemError) {
    guard access(path, R_OK) == 0 else { throw .last("cannot read \(path)") }
    guard try !isFolder(path) else {
      throw SystemError(code: EISDIR, attempt: "cannot read \(path)")
    }
  }

  /// Throws when this user may neither write the file nor make it. Makes nothing.
  public static func checkWritable(_ path: String) throws(SystemError) {
    try check(path, W_OK, isFolder: false, "cannot write \(path)")
  }

  /// Throws when this user may neither write in the folder nor make it. Makes nothing.
  public static func checkFolder(_ path: String) throws(SystemError) {
    try check(path, W_OK | X_OK, isFolder: true, "cannot write in \(path)")
  }

  private static func check(
    _ path: String, _ mode: Int32, isFolder isWanted: Bool, _ problem: String
  ) throws(SystemError) {
    guard exists(path) else {
      guard access(parent(of: path), W_OK | X_OK) == 0 else { throw .last("cannot make \(path)") }
      return
    }
    // First: nobody, not even root, may search what is no folder.
    guard try isFolder(path) == isWanted else {
      throw SystemError(code: isWanted ? ENOTDIR : EISDIR, attempt: problem)
    }
    guard access(path, mode) == 0 else { throw .last(problem) }
  }

  private static func isFolder(_ path: String) throws(SystemError) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { throw .last("cannot look at \(path)") }
    return status.st_mode & S_IFMT == S_IFDIR
  }

  static func parent(of path: String) -> String {
    var rest = path[...]
    while rest.count > 1, rest.last == "/" { rest = rest.dropLast() }
    guard let slash = rest.lastIndex(of: "/") else { return "." }
    return slash == rest.startIndex ? "/" : String(rest[..<slash])
  }
}
