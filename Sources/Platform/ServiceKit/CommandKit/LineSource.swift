// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// Reads a file or standard input line by line in bounded memory.
public final class LineSource {
  /// Longer lines are cut to this and said to be too long: more than any Kafka record holds.
  public static let longestLine = 4 << 20

  /// The size of the file; nil for a stream.
  public let totalBytes: Int?
  /// Bytes of the lines that `next` has given so far.
  public private(set) var readBytes = 0
  /// The part of the file that was read, 0…1; nil for a stream.
  public var fraction: Double? {
    totalBytes.map { $0 == 0 ? 1 : Double(readBytes) / Double($0) }
  }

  /// True if the last bytes that `next` gave are only a part of a line that is too long.
  public private(set) var isCut = false

  /// The first bytes of a gzip file; no text begins with them.
  private static let gzip: [UInt8] = [0x1F, 0x8B]
  private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
  private let descriptor: Int32
  private var buffer = ByteBuffer(capacity: 1 << 18)
  private var consumed = 0
  private var isAtEnd = false
  private let isStopping: () -> Bool

  /// Throws when the file cannot be read.
  ///
  /// - Parameter isStopping: whether nothing more is wanted: then what somebody has yet to type is not waited for.
  public init(_ path: String, isStopping: @escaping () -> Bool = { false }) throws(ServiceFailure) {
    self.isStopping = isStopping
    if path == "-" {
      descriptor = STDIN_FILENO
    } else {
      descriptor = open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else {
        throw ServiceFailure("cannot read \(path): \(SystemError.meaning(of: errno))")
      }
    }
    var status = stat()
    let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    totalBytes = isFile ? Int(status.st_size) : nil
  }

  deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

  /// The next line without its end (`\n` or `\r\n`), the first without a byte order mark; nil at the end of the file.
  /// Valid until the next call. Throws when reading fails.
  public func next() throws(ServiceFailure) -> UnsafeRawBufferPointer? {
    buffer.removeFirst(consumed)
    consumed = 0
    isCut = false
    var searched = 0
    while true {
      let bytes = buffer.bytes
      if let found = memchr(bytes.baseAddress! + searched, 10, bytes.count - searched) {
        let length = UnsafeRawPointer(found) - bytes.baseAddress!
        return consume(length, length + 1)
      }
      if isAtEnd { return bytes.isEmpty ? nil : consume(bytes.count, bytes.count) }
      searched = bytes.count
      if searched > Self.longestLine {
        isCut = true
        return consume(searched, searched)
      }
      guard try fill() else { return nil }
    }
  }

  private func consume(_ length: Int, _ used: Int) -> UnsafeRawBufferPointer {
    let bytes = buffer.bytes
    // Editors of Windows begin a file with a byte order mark, which nobody sees.
    let start = readBytes == 0 && bytes.starts(with: Self.byteOrderMark) ? 3 : 0
    let end = length > 0 && bytes[length - 1] == 13 ? length - 1 : length
    consumed = used
    readBytes += used
    return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// Until a stream has something, or its end; false if nothing more is wanted before.
  private func waitForInput() -> Bool {
    var input = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while !isStopping() {
      if poll(&input, 1, 100) != 0 { return true }
    }
    return false
  }

  /// Reads more; false if nothing more is wanted.
  private func fill() throws(ServiceFailure) -> Bool {
    guard totalBytes != nil || waitForInput() else { return false }
    let piece = 1 << 18
    let count = withUnsafeTemporaryAllocation(byteCount: piece, alignment: 16) { space in
      var count = read(descriptor, space.baseAddress, piece)
      while count < 0 && errno == EINTR { count = read(descriptor, space.baseAddress, piece) }
      if count > 0 { buffer.append(UnsafeRawBufferPointer(rebasing: space[..<count])) }
      return count
    }
    guard count >= 0 else {
      throw ServiceFailure("cannot read the input: \(SystemError.meaning(of: errno))")
    }
    isAtEnd = count == 0
    if readBytes == 0, buffer.bytes.starts(with: Self.gzip) {
      throw ServiceFailure("the input is compressed: give what zcat makes of it")
    }
    return true
  }
}
