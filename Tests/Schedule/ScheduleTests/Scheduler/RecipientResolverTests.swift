// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import ServiceKit
import Store
import TestSupport
import Testing

@testable import Scheduler

/// Which requests to users wait, and that each does once.
@Suite struct RecipientResolverTests {
  private let folder = TemporaryFolder()
  private let devices: TokenStore

  init() throws {
    devices = try TokenStore(folder.file("devices.db"), now: 1)
    try devices.setComplete(at: 1)
  }

  private func resolver() throws -> RecipientResolver {
    RecipientResolver(
      folder.file("devices.db"), onePerModel: [], try .test(), Counters<SchedulerMetrics>())
  }

  private func start(_ slot: Int, in resolver: inout RecipientResolver) {
    let json = #"{"app":"a.b","id":"\#(slot)","user":"ann","payload":{"aps":{}}}"#
    resolver.add(
      slot, ScheduleKey(app: "a.b", environment: .production, id: "\(slot)"),
      Recipients(
        type: "liveactivity", users: ["ann"], activity: .init(name: "order", event: .start)),
      ScheduledRequest(due: 1, accepted: 1, requeuedAt: nil), Array(json.utf8))
  }

  @Test func `a start waits for a device once though the database fails in the middle`() throws {
    var resolver = try resolver()
    start(1, in: &resolver)
    start(2, in: &resolver)
    let nowhere = folder.file("none/schedule.db")
    var questions = 0
    let first = resolver.look(now: 0, areStatesKnown: true) {
      _ throws(StoreError) -> ActivityState? in
      questions += 1
      if questions == 2 { _ = try TokenStore(nowhere, now: 1) }
      return nil
    }
    #expect(first.isEmpty && questions == 2)
    let second = resolver.look(now: 1_000, areStatesKnown: true) {
      _ throws(StoreError) -> ActivityState? in nil
    }
    #expect(second.isEmpty)
    #expect(resolver.removeAll().sorted() == [1, 2])
  }

  /// One that does not answer costs the turn its deadline once.
  @Test func `a database that has failed is not asked again in the same turn`() throws {
    let path = folder.file("later.db")
    var resolver = RecipientResolver(
      path, onePerModel: [], try .test(), Counters<SchedulerMetrics>())
    start(1, in: &resolver)
    let nothing = resolver.look(now: 1_000, areStatesKnown: true) {
      _ throws(StoreError) -> ActivityState? in nil
    }
    #expect(nothing.isEmpty)
    // It appears in the middle of the turn.
    let store = try TokenStore(path, now: 1)
    let device = DeviceKey(token: "ab", app: "a.b", environment: .production)
    let details = DeviceDetails(pushType: "liveactivity", user: "ann", activity: "order")
    try store.put(device, DeviceState(presence: .registered(at: 5_000), details: details))
    try store.setComplete(at: 1)
    #expect(resolver.newTokens(now: 1_000, wall: 6_000).isEmpty)
    #expect(resolver.newTokens(now: 2_000, wall: 6_000).map(\.token.device) == [device])
  }

  @Test func `a request about an activity waits until the database has its last state`() throws {
    var resolver = try resolver()
    start(1, in: &resolver)
    resolver.add(
      2, ScheduleKey(app: "a.b", environment: .production, id: "2"),
      Recipients(type: "alert", users: ["ann"]),
      ScheduledRequest(due: 1, accepted: 1, requeuedAt: nil), Array("{}".utf8))
    var questions = 0
    let first = resolver.look(now: 0, areStatesKnown: false) {
      _ throws(StoreError) -> ActivityState? in
      questions += 1
      return nil
    }
    #expect(first.map(\.request.slot) == [2] && questions == 0)
    _ = resolver.look(now: 1, areStatesKnown: true) {
      _ throws(StoreError) -> ActivityState? in
      questions += 1
      return nil
    }
    #expect(questions == 1 && resolver.removeAll() == [1])
  }
}
