// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import Crypto
import EventLoop
import ServiceKit
import Telemetry

/// The currently valid API keys and their use of the rate. The file is read again when it changes.
struct KeyRing {
  private static let lookMilliseconds: UInt64 = 1_000
  /// The number of days before a key's expiry from which a warning is logged daily.
  private static let warningDays = 14

  private let path: String
  private let context: ServiceContext
  private(set) var table: APIKeyTable
  /// The number of keys that have not expired, as of the last look.
  private(set) var valid = 0
  /// Changes whenever any key changes.
  private(set) var revision = 0
  /// Holders of removed keys whose requests have not been ended yet.
  private var removed: [ExactText] = []
  /// Holders whose ends are on their way to Kafka, by the number of the record.
  private var ending: [UInt: ExactText] = [:]
  private var lastEnd: UInt = 0
  private var buckets: [ExactText: RateBucket] = [:]
  private var files: FileWatch
  private var lookAt: UInt64 = 0
  /// The days last reported for each key that expires soon.
  private var told: [ExactText: Int] = [:]
  let figures = KeyFigures()
  let reloads = ReloadStatus(
    APIMetrics.reloadRefused, [APIMetrics.certificateFile, APIMetrics.keysFile])

  /// Throws when the file cannot be read.
  init(_ path: String, _ context: ServiceContext) throws(ServiceFailure) {
    self.path = path
    self.context = context
    files = FileWatch([path])
    table = try orFail { try APIKeysFile.read(path) }
    lookAtEnds(WallClock.milliseconds())
  }

  /// Reads the file again if it has changed, if it was refused a while ago, or if requested; an invalid file leaves the
  /// keys as they are.
  mutating func look(now: UInt64, isAsked: Bool) {
    if now >= lookAt {
      lookAt = now + Self.lookMilliseconds
      lookAtEnds(WallClock.milliseconds())
    }
    guard isAsked || files.haveChanged(now: now) else { return }
    files.begin()
    do throws(APIKeysFile.Failure) {
      let read = try APIKeysFile.read(path)
      let changes = KeyChanges(from: table, to: read)
      table = read
      removed += changes.removed.map(\.exact)
      // A key that has come back stays in use.
      removed.removeAll { name in read.keys.contains { $0.name == name } }
      reloads.accepted(APIMetrics.keysFile)
      revision += 1
      lookAtEnds(WallClock.milliseconds())
      buckets = buckets.filter { name, _ in table.keys.contains { $0.name == name } }
      context.log(
        APILog.keysReloaded,
        [
          "keys": "\(table.keys.count)", "by": isAsked ? "SIGHUP" : "a change of the file",
          "added": changes.added.joined(separator: " "),
          "removed": changes.removed.joined(separator: " "),
          "changed": changes.changed.joined(separator: " "),
        ])
    } catch {
      // Rights that are corrected, as the error asks for, leave the file as it was.
      files.retry(now: now)
      if reloads.refused(APIMetrics.keysFile, "\(error)", now: now, isAsked: isAsked) {
        context.log(APILog.keysInvalid, ["error": "\(error)"])
      }
    }
  }

  private mutating func lookAtEnds(_ now: Int64) {
    figures.show(table)
    valid = table.keys.count { !$0.isExpired(now: now) }
    told = told.filter { name, _ in table.keys.contains { $0.name == name } }
    for key in table.keys {
      guard let days = key.daysLeft(now: now), days < Self.warningDays else {
        told[key.name] = nil
        continue
      }
      let said = max(days, -1)
      guard told[key.name] != said else { continue }
      told[key.name] = said
      // Its open streams end.
      if said < 0 { revision += 1 }
      let end = Timestamp.text(milliseconds: key.expires ?? 0)
      let fields: KeyValuePairs = ["key": key.name.text, "expires": end, "days_left": "\(days)"]
      context.log(said < 0 ? APILog.keyExpired : .keyExpires, fields)
    }
  }

  /// The holders of keys removed since the last call.
  mutating func takeRemoved() -> [ExactText] {
    defer { removed = [] }
    return removed
  }

  /// True if Kafka has not acknowledged all ends of removed holders' requests.
  var isEnding: Bool { !ending.isEmpty }

  /// Notes the record that ends a holder's requests; returns its number.
  mutating func willEnd(_ name: ExactText) -> UInt {
    lastEnd += 1
    ending[lastEnd] = name
    return lastEnd
  }

  /// Takes Kafka's answer to that record; without an acknowledgement it is to be written again, unless the key is back.
  ///
  /// - Returns: the holder whose requests have ended.
  mutating func ended(_ number: UInt, isAcknowledged: Bool) -> ExactText? {
    guard let name = ending.removeValue(forKey: number) else { return nil }
    if isAcknowledged { return name }
    if !table.keys.contains(where: { $0.name == name }) { removed.append(name) }
    return nil
  }

  /// The key with this text, if any; it may have expired.
  func find(_ text: String) -> APIKey? {
    table.index(ofDigest: SHA256Digest.of(text).span).map { table.keys[$0] }
  }

  /// The current state of a key; nil when it is no longer valid.
  func current(_ key: APIKey) -> APIKey? {
    guard let index = table.index(ofDigest: key.digest.span) else { return nil }
    let current = table.keys[index]
    return current.isExpired(now: WallClock.milliseconds()) ? nil : current
  }

  /// Milliseconds until the key's owner may send again; 0 means now.
  mutating func wait(_ key: APIKey, now: UInt64) -> UInt64 {
    guard let rate = key.rate else { return 0 }
    if buckets[key.name]?.rate != rate { buckets[key.name] = RateBucket(rate: rate, now: now) }
    return buckets[key.name]?.wait(now: now) ?? 0
  }

  /// Charges items to the key's owner.
  mutating func take(_ key: APIKey, _ items: Int, now: UInt64) {
    guard key.rate != nil else { return }
    buckets[key.name]?.take(items, now: now)
  }
}
