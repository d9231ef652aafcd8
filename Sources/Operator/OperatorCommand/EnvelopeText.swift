// SPDX-License-Identifier: Apache-2.0
import Records

enum EnvelopeText {
  /// The non-empty fields of an envelope, by the names of their positions or by their keys.
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
