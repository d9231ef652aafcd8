// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract
@testable import SenderDecisions

/// Names of what has a pace (`PaceSubject`), and the table of them.
@Suite struct PacesTests {
  @Test(arguments: [
    PaceSubject.app("com.example.app", .production), .app("lane", .sandbox), .lane("bulk"),
    .group("com.example.app", .production, "spring-sale"),
    .group("a", .sandbox, "a:b:production"), .group("a", .sandbox, "\u{301}g"),
    .device("com.example.app", .production, .background), .device("a", .sandbox, .alert),
  ])
  func `a subject is read back from its key`(subject: PaceSubject) {
    #expect(PaceSubject(key: subject.key) == subject)
  }

  @Test(arguments: [
    "", "pace:", "pace:app:", "pace:app:com.example.app", "pace:app:com.example.app:live",
    "pace:lane:", "pace:lane:Bulk", "pace:lane:seventeen-letters", "pace:app:a b:production",
    "pace:device:a b:production:alert",
    "pace:group:", "pace:group:spring-sale", "pace:group:a:live:g", "pace:group:a:production:",
    "pace:group::production:g", "pace:device:x", "pace:device:a:production",
    "pace:device:a:production:x",
    "pace:device::production:alert", "pace:user:x", "lane:bulk", "com.example.app:production",
  ])
  func `another key names nothing that has a pace`(key: String) {
    #expect(PaceSubject(key: key) == nil)
  }

