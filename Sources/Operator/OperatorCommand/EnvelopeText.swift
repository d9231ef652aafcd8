// SPDX-License-Identifier: Apache-2.0
import Records

/// An envelope's line as commands show it.
enum EnvelopeText {
  /// The fields of a line that are not empty, by the names of their places or by their keys.
  static func fields(
    _ line: some BidirectionalCollection<UInt8>
  ) -> [(name: String, value: String)] {
    let all = line.split(separator: 9, omittingEmptySubsequences: false)
    return all.enumerated().compactMap { index, field in
      if field.isEmpty { return nil }
      let text = String(decoding: field, as: UTF8.self)
      if index < EnvelopeField.fixedCount,
        let place = EnvelopeField(rawValue: UInt8(truncatingIfNeeded: index))
      {
        return ("\(place)", text)
      }
      guard let equals = text.firstIndex(of: "=") else { return ("field \(index)", text) }
      return (String(text[..<equals]), String(text[text.index(after: equals)...]))
    }
  }
}
