// SPDX-License-Identifier: Apache-2.0

/// A header block that comes in several frames (RFC 9113 §4.3, §6.10).
struct HeaderBlock {
  /// The stream whose block is open; nil: none.
  private(set) var stream: UInt32?
  private(set) var isEnd = false
  /// The fragments so far.
  var bytes: [UInt8] = []
  private var continuations = 0

  /// A block of more frames or bytes is an attack, or of no use.
  static let mostContinuations = 16
  static let mostBytes = 64 * 1_024

  mutating func begin(_ stream: UInt32, isEnd: Bool, _ fragment: Span<UInt8>) {
    self.stream = stream
    self.isEnd = isEnd
    continuations = 0
    bytes.removeAll(keepingCapacity: true)
    bytes.append(copying: fragment)
  }

  mutating func append(_ fragment: Span<UInt8>) throws(ConnectionError) {
    continuations += 1
    guard continuations <= Self.mostContinuations, bytes.count + fragment.count <= Self.mostBytes
    else { throw ConnectionError(.enhanceYourCalm, "a header block without an end") }
    bytes.append(copying: fragment)
  }

  mutating func end() { stream = nil }
}
