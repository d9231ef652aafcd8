// SPDX-License-Identifier: Apache-2.0
import Settings
import Testing

@testable import ServiceKit

@Suite struct ProcessEnvironmentTests {
  @Test func `variables are names and values, whatever bytes these have`() throws {
    // The second value begins with a mark that combines with the sign before it.
    let text = "HOME=/\0MARTLET_REASON=\u{301}a=b\0MARTLET_EMPTY=\0NONE\0"
    let found = try ProcessEnvironment.variables(Array(text.utf8))
    #expect(
      found == ["HOME": "/", "MARTLET_REASON": "\u{301}a=b", "MARTLET_EMPTY": ""])
  }

  @Test func `a setting that is not UTF-8 text is refused with its name, and no other variable`()
    throws
  {
    let latin: [UInt8] = [0x67, 0xFC]
    let error = #expect(throws: SettingErrors.self) {
      _ = try ProcessEnvironment.variables(Array("MARTLET_KAFKA_SASL_PASSWORD=".utf8) + latin)
    }
    #expect(error?.description == "environment MARTLET_KAFKA_SASL_PASSWORD: is not UTF-8 text")
    #expect(try ProcessEnvironment.variables(Array("NAME=".utf8) + latin).count == 1)
  }
}
