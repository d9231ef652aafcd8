// SPDX-License-Identifier: Apache-2.0
import APNS
import DeviceTokens
import EventLoop
import Glibc
import Random
import Store

/// Measures the store alone: batches as the feedback service applies them, each read, judged, written and committed
/// together with its position. Of the devices, which a seed draws, half are new, a quarter are registered again, and a
/// quarter are marked invalid. Prints one JSON object.
///
/// With receipts instead of devices: outcomes of 420 bytes with the ids that they are found by, 4,000 in a transaction.
///
///     store-benchmark FILE|URL [devices] [batch]
///     store-benchmark FILE|URL count receipts
@main
struct Main {
  static func main() {
    let arguments = CommandLine.arguments
    func number(_ index: Int, _ standard: Int) -> Int {
      arguments.count > index ? Int(arguments[index]) ?? standard : standard
    }
    guard arguments.count >= 2 else {
      fail("usage: store-benchmark FILE|URL [devices] [batch|receipts]")
    }
    do throws(StoreError) {
      let store = try TokenStore(arguments[1], now: WallClock.milliseconds())
      if arguments.last == "receipts" {
        return try Receipts(store: store, count: number(2, 400_000)).measure()
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
      let digits = (0..<4).map { _ in
        let text = String(random.next(), radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
      }
      let device = DeviceKey(
        token: digits.joined(), app: "com.example.app", environment: .production)
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

private struct Receipts {
  private static let batch = 4_000

  let store: TokenStore
  let count: Int

  func measure() throws(StoreError) {
    var random = SeededGenerator(seed: 1)
    let receipts = (0..<count).map { receipt($0, random.next()) }
    let (start, cpu) = (MonotonicClock.milliseconds(), clock())
    for first in stride(from: 0, to: count, by: Self.batch) {
      let some = Array(receipts[first..<min(count, first + Self.batch)])
      try store.transaction { () throws(StoreError) in try store.keep(some) }
    }
    report(count, since: start, cpu: cpu)
  }

  private func receipt(_ number: Int, _ random: UInt64) -> KeptReceipt {
    let digits = String(random | 1 << 63, radix: 16)
    let id = "00000000-0000-5000-8000-0000\(digits.prefix(8))"
    let text =
      #"{"outcome":"delivered","apns_id":"\#(id)","id":"order-\#(digits)","app":"com.example.app","#
      + #""environment":"production","token":"\#(String(repeating: digits, count: 4))","#
      + #""lane":"transactional","status":200,"attempts":1,"created":1795000000000,"#
      + #""at":1795000000045,"traceparent":"00-\#(digits)\#(digits)-\#(digits)-01"}"#
    return KeptReceipt(
      place: .init(partition: 0, offset: Int64(number / 50), line: number % 50),
      at: 1_795_000_000_000 + Int64(number), app: "com.example.app", requestID: "order-\(digits)",
      apnsID: id, receipt: text)
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
