// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing
import Waiting

@Suite struct ReleasedDevicesTests {
  private typealias News = ReleasedDevices.News

  private func changed(at time: Int64) -> News {
    .released(DeviceRelease(.ownerChanged, at: time), isGone: false)
  }

  private let removed = News.released(DeviceRelease(.removed, at: 10_000), isGone: true)

  @Test func `what was requested before the owner changed is not sent, what came later is`() {
    var devices = ReleasedDevices(capacity: 64)
    #expect(devices.isEmpty(now: 5) && devices.reason(7, created: 0, now: 5) == nil)
    devices.note(7, changed(at: 10_000), now: 5)
    #expect(!devices.isEmpty(now: 6))
    #expect(devices.reason(7, created: 9_999, now: 6) == .ownerChanged)
    #expect(devices.reason(7, created: 10_000, now: 6) == nil)
    #expect(devices.reason(8, created: 0, now: 6) == nil)
  }

  @Test func `to a removed device nothing is sent until it may be used again`() {
    var devices = ReleasedDevices(capacity: 64)
    devices.note(7, removed, now: 5)
    for created in [0, 10_000, 99_000] as [Int64] {
      #expect(devices.reason(7, created: created, now: 6) == .removed)
    }
    devices.note(7, .usable(from: 20_000), now: 7)
    #expect(devices.reason(7, created: 19_999, now: 8) == .removed)
    #expect(devices.reason(7, created: 20_000, now: 8) == nil)
    devices.note(7, .usable(from: 30_000), now: 9)
    #expect(devices.reason(7, created: 20_000, now: 9) == nil, "it was usable before")
    devices.note(7, removed, now: 10)
    devices.note(7, changed(at: 40_000), now: 11)
    #expect(devices.reason(7, created: 39_999, now: 12) == .ownerChanged)
    #expect(devices.reason(7, created: 40_000, now: 12) == nil)
  }

  @Test func `an older change does not take a newer one back`() {
    var devices = ReleasedDevices(capacity: 64)
    devices.note(7, changed(at: 30_000), now: 5)
    devices.note(7, changed(at: 20_000), now: 6)
    #expect(devices.reason(7, created: 29_000, now: 7) == .ownerChanged)
    devices.note(9, .usable(from: 1), now: 7)
    #expect(devices.reason(9, created: 0, now: 8) == nil)
  }

  @Test func `it is forgotten after a day`() {
    var devices = ReleasedDevices(capacity: 64)
    devices.note(7, removed, now: 5)
    #expect(devices.reason(7, created: 0, now: 4 + ReleasedDevices.memory) == .removed)
    #expect(devices.reason(7, created: 0, now: 5 + ReleasedDevices.memory) == nil)
    #expect(devices.isEmpty(now: 5 + ReleasedDevices.memory))
  }

  /// Whatever it forgets for want of room, it never ends what it was not told to.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `a full table says nothing that it was not told`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var devices = ReleasedDevices(capacity: 16)
    var before: [UInt64: Int64] = [:]
    for now in 1...2_000 as ClosedRange<UInt64> {
      let device = UInt64(random.below(60))
      let time = Int64(now) + 1_000
      switch random.below(3) {
      case 0:
        devices.note(device, changed(at: time), now: now)
        before[device] = time
      case 1:
        devices.note(device, .released(DeviceRelease(.removed, at: time), isGone: true), now: now)
        before[device] = .max
      default:
        devices.note(device, .usable(from: time), now: now)
        if before[device] == .max { before[device] = time }
      }
      let asked = UInt64(random.below(60))
      let created = Int64(random.below(4_000))
      if devices.reason(asked, created: created, now: now) != nil {
        #expect(created < before[asked] ?? .min, "seed \(seed), step \(now)")
      }
      // Of the one that was told last nothing is forgotten; what is known of it may be.
      if before[device] == .max {
        #expect(devices.reason(device, created: created, now: now) == .removed)
      }
    }
  }
}
