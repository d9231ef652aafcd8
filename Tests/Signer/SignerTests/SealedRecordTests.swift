// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import ServiceKit
import TestSupport
import Testing

/// Sealed provider tokens that earlier versions left on the topic, from Tests/Fixtures/Records.
@Suite struct SealedRecordTests {
  @Test func `a sealed token of every version is opened with its key`() throws {
    let fixture = try SignerFixture()
    let (_, seal) = try fixture.seal(String(repeating: "07", count: 32))
    var count = 0
    for version in ["0.1.0"] {
      let text = try File.read(Repository.path("Tests/Fixtures/Records/\(version).jsonl"))
      for line in text.split(separator: UInt8(ascii: "\n")) {
        let record = try JSONDocument(Array(line)).root
        guard record["name"]?.string == "a sealed token" else { continue }
        count += 1
        let read = try Array((record["value"]?.string ?? "").utf8).withUnsafeBytes {
          try ProviderTokenRecord($0, parser: JSONParser())
        }
        #expect(try seal.opened(read).token == "a.b-_c.d")
      }
    }
    #expect(count == 1)
  }
}
