// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct LibrdkafkaVersionsTests {
  @Test(arguments: [
    (LibraryVersion(2, 1, 0), "2.1.1"), (LibraryVersion(2, 5, 0), "2.5.3"),
    (LibraryVersion(2, 10, 0), "2.10.1"),
  ])
  func `a version that cannot be worked with is refused with the reason and the remedy`(
    version: LibraryVersion, mended: String
  ) throws {
    let refusal = try #require(version.refusalAsLibrdkafka)
    #expect(refusal.hasPrefix("librdkafka \(version) is refused: "))
    #expect(refusal.hasSuffix("; install \(mended) or newer"))
  }

  /// Their neighbours, and what distributions have: Debian 12, Ubuntu 24.04, Debian 13, sid, the newest.
  @Test(arguments: [
    LibraryVersion(2, 0, 2), LibraryVersion(2, 1, 1), LibraryVersion(2, 3, 0),
    LibraryVersion(2, 4, 0), LibraryVersion(2, 5, 3), LibraryVersion(2, 8, 0),
    LibraryVersion(2, 10, 1), LibraryVersion(2, 14, 2), LibraryVersion(2, 16, 1),
    LibraryVersion(3, 0, 0),
  ])
  func `every other version is taken`(version: LibraryVersion) {
    #expect(version.refusalAsLibrdkafka == nil)
  }
}
