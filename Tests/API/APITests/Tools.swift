// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

enum Files {
  static func replace(_ path: String, _ text: String) throws {
    try File.write(path + ".new", Array(text.utf8))
    guard rename(path + ".new", path) == 0 else { throw SystemError.last("cannot rename") }
  }
}

/// Deflate's stored blocks, or for one repeated byte runs of 258: enough to make a small body of a large one.
func gzip(_ bytes: [UInt8]) -> [UInt8] {
  let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
  var path = Array("\(folder)/gzip-XXXXXX".utf8CString)
  let descriptor = mkstemp(&path)
  defer { close(descriptor) }
  let name = String(decoding: path.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  _ = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  guard system("gzip -nf \(name)") == 0 else { return [] }
  defer { unlink(name + ".gz") }
  return (try? File.read(name + ".gz")) ?? []
}
