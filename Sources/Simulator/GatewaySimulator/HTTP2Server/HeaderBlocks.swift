// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import EventLoop
import HTTP

/// Reads a client's header blocks instead of nghttp2, which decodes and checks each byte of a provider token again with
/// every push. nghttp2 is told of every request and manages its streams, windows and limits:
///
/// - A plain request (the four pseudo-header fields once each and first, names and values of ordinary characters, no
///   field that HTTP/2 has rules for except `content-length`) is passed to nghttp2 in a few bytes, and its fields are
///   stored in the request here.
/// - Every other block is passed field by field, as literals, for nghttp2 to check.
struct HeaderBlocks: ~Copyable {
  private var decoder: HeaderDecoder
  /// The newest stream that was started.
  private var newest: UInt32 = 0
  /// The fragments of an incomplete block.
  private var fragments = ByteBuffer(capacity: 0)
  private var isOpen = false
  private let scratch: BlockScratch
  /// The fields of the last block by index.
  private let repeated: UnsafeMutablePointer<RepeatedField>

  /// The largest size of a block's fields, and of an incomplete block's fragments, in bytes.
  private static let listLimit = 1 << 20

  init(_ scratch: BlockScratch) {
    self.scratch = scratch
    decoder = HeaderDecoder(listLimit: Self.listLimit)
    // nghttp2 sees each change of the table's size, and knows the maximum.
    decoder.changeLimit(.max)
    repeated = .allocate(capacity: RepeatedField.places)
    for place in 0..<RepeatedField.places { (repeated + place).initialize(to: RepeatedField()) }
  }

  deinit {
    repeated.deinitialize(count: RepeatedField.places)
    repeated.deallocate()
  }

  /// The bytes for nghttp2 after `read`; valid until the next one.
  var output: UnsafeRawBufferPointer { scratch.frames.bytes }

  /// Reads a HEADERS or CONTINUATION frame.
  ///
  /// - Parameter request: An empty one.
  /// - Returns: Whether it now has the fields, with a short form for nghttp2; otherwise it is unused.
  mutating func read(
    _ head: FrameHead, _ frame: UnsafeRawBufferPointer,
    _ request: UnsafeMutablePointer<ServerRequest>
  ) -> Bool {
    scratch.frames.removeAll()
    if head.type == FrameHead.continuation || isOpen {
      continueBlock(head, frame, request)
      return false
    }
    guard let (priority, fragment) = Self.parts(head, frame) else {
      // nghttp2 reports the error, and the connection ends.
      scratch.frames.append(frame)
      return false
    }
    let isRequest = head.stream > newest
    newest = max(newest, head.stream)
    guard head.flags & FrameHead.endHeaders != 0 else {
      isOpen = true
      fragments.removeAll()
      fragments.append(fragment)
      write(head, priority, from: 0, upTo: 0, isEnd: false)
      return false
    }
    let isPrepared = decode(fragment, request, isRequest: isRequest)
    writeAll(head, priority)
    return isPrepared
  }

  /// The priority fields and the fragment of a block; nil if the frame is inconsistent.
  private static func parts(
    _ head: FrameHead, _ frame: UnsafeRawBufferPointer
  ) -> (priority: UnsafeRawBufferPointer, fragment: UnsafeRawBufferPointer)? {
    var start = FrameHead.size
    var padding = 0
    if head.flags & FrameHead.padded != 0 {
      guard head.length > 0 else { return nil }
      padding = Int(frame[start])
      start += 1
    }
    let priorityEnd = start + (head.flags & FrameHead.priority != 0 ? 5 : 0)
    let end = frame.count - padding
    guard priorityEnd <= end else { return nil }
    return (
      UnsafeRawBufferPointer(rebasing: frame[start..<priorityEnd]),
      UnsafeRawBufferPointer(rebasing: frame[priorityEnd..<end])
    )
  }

  /// Passes a CONTINUATION to nghttp2 for each one received, so that it counts them; the last one contains the block.
  private mutating func continueBlock(
    _ head: FrameHead, _ frame: UnsafeRawBufferPointer,
    _ request: UnsafeMutablePointer<ServerRequest>
  ) {
    guard isOpen, head.type == FrameHead.continuation, head.stream == newest else {
      scratch.frames.append(frame)
      return
    }
    let payload = UnsafeRawBufferPointer(rebasing: frame[FrameHead.size...])
    if fragments.count + payload.count <= Self.listLimit { fragments.append(payload) }
    guard head.flags & FrameHead.endHeaders != 0 else {
      return write(head, nil, from: 0, upTo: 0, isEnd: false)
    }
    isOpen = false
    _ = decode(fragments.bytes, request, isRequest: false)
    writeAll(head, nil)
  }

  // MARK: Telling nghttp2

  private mutating func writeAll(_ head: FrameHead, _ priority: UnsafeRawBufferPointer?) {
    var head = head
    var priority = priority
    var start = 0
    repeat {
      let end = min(scratch.literals.count, start + ClientFrames.largest - 5)
      write(head, priority, from: start, upTo: end, isEnd: end == scratch.literals.count)
      start = end
      head = FrameHead(
        length: 0, type: FrameHead.continuation, flags: head.flags & FrameHead.endHeaders,
        stream: head.stream)
      priority = nil
    } while start < scratch.literals.count
  }

