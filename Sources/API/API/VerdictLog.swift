// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Glibc
import HTTPServer

/// The verdicts on the items of one body, in their order: in memory, and beyond a bound in a file without a name.
///
/// A verdict is written when its item has been handed to Kafka, with the status 503; when Kafka has acknowledged the
/// item, three digits become 202. So nothing has to be kept for each item meanwhile.
struct VerdictLog: ~Copyable {
  /// The most bytes that are kept in memory.
  static let bound = 1 << 20

  private var memory = ByteBuffer(capacity: 1_024)
  /// The bytes in the file, before those in memory.
  private var spilled = 0
  private var file: Int32 = -1

  /// The bytes of all verdicts.
  var count: Int { spilled + memory.count }

  /// Bytes of memory that it takes.
  var reservedBytes: Int { memory.reservedBytes }

  /// Bytes of its file, also of one that `takeBody` has passed on.
  var storedBytes: Int { spilled }

  deinit { if file >= 0 { close(file) } }

  mutating func append(_ text: StaticString) { memory.append(text) }
  mutating func append(_ byte: UInt8) { memory.append(byte) }
  mutating func append(_ bytes: UnsafeRawBufferPointer) { memory.append(bytes) }
  mutating func append(_ id: NotificationID) { memory.append("\(id)") }

  /// Writes three digits over those at `offset`.
  mutating func setStatus(at offset: Int, _ status: StaticString) {
    let digits = UnsafeRawBufferPointer(start: status.utf8Start, count: 3)
    if offset >= spilled {
      memory.mutableBytes(at: offset - spilled, count: 3).copyMemory(from: digits)
    } else {
      _ = pwrite(file, digits.baseAddress, 3, off_t(offset))
    }
  }

  /// Moves what is in memory to the file if it is too much. Throws when there is no room for it.
  mutating func spillIfLong() throws(SystemError) {
    guard memory.count > Self.bound else { return }
    try spill()
  }

  private mutating func spill() throws(SystemError) {
    if file < 0 { file = try Self.nameless() }
    while !memory.isEmpty {
      let written = write(file, memory.bytes.baseAddress, memory.count)
      guard written > 0 else { throw .last("cannot write a temporary file") }
      memory.removeFirst(written)
      spilled += written
    }
  }

  /// An unlinked file: no other process sees it, and it is gone with its descriptor.
  private static func nameless() throws(SystemError) -> Int32 {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var path = Array("\(folder)/martlet-api-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { throw .last("cannot create a temporary file in \(folder)") }
    unlink(path)
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    return file
  }

  /// All verdicts as an answer's body. Nothing can be appended afterwards.
  mutating func takeBody() throws(SystemError) -> HTTPResponse.Body {
    guard file >= 0 else { return .bytes(Array(memory.bytes)) }
    try spill()
    defer { file = -1 }
    return .file(descriptor: file, count: spilled)
  }
}
