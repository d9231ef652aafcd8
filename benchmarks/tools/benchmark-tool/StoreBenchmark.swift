// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Store
import Waiting

/// Measures the store alone: batches as the feedback service applies them, each read, judged, written and committed
/// together with its position. Of the devices, which a seed draws, half are new, a quarter are registered again, and a
/// quarter are marked invalid. Prints one JSON object.
///
/// With rebuild: an empty database is filled as from its topics, 12,000 records in a transaction, until it is complete.
/// Each device has a user, a locale, a version, a model and a time zone; one in twenty is invalid.
///
///     benchmark-tool store FILE|URL [devices] [batch]
///     benchmark-tool store FILE|URL count rebuild
enum StoreBenchmark {
  /// - Parameter arguments: the subcommand, and what follows it.
  static func run(_ arguments: [String]) {
    func number(_ index: Int, _ standard: Int) -> Int {
      arguments.count > index ? Int(arguments[index]) ?? standard : standard
    }
    guard arguments.count >= 2 else {
      fail("usage: benchmark-tool store FILE|URL [devices] [batch|rebuild]")
    }
    do throws(StoreError) {
      let store = try TokenStore(arguments[1], now: WallClock.milliseconds())
      if arguments.last == "rebuild" {
        var rebuild = Rebuild(store: store, count: number(2, 400_000))
        return try rebuild.measure()
      }
      try Run(store: store, devices: number(2, 400_000), batch: number(3, 8_000)).measure()
    } catch {
      fail("\(error)")
    }
  }

  static func fail(_ message: String) -> Never {
    print(message)
    exit(1)
  }
}

private struct Run {
  let store: TokenStore
  let devices: Int
  let batch: Int

  func measure() throws(StoreError) {
    var random = SeededGenerator(seed: 1)
    var known: [DeviceKey] = []
    let changes = (0..<devices).map { number in change(number, &known, &random) }
    let (start, cpu) = (MonotonicClock.milliseconds(), clock())
    var applied = 0
    while applied < devices {
      let count = min(batch, devices - applied)
      try apply(changes[applied..<applied + count], upTo: Int64(applied + count))
      applied += count
    }
    report(applied, since: start, cpu: cpu)
  }

  private typealias Change = (device: DeviceKey, mark: Bool)

  private func change(
    _ number: Int, _ known: inout [DeviceKey], _ random: inout SeededGenerator
  ) -> Change {
    if number % 2 == 0 || known.isEmpty {
      let device = DeviceKey.drawn(&random)
      known.append(device)
      return (device, false)
    }
    return (known[Int(random.next() % UInt64(known.count))], number % 4 == 1)
  }

  private func apply(_ changes: ArraySlice<Change>, upTo offset: Int64) throws(StoreError) {
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: changes.map(\.device))
      for (device, mark) in changes {
        var state = rows[device]
        if mark {
          state.apply(
            DeviceState.Mark(
              since: offset, aliveFrom: offset + 1, reason: "Unregistered", recordedAt: offset))
        } else {
          state.apply(.registered(at: offset))
        }
        rows[device] = state
      }
      try store.write(rows)
      try store.setPosition(
        "push.devices", 0,
        ChangelogPosition(anchor: .init(offset: offset - 1, timestamp: 0, keyHash: 0)))
    }
  }
}

private struct Rebuild {
  private static let batch = 12_000
  private static let began: Int64 = 1_795_000_000_000

  let store: TokenStore
  let count: Int
  /// The number of each device's user.
  var users: [Int] = []

  mutating func measure() throws(StoreError) {
    var random = SeededGenerator(seed: 1)
    let devices = (0..<count).map { _ in DeviceKey.drawn(&random) }
    users = devices.map { _ in Int(random.next() % UInt64(max(1, count * 2 / 3))) }
    let (start, cpu) = (MonotonicClock.milliseconds(), clock())
    try store.startOver(at: Self.began)
    for first in stride(from: 0, to: count, by: Self.batch) {
      let some = first..<min(count, first + Self.batch)
      try apply(devices[some]) { place, state in
        state.apply(.registered(at: Self.began + Int64(place)), details(place))
      }
    }
    // The second topic has the marks.
    let invalid = stride(from: 0, to: count, by: 20).map { $0 }
    for first in stride(from: 0, to: invalid.count, by: Self.batch) {
      let some = invalid[first..<min(invalid.count, first + Self.batch)]
      try apply(some.map { devices[$0] }[...]) { place, state in
        let time = Self.began + Int64(count + place)
        state.apply(
          DeviceState.Mark(
            since: time, aliveFrom: time + 1, reason: "Unregistered", recordedAt: time))
      }
    }
    try store.transaction { () throws(StoreError) in try store.setComplete(at: Self.began) }
    report(count, since: start, cpu: cpu)
  }

  private func apply(
    _ devices: ArraySlice<DeviceKey>, _ change: (Int, inout DeviceState) -> Void
  ) throws(StoreError) {
    try store.transaction(isCopy: true) { () throws(StoreError) in
      try store.followGeneration()
      var rows = try store.rows(of: Array(devices))
      for (place, row) in zip(devices.indices, rows.asked) {
        var state = rows[row]
        change(place, &state)
        rows[row] = state
      }
      try store.write(rows)
    }
  }

  private func details(_ number: Int) -> DeviceDetails {
    DeviceDetails(
      user: "user-\(users[number])", locale: "en_US", appVersion: "4.\(number % 20).1",
      model: "iPhone\(13 + number % 5),2", timeZone: "Europe/Berlin")
  }
}

extension DeviceKey {
  fileprivate static func drawn(_ random: inout SeededGenerator) -> DeviceKey {
    let digits = (0..<4).map { _ in
      let text = String(random.next(), radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    return DeviceKey(token: digits.joined(), app: "com.example.app", environment: .production)
  }
}

private func report(_ count: Int, since start: UInt64, cpu: clock_t) {
  // One row takes less than the clock shows.
  let seconds = Double(max(1, MonotonicClock.milliseconds() - start)) / 1_000
  let micros = Double(clock() - cpu) * 1_000_000 / Double(CLOCKS_PER_SEC)
  print(
    "{\"upserts\":\(count),\"seconds\":\(seconds),"
      + "\"upserts_per_second\":\(Int(Double(count) / seconds)),"
      + "\"cpu_us_per_upsert\":\(micros / Double(count))}")
}
