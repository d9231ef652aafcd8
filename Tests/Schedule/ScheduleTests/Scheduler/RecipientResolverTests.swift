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

  private func json(_ slot: Int) -> [UInt8] {
    Array(#"{"app":"a.b","id":"\#(slot)","user":"ann","payload":{"aps":{}}}"#.utf8)
  }

  private func start(
    _ slot: Int, _ event: Recipients.Activity.Event = .start, in resolver: inout RecipientResolver
  ) {
    resolver.add(
      slot, ScheduleKey(app: "a.b", environment: .production, id: "\(slot)"),
      Recipients(
        type: "liveactivity", users: ["ann"], activity: .init(name: "order", event: event)),
      ScheduledRequest(due: 1, accepted: 1, requeuedAt: nil), json(slot))
  }

  @Test func `a start waits for a device once though the database fails in the middle`() throws {
    var resolver = try resolver()
    start(1, in: &resolver)
    start(2, in: &resolver)
    let nowhere = folder.file("none/schedule.db")
    var questions = 0
    let first = resolver.look(now: 0, areStatesKnown: true) {
      _ throws(StoreError) -> RecipientResolver.Sent? in
      questions += 1
      if questions == 2 { _ = try TokenStore(nowhere, now: 1) }
      return nil
    }
    #expect(first.isEmpty && questions == 2)
    let second = resolver.look(now: 1_000, areStatesKnown: true) {
      _ throws(StoreError) -> RecipientResolver.Sent? in nil
    }
    #expect(second.isEmpty)
    #expect(resolver.removeAll().sorted() == [1, 2])
  }

  /// Its state is written first. Then the process crashes, or its producer has no room.
  @Test func `a start that was noted and not sent is sent, and other requests update`() throws {
    let device = DeviceKey(token: "ab", app: "a.b", environment: .production)
    let details = DeviceDetails(pushType: "liveactivity", user: "ann")
    try devices.put(device, DeviceState(presence: .registered(at: 5_000), details: details))
    let state = ActivityState(sentAt: 2, accepted: 1, event: .start, channel: "", traceParent: "")
    for (request, event) in [(1, .start), (2, .update)]
      as [(Int, Recipients.Activity.Event)]
    {
      var stored = try resolver()
      start(request, .startOrUpdate, in: &stored)
      let found = stored.look(now: 0, areStatesKnown: true) {
        _ throws(StoreError) -> RecipientResolver.Sent? in
        RecipientResolver.Sent(state, json(1))
      }
      #expect(found.map(\.state?.event) == [event])
      var noted = try resolver()
      start(request, .startOrUpdate, in: &noted)
      noted.note(
        ScheduleKey(app: "a.b", environment: .production, user: "ann", activity: "order"),
        RecipientResolver.Sent(state, json(1)))
      let again = noted.look(now: 0, areStatesKnown: true) {
        _ throws(StoreError) -> RecipientResolver.Sent? in nil
      }
      #expect(again.map(\.state?.event) == [event])
    }
  }

  @Test func `an activity whose start is not sent does not run`() throws {
    let key = ScheduleKey(app: "a.b", environment: .production, user: "ann", activity: "order")
    let state = ActivityState(sentAt: 2, accepted: 1, event: .start, channel: "", traceParent: "")
    var resolver = try resolver()
    resolver.note(key, RecipientResolver.Sent(state, json(1)))
    #expect(resolver.removeStart(1, json(2))?.key == nil)
    let removed = resolver.removeStart(1, json(1))
    #expect(removed?.key == key && removed?.state == state)
    #expect(resolver.removeStart(1, json(1))?.key == nil)
  }

  @Test func `a state that could not be written leaves the one before it`() throws {
    let key = ScheduleKey(app: "a.b", environment: .production, user: "ann", activity: "order")
    func sent(_ number: Int) -> RecipientResolver.Sent {
      let state = ActivityState(
        sentAt: 2, accepted: Int64(number), event: .start, channel: "", traceParent: "")
      return RecipientResolver.Sent(state, json(number))
    }
    var resolver = try resolver()
    resolver.note(key, sent(1))
    let before = resolver.note(key, sent(2))
    resolver.note(key, before)
    #expect(resolver.removeStart(2, json(2))?.key == nil)
    #expect(resolver.removeStart(1, json(1))?.key == key)
    resolver.note(key, nil)
    #expect(resolver.removeStart(1, json(1))?.key == nil)
  }

  /// One that does not answer costs the turn its deadline once.
  @Test func `a database that has failed is not asked again in the same turn`() throws {
    let path = folder.file("later.db")
    var resolver = RecipientResolver(
      path, onePerModel: [], try .test(), Counters<SchedulerMetrics>())
    start(1, in: &resolver)
    let nothing = resolver.look(now: 1_000, areStatesKnown: true) {
      _ throws(StoreError) -> RecipientResolver.Sent? in nil
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
      _ throws(StoreError) -> RecipientResolver.Sent? in
      questions += 1
      return nil
    }
    #expect(first.map(\.request.slot) == [2] && questions == 0)
    _ = resolver.look(now: 1, areStatesKnown: true) {
      _ throws(StoreError) -> RecipientResolver.Sent? in
      questions += 1
      return nil
    }
    #expect(questions == 1 && resolver.removeAll() == [1])
  }
}
