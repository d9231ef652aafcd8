// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions

/// Why a record is no notification that can be sent, for its dead letter.
struct UnsendableRecord: Error {
  let detail: String
}

/// What a loop reads notifications by.
struct NotificationReading: ~Copyable {
  var envelopes: EnvelopeReader
  /// What was created before is one of a pile, in milliseconds since the epoch.
  private(set) var collapseBefore = Int64.min
  private let collapseAfter: Int64

  init(_ settings: SenderSettings) {
    envelopes = EnvelopeReader(types: settings.pushTypes, lanes: settings.lanes)
    collapseAfter = settings.collapseAfterMilliseconds
  }

  mutating func beginTurn(wall: Int64) {
    if collapseAfter > 0 { collapseBefore = wall - collapseAfter }
  }
}

extension KafkaRecord {
  /// The notification that the record holds, whose device or channel its key names.
  func envelope(_ reader: inout EnvelopeReader) throws(UnsendableRecord) -> Envelope {
    let envelope: Envelope
    do throws(EnvelopeError) {
      envelope = try reader.read(value)
    } catch {
      throw UnsendableRecord(detail: "\(error)")
    }
    do {
      let key = key.bindMemory(to: UInt8.self).span
      switch envelope.target {
      case .device: try DeviceToken.validate(key)
      case .channel: try ChannelID.validate(key)
      }
    } catch {
      throw UnsendableRecord(detail: "key: \(error)")
    }
    return envelope
  }

  /// What the record's notification is decided by.
  ///
  /// - Parameter collapseBefore: what was created earlier is one of a pile, in milliseconds since the epoch.
  func facts(_ envelope: Envelope, collapseBefore: Int64) -> PushFacts {
    PushFacts(
      envelope, key: key, value: value, written: timestamp, collapseBefore: collapseBefore,
      in: partition)
  }

  /// By what a newer notification supersedes the record's, which may have no key.
  func state(_ envelope: Envelope) -> StateFacts {
    envelope.hasStateKey ? StateFacts(envelope, key: key, value: value, in: partition) : .none
  }
}

extension PushFacts {
  /// What a notification is decided by.
  ///
  /// - Parameters:
  ///   - envelope: of the record's value.
  ///   - written: the record's timestamp; one before 2001 is none. A request is not younger than the record that it came in.
  ///   - collapseBefore: what was created earlier is one of a pile, in milliseconds since the epoch; `.min` for no piles.
  ///   - partition: of the record.
  init(
    _ envelope: Envelope, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    written: Int64, collapseBefore: Int64, in partition: Int32
  ) {
    // Before Kafka 4.0 a record may have any timestamp.
    let latest =
      written < OutsideTime.firstRecordTime
      ? envelope.created : min(written, OutsideTime.last) &+ OutsideTime.skew
    self.init(
      envelope, device: Self.hash(key), created: min(envelope.created, latest),
      waitedSince: Self.waitedSince(envelope, value))
    payload = Self.hash(payload: envelope, value)
    if envelope.hasStateKey {
      state = StateFacts(envelope, key: key, value: value, in: partition)
    } else if envelope.hasHeaders, collapseBefore != .min {
      state = StateFacts(ofPile: envelope, key: key, value: value)
      state.isFresh = state.identity != 0 && created >= collapseBefore
    }
    if envelope.group.count > 0 {
      let group = UnsafeRawBufferPointer(rebasing: value[envelope.group.indices])
      self.group = AppHash.of(group.bindMemory(to: UInt8.self).span)
    }
    if envelope.campaign.count > 0 {
      let name = UnsafeRawBufferPointer(rebasing: value[envelope.campaign.indices])
      campaign = CampaignHolds.hash(
        app: envelope.appHash, envelope.environment,
        name: AppHash.of(name.bindMemory(to: UInt8.self).span))
    }
  }

  /// When it was first moved to a retry topic because it has no credential, or the time that its device's pace has given
  /// it, in milliseconds since the epoch; 0 if neither was.
  private static func waitedSince(_ envelope: Envelope, _ value: UnsafeRawBufferPointer) -> UInt64 {
    guard let since = envelope.firstSeen else { return 0 }
    let reason = value[envelope.lastReason.indices]
    func isReason(_ known: ParkReason) -> Bool {
      known.text.map { reason.elementsEqual(UnsafeRawBufferPointer($0)) } ?? false
    }
    if isReason(.credential) { return UInt64(max(0, since)) }
    return isReason(.devicePace) ? UInt64(max(0, since)) | reserved : 0
  }

