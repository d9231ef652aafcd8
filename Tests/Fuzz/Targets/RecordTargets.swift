// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Records
import ServiceKit
import SignerDecisions

@testable import Feedback
@testable import Sender

extension FuzzTarget {
  /// JSON as values: what is read and written reads as the same.
  static func json() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("json") { bytes in
      let isObject = parser.isObject(bytes)
      do throws(JSONError) {
        let value = try parser.parse(bytes)
        guard isObject == (value.object != nil) else { return "isObject says \(isObject)" }
        do throws(JSONError) {
          return try parser.parse(value.text) == value ? nil : "it does not survive writing"
        } catch {
          return "what was written is refused: \(error)"
        }
      } catch {
        if isObject { return "no JSON, and isObject takes it" }
        return (0...bytes.count).contains(error.offset)
          ? nil : "an error outside the text, at \(error.offset)"
      }
    }
  }

  /// A parser, and the value that it reads again from what it wrote.
  private static func roundTrip<Record: Equatable>(
    _ bytes: UnsafeRawBufferPointer, _ parser: JSONParser,
    _ read: (UnsafeRawBufferPointer, JSONParser) throws(RecordError) -> Record,
    _ write: (Record) -> [UInt8]
  ) -> String? {
    let record: Record
    do throws(RecordError) { record = try read(bytes, parser) } catch {
      return error.problem.isEmpty ? "an error without words" : nil
    }
    let text = write(record)
    do throws(RecordError) {
      let again = try text.lend { bytes throws(RecordError) in try read(bytes, parser) }
      return again == record ? nil : "\(Record.self) does not survive writing"
    } catch {
      return "a \(Record.self) that was written is refused: \(error)"
    }
  }

  /// `push.provider-tokens` and `push.token-requests`: whatever stands there, a sender and a signer go on with it.
  static func providerToken() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("provider-token") { bytes in
      if let record = try? ProviderTokenRecord(bytes, parser: parser), let problem = misused(record)
      {
        return problem
      }
      return roundTrip(bytes, parser, ProviderTokenRecord.init(_:parser:)) { $0.value }
        ?? roundTrip(bytes, parser, TokenRequest.init(_:parser:)) { $0.value }
    }
  }

  private static func misused(_ record: ProviderTokenRecord) -> String? {
    // A withdrawal is no token (`ProviderTokenFeed`).
    if record.isRemoved { return nil }
    let now: Int64 = 1_795_224_000
    var book = ProviderTokenBook()
    let change = book.apply(record.entry, now: now * 1_000)
    if record.issuedAt > now + 60, record.sealed == nil, change != .quarantined(0) {
      return "a token of the future is used"
    }
    if book.isUsable(0, now: (record.issuedAt + 3_600) * 1_000) { return "used for an hour" }
    let stamp = ProviderTokenStamp(issuedAt: record.issuedAt, generation: UInt64(record.generation))
    let found: [MintSchedule.Found] = [.own(stamp, isComplete: true), .sealed(stamp)]
    return found.lazy.compactMap { misminted(after: $0, stamp) }.first
  }

  /// What a signer makes of a token on the topic: it mints, never within 20 minutes of one that is not of the future, also
  /// if a sender asks for one, and what it has published stays for as long.
  private static func misminted(
    after found: MintSchedule.Found, _ stamp: ProviderTokenStamp
  ) -> String? {
    let hour: Int64 = 3_600
    for age in [-2 * hour, -60, 0, 600, MintSchedule.shortestInterval - 1, 2_701, 10 * hour] {
      let now = stamp.issuedAt + age
      var schedule = MintSchedule()
      schedule.read(found, at: 0)
      schedule.requested(.refused, now: now)
      guard case .mint(let minted) = schedule.step(now: now) else {
        if age >= MintSchedule.renewalAge { return "no token ever again" }
        continue
      }
      if (0..<MintSchedule.shortestInterval).contains(age) {
        return "minted again within 20 minutes"
      }
      if minted.issuedAt > now { return "a token of the future is minted" }
      if case .own = found, minted.generation <= stamp.generation { return "a generation again" }
      guard Int64(exactly: minted.generation) != nil else {
        return "a generation that no record holds"
      }
      schedule.published(minted, at: 1)
      for later in [0, 600, MintSchedule.shortestInterval - 1] {
        schedule.requested(.refused, now: now + later)
        if case .mint = schedule.step(now: now + later) { return "minted twice in 20 minutes" }
      }
    }
    return nil
  }

  /// What the feedback process makes of a record: a byte that chooses the topic, the key, a newline, the value. What
  /// it acts upon has its own key and times that can be.
  static func feedback() -> FuzzTarget {
    let names = TopicNames()
    let reader = JobReader(names)
    return FuzzTarget("feedback") { bytes in
      let topic = (bytes.first ?? 0) & 1 == 0 ? names.feedback : names.devices
      let rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
      let key = rest.prefix { $0 != UInt8(ascii: "\n") }
      let job = reader.content(
        topic, key: UnsafeRawBufferPointer(rebasing: key),
        value: UnsafeRawBufferPointer(rebasing: rest.dropFirst(key.count + 1)), timestamp: -1,
        now: 1_795_000_000_000)
      if let device = DeviceKey(key: key), !key.elementsEqual(device.bytes) {
        return "a key read as another one"
      }
      switch job {
      case .feedback(let record):
        let verdict = TokenInvalidation.verdict(
          status: record.status, reason: Reason(record.reason), timestamp: record.timestamp,
          sentAt: record.sentAt, registeredAt: nil, skew: 5_000)
        if case .invalidate(let since) = verdict, since < 0 { return "dead since before 1970" }
        return key.elementsEqual(record.key) ? nil : "feedback under another key"
      case .device(let record):
        return key.elementsEqual(record.key) ? nil : "a device under another key"
      case .deadLetter(let letter): return letter.detail.isEmpty ? "refused without words" : nil
      case .forgotten: return topic == names.devices ? nil : "feedback is ignored"
      case .receipts: return "receipts on another topic"
      }
    }
  }

  /// `push.feedback`, `push.devices` and `push.invalid-tokens`.
  static func device() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("device") { bytes in
      roundTrip(bytes, parser, FeedbackRecord.init(_:parser:)) { $0.value }
        ?? roundTrip(bytes, parser, DeviceRecord.init(_:parser:)) { $0.value }
        ?? roundTrip(bytes, parser, InvalidTokenRecord.init(_:parser:)) { $0.value }
    }
  }

  /// `push.receipts`: anyone may read them, and the auditors do.
  static func receipt() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("receipt") { bytes in
      do throws(RecordError) {
        let receipts = try Receipt.all(in: bytes, parser: parser)
        let isPossible = receipts.allSatisfy {
          (100...599).contains($0.status ?? 200) && $0.at - ($0.created ?? 0) <= $0.at
        }
        return isPossible ? nil : "a receipt that no sender writes"
      } catch {
        return error.description.isEmpty ? "refused without words" : nil
      }
    }
  }
}
