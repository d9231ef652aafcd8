// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import HTTPServer

/// The verdicts on the items of one body, in order: in memory, and beyond a limit in an unnamed file.
///
/// A verdict is written with the status 503 when its item is handed to Kafka; once Kafka has acknowledged the item,
/// three digits become 202. So nothing has to be kept per item meanwhile.
struct VerdictLog: ~Copyable {
  /// The most bytes kept in memory.
  static let bound = 1 << 20

  private var memory = ByteBuffer(capacity: 1_024)
  /// The bytes in the file, which precede those in memory.
  private var spilled = 0
  private var file: Int32 = -1

  var count: Int { spilled + memory.count }

  var reservedBytes: Int { memory.reservedBytes }

  /// The bytes in its file, even after `takeBody` has handed that over.
  var storedBytes: Int { spilled }

  deinit { if file >= 0 { close(file) } }

  mutating func append(_ text: StaticString) { memory.append(text) }
  mutating func append(_ byte: UInt8) { memory.append(byte) }
  mutating func append(_ bytes: UnsafeRawBufferPointer) { memory.append(bytes) }
  mutating func append(_ id: NotificationID) { memory.append("\(id)") }

  /// Overwrites the three digits at `offset` with those of an accepted item.
  mutating func accept(at offset: Int) {
    let accepted: StaticString = "202"
    let digits = UnsafeRawBufferPointer(start: accepted.utf8Start, count: 3)
    if offset >= spilled {
      memory.mutableBytes(at: offset - spilled, count: 3).copyMemory(from: digits)
    } else {
      _ = pwrite(file, digits.baseAddress, 3, off_t(offset))
    }
  }

  /// Moves the bytes in memory to the file if there are too many. Throws when the disk has no room.
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

  /// Creates an unlinked file: invisible to other processes, and deleted with its descriptor.
  private static func nameless() throws(SystemError) -> Int32 {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var path = Array("\(folder)/martlet-api-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    guard file >= 0 else { throw .last("cannot create a temporary file in \(folder)") }
    unlink(path)
    _ = fcntl(file, F_SETFD, FD_CLOEXEC)
    return file
  }

  /// All verdicts as the body of an answer. Nothing can be appended afterwards.
  mutating func takeBody() throws(SystemError) -> HTTPResponse.Body {
    guard file >= 0 else { return .bytes(Array(memory.bytes)) }
    try spill()
    defer { file = -1 }
    return .file(descriptor: file, count: spilled)
  }
}
