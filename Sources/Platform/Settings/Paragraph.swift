// SPDX-License-Identifier: Apache-2.0

/// Text broken into lines for a terminal.
public enum Paragraph {
  /// Breaks a paragraph at blanks.
  ///
  /// - Parameters:
  ///   - indent: blanks before the first line.
  ///   - hanging: blanks before the others, if not as many.
  ///   - width: columns of a line at most; a word that is longer stands alone.
  public static func wrap(
    _ paragraph: String, indent: Int, hanging: Int? = nil, width: Int
  ) -> [String] {
    var lines: [String] = []
    var line = String(repeating: " ", count: indent)
    var isEmpty = true
    for word in paragraph.split(separator: " ") {
      if !isEmpty, line.count + word.count + 1 > width {
        lines.append(line)
        line = String(repeating: " ", count: hanging ?? indent)
        isEmpty = true
      }
      line += (isEmpty ? "" : " ") + word
      isEmpty = false
    }
    return lines + [line]
  }
}
