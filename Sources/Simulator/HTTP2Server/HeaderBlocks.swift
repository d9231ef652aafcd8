// SPDX-License-Identifier: Apache-2.0
import Bytes
import CNghttp2
import HTTP2Engine

/// Reads a client's header blocks in nghttp2's place, which decodes and checks each byte of a provider token again with
/// every push. nghttp2 is told of every request and keeps its streams, its windows and its limits:
///
/// - A request beyond doubt (the four pseudo-header fields once each and first, names and values of ordinary characters,
///   nothing that HTTP/2 has rules for but `content-length`) is told in a few bytes, and its fields are put into the
///   request here.
/// - Every other block is told field by field, as literals, and judged by nghttp2.
struct HeaderBlocks: ~Copyable {
  private var decoder: HeaderDecoder
  /// The newest stream that began.
  private var newest: UInt32 = 0
  /// Fragments of a block whose end has not come.
  private var fragments = ByteBuffer(capacity: 0)
  private var isOpen = false
  private let scratch: BlockScratch
  /// The fields of the last block by their places, but for the first one.
  private let repeated: UnsafeMutablePointer<RepeatedField>

  /// No block's fields count for more, nor are more bytes of one kept while it has no end.
  private static let listLimit = 1 << 20

  init(_ scratch: BlockScratch) {
    self.scratch = scratch
    decoder = HeaderDecoder(listLimit: Self.listLimit)
    // nghttp2 sees each change of the table's size, and knows how large the table may be.
    decoder.changeLimit(.max)
    repeated = .allocate(capacity: RepeatedField.places)
    for place in 0..<RepeatedField.places { (repeated + place).initialize(to: RepeatedField()) }
  }

  deinit {
    repeated.deinitialize(count: RepeatedField.places)
    repeated.deallocate()
  }

  /// The bytes to tell nghttp2 after `read`; valid until the next one.
  var output: UnsafeRawBufferPointer { scratch.frames.bytes }

  /// Reads a HEADERS or CONTINUATION frame.
  ///
  /// - Parameter request: An empty one.
  /// - Returns: true if it has the fields now, and nghttp2 is told in short; else it is of no use.
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
      // nghttp2 says what is wrong with it, and the connection ends.
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

  /// The priority fields and the fragment of a block; nil if the frame contradicts itself.
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

  /// nghttp2 sees a CONTINUATION for each that came, and counts them; the block is in the last one.
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

  /// One frame with a part of `literals`.
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
    _ block: UnsafeRawBufferPointer, _ request: UnsafeMutablePointer<ServerRequest>,
    isRequest: Bool
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
        guard try decodeField(block, &position, request, &told) else { break }
      }
    } catch {
      // An index that no table has: nghttp2 ends the connection with COMPRESSION_ERROR.
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

  /// Reads the next field; false at the block's end.
  private mutating func decodeField(
    _ block: UnsafeRawBufferPointer, _ position: inout Int,
    _ request: UnsafeMutablePointer<ServerRequest>, _ told: inout ToldRequest
  ) throws(HPACKError) -> Bool {
    let place = told.count
    told.count += 1
    // The decoder has to see a block's beginning.
    let canRepeat = place > 0 && place < RepeatedField.places
    if canRepeat,
      let count = repeated[place].length(in: block, at: position, decoder.generation)
    {
      position += count
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

  /// The number of bytes of changes of the table's size at the beginning of a block (RFC 7541 §6.3).
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

/// The memory in which a block is written as nghttp2 is told of it: the block, and the frames around it. One for all
/// connections of a loop, because nothing in it outlives a call.
final class BlockScratch {
  @exclusivity(unchecked) fileprivate(set) var literals = ByteBuffer(capacity: 1_024)
  @exclusivity(unchecked) fileprivate(set) var frames = ByteBuffer(capacity: 1_024)
}

/// The part of a block that has been decoded so far: a plain request, or literals.
private struct ToldRequest {
  var isPlain: Bool
  var plain = PlainRequest()
  /// Fields so far.
  var count = 0
  /// The field that comes next is a literal that is never indexed (RFC 7541 §6.2.3).
  var isNeverIndexed = false

  /// - Parameter isKnown: A field with this name and value was taken before, and was ordinary.
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
