// SPDX-License-Identifier: Apache-2.0
import CNghttp2
import HTTP

/// The fields of requests that have been submitted and wait to be written, in the order of their streams: where names
/// and values are. The memory is used again once all are written.
struct WaitingRequests {
  struct Field {
    let name: UnsafePointer<UInt8>
    let nameCount: Int
    let value: UnsafePointer<UInt8>
    let valueCount: Int
    let mark: HeaderList.Mark

    /// Bytes that it takes at most.
    var bound: Int { HeaderEncoder.bound(nameCount, valueCount) }
  }

  private struct Request {
    let stream: UInt32
    let fieldCount: Int
    let prepared: Int?
    let bound: Int
  }

  private var requests: [Request] = []
  private var fields: [Field] = []
  private var next = 0
  private var nextField = 0

  /// Notes a request's fields, but for those that are prepared.
  mutating func append(stream: UInt32, _ headers: borrowing HeaderList, prepared: Int?) {
    if next >= Self.mostWritten { forgetWritten() }
    var bound = 0
    let first = fields.count
    var index = 0
    while index < headers.count {
      if index == 1, prepared != nil { index += headers.sharedCount }
      guard index < headers.count else { break }
      let field = headers.fields[index]
      fields.append(
        Field(
          name: UnsafePointer(field.name), nameCount: field.namelen,
          value: UnsafePointer(field.value), valueCount: field.valuelen,
          mark: headers.marks[index]))
      bound += HeaderEncoder.bound(field.namelen, field.valuelen)
      index += 1
    }
    requests.append(
      Request(stream: stream, fieldCount: fields.count - first, prepared: prepared, bound: bound))
  }

  /// The most bytes that the next request needs, and its prepared fields. Requests of earlier streams were given up.
  mutating func skip(to stream: UInt32) -> (bound: Int, prepared: Int?) {
    while requests[next].stream != stream {
      nextField += requests[next].fieldCount
      next += 1
    }
    return (requests[next].bound, requests[next].prepared)
  }

  /// The first value of the request after the next one, which is written soon; nil without one.
  var soon: UnsafePointer<UInt8>? {
    let field = nextField + requests[next].fieldCount
    return field < fields.count ? fields[field].value : nil
  }

  /// Passes the next request's fields on, and forgets them.
  @inline(__always)
  mutating func take(_ body: (Field, _ isFirst: Bool) -> Void) {
    let first = nextField
    let end = first + requests[next].fieldCount
    for index in first..<end { body(fields[index], index == first) }
    next += 1
    nextField = end
    if next == requests.count { removeAll() }
  }

  /// Requests that are kept, also those that have been written and not forgotten yet.
  var keptCount: Int { requests.count }
  /// No more written ones are kept than this.
  static let mostWritten = 1_024

  /// While a window holds requests back the last one is never reached, so the written ones go in portions.
  private mutating func forgetWritten() {
    requests.removeFirst(next)
    fields.removeFirst(nextField)
    next = 0
    nextField = 0
  }

  mutating func removeAll() {
    requests.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    next = 0
    nextField = 0
  }
}
