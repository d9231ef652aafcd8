// SPDX-License-Identifier: Apache-2.0
import Glibc
public import HTTP2

/// The position of a header field in its request's bytes.
public struct HeaderField {
  var nameStart: UInt32
  var nameCount: UInt32
  var valueStart: UInt32
  var valueCount: UInt32
  /// The client forbade to keep it in the compression table (RFC 7541 §6.2.3).
  var isNeverIndexed = false
}

/// A complete request as a server sees it: every header field in the order of arrival (repeated ones
/// too) and the body. Pooled memory: valid until it has been answered.
public struct ServerRequest: ListMember {
  /// Fields beyond this many are counted but not kept.
  public static let fieldCapacity = 48
  /// A body is kept up to this size and counted beyond it.
  public static let bodyCapacity = 16 * 1_024

  public static let scratchCapacity = 256

  /// The stream it came in on.
  public internal(set) var streamID: Int32 = 0
  /// The token of the connection it came in on.
  public internal(set) var connectionToken: UInt64 = 0
  /// Fields received; more than `fieldCapacity` means that some are missing here.
  public internal(set) var fieldCount = 0
  /// Size of the header list as RFC 9113 §6.5.2 counts it: names, values and 32 bytes a field, kept or not.
  public internal(set) var headerListSize = 0
  /// Bytes of the body received; more than `body.count` means that the end is missing here.
  public internal(set) var bodyTotal = 0
  /// 256 bytes free for the owner, e.g. header values of the answer; they last until the stream
  /// closes.
  public let scratch: UnsafeMutablePointer<UInt8>
  /// Free for the owner, e.g. the time at which to answer.
  public var due: UInt64 = 0
  /// Free for the owner, e.g. the list it waits in.
  public var link: UnsafeMutablePointer<ServerRequest>?
  /// Free for the owner, e.g. which answer it gets.
  public var verdict: UInt32 = 0
  /// Free for the owner, e.g. in which unusual form the answer comes; 0 at first.
  public var form: UInt32 = 0

  /// nil once the stream or the connection is gone: an answer cannot be sent.
  var connection: Unmanaged<HTTP2ServerConnection>?
  var isHeld = false
  /// Its header fields are complete, its body is not, and it has not been reported yet.
  var isEarly = false
  var wasAnnounced = false
  var hasTrailers = false
  var bytes: UnsafeMutablePointer<UInt8>
  var count = 0
  var capacity: Int
  let fields: UnsafeMutablePointer<HeaderField>
  var bodyStart = 0
  var response: UnsafeRawPointer?
  var responseCount = 0
  var responseSent = 0
  public var next: UnsafeMutablePointer<ServerRequest>?
  public var previous: UnsafeMutablePointer<ServerRequest>?

  init() {
    capacity = 2_048
    bytes = .allocate(capacity: capacity)
    fields = .allocate(capacity: Self.fieldCapacity)
    scratch = .allocate(capacity: Self.scratchCapacity)
  }

  /// The stream is still open: an answer would be sent.
  public var isAlive: Bool { connection != nil }

  /// Fields kept.
  public var keptFields: Int { min(fieldCount, Self.fieldCapacity) }

