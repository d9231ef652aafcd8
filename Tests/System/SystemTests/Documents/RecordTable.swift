// SPDX-License-Identifier: Apache-2.0
import Records

/// Makes many records of a few: each of them with one member, or two, replaced or left out.
struct RecordTable {
  private(set) var records: [JSONValue] = []

  /// Adds every record that differs from `base` in what stands at one of the places.
  ///
  /// - Parameters:
  ///   - places: paths of keys; their parents exist in `base`, or the place is passed over.
  ///   - values: what stands there in turn; nil leaves the member out.
  mutating func add(_ base: JSONValue, places: [String], values: [JSONValue?]) {
    records.append(base)
    for place in places {
      let path = place.split(separator: ".").map(String.init)
      for value in values {
        if let changed = Self.replacing(path[...], in: base, with: value) {
          records.append(changed)
        }
      }
    }
  }

  /// nil if there is no such place.
  static func replacing(
    _ path: ArraySlice<String>, in value: JSONValue, with new: JSONValue?
  ) -> JSONValue? {
    guard let key = path.first else { return new }
    guard case .object(var object) = value else { return nil }
    let index = object.members.firstIndex { $0.key == key }
    if path.count > 1 {
      guard let index,
        let changed = replacing(path.dropFirst(), in: object.members[index].value, with: new)
      else { return nil }
      object.members[index] = .init(key: key, value: changed)
      return .object(object)
    }
    if let index { object.members.remove(at: index) }
    if let new { object.append(key, new) }
    return .object(object)
  }

  static func parse(_ text: String) throws -> JSONValue { try JSONParser().parse(text) }
}
