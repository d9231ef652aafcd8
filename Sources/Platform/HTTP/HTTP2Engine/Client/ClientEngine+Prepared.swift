// SPDX-License-Identifier: Apache-2.0

/// Header fields that many requests share.
///
/// What each request calls is `mutating` also where it only reads: a borrow of so large a value is passed as a copy.
extension ClientEngine {
  /// Keeps so many sets of fields at most. A key's low bits say where its fields are kept.
  public static let mostPrepared = 256

  /// The number of the fields with this key; nil: they must be prepared.
  @inline(__always)
  public mutating func prepared(_ key: UInt64) -> Int? {
    let place = Int(key & UInt64(Self.mostPrepared - 1))
    guard place < prepared.count, prepared[place].key != key else {
      return place < prepared.count ? place : nil
    }
    return prepared.count > Self.mostPrepared ? preparedBeside(key) : nil
  }

  private mutating func preparedBeside(_ key: UInt64) -> Int? {
    prepared[Self.mostPrepared...].firstIndex { $0.key == key }
  }

  /// Keeps fields under the owner's key, in the place of others, or beside them as long as requests wait with those.
  ///
  /// - Returns: their number.
  public mutating func prepare(
    _ key: UInt64, _ fields: [(name: [UInt8], value: [UInt8], indexing: FieldIndexing)]
  ) -> Int {
    var place = Int(key & UInt64(Self.mostPrepared - 1))
    while prepared.count <= place { prepared.append(PreparedFields(key: .max, [])) }
    if prepared[place].waiting > 0 { place = placeBeside() }
    prepared[place] = PreparedFields(
      key: key, fields.map { PreparedFields.Field(name: $0, value: $1, indexing: $2) })
    return place
  }

  /// A place beside the ordinary ones.
  private mutating func placeBeside() -> Int {
    while prepared.count < Self.mostPrepared { prepared.append(PreparedFields(key: .max, [])) }
    if let free = prepared[Self.mostPrepared...].firstIndex(where: { $0.waiting == 0 }) {
      return free
    }
    prepared.append(PreparedFields(key: .max, []))
    return prepared.count - 1
  }

  /// Bytes that prepared fields take at most.
  @inline(__always)
  public mutating func preparedBound(_ index: Int) -> Int { prepared[index].bound }
}
