// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// The sockets on which a process accepts connections, from proc(5).
enum ListeningSockets {
  /// The ports of a process's listening IPv4 sockets.
  static func ports(of pid: Int32) -> [UInt16] {
    guard let table = try? File.text("/proc/\(pid)/net/tcp") else { return [] }
    let own = inodes(of: pid)
    var ports: [UInt16] = []
    // The first line is a header; 0A is LISTEN; the table contains every process's sockets.
    for line in table.split(separator: "\n").dropFirst() {
      let fields = line.split(separator: " ")
      guard fields.count > 9, fields[3] == "0A", own.contains(String(fields[9])),
        let colon = fields[1].firstIndex(of: ":"),
        let port = UInt16(fields[1][fields[1].index(after: colon)...], radix: 16)
      else { continue }
      ports.append(port)
    }
    return ports
  }

  /// The inode numbers of a process's open sockets: descriptors are links to `socket:[12345]`.
  private static func inodes(of pid: Int32) -> Set<String> {
    let path = "/proc/\(pid)/fd"
    var found: Set<String> = []
    for name in File.names(in: path) {
      var target = [UInt8](repeating: 0, count: 64)
      let count = target.withUnsafeMutableBytes {
        readlink("\(path)/\(name)", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
      }
      let text = String(decoding: target.prefix(max(0, count)), as: UTF8.self)
      if text.hasPrefix("socket:[") { found.insert(String(text.dropFirst(8).dropLast())) }
    }
    return found
  }
}
