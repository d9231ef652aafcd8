// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// Whole files, read and written at once: settings, keys, credentials, small outputs.
public enum File {
  /// The content of a file, at most `limit` bytes (64 MiB unless told).
  ///
  /// A pipe is read as long as somebody writes to it. One that nobody writes to within five seconds is an error: it does
  /// not hold the process.
  ///
  /// Throws what the system says and what to do; a file above the limit is `EFBIG`.
  public static func read(_ path: String, limit: Int = 64 << 20) throws(SystemError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw unusable(path, "open") }
    defer { close(descriptor) }
    var content: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    // A read of a pipe that nobody has opened yet would find its end.
    try awaitData(descriptor, path)
    while true {
      let got = Glibc.read(descriptor, &piece, piece.count)
      if got < 0 && errno == EINTR { continue }
      if got < 0 && errno == EAGAIN {
        try awaitData(descriptor, path)
        continue
      }
      guard got >= 0 else { throw unusable(path, "read") }
      if got == 0 { return content }
      content.append(contentsOf: piece[..<got])
      guard content.count <= limit else {
        throw SystemError(
          code: EFBIG, attempt: "cannot read \(path)",
          remedy: "at most \(limit >> 10) KiB are expected; name the right file")
      }
    }
  }

  /// The same as text.
  public static func text(_ path: String, limit: Int = 64 << 20) throws(SystemError) -> String {
    String(decoding: try read(path, limit: limit), as: UTF8.self)
  }

  /// The error of the system call that just failed for the file at `path`.
  static func unusable(_ path: String, _ verb: String) -> SystemError {
    let code = errno
    let remedy: String? =
      switch code {
      case ENOENT, ENOTDIR: "correct the path, or put the file there"
      case EACCES: "let user \(geteuid()) read it and enter the folders above it"
      case EISDIR: "name a file in it"
      default: nil
      }
    return SystemError(code: code, attempt: "cannot \(verb) \(path)", remedy: remedy)
  }

  private static func awaitData(_ descriptor: Int32, _ path: String) throws(SystemError) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, pipeMilliseconds) != 0 else {
      throw SystemError(
        code: ETIMEDOUT, attempt: "cannot read \(path), a pipe or terminal",
        remedy: "write to it before the program starts, or name a file")
    }
  }

  /// The longest wait for data of a pipe.
  private static let pipeMilliseconds: Int32 = 5_000

  /// The path with which a process in any folder finds what this one finds at `path`.
  public static func absolute(_ path: String) -> String {
    guard path.utf8.first != UInt8(ascii: "/"), let folder = getcwd(nil, 0) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + path
  }

  /// Replaces the file at `path` as a whole: a reader sees the old content or the new, never a part.
  public static func write(
    _ path: String, _ bytes: [UInt8], mode: UInt32 = 0o600
  ) throws(SystemError) {
    try write(path, bytes, mode: mode, owner: nil)
  }

  /// - Parameter owner: of the new file; nil: this process's.
  static func write(
    _ path: String, _ bytes: [UInt8], mode: UInt32, owner: (user: uid_t, group: gid_t)?
  ) throws(SystemError) {
    // A name that nobody can guess and prepare, and the owner's alone until it is whole (mkstemp(3)).
    var template = Array("\(path).XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw .last("cannot create a draft beside \(path)") }
    let draft = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    do throws(SystemError) {
      try writeAll(descriptor, bytes, draft)
      if let owner { try give(descriptor, owner, draft) }
      // The process's umask does not decide over a mode that was asked for.
      guard fchmod(descriptor, mode_t(mode)) == 0 else { throw .last("cannot chmod \(draft)") }
      guard rename(draft, path) == 0 else { throw .last("cannot replace \(path)") }
      close(descriptor)
    } catch {
      close(descriptor)
      unlink(draft)
      throw error
    }
  }

  private static func writeAll(
    _ descriptor: Int32, _ bytes: [UInt8], _ path: String
  ) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let count = bytes[written...].withUnsafeBytes {
        Glibc.write(descriptor, $0.baseAddress, $0.count)
      }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw .last("cannot write \(path)") }
      written += count
    }
  }

  /// Tells one state of a file from another: replaced, rewritten or touched, it is a different one.
  public struct Version: Sendable, Equatable {
    private let device: UInt
    private let inode: UInt
    private let size: Int
    private let seconds: Int
    private let nanoseconds: Int

    fileprivate init(_ status: stat) {
      device = UInt(status.st_dev)
      inode = UInt(status.st_ino)
      size = Int(status.st_size)
      seconds = status.st_mtim.tv_sec
      nanoseconds = status.st_mtim.tv_nsec
    }
  }

  /// The state of a file now; nil when there is none. A symbolic link's is that of what it points to.
  public static func version(_ path: String) -> Version? {
    var status = stat()
    return stat(path, &status) == 0 ? Version(status) : nil
  }

  /// The file's size in bytes; nil when there is none.
  public static func size(_ path: String) -> Int? {
    var status = stat()
    return stat(path, &status) == 0 ? Int(status.st_size) : nil
  }

  public static func exists(_ path: String) -> Bool {
    access(path, F_OK) == 0
  }

  /// Makes a folder; one that is there already is no error.
  public static func makeFolder(_ path: String, mode: UInt32 = 0o700) throws(SystemError) {
    if mkdir(path, mode_t(mode)) != 0 && errno != EEXIST {
      throw .last("cannot make the folder \(path)")
    }
  }

  /// Removes a file; one that is not there is no error.
  public static func remove(_ path: String) throws(SystemError) {
    if unlink(path) != 0 && errno != ENOENT { throw .last("cannot remove \(path)") }
  }

  /// The names of what is in a folder, in no order; none when it cannot be read.
  public static func names(in folder: String) -> [String] {
    guard let handle = opendir(folder) else { return [] }
    defer { closedir(handle) }
    var names: [String] = []
    while let entry = readdir(handle) {
      // In place: an entry is shorter than its type.
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != "." && name != ".." { names.append(name) }
    }
    return names
  }

  /// Removes a folder and its contents; links are removed, not followed. What cannot be removed is left.
  public static func removeTree(_ path: String) {
    guard unlink(path) != 0, errno == EISDIR else { return }
    for name in names(in: path) { removeTree("\(path)/\(name)") }
    rmdir(path)
  }
}