  /// Writes a frame with a part of `literals`.
  private mutating func write(
    _ head: FrameHead, _ priority: UnsafeRawBufferPointer?, from start: Int, upTo end: Int,
    isEnd: Bool
  ) {
    var head = head
    head.flags &= ~FrameHead.padded
    if !isEnd { head.flags &= ~FrameHead.endHeaders }
    head.length = end - start + (priority?.count ?? 0)
    head.write(into: &scratch.frames)
    if let priority { scratch.frames.append(priority) }
    scratch.frames.append(UnsafeRawBufferPointer(rebasing: scratch.literals.bytes[start..<end]))
  }

  // MARK: Reading

  private mutating func decode(
    _ block: UnsafeRawBufferPointer, _ request: UnsafeMutablePointer<ServerRequest>, isRequest: Bool
  ) -> Bool {
    var told = ToldRequest(isPlain: isRequest)
    scratch.literals.removeAll()
    let updates = Self.sizeUpdates(of: block)
    scratch.literals.append(UnsafeRawBufferPointer(rebasing: block[..<updates]))
    decoder.beginBlock()
    var position = 0
    do throws(HPACKError) {
      while position < block.count {
        let first = max(position, updates)
        told.isNeverIndexed = first < block.count && block[first] & 0xF0 == 0x10
        guard try decodeField(block, &position, updates: updates, request, &told) else { break }
      }
    } catch {
      // An index outside the table: nghttp2 ends the connection with COMPRESSION_ERROR.
      scratch.literals.removeAll()
      scratch.literals.append(0x80)
      return false
    }
    guard told.isPlain else { return false }
    guard told.plain.isComplete else {
      HeaderLiterals.write(fieldsOf: request, into: &scratch.literals)
      return false
    }
    told.plain.writeShort(into: &scratch.literals)
    return true
  }

  /// Reads the next field; returns false at the block's end.
  ///
  /// - Parameter updates: The bytes of table size updates, which the decoder must see before the first field.
  private mutating func decodeField(
    _ block: UnsafeRawBufferPointer, _ position: inout Int, updates: Int,
    _ request: UnsafeMutablePointer<ServerRequest>, _ told: inout ToldRequest
  ) throws(HPACKError) -> Bool {
    let place = told.count
    told.count += 1
    let canRepeat = position >= updates && place < RepeatedField.places
    if canRepeat, let count = repeated[place].length(in: block, at: position, decoder.generation) {
      position += count
      if place == 0 { decoder.passField() }
      told.take(
        repeated[place].name, repeated[place].value, isKnown: true, request, &scratch.literals)
      return true
    }
    let start = position
    let span = UnsafeBufferPointer(
      start: block.baseAddress?.assumingMemoryBound(to: UInt8.self), count: block.count
    ).span
    guard try decoder.next(in: span, at: &position) else { return false }
    let (nameCount, valueCount) = (decoder.text.nameCount, decoder.text.valueCount)
    decoder.text.bytes.withUnsafeBytes { text in
      let name = UnsafeRawBufferPointer(rebasing: text[..<nameCount])
      let value = UnsafeRawBufferPointer(rebasing: text[nameCount..<nameCount + valueCount])
      told.take(name, value, isKnown: false, request, &scratch.literals)
      if canRepeat, told.isPlain {
        let coded = UnsafeRawBufferPointer(rebasing: block[start..<position])
        repeated[place].keep(coded, name, value, decoder.generation)
      }
    }
    return true
  }

  /// The length of the table size updates at the start of a block (RFC 7541 §6.3).
  private static func sizeUpdates(of block: UnsafeRawBufferPointer) -> Int {
    var place = 0
    while place < block.count, block[place] & 0xE0 == 0x20 {
      var isMore = block[place] & 0x1F == 0x1F
      place += 1
      while isMore, place < block.count {
        isMore = block[place] & 0x80 != 0
        place += 1
      }
    }
    return place
  }
}

/// The memory in which a block is written for nghttp2: the block, and the frames around it. Shared by all connections
/// of a loop, because nothing in it outlives a call.
final class BlockScratch {
  @exclusivity(unchecked) fileprivate(set) var literals = ByteBuffer(capacity: 1_024)
  @exclusivity(unchecked) fileprivate(set) var frames = ByteBuffer(capacity: 1_024)
}

/// The decoded part of a block: a plain request, or literals.
private struct ToldRequest {
  var isPlain: Bool
  var plain = PlainRequest()
  /// The number of fields so far.
  var count = 0
  /// Whether the next field is a literal that is never indexed (RFC 7541 §6.2.3).
  var isNeverIndexed = false

  /// - Parameter isKnown: A field with this name and value was accepted before, and was ordinary.
  @inline(__always)
  mutating func take(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isKnown: Bool,
    _ request: UnsafeMutablePointer<ServerRequest>, _ literals: inout ByteBuffer
  ) {
    if isPlain {
      if isKnown || PlainRequest.isOrdinary(value),
        request.pointee.fieldCount < ServerRequest.fieldCapacity,
        plain.takes(name, value, isKnown: isKnown)
      {
        request.pointee.addField(name, value, isNeverIndexed: isNeverIndexed)
        return
      }
      isPlain = false
      HeaderLiterals.write(fieldsOf: request, into: &literals)
    }
    HeaderLiterals.write(name, value, isNeverIndexed: isNeverIndexed, into: &literals)
  }
}
