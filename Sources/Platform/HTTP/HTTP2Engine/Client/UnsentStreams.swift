// SPDX-License-Identifier: Apache-2.0

/// Knows which streams' first frames have left: a TLS record that the socket has not taken as a whole cannot be read by
/// anybody, so the peer has not seen the requests that begin in it. One that begins in a record and ends in a later one
/// counts for the first: the peer may have read a part of it.
public struct UnsentStreams {
  private struct Record {
    /// The end of the record among all bytes for the socket.
    let end: UInt64
    /// The first stream that begins behind it.
    let next: UInt32
  }

  /// Records that the socket has not taken as a whole, oldest first.
  private var records: [Record] = []
  /// The first stream that has not left; all later ones have not, either.
  public private(set) var first: UInt32 = 1

  public init() {}

  /// A record that ends at `end` waits for the socket; streams from `next` on begin behind it.
  public mutating func encrypted(upTo end: UInt64, next: UInt32) {
    records.append(Record(end: end, next: next))
  }

  /// The socket has taken so many bytes of all.
  public mutating func sent(_ count: UInt64) {
    let taken = records.prefix { $0.end <= count }
    guard let last = taken.last else { return }
    first = last.next
    records.removeFirst(taken.count)
  }
}
