// SPDX-License-Identifier: Apache-2.0

/// Names of the fields whose values change from push to push.
public enum FieldName: UInt8, CaseIterable, Sendable {
  case path, apnsExpiration, apnsID, apnsRequestID, apnsCollapseID

  static let texts: [[UInt8]] = FieldName.allCases.map { name in
    let text =
      switch name {
      case .path: ":path"
      case .apnsExpiration: "apns-expiration"
      case .apnsID: "apns-id"
      case .apnsRequestID: "apns-request-id"
      case .apnsCollapseID: "apns-collapse-id"
      }
    return Array(text.utf8)
  }
}

/// The indexes of these names in the compression table.
struct NameIndexes {
  private var indexes = [Int](repeating: 0, count: FieldName.allCases.count)
  private var generation = -1

  /// Appends a field whose value does not come again. The first one of a name that no table has enters the table for
  /// the sake of the name.
  @inline(__always)
  mutating func append(
    _ name: FieldName, _ value: Span<UInt8>, with encoder: inout HeaderEncoder,
    to out: inout OutputSpan<UInt8>
  ) {
    if generation != encoder.generation { lookUp(encoder) }
    let index = indexes[Int(name.rawValue)]
    if index != 0 {
      encoder.append(value: value, ofNameAt: index, to: &out)
    } else {
      let text = FieldName.texts[Int(name.rawValue)]
      encoder.append(text.span, value, .incremental, to: &out)
    }
  }

  private mutating func lookUp(_ encoder: HeaderEncoder) {
    let none: [UInt8] = []
    for name in FieldName.allCases {
      let text = FieldName.texts[Int(name.rawValue)]
      indexes[Int(name.rawValue)] = encoder.find(text.span, none.span).index
    }
    generation = encoder.generation
  }
}
