// SPDX-License-Identifier: Apache-2.0

/// Names and addresses in the form of /etc/hosts (hosts(5)): an address, then its names; `#` begins a comment.
enum HostsFile {
  /// The addresses of a name, in the order of the file; none when the file does not name it. Lines that are not
  /// understood are passed over.
  static func addresses(
    of host: String, port: UInt16, in path: String
  ) throws(SystemError) -> [SocketAddress] {
    addresses(of: host, port: port, listed: try File.read(path, limit: 1 << 20))
  }

  /// The same in the file's content.
  static func addresses(of host: String, port: UInt16, listed content: [UInt8]) -> [SocketAddress] {
    let wanted = host.lowercased()
    var found: [SocketAddress] = []
    for line in content.split(separator: UInt8(ascii: "\n")) {
      let text = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
      let words = text.split { $0 == " " || $0 == "\t" || $0 == "\r" }
      guard let first = words.first,
        words.dropFirst().contains(where: { $0.lowercased() == wanted }),
        let address = SocketAddress(numeric: String(first), port: port), !found.contains(address)
      else { continue }
      found.append(address)
    }
    return found
  }
}