  /// Tells a payload from another one: the highest bits of a product with all words of it. Every difference of a word stays
  /// one of the product, and one in 65,536 does not show in these bits. Of a long payload its beginning and its end tell:
  /// windows of many ids are read again at each rebalance.
  static func hash(payload envelope: Envelope, _ value: UnsafeRawBufferPointer) -> UInt16 {
    guard let record = value.baseAddress else { return 0 }
    let (start, count) = (record + envelope.bodyStart, value.count &- envelope.bodyStart)
    let (beginning, rest) = (min(count, 192), min(max(0, count &- 192), 64))
    var hash = mix(UInt64(truncatingIfNeeded: count), start, beginning)
    if rest > 0 { hash = mix(hash, start + (count &- rest), rest) }
    return UInt16(truncatingIfNeeded: hash >> 48)
  }

  /// Multiplies four words at a time, none of which waits for another one.
  @inline(__always)
  private static func mix(
    _ seed: UInt64, _ start: UnsafeRawPointer, _ count: Int
  ) -> UInt64 {
    let factor: UInt64 = 0x9E37_79B9_7F4A_7C15
    func word(_ index: Int) -> UInt64 { (start + index).loadUnaligned(as: UInt64.self) }
    var (hash, second, third, fourth) = (seed, UInt64(2), UInt64(3), UInt64(4))
    var index = 0
    while index &+ 32 <= count {
      hash = (hash ^ word(index)) &* factor
      second = (second ^ word(index &+ 8)) &* factor
      third = (third ^ word(index &+ 16)) &* factor
      fourth = (fourth ^ word(index &+ 24)) &* factor
      index &+= 32
    }
    hash = (((hash ^ second) &* factor ^ third) &* factor ^ fourth) &* factor
    while index &+ 8 <= count {
      hash = (hash ^ word(index)) &* factor
      index &+= 8
    }
    while index < count {
      hash = (hash ^ UInt64((start + index).load(as: UInt8.self))) &* factor
      index &+= 1
    }
    return hash
  }

  /// The device's place in tables: eight bytes at a time, with a last mix.
  static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard let start = bytes.baseAddress else { return 0 }
    var hash = UInt64(truncatingIfNeeded: bytes.count)
    var index = 0
    while index &+ 8 <= bytes.count {
      let word = (start + index).loadUnaligned(as: UInt64.self)
      hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
      hash ^= hash >> 32
      index &+= 8
    }
    while index < bytes.count {
      hash = (hash ^ UInt64(bytes[index])) &* 0x0000_0100_0000_01B3
      index &+= 1
    }
    return hash ^ (hash >> 31)
  }
}

extension StateFacts {
  /// By what a newer notification supersedes this one, which has a key.
  init(
    _ envelope: Envelope, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    in partition: Int32
  ) {
    let carried = envelope.carried(in: value)
    let position = LanePosition(carried[.position].bindMemory(to: UInt8.self).span)
    self.init(
      Self.identity(envelope, key: key, value: value, carried[.supersede]), of: envelope.id,
      isFinal: envelope.isFinal, urgency: Urgency(envelope), position: position, in: partition)
  }

  /// The same for one of a pile: its collapse id is its key, if it has one.
  init(ofPile envelope: Envelope, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    self.init()
    let collapseID = envelope.carried(in: value)[.collapseID]
    guard !collapseID.isEmpty else { return }
    identity = Self.identity(envelope, key: key, value: value, collapseID, isOfPile: true)
    isOfPile = true
    urgency = Urgency(envelope)
  }

  /// The device or channel, the app and environment, and the key as one number that nobody else can compute: who could
  /// would find a key with which one's own push ends another app's.
  private static func identity(
    _ envelope: Envelope, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    _ supersede: UnsafeRawBufferPointer, isOfPile: Bool = false
  ) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(isOfPile)
    hasher.combine(envelope.environment.rawValue)
    hasher.combine(envelope.target.isDevice)
    for part in [key, UnsafeRawBufferPointer(rebasing: value[envelope.app.indices]), supersede] {
      hasher.combine(part.count)
      hasher.combine(bytes: part)
    }
    return UInt64(bitPattern: Int64(hasher.finalize())) | 1
  }
}

extension Urgency {
  /// What of a notification must not be lost to a newer one.
  init(_ envelope: Envelope) {
    self = envelope.isSilent ? [] : .alert
    if envelope.priority == 10 { insert(.immediate) }
  }
}

extension PushFacts {
  private init(
    _ envelope: Envelope, device: UInt64, created: Int64, waitedSince: UInt64
  ) {
    // `apns-expiration` 0 is one attempt, not the past.
    let expiresAt = envelope.expiration.map { $0 == 0 ? .max : $0 * 1_000 } ?? .max
    self.init(
      dedupKey: envelope.dedupKey, app: envelope.appHash, device: device, lane: envelope.lane,
      created: created, expiresAt: expiresAt)
    environment = envelope.environment
    target = envelope.target
    pushType = envelope.pushType
    attempt = envelope.attempt
    self.waitedSince = waitedSince
    // Apple counts no update of priority 5 in the budget of Live Activities.
    let isUncounted = envelope.pushType == .liveactivity && envelope.priority < 10
    isFreeOfDevicePace = envelope.isStart || envelope.isFinal || isUncounted
  }
}
