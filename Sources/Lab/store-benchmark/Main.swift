// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import Glibc
import Random
import Store

/// Measures the store alone: batches as the feedback service applies them, each read, judged, written and committed
/// together with its position. Of the devices, which a seed draws, half are new, a quarter are registered again, and a
/// quarter are marked dead. Prints one JSON object.
///
///     store-benchmark FILE|URL [devices] [batch]
@main
struct Main {
  static func main() {
    let arguments = CommandLine.arguments
    func number(_ index: Int, _ standard: Int) -> Int {
      arguments.count > index ? Int(arguments[index]) ?? standard : standard
    }
    guard arguments.count >= 2 else { fail("usage: store-benchmark FILE|URL [devices] [batch]") }
    do throws(StoreError) {
      let store = try TokenStore(arguments[1], now: WallClock.milliseconds())
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
    var known: [DeviceIdentity] = []
    let changes = (0..<devices).map { number in change(number, &known, &random) }
    let (start, cpu) = (MonotonicClock.milliseconds(), clock())
    var applied = 0
    while applied < devices {
      let count = min(batch, devices - applied)
      try apply(changes[applied..<applied + count], upTo: Int64(applied + count))
      applied += count
    }
    let seconds = Double(MonotonicClock.milliseconds() - start) / 1_000
    let micros = Double(clock() - cpu) * 1_000_000 / Double(CLOCKS_PER_SEC)
    print(
      "{\"upserts\":\(applied),\"seconds\":\(seconds),"
        + "\"upserts_per_second\":\(Int(Double(applied) / seconds)),"
        + "\"cpu_us_per_upsert\":\(micros / Double(applied))}")
  }

  private typealias Change = (device: DeviceIdentity, mark: Bool)

  private func change(
    _ number: Int, _ known: inout [DeviceIdentity], _ random: inout SeededGenerator
  ) -> Change {
    if number % 2 == 0 || known.isEmpty {
      let digits = (0..<4).map { _ in
        let text = String(random.next(), radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
      }
      let device = DeviceIdentity(
        token: digits.joined(), app: "com.example.app", environment: .production)
      known.append(device)
      return (device, false)
    }
    return (known[Int(random.next() % UInt64(known.count))], number % 4 == 1)
  }

  private func apply(_ changes: ArraySlice<Change>, upTo offset: Int64) throws(StoreError) {
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: Set(changes.map(\.device)))
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
