// SPDX-License-Identifier: Apache-2.0
import Contract
import Glibc
import HTTP
import HTTP2
import Records

/// The header fields of a pool's requests (Apple, "Sending notification requests to APNs").
///
/// With our own engine those that many pushes share are written down once and named by a key; with nghttp2 all of them
/// are listed for each push. Values of one push are slices of it, which stays where it is until its answer.
final class PushHeaders {
  @exclusivity(unchecked) private(set) var list = HeaderList()
  private let isPrepared: Bool
  private let authorizationIndexing: HeaderIndexing
  private let authority: UnsafeMutableRawBufferPointer
  /// Sets of shared fields, each at the place that its hash says or at one of the next.
  @exclusivity(unchecked) private var sets: [SharedHeaders?]
  /// How many of these places have been used.
  private var usedCount: UInt64 = 0
  /// The one that the list begins with.
  @exclusivity(unchecked) private var current: SharedHeaders?
  private var lastRound: UInt64 = 0

  private static let setCount = 256
  /// Places that a set may stand in, from that of its hash on.
  private static let tries = 4
  /// The same for all requests.
  private static let constantCount = 3
  /// Sets that the engine of a connection keeps.
  fileprivate static let keptAtMost = UInt64(ClientEngine.mostPrepared)

  init(authority name: String, _ http2: HTTP2Implementation, indexesAuthorization: Bool) {
    isPrepared = http2 == .engine
    authorizationIndexing = indexesAuthorization ? .allowed : .never
    sets = Array(repeating: nil, count: isPrepared ? Self.setCount : 0)
    authority = .allocate(byteCount: name.utf8.count, alignment: 1)
    authority.copyBytes(from: Array(name.utf8))
    guard !isPrepared else { return }
    appendConstants()
  }

  deinit { authority.deallocate() }

  private func appendConstants() {
    list.append(":method", "POST" as StaticString)
    list.append(":scheme", "https" as StaticString)
    list.append(":authority", UnsafeRawBufferPointer(authority))
  }

  /// Fills the list for a push.
  func fill(for push: UnsafeMutablePointer<Push>, on connection: GatewayConnection) {
    guard isPrepared else { return fillAll(for: push, on: connection) }
    if let current, current.matches(push, connection.authorization) {
      list.removeAll(keeping: 1 + current.count)
      list.replaceFirst(push.pointee.path)
    } else {
      change(to: set(for: push, connection.authorization), push)
    }
    let envelope = push.pointee.envelope
    if !envelope.expirationText.isEmpty {
      list.append(.apnsExpiration, push.pointee.field(envelope.expirationText), .never)
    }
    let id = push.pointee.field(envelope.idText)
    list.append(envelope.target.isDevice ? .apnsID : .apnsRequestID, id, .never)
    if envelope.hasHeaders { appendCarried(push) }
  }

  /// Appends the header fields that a push carries.
  private func appendCarried(_ push: UnsafeMutablePointer<Push>) {
    push.pointee.carried.forEachHeader { name, value, isCollapseID in
      if isCollapseID {
        list.append(.apnsCollapseID, value, .never)
      } else {
        list.append(name: name, value, .never)
      }
    }
  }

  // MARK: Shared fields

  /// The set of a push's shared fields, which is made if there is none.
  private func set(
    for push: UnsafeMutablePointer<Push>, _ authorization: Authorization?
  ) -> SharedHeaders {
    let first = SharedHeaders.hash(push)
    var place = first & (Self.setCount - 1)
    for step in 0..<Self.tries {
      let next = (first + step) & (Self.setCount - 1)
      guard let known = sets[next] else {
        place = next
        break
      }
      if known.matches(push, authorization) { return known }
      // With all places taken the oldest one goes.
      if let oldest = sets[place], known.key < oldest.key { place = next }
    }
    lastRound += 1
    let key = lastRound * Self.keptAtMost + (sets[place]?.place ?? nextPlace())
    let made = SharedHeaders(push, authorization, key: key)
    sets[place] = made
    return made
  }

  /// The engine keeps fields where the key's low bits say: one after the other, so that few share a place.
  private func nextPlace() -> UInt64 {
    defer { usedCount += 1 }
    return usedCount % Self.keptAtMost
  }

  private func change(to set: SharedHeaders, _ push: UnsafeMutablePointer<Push>) {
    current = set
    list.removeAll()
    list.append(.path, push.pointee.path, .never)
    appendConstants()
    if let authorization = set.authorization {
      list.append("authorization", authorization.value, authorizationIndexing)
    }
    switch set.target {
    case .device: list.append("apns-topic", set.topic)
    // Its topic is in the path.
    case .channel: list.append("apns-channel-id", set.topic)
    }
    list.append("apns-push-type", set.pushType)
    list.append("apns-priority", set.priority)
    list.share(as: set.key)
  }

  // MARK: nghttp2

