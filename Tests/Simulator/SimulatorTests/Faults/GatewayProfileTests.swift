// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import Testing

/// The declarations of the profiles.
@Suite struct GatewayProfileTests {
  @Test func `every profile is found by its name, which stands once`() {
    let names = GatewayProfile.all.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names {
      #expect(GatewayProfile(name)?.name == name)
      #expect(name.allSatisfy { $0 == "-" || $0.isLowercase }, "\(name)")
    }
    #expect(GatewayProfile("slow-knight") == nil)
  }

  @Test func `every profile says what it does and catches, and does something`() {
    for profile in GatewayProfile.all {
      #expect(!profile.does.isEmpty && !profile.catches.isEmpty, "\(profile.name)")
      #expect(!profile.switches.isEmpty || !profile.rules.isEmpty, "\(profile.name)")
      // They are cells of a table.
      #expect(!(profile.does + profile.catches).contains { $0 == "|" || $0 == "\n" })
    }
  }
}
