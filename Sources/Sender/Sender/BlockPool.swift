// SPDX-License-Identifier: Apache-2.0

/// Memory for the bytes of pushes in flight, in three sizes, reused and never given back to the heap.
///
/// A push copies its record out of Kafka's fetch buffer once (a few hundred bytes, some 20 ns). Holding the
/// record instead would pin the whole fetch buffer of up to a mebibyte for as long as one slow stream hangs.
/// Owner: one sender loop.
struct BlockPool: ~Copyable {
  /// Block sizes in bytes. The largest fits the longest path, envelope and body plus a response.
  static let sizes = (small: 1_024, medium: 2_560, large: 9_216)

  private var small: [UnsafeMutablePointer<UInt8>] = []
  private var medium: [UnsafeMutablePointer<UInt8>] = []
  private var large: [UnsafeMutablePointer<UInt8>] = []

  /// The smallest block size that holds `count` bytes. A checked record always fits the largest: path prefix
  /// 10, token 512, line and newline 2,049, body 5,120, response 256.
  static func size(fitting count: Int) -> Int {
    precondition(count <= sizes.large, "a push larger than any checked record")
    if count <= sizes.small { return sizes.small }
    return count <= sizes.medium ? sizes.medium : sizes.large
  }

  /// Takes a block of `size` bytes, one of `sizes`.
  mutating func take(_ size: Int) -> UnsafeMutablePointer<UInt8> {
    let reused: UnsafeMutablePointer<UInt8>?
    switch size {
    case Self.sizes.small: reused = small.popLast()
    case Self.sizes.medium: reused = medium.popLast()
    default: reused = large.popLast()
    }
    return reused ?? .allocate(capacity: size)
  }

  /// Puts a block back that `take` gave out with this size.
  mutating func put(_ block: UnsafeMutablePointer<UInt8>, _ size: Int) {
    switch size {
    case Self.sizes.small: small.append(block)
    case Self.sizes.medium: medium.append(block)
    default: large.append(block)
    }
  }

  deinit {
    for block in small { block.deallocate() }
    for block in medium { block.deallocate() }
    for block in large { block.deallocate() }
  }
}
