// SPDX-License-Identifier: Apache-2.0
import Glibc
public import HTTP2

/// The position of a header field in its request's bytes.
public struct HeaderField {
  var nameStart: UInt32
  var nameCount: UInt32
  var valueStart: UInt32
  var valueCount: UInt32
  /// Whether the client sent it as a never-indexed literal (RFC 7541 §6.2.3).
  var isNeverIndexed = false
}

/// A complete request as received: every header field in order of arrival, including repeated ones, and the body.
/// Pooled memory: valid until it has been answered.
public struct ServerRequest: ListMember {
  /// The number of fields that are kept; further ones are only counted.
  public static let fieldCapacity = 48
  /// The size up to which a body is kept; further bytes are only counted.
  public static let bodyCapacity = 16 * 1_024

  public static let scratchCapacity = 256

  public internal(set) var streamID: Int32 = 0
  public internal(set) var connectionToken: UInt64 = 0
  /// The number of received fields; if above `fieldCapacity`, some are missing here.
  public internal(set) var fieldCount = 0
  /// The size of the header list (RFC 9113 §6.5.2): names, values and 32 bytes per field, including fields not kept.
  public internal(set) var headerListSize = 0
  /// The size of the received body; if above `body.count`, the end is missing here.
  public internal(set) var bodyTotal = 0
  /// 256 bytes for the owner's use, such as header values of the response; valid until the stream closes.
  public let scratch: UnsafeMutablePointer<UInt8>
  /// For the owner's use, such as the time of the response.
  public var due: UInt64 = 0
  /// For the owner's use, such as the list it waits in.
  public var link: UnsafeMutablePointer<ServerRequest>?
  /// For the owner's use, such as the planned response.
  public var verdict: UInt32 = 0
  /// For the owner's use, such as the form of the response; initially 0.
  public var form: UInt32 = 0

  /// The connection; nil once the stream or connection is gone and a response cannot be sent.
  var connection: Unmanaged<HTTP2ServerConnection>?
  var isHeld = false
  /// Whether its header fields are complete, its body is not, and it has not been announced yet.
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
  /// The newest copy made by `keep`; each begins with the address of the one before.
  private(set) var kept: UnsafeMutableRawPointer?
  public var next: UnsafeMutablePointer<ServerRequest>?
  public var previous: UnsafeMutablePointer<ServerRequest>?

  init() {
    capacity = 2_048
    bytes = .allocate(capacity: capacity)
    fields = .allocate(capacity: Self.fieldCapacity)
    scratch = .allocate(capacity: Self.scratchCapacity)
  }

  /// Whether the stream is still open, so that a response would be sent.
  public var isAlive: Bool { connection != nil }

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

  /// Whether field `index` was sent as a never-indexed literal (RFC 7541 §6.2.3).
  public func isNeverIndexed(_ index: Int) -> Bool { fields[index].isNeverIndexed }

  /// The part of the body that was kept.
  public var body: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: bytes + bodyStart, count: count - bodyStart)
  }

  /// Copies bytes for the response; the copy is valid until the stream closes.
  public mutating func keep(_ bytes: some Collection<UInt8>) -> UnsafeRawBufferPointer {
    let link = MemoryLayout<UnsafeMutableRawPointer?>.size
    let memory = UnsafeMutableRawPointer.allocate(byteCount: link + bytes.count, alignment: link)
    memory.storeBytes(of: kept, as: UnsafeMutableRawPointer?.self)
    kept = memory
    let copy = UnsafeMutableRawBufferPointer(start: memory + link, count: bytes.count)
    copy.copyBytes(from: bytes)
    return UnsafeRawBufferPointer(copy)
  }

  mutating func releaseKept() {
    while let memory = kept {
      kept = memory.load(as: UnsafeMutableRawPointer?.self)
      memory.deallocate()
    }
  }

  mutating func recycle() {
    if kept != nil { releaseKept() }
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

  /// The overhead of a field beyond its name and value (RFC 9113 §6.5.2).
  private static let fieldOverhead = 32

  /// The value of the request's `content-length`; nil if absent or invalid.
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

/// The requests of all connections of one loop, reused. Owned by one thread.
public final class ServerRequestPool {
  @exclusivity(unchecked) private var free: [UnsafeMutablePointer<ServerRequest>] = []
  private var all: [UnsafeMutablePointer<ServerRequest>] = []
  @exclusivity(unchecked) private var ready: [UnsafeMutablePointer<ServerRequest>] = []
  private var early: [UnsafeMutablePointer<ServerRequest>] = []

  /// Whether header fields and bodies are kept. If not, the sessions are those for load tests.
  public let keepsContent: Bool
  let sessionMemory = SessionMemory()
  let blockScratch = BlockScratch()

  public init(keepsContent: Bool = true) { self.keepsContent = keepsContent }

  deinit {
    for request in all {
      request.pointee.releaseKept()
      request.pointee.bytes.deallocate()
      request.pointee.fields.deallocate()
      request.pointee.scratch.deallocate()
      request.deallocate()
    }
  }

  /// Replaces `list` with the requests completed since the last call. Each must be answered or dropped, once.
  public func drainReady(into list: inout [UnsafeMutablePointer<ServerRequest>]) {
    list.removeAll(keepingCapacity: true)
    guard !ready.isEmpty else { return }
    swap(&list, &ready)
  }

  /// Replaces `list` with the incomplete requests found to exceed their connection's `earlyAnswerLimit` since the last
  /// call. They belong to their streams: answer them in the same turn, or not before they are ready.
  public func drainEarly(into list: inout [UnsafeMutablePointer<ServerRequest>]) {
    list.removeAll(keepingCapacity: true)
    guard !early.isEmpty else { return }
    // Requests completed or cancelled since then have lost their mark, or occur here twice.
    for request in early where request.pointee.isEarly {
      request.pointee.isEarly = false
      list.append(request)
    }
    early.removeAll(keepingCapacity: true)
  }

  /// Returns an empty request. Sessions take their own.
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
