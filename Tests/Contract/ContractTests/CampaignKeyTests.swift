// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// What tells campaigns apart.
@Suite struct CampaignKeyTests {
  @Test func `a key is read back, and names one campaign of one app and environment`() throws {
    let key = try #require(
      CampaignKey(name: "a.b-c_1", app: "com.example.app", environment: .sandbox))
    #expect("\(key)" == "campaign:a.b-c_1:com.example.app:sandbox")
    #expect(CampaignKey("\(key)") == key && key.requestID == "campaign:a.b-c_1")
    #expect("\(key)".hasPrefix(CampaignKey.prefix(ofName: "a.b-c_1")))
    #expect(CampaignKey(name: "a.b-c_1", app: "com.example.app", environment: .production) != key)
    #expect(CampaignKey(name: "a.b-c_1", app: "com.example.apps", environment: .sandbox) != key)
  }

  @Test(arguments: [
    "", "campaign:", "campaign:sale", "campaign:sale:a.b", "campaign:sale:a.b:live",
    "campaign::a.b:production", "campaign:sale::production", "campaign:sale:a b:production",
    "campaign:sale:a.b:production:x", "campaigns:sale:a.b:production", "a.b:production:campaign:x",
    // That of a scheduled request of an app `campaign`.
    "campaign:production:a.b:production", "campaign:s\u{E9}:a.b:production",
  ])
  func `other keys are none`(_ key: String) { #expect(CampaignKey(key) == nil) }

  @Test func `names have a form`() {
    for name in [
      "", "a b", "a:b", "production", "sandbox", "\u{E9}", String(repeating: "a", count: 65),
    ] {
      #expect(!CampaignKey.isName(name))
    }
    #expect(CampaignKey.isName(String(repeating: "a", count: 64)))
  }
}
