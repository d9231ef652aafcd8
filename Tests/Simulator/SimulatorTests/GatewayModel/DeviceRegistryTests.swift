// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import Testing

@Suite struct DeviceRegistryTests {
  private func token(_ number: Int) -> DeclaredToken {
    DeclaredToken(token: "device\(number)", state: .active)
  }

  private func state(_ number: Int, in devices: DeviceRegistry) -> DeclaredToken.State? {
    let digits = token(number).token
    return devices.find(digits.span)?.state
  }

  @Test func `a token is found as it was declared last`() {
    var devices = DeviceRegistry()
    for number in 0..<2_000 { devices.declare(token(number)) }
    #expect(devices.count == 2_000)
    devices.declare(token(7).with(.offline))
    #expect(devices.count == 2_000)
    #expect(state(7, in: devices) == .offline)
    var active = 0
    for number in 0..<2_000 where state(number, in: devices) == .active { active += 1 }
    #expect(active == 1_999)
    #expect(state(2_000, in: devices) == nil)
  }

  @Test(.timeLimit(.minutes(1)))
  func `a change while a loop has a copy does not take the time of all devices`() {
    var devices = DeviceRegistry()
    for number in 0..<200_000 { devices.declare(token(number)) }
    var copy = devices
    for number in 0..<20_000 {
      devices.declare(token(number).with(.offline))
      copy = devices
    }
    #expect(state(19_999, in: copy) == .offline)
    #expect(state(20_000, in: copy) == .active)
  }
}
