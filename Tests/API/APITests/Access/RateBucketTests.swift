// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import Testing

@Suite struct RateBucketTests {
  @Test func `a second's worth is there at once, then the rate decides`() {
    var bucket = RateBucket(rate: 10, now: 0)
    for _ in 0..<10 {
      #expect(bucket.wait(now: 0) == 0)
      bucket.take(1, now: 0)
    }
    #expect(bucket.wait(now: 0) == 1)
    #expect(bucket.wait(now: 1) == 0)
    bucket.take(1, now: 1)
    #expect(bucket.wait(now: 1) > 0)
    #expect(bucket.wait(now: 101) == 0)
  }

  @Test func `a debt is paid before anything else`() {
    var bucket = RateBucket(rate: 1_000, now: 5)
    bucket.take(11_000, now: 5)
    #expect(bucket.wait(now: 5) == 10_001)
    #expect(bucket.wait(now: 10_005) == 1)
    #expect(bucket.wait(now: 10_006) == 0)
  }

  @Test func `a bucket never holds more than a second, and time that goes back changes nothing`() {
    var bucket = RateBucket(rate: 5, now: 1_000_000)
    #expect(bucket.wait(now: .max) == 0)
    for _ in 0..<5 { bucket.take(1, now: .max) }
    #expect(bucket.wait(now: .max) > 0)
    #expect(bucket.wait(now: 3) > 0)
  }
}

@Suite struct APIKeyTests {
  private func key(_ name: ExactText, _ byte: UInt8, apps: Set<ExactText> = []) -> APIKey {
    APIKey(
      name: name, digest: Array(repeating: byte, count: 32), apps: apps, readable: ["a"], rate: nil,
      maxBody: nil)
  }

  @Test func `a key is found by its whole digest alone`() {
    let table = APIKeyTable([key("one", 1), key("two", 2)])
    #expect(table.index(ofDigest: Array(repeating: 2, count: 32).span) == 1)
    for place in 0..<32 {
      var other = Array(repeating: UInt8(1), count: 32)
      other[place] = 3
      #expect(table.index(ofDigest: other.span) == nil)
    }
    #expect(table.index(ofDigest: [UInt8](repeating: 1, count: 31).span) == nil)
    #expect(APIKeyTable([]).index(ofDigest: [UInt8](repeating: 0, count: 32).span) == nil)
  }

  @Test func `a key allows its apps`() {
    #expect(key("k", 1, apps: ["a.b"]).maySend(for: "a.b"))
    #expect(!key("k", 1, apps: ["a.b"]).maySend(for: "a.c"))
    #expect(key("k", 1, apps: ["*"]).maySend(for: "a.c"))
    #expect(!key("k", 1).maySend(for: "*"))
    #expect(key("k", 1).mayRead("a"))
    #expect(!key("k", 1).mayRead("b"))
  }
}