  /// A sender of an earlier version reads such records as `PauseSubject` does, and `paused` is not in them.
  @Test func `no key of a pace is the key of a pause that anybody would set`() {
    #expect(PauseSubject(key: PaceSubject.lane("bulk").key) == nil)
    #expect(PauseSubject(key: PaceSubject.group("a", .sandbox, "g").key) == nil)
    #expect(
      PauseSubject(key: PaceSubject.app("a", .production).key) == .app("pace:app:a", .production))
  }

  @Test func `a pace is set, changed and cleared`() throws {
    var paces = Paces(.standard)
    try paces.set(.lane("bulk"), PaceRate("5/s"))
    try paces.set(.app("a", .production), PaceRate("1/s"))
    try paces.set(.app("a", .sandbox), PaceRate("2/s"))
    try paces.set(.group("a", .sandbox, "a"), PaceRate("3/s"))
    #expect(paces.count == 4 && paces[.bulk] == PaceRate("5/s") && paces[.first] == nil)
    #expect(Set(paces.names.values) == ["app:a:production", "app:a:sandbox", "group:a:sandbox:a"])
    try paces.set(.group("a", .sandbox, "a"), nil)
    try paces.set(.lane("bulk"), nil)
    try paces.set(.app("a", .production), nil)
    try paces.set(.app("a", .sandbox), nil)
    #expect(paces == Paces(.standard))
  }

  @Test func `a lane of no list, and more than the table holds, are refused`() throws {
    var paces = Paces(.standard)
    #expect(throws: PaceProblem.unknownLane) { try paces.set(.lane("fast"), PaceRate("5/s")) }
    // That it has none any more is no problem.
    try paces.set(.lane("fast"), nil)
    var pauses = Pauses(.standard)
    let (isPausable, isResumable) = (
      pauses.set(.lane("fast"), isPaused: true), pauses.set(.lane("fast"), isPaused: false)
    )
    #expect(!isPausable && isResumable)
    for number in 0..<PaceRoom.subjectsAtMost {
      try paces.set(.app("\(number)", .production), PaceRate("1/s"))
    }
    #expect(throws: PaceProblem.tooMany) {
      try paces.set(.app("new", .production), PaceRate("1/s"))
    }
    try paces.set(.app("7", .production), PaceRate("2/s"))
    try paces.set(.app("7", .production), nil)
    try paces.set(.app("new", .production), PaceRate("1/s"))
    #expect(paces.count == PaceRoom.subjectsAtMost)
  }

  @Test func `an app's groups have a quota, and all groups leave room for apps and devices`() throws
  {
    var paces = Paces(.standard)
    func group(_ app: Int, _ number: Int) -> PaceSubject {
      .group("app\(app)", number % 2 == 0 ? .production : .sandbox, "\(number)")
    }
    let rate = PaceRate("1/s")
    let (most, apps) = (
      PaceRoom.groupsOfAppAtMost, PaceRoom.groupsAtMost / PaceRoom.groupsOfAppAtMost
    )
    for app in 0..<apps {
      for number in 0..<most { try paces.set(group(app, number), rate) }
      #expect(throws: PaceProblem.tooManyOfApp) { try paces.set(group(app, most), rate) }
    }
    #expect(throws: PaceProblem.tooMany) { try paces.set(group(apps, 0), rate) }
    for number in 0..<PaceRoom.subjectsAtMost - PaceRoom.groupsAtMost {
      try paces.set(.app("\(number)", .production), rate)
    }
    #expect(throws: PaceProblem.tooMany) { try paces.set(.app("more", .production), rate) }
    try paces.set(.lane("bulk"), rate)
    // One that changes takes no room, and one that goes makes some: for this app, and then for another.
    try paces.set(group(0, 1), PaceRate("2/s"))
    try paces.set(group(0, 1), nil)
    try paces.set(group(0, 1), nil)
    try paces.set(group(apps, 0), rate)
    #expect(throws: PaceProblem.tooMany) { try paces.set(group(0, 1), rate) }
    try paces.set(group(apps, 0), nil)
    try paces.set(group(0, most), rate)
  }

  @Test func `a group is the one of its app and environment, byte for byte`() {
    let subjects: [PaceSubject] = [
      .group("a", .production, "g"), .group("b", .production, "g"), .group("a", .sandbox, "g"),
      .group("a", .production, "\u{E9}"), .group("a", .production, "e\u{301}"),
    ]
    #expect(Set(subjects).count == 5 && Set(subjects.map(\.hash)).count == 5)
    #expect(subjects.allSatisfy { PaceSubject(key: $0.key) == $0 })
  }

  @Test func `a device has a pace for each push type, of a few pushes in a minute or more`() throws
  {
    var paces = Paces(.standard)
    let subject = PaceSubject.device("a", .production, .background)
    try paces.set(subject, PaceRate("2/h"))
    try paces.set(.device("a", .production, .alert), PaceRate("8/m"))
    #expect(paces.count == 2 && Set(paces.ofDevices.values.map(\.description)) == ["2/h", "8/m"])
    for rate in ["9/h", "1/s"] {
      #expect(throws: PaceProblem.notForDevices) { try paces.set(subject, PaceRate(rate)) }
      #expect(paces.count == 1)
      try paces.set(subject, PaceRate("1/d"))
    }
    try paces.set(subject, nil)
    try paces.set(.device("a", .production, .alert), nil)
    #expect(paces == Paces(.standard))
  }
}

/// `PaceKeeper` beside what `Dispatch/PaceTests` shows of it with pushes.
@Suite struct PaceKeeperTests {
  @Test
  func `a loop keeps the part that its partitions are of all, and never more than all`() throws {
    var keeper = PaceKeeper(slots: 800, lanes: 2)
    var paces = Paces(.standard)
    try paces.set(.lane("bulk"), PaceRate("100/s"))
    try paces.set(.group("a", .production, "g"), PaceRate("36/s"))
    _ = keeper.update(paces, now: 0)
    #expect(keeper.standings.map(\.perSecond) == [0, 0])
    keeper.update(PartitionTotals(ofLanes: [12, 12], ofRetries: 12), now: 0)
    for _ in 0..<3 { keeper.granted(.lane(.bulk), now: 0) }
    #expect(keeper.standings.map { $0.perSecond.rounded() } == [25, 3])
    for _ in 0..<2 { keeper.granted(.retries(.seconds5), now: 0) }
    #expect(keeper.standings.map { $0.perSecond.rounded() } == [25, 5])
    // Partitions that were added, and not counted yet.
    for _ in 0..<33 { keeper.granted(.lane(.bulk), now: 0) }
    #expect(keeper.standings.map { $0.perSecond.rounded() } == [100, 36])
    keeper.removePartitions(now: 0)
    #expect(keeper.standings.map(\.perSecond) == [0, 0])
  }

