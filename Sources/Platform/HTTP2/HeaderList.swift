// SPDX-License-Identifier: Apache-2.0
public import CNghttp2
public import HTTP

/// Decides whether a header field may enter the compression table (RFC 7541 §6.2).
public enum HeaderIndexing: Sendable {
  /// For values that come again: the topic, the push type.
  case allowed
  /// For values that do not come again, which would push the others out of the table, and for provider tokens.
  case never
}

/// The header fields of one request or answer, in order, pseudo-headers first. A scratch list that
/// is filled again for each one: it stores where names and values are, never copies.
public struct HeaderList: ~Copyable {
  /// A list holds at most so many fields.
  public static let capacity = 32

  public let fields: UnsafeMutablePointer<nghttp2_nv>
  public private(set) var count = 0
  /// Beside each field how it is written.
  let marks: UnsafeMutablePointer<Mark>
  /// The fields from the second one on that other requests share, and the owner's number for just these; 0: none.
  private(set) var sharedKey: UInt64 = 0
  private(set) var sharedCount = 0

  /// The representation of a field in the header block.
  struct Mark {
    var indexing = HeaderIndexing.allowed
    /// A name that the engine knows by itself.
    var name: FieldName?
  }

  public init() {
    fields = .allocate(capacity: Self.capacity)
    marks = .allocate(capacity: Self.capacity)
  }

  deinit {
    fields.deallocate()
    marks.deallocate()
  }

  /// Says that the fields from the second one to the last one so far are those with this key, which is never used for
  /// others on the same connection.
  public mutating func share(as key: UInt64) {
    sharedKey = key
    sharedCount = count - 1
  }

  /// Puts another value into the first field.
  public mutating func replaceFirst(_ value: UnsafeRawBufferPointer) {
    guard count > 0, let start = value.baseAddress else { return }
    fields[0].value = UnsafeMutablePointer(
      mutating: start.assumingMemoryBound(to: UInt8.self))
    fields[0].valuelen = value.count
  }

  /// Appends a field whose value changes from push to push.
  public mutating func append(
    _ name: FieldName, _ value: UnsafeRawBufferPointer, _ indexing: HeaderIndexing
  ) {
    let text = Self.text(name)
    append(
      name: text.utf8Start, text.utf8CodeUnitCount, value.baseAddress, value.count, indexing)
    marks[count - 1].name = name
  }

  private static func text(_ name: FieldName) -> StaticString {
    switch name {
    case .path: ":path"
    case .apnsExpiration: "apns-expiration"
    case .apnsID: "apns-id"
    case .apnsRequestID: "apns-request-id"
    case .apnsCollapseID: "apns-collapse-id"
    }
  }

  /// Keeps the first `kept` fields (a prefix that all requests share) and forgets the others.
  public mutating func removeAll(keeping kept: Int = 0) {
    precondition(kept <= count, "a header list cannot keep more than it has")
    count = kept
    guard kept <= sharedCount else { return }
    sharedKey = 0
    sharedCount = 0
  }

  /// Appends a field. `name` is in lower case; `value` must stay where it is until the exchange is
  /// done (the headers may wait for stream credit).
  public mutating func append(
    _ name: StaticString, _ value: UnsafeRawBufferPointer, _ indexing: HeaderIndexing = .allowed
  ) {
    append(name: name.utf8Start, name.utf8CodeUnitCount, value.baseAddress, value.count, indexing)
  }

  /// Appends a field with a constant value.
  public mutating func append(
    _ name: StaticString, _ value: StaticString, _ indexing: HeaderIndexing = .allowed
  ) {
    append(
      name: name.utf8Start, name.utf8CodeUnitCount, value.utf8Start, value.utf8CodeUnitCount,
      indexing)
  }

  /// Appends a field whose name is not a constant, either; both must stay where they are.
  public mutating func append(
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
      flags: indexing == .allowed ? Self.uncopied : Self.uncopiedUnindexed)
    marks[count] = Mark(indexing: indexing)
    count += 1
  }

  private static let uncopied = UInt8(
    NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue)
  private static let uncopiedUnindexed = uncopied | UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue)

  /// Copies of the shared fields.
  var sharedFields: [(name: [UInt8], value: [UInt8], indexing: FieldIndexing)] {
    (1..<1 + sharedCount).map { index in
      let field = fields[index]
      return (
        Array(UnsafeBufferPointer(start: field.name, count: field.namelen)),
        Array(UnsafeBufferPointer(start: field.value, count: field.valuelen)),
        marks[index].indexing.written
      )
    }
  }
}

extension HeaderIndexing {
  /// In the engine's terms.
  var written: FieldIndexing {
    switch self {
    case .allowed: .incremental
    case .never: .literal
    }
  }
}
