// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Store
import TestSupport
import Testing

@testable import API

@Suite struct DatabasesTests {
  private static let more: Query.Read = { _ in .unfinished(more) }

  @Test func `of a schedule that is begun anew while it is read nothing is said`() throws {
    let folder = TemporaryFolder()
    let location = folder.file("d.db")
    let store = try ScheduleStore(TokenStore(location, now: 0))
    try store.setPosition(1, 2)
    let context = try ServiceContext.test()
    let databases = Databases(location, location, StoredInHand("schedule", context))
    let whole = try databases.read(.schedule, Self.more)
    if case .next = whole { Issue.record("the schedule is complete") }
    let part = try databases.read(.schedule) { _ throws(StoreError) in
      try ScheduleStore(TokenStore(location, now: 0)).startOver(1)
      return .unfinished(Self.more)
    }
    if case .unfinished = part { Issue.record("the schedule is incomplete") }
  }
}
