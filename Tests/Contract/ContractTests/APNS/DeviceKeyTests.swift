// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct DeviceKeyTests {
  @Test func `a key has its parts, and only an app may hold colons`() throws {
    let key = try #require(DeviceKey("00ff:com.example:app:sandbox"))
    #expect(key.token == "00ff" && key.app == "com.example:app" && key.environment == .sandbox)
    #expect(key == DeviceKey(token: "00ff", app: "com.example:app", environment: .sandbox))
    #expect(key.description == "00ff:com.example:app:sandbox")
    #expect(key.bytes == Array(key.description.utf8))
    #expect(DeviceKey(key: key.bytes) == key)
    let named = DeviceKey(token: "ab", app: "ünï", environment: .production)
    #expect(DeviceKey(key: named.bytes)?.app == "ünï")
  }

  @Test(arguments: [
    "", ":", "::", "a::production", ":b:production", "a:production", "a:b:other", "a:b:", "a:b",
    "a", "production", ":production",
  ])
  func `what is no key`(text: String) { #expect(DeviceKey(text) == nil) }

  @Test func `bytes that are no UTF-8 are no key`() {
    #expect(DeviceKey(key: [0x61, 0x3A, 0xFF] + Array(":sandbox".utf8)) == nil)
  }

  @Test func `keys of one app, whatever their tokens`() {
    func key(_ token: String, _ app: String, _ environment: Environment = .sandbox) -> DeviceKey {
      DeviceKey(token: token, app: app, environment: environment)
    }
    #expect(key("aa", "b").isOfSameApp(as: key("00ff", "b")))
    #expect(!key("aa", "b").isOfSameApp(as: key("aa", "c")))
    #expect(!key("aa", "b").isOfSameApp(as: key("aa", "bb")))
    #expect(!key("aa", "b").isOfSameApp(as: key("aa", "b", .production)))
    #expect(key("a", "x") != key("a:x", ""))
    #expect(Set(["", "a", "0011223344556677889900"].map { key($0, "b") }).count == 3)
  }
}