  /// The name of field `index`, in lower case.
  public func name(_ index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: bytes + Int(fields[index].nameStart), count: Int(fields[index].nameCount))
  }

  public func value(_ index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: bytes + Int(fields[index].valueStart), count: Int(fields[index].valueCount))
  }

  /// Field `index` came as a literal that is never indexed (RFC 7541 §6.2.3).
  public func isNeverIndexed(_ index: Int) -> Bool { fields[index].isNeverIndexed }

  /// The body, as far as it was kept.
  public var body: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + bodyStart, count: count - bodyStart)
  }

  mutating func recycle() {
    streamID = 0
    fieldCount = 0
    headerListSize = 0
    bodyTotal = 0
    due = 0
    link = nil
    verdict = 0
    form = 0
    connection = nil
    isHeld = false
    isEarly = false
    wasAnnounced = false
    hasTrailers = false
    count = 0
    bodyStart = 0
    response = nil
    responseCount = 0
    responseSent = 0
    next = nil
    previous = nil
  }

  mutating func addField(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isNeverIndexed: Bool = false
  ) {
    let (nameCount, valueCount) = (name.count, value.count)
    if fieldCount < Self.fieldCapacity {
      reserve(nameCount + valueCount)
      let place = UnsafeMutableRawPointer(bytes + count)
      if let name = name.baseAddress { place.copyMemory(from: name, byteCount: nameCount) }
      if let value = value.baseAddress {
        (place + nameCount).copyMemory(from: value, byteCount: valueCount)
      }
      fields[fieldCount] = HeaderField(
        nameStart: UInt32(count), nameCount: UInt32(nameCount),
        valueStart: UInt32(count + nameCount), valueCount: UInt32(valueCount),
        isNeverIndexed: isNeverIndexed)
      count += nameCount + valueCount
      bodyStart = count
    }
    fieldCount += 1
    headerListSize += nameCount + valueCount + Self.fieldOverhead
  }

  /// The size that a field counts for beyond its name and value (RFC 9113 §6.5.2).
  private static let fieldOverhead = 32

  /// The body's length by the `content-length` of the request; nil when it says nothing.
  var declaredLength: Int? {
    let name: StaticString = "content-length"
    for index in 0..<keptFields where fields[index].nameCount == UInt32(name.utf8CodeUnitCount) {
      guard memcmp(bytes + Int(fields[index].nameStart), name.utf8Start, 14) == 0 else { continue }
      return Int(String(decoding: value(index), as: UTF8.self))
    }
    return nil
  }

  mutating func addBody(_ chunk: UnsafePointer<UInt8>, _ chunkCount: Int) {
    bodyTotal += chunkCount
    let kept = min(chunkCount, Self.bodyCapacity - (count - bodyStart))
    guard kept > 0 else { return }
    reserve(kept)
    (bytes + count).update(from: chunk, count: kept)
    count += kept
  }

  @inline(__always)
  private mutating func reserve(_ wanted: Int) {
    if capacity - count < wanted { grow(wanted) }
  }

  private mutating func grow(_ wanted: Int) {
    capacity = max(capacity * 2, count + wanted)
    let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    larger.update(from: bytes, count: count)
    bytes.deallocate()
    bytes = larger
  }
}

/// The requests of all connections of one loop, used again and again. Owned by one thread.
public final class ServerRequestPool {
  @exclusivity(unchecked) private var free: [UnsafeMutablePointer<ServerRequest>] = []
  private var all: [UnsafeMutablePointer<ServerRequest>] = []
  @exclusivity(unchecked) private var ready: [UnsafeMutablePointer<ServerRequest>] = []
  private var early: [UnsafeMutablePointer<ServerRequest>] = []

  /// Keep header fields and bodies. Without it a request has neither, and its session is the one for load tests.
  public let keepsContent: Bool
  /// The memory of their sessions.
  let sessionMemory = SessionMemory()
  let blockScratch = BlockScratch()

  public init(keepsContent: Bool = true) { self.keepsContent = keepsContent }

  deinit {
    for request in all {
      request.pointee.bytes.deallocate()
      request.pointee.fields.deallocate()
      request.pointee.scratch.deallocate()
      request.deallocate()
    }
  }

  /// Replaces `list` by the requests that became complete since the last call. Each must be answered
  /// or dropped, once.
  public func drainReady(into list: inout [UnsafeMutablePointer<ServerRequest>]) {
    list.removeAll(keepingCapacity: true)
    guard !ready.isEmpty else { return }
    swap(&list, &ready)
  }

  /// Replaces `list` by the requests that were found to be larger than their connection's
  /// `earlyAnswerLimit` since the last call, and are not complete. They belong to their
  /// streams: answer them in the same turn, or not at all until they are ready.
  public func drainEarly(into list: inout [UnsafeMutablePointer<ServerRequest>]) {
    list.removeAll(keepingCapacity: true)
    guard !early.isEmpty else { return }
    // One that was completed or given up since has lost its mark, or stands here twice.
    for request in early where request.pointee.isEarly {
      request.pointee.isEarly = false
      list.append(request)
    }
    early.removeAll(keepingCapacity: true)
  }

  /// An empty request. Sessions take theirs by themselves.
  public func take() -> UnsafeMutablePointer<ServerRequest> {
    if let request = free.popLast() { return request }
    let request = UnsafeMutablePointer<ServerRequest>.allocate(capacity: 1)
    request.initialize(to: ServerRequest())
    all.append(request)
    return request
  }

  func complete(_ request: UnsafeMutablePointer<ServerRequest>) {
    request.pointee.isHeld = true
    request.pointee.isEarly = false
    ready.append(request)
  }

  func announce(_ request: UnsafeMutablePointer<ServerRequest>) {
    request.pointee.isEarly = true
    request.pointee.wasAnnounced = true
    early.append(request)
  }

  func recycle(_ request: UnsafeMutablePointer<ServerRequest>) {
    request.pointee.recycle()
    free.append(request)
  }
}