  /// Values that do not come again are kept out of the small compression table, except on a connection's
  /// first request, which puts the names in.
  private func fillAll(for push: UnsafeMutablePointer<Push>, on connection: GatewayConnection) {
    let perRequest: HeaderIndexing = connection.hasSent ? .never : .allowed
    let envelope = push.pointee.envelope
    list.removeAll(keeping: Self.constantCount)
    list.append(":path", push.pointee.path)
    if let authorization = connection.authorization {
      list.append("authorization", authorization.value, authorizationIndexing)
    }
    switch envelope.target {
    case .device: list.append("apns-topic", push.pointee.field(envelope.topic))
    case .channel: list.append("apns-channel-id", push.pointee.token)
    }
    list.append("apns-push-type", push.pointee.field(envelope.pushTypeText))
    list.append("apns-priority", push.pointee.field(envelope.priorityText))
    if !envelope.expirationText.isEmpty {
      list.append(
        "apns-expiration", push.pointee.field(envelope.expirationText),
        envelope.expiration == 0 ? .allowed : perRequest)
    }
    let id = push.pointee.field(envelope.idText)
    switch envelope.target {
    case .device: list.append("apns-id", id, perRequest)
    case .channel: list.append("apns-request-id", id, perRequest)
    }
    guard envelope.hasHeaders else { return }
    push.pointee.carried.forEachHeader { name, value, isCollapseID in
      list.append(name: name, value, isCollapseID ? perRequest : .never)
    }
  }
}

/// Values that pushes of one app, push type and priority share as long as the provider token is the same.
final class SharedHeaders {
  let key: UInt64
  let target: PushTarget
  let authorization: Authorization?
  /// The fields with these values, and those that are the same for all requests.
  let count: Int
  private let memory: UnsafeMutableRawBufferPointer
  /// The beginning of an envelope with these values (`Envelope.beginning`), and the value of its priority.
  @exclusivity(unchecked) private var beginning: UInt32
  private let priorityValue: UInt8
  private let topicCount: Int
  private let pushTypeCount: Int

  init(_ push: UnsafeMutablePointer<Push>, _ authorization: Authorization?, key: UInt64) {
    self.key = key
    self.authorization = authorization
    target = push.pointee.envelope.target
    beginning = push.pointee.envelope.beginning
    priorityValue = push.pointee.envelope.priority
    count = authorization == nil ? 6 : 7
    let (topic, pushType, priority) = Self.values(push)
    topicCount = topic.count
    pushTypeCount = pushType.count
    memory = .allocate(byteCount: topic.count + pushType.count + priority.count, alignment: 1)
    memory.copyBytes(from: Array(topic) + Array(pushType) + Array(priority))
  }

  deinit { memory.deallocate() }

  /// Where the engine keeps the fields.
  var place: UInt64 { key % PushHeaders.keptAtMost }

  var topic: UnsafeRawBufferPointer { part(0..<topicCount) }
  var pushType: UnsafeRawBufferPointer { part(topicCount..<topicCount + pushTypeCount) }
  var priority: UnsafeRawBufferPointer { part(topicCount + pushTypeCount..<memory.count) }

  private func part(_ range: Range<Int>) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[range])
  }

  /// Whether a push has these values.
  func matches(_ push: UnsafeMutablePointer<Push>, _ authorization: Authorization?) -> Bool {
    guard authorization === self.authorization,
      push.pointee.envelope.target.isDevice == target.isDevice
    else { return false }
    let begun = push.pointee.envelope.beginning
    // A device's topic is a part of it, and so is the push type.
    if begun != 0, begun == beginning, target.isDevice {
      return push.pointee.envelope.priority == priorityValue
    }
    let (topic, pushType, priority) = Self.values(push)
    guard
      Self.equal(topic, self.topic) && Self.equal(pushType, self.pushType)
        && Self.equal(priority, self.priority)
    else { return false }
    beginning = begun
    return true
  }

  /// Differs for most pushes that share nothing.
  static func hash(_ push: UnsafeMutablePointer<Push>) -> Int {
    let (topic, pushType, priority) = values(push)
    var hash: UInt32 = 2_166_136_261
    for byte in topic { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    for byte in pushType { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    for byte in priority { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
    return Int(hash ^ hash >> 16)
  }

  private static func values(
    _ push: UnsafeMutablePointer<Push>
  ) -> (UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer) {
    let envelope = push.pointee.envelope
    let topic =
      envelope.target.isDevice ? push.pointee.field(envelope.topic) : push.pointee.token
    return (
      topic, push.pointee.field(envelope.pushTypeText), push.pointee.field(envelope.priorityText)
    )
  }

  private static func equal(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    guard a.count == b.count, let first = a.baseAddress, let second = b.baseAddress else {
      return a.count == b.count
    }
    return memcmp(first, second, a.count) == 0
  }
}
