// SPDX-License-Identifier: Apache-2.0
package import CNghttp2

/// Whether a header field may enter the compression table (RFC 7541 §6.2).
package enum HeaderIndexing: Sendable {
  /// For values that come again: the topic, the push type.
  case allowed
  /// For values that do not come again: they would push the others out of the table.
  case never
}

/// The header fields of one request or answer, in order, pseudo-headers first. A scratch list that
/// is filled again for each one: it stores where names and values are, never copies.
package struct HeaderList: ~Copyable {
  /// A list holds at most so many fields.
  package static let capacity = 32

  package let fields: UnsafeMutablePointer<nghttp2_nv>
  package private(set) var count = 0

  package init() {
    fields = .allocate(capacity: Self.capacity)
  }

  deinit { fields.deallocate() }

  /// Keeps the first `kept` fields (a prefix that all requests share) and forgets the others.
  package mutating func removeAll(keeping kept: Int = 0) {
    precondition(kept <= count, "a header list cannot keep more than it has")
    count = kept
  }

  /// Appends a field. `name` is in lower case; `value` must stay where it is until the exchange is
  /// done (the headers may wait for stream credit).
  package mutating func append(
    _ name: StaticString, _ value: UnsafeRawBufferPointer, _ indexing: HeaderIndexing = .allowed
  ) {
    append(name: name.utf8Start, name.utf8CodeUnitCount, value.baseAddress, value.count, indexing)
  }

  /// Appends a field with a constant value.
  package mutating func append(
    _ name: StaticString, _ value: StaticString, _ indexing: HeaderIndexing = .allowed
  ) {
    append(
      name: name.utf8Start, name.utf8CodeUnitCount, value.utf8Start, value.utf8CodeUnitCount,
      indexing)
  }

  /// Appends a field whose name is not a constant, either; both must stay where they are.
  package mutating func append(
    name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    _ indexing: HeaderIndexing = .allowed
  ) {
    guard let start = name.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
    append(name: start, name.count, value.baseAddress, value.count, indexing)
  }

  private mutating func append(
    name: UnsafePointer<UInt8>, _ nameCount: Int, _ value: UnsafeRawPointer?, _ valueCount: Int,
    _ indexing: HeaderIndexing
  ) {
    precondition(count < Self.capacity, "too many header fields")
    // The library wants pointers to mutable bytes but does not write to them; an empty value still
    // needs a valid one.
    let start = value ?? UnsafeRawPointer(name)
    fields[count] = nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name),
      value: UnsafeMutablePointer(mutating: start.assumingMemoryBound(to: UInt8.self)),
      namelen: nameCount, valuelen: valueCount,
      flags: indexing == .never ? Self.uncopiedUnindexed : Self.uncopied)
    count += 1
  }

  private static let uncopied = UInt8(
    NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
  private static let uncopiedUnindexed = uncopied | UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)
}
