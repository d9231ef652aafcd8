// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The paces of devices in one loop: when a device got its last pushes of a type, and so when the next one may go.
///
/// The loop that owns the device's partition of a lane keeps it: each push gets its time once, at least a unit of the pace
/// and `slack` after the one that it must not crowd, and waits in the retry topics until then, whoever owns those. A
/// record comes back from there at most `slack` after its time, so that no device gets more in a unit than its pace.
///
/// A table of fixed places, found by hash, that grows up to `devicesAtMost`: 40 bytes for each. When it is full the
/// device whose last push is the longest ago is forgotten, and may get as many again.
struct DevicePaces: Sendable {
  /// The most pushes in a unit of time: so many times are remembered of a device.
  static var most: Int { PaceRate.mostOfDevice }
  /// Devices and types that a loop remembers: 42 MB.
  static let devicesAtMost = 1 << 20
  private static let devicesAtFirst = 1 << 12
  /// Places that one device may be in.
  private static let ways = 8

  private struct Entry: Sendable {
    var device: UInt64 = 0
    /// The seconds of its last pushes, ascending; 0 for none.
    var times = InlineArray<8, UInt32>(repeating: 0)

    var last: UInt32 { times[DevicePaces.most - 1] }
  }

  /// Ascending by hash.
  private var rules: [(hash: UInt64, rate: PaceRate)] = []
  /// The longest time after which a push still counts, in seconds.
  private var longest: UInt32 = 0
  private var entries: [Entry] = []
  /// When second 1 began, in monotonic milliseconds.
  private var start: UInt64 = 0
  /// Devices that were forgotten although their pushes still counted.
  private(set) var forgotten = 0
  private let devicesAtMost: Int

  /// - Parameter devices: that it remembers at most, a power of two and at least 4,096.
  init(devices: Int = Self.devicesAtMost) { devicesAtMost = devices }

  /// Any device has a pace.
  var isEmpty: Bool { rules.isEmpty }

  /// These are the paces now, by the hash of app and push type. Times of pushes are kept.
  mutating func update(_ paces: [UInt64: PaceRate], now: UInt64) {
    rules = paces.map { ($0.key, $0.value) }.sorted { $0.hash < $1.hash }
    longest = rules.map { Self.spacing($0.rate) }.max() ?? 0
    if rules.isEmpty {
      entries = []
    } else if entries.isEmpty {
      start = now
      entries = Array(repeating: Entry(), count: Self.devicesAtFirst)
    }
  }

  /// The pace of a hash of app and push type.
  func rate(of hash: UInt64) -> PaceRate? {
    var (low, high) = (0, rules.count)
    while low < high {
      let middle = (low + high) / 2
      if rules[middle].hash < hash { low = middle + 1 } else { high = middle }
    }
    return low < rules.count && rules[low].hash == hash ? rules[low].rate : nil
  }

  // MARK: Times of a device

  /// How long a push waits for its device, in milliseconds; 0: it may go now.
  ///
  /// - Parameters:
  ///   - device: a hash of the device and what has the pace.
  ///   - now: monotonic milliseconds.
  func wait(_ device: UInt64, _ rate: PaceRate, now: UInt64) -> UInt64 {
    guard let place = find(device) else { return 0 }
    let crowded = entries[place].times[Self.most - rate.count]
    guard crowded > 0 else { return 0 }
    let next = start + UInt64(crowded - 1 + Self.spacing(rate)) * 1_000
    return next > now ? next - now : 0
  }

  /// A push goes to a device, so many milliseconds from now.
  mutating func note(_ device: UInt64, after wait: UInt64, now: UInt64) {
    let time = UInt32(clamping: (now + wait - start + 999) / 1_000 + 1)
    let place = find(device) ?? makePlace(device, now: now)
    if entries[place].device != device { entries[place] = Entry() }
    entries[place].device = device
    // The oldest goes; after a pace has changed a later one may be there already.
    var index = 0
    while index + 1 < Self.most, entries[place].times[index + 1] <= time {
      entries[place].times[index] = entries[place].times[index + 1]
      index += 1
    }
    entries[place].times[index] = time
  }

  private func find(_ device: UInt64) -> Int? {
    let first = first(device)
    return (first..<first + Self.ways).first {
      entries[$0].device == device && entries[$0].last > 0
    }
  }

  /// Its first place: the highest bits of the product are the best mixed.
  private func first(_ device: UInt64) -> Int {
    let sets = entries.count / Self.ways
    let shift = UInt64(sets.leadingZeroBitCount + 1)
    return Int(truncatingIfNeeded: (device &* 0x9E37_79B9_7F4A_7C15) >> shift) * Self.ways
  }

  /// A place for a device that has none.
  private mutating func makePlace(_ device: UInt64, now: UInt64) -> Int {
    let second = UInt32(clamping: (now - start) / 1_000 + 1)
    while true {
      let first = first(device)
      let place = (first..<first + Self.ways).min { entries[$0].last < entries[$1].last }!
      let last = entries[place].last
      if last == 0 || UInt64(last) + UInt64(longest) <= UInt64(second) { return place }
      guard entries.count < devicesAtMost else {
        forgotten += 1
        return place
      }
      grow()
    }
  }

  /// Each set of places becomes two, so that every entry finds room.
  private mutating func grow() {
    let old = entries
    entries = Array(repeating: Entry(), count: old.count * 2)
    for entry in old where entry.last > 0 {
      let first = first(entry.device)
      let place = (first..<first + Self.ways).first { entries[$0].last == 0 }!
      entries[place] = entry
    }
  }

  // MARK: How exact it is

  /// What a push may be late that waits in retry topics, in seconds: a sixtieth of the pace's unit, at least 5 s.
  static func slack(_ rate: PaceRate) -> Int64 { max(5, rate.unit.milliseconds / 60_000) }

  /// Seconds after which a push does not count any more.
  private static func spacing(_ rate: PaceRate) -> UInt32 {
    UInt32(rate.unit.milliseconds / 1_000 + slack(rate))
  }

  /// The retry topic for a push that waits so many milliseconds: the longest one that does not make it late.
  static func tier(_ wait: Int64, _ rate: PaceRate) -> RetryTier {
    let latest = wait + slack(rate) * 1_000
    return RetryTier.allCases.last { $0.delay <= latest } ?? .shortest
  }
}
