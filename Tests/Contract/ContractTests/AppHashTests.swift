// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct AppHashTests {
  private func hash(_ name: String) -> UInt64 { AppHash.of(Array(name.utf8).span) }

  @Test func `a name has one hash, and names that differ in a letter have others`() {
    #expect(hash("com.example.app") == hash("com.example.app"))
    let others = ["", "com.example.app1", "com.example.apq", "Com.example.app", "com.example.ap"]
    #expect(Set((others + ["com.example.app"]).map(hash)).count == others.count + 1)
  }

  @Test func `names that count up spread over the low bits, by which tables place them`() {
    let places = Set((0..<4_096).map { hash("com.example.app\($0)") & 0x3FFF })
    #expect(places.count > 3_000)
  }
}