  @Test
  func `what cannot wait goes to the tiers in turn, as much as goes until the next one comes back`()
  {
    var line = PaceLine(1, PaceRate("2/s")!, now: 0)
    line.bucket.set(0.002, now: 0)
    var tiers: [RetryTier] = []
    for _ in 0..<2_000 { tiers.append(line.tier(now: 1_000_000)) }
    #expect(tiers == tiers.sorted())
    #expect(tiers.count { $0 == .seconds5 } == 120 && tiers.count { $0 == .minute1 } == 1_800)
    // Those have come back.
    #expect(line.tier(now: 1_006_000) == .seconds5)
    #expect(tiers.last == .longest && tiers.first == .shortest)
  }
}

@Suite struct PaceBucketTests {
  @Test(arguments: [0.5, 1, 2.14, 9, 137, 1_000, 5_000.0])
  func `whoever asks every few milliseconds gets the rate to within 1 % in ten seconds`(
    perSecond: Double
  ) {
    for step in [UInt64(3), 7, 50] where perSecond * Double(step) / 1_000 < 1 + perSecond * 0.06 {
      var bucket = PaceBucket(now: 1_000)
      bucket.set(perSecond / 1_000, now: 1_000)
      var halves = Array(repeating: 0, count: 80)
      var now: UInt64 = 1_000
      while now < 41_000 {
        now += step
        bucket.fill(now: now)
        while bucket.room > 0 {
          bucket.take()
          halves[min(79, Int(now - 1_000) / 500)] += 1
        }
      }
      for start in 0..<60 {
        let count = Double(halves[start..<start + 20].reduce(0, +))
        #expect(abs(count - perSecond * 10) <= max(1.5, perSecond * 0.1), "\(perSecond) by \(step)")
      }
    }
  }

  @Test func `it begins empty, and holds one and 60 ms after a rest`() {
    var bucket = PaceBucket(now: 0)
    bucket.set(0.137, now: 0)
    #expect(bucket.room == 0 && bucket.time(of: 1) == 8)
    bucket.fill(now: 1_000_000)
    #expect(bucket.room == 9 && bucket.time(of: 1) == nil)
    bucket.fill(now: 999_999)
    bucket.set(0.137, now: 1_000_000)
    #expect(bucket.room == 0)
  }

  @Test func `it catches up on a stall of a second while pushes wait, and on none after a rest`() {
    var bucket = PaceBucket(now: 0)
    bucket.set(0.1, now: 0)
    bucket.fill(now: 20)
    while bucket.room > 0 { bucket.take() }
    bucket.fill(now: 520)
    #expect(bucket.room == 50)
    bucket.fill(now: 530)
    #expect(bucket.room == 7, "nobody wanted them")
    while bucket.room > 0 { bucket.take() }
    bucket.fill(now: 100_000)
    #expect(bucket.room == 100)
  }

  @Test func `a rate of nothing lets nothing go, ever`() {
    var bucket = PaceBucket(now: 0)
    bucket.fill(now: 1 << 60)
    #expect(bucket.room == 0 && bucket.time(of: 1) == nil)
  }

  @Test func `events are counted for their time`() {
    var count = RecentCount(5_000)
    #expect(count.count(now: 123) == 0)
    for now in stride(from: UInt64(10_000), to: 20_000, by: 10) { count.add(now: now) }
    let last = count.count(now: 20_000)
    #expect((437...500).contains(last), "\(last)")
    #expect(count.count(now: 30_000) == 0)
  }
}
