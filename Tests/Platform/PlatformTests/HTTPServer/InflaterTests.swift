// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTPServer
import Testing

/// `{}` and a newline.
private let packed: [UInt8] = [
  31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 174, 229, 2, 0, 6, 176, 161, 221, 3, 0, 0, 0,
]

@Suite struct InflaterTests {
  /// Unpacks the next piece; nil when it is refused.
  private func unpack(_ inflater: Inflater) -> [UInt8]? {
    var output = ByteBuffer()
    let isRight = inflater.unpack(into: &output)
    return isRight ? Array(output.bytes) : nil
  }

  @Test func `what comes behind the end is refused, in whichever piece it comes`() {
    for more in [packed, [0]] {
      let (together, apart) = (Inflater(), Inflater())
      (packed + more).withUnsafeBytes { together.append($0) }
      #expect(together.hasMore)
      #expect(unpack(together) == nil)
      packed.withUnsafeBytes { apart.append($0) }
      #expect(unpack(apart) == Array("{}\n".utf8))
      #expect(apart.isComplete && !apart.hasMore)
      more.withUnsafeBytes { apart.append($0) }
      #expect(apart.hasMore, "it would be kept unseen, without a bound")
      #expect(unpack(apart) == nil)
    }
  }

  @Test func `a body that comes byte by byte has nothing left at its end`() {
    let inflater = Inflater()
    var found: [UInt8] = []
    for byte in packed {
      [byte].withUnsafeBytes { inflater.append($0) }
      found += unpack(inflater) ?? [0]
    }
    #expect(found == Array("{}\n".utf8))
    #expect(inflater.isComplete && !inflater.hasMore)
  }
}
