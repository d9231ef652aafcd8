// SPDX-License-Identifier: Apache-2.0

/// A file of `name = value` lines. Lines that begin with `#` and blank lines mean nothing; there
/// are no escapes, quotes or continued lines.
public struct PropertiesFile: Sendable {
  public struct Entry: Sendable, Equatable {
    public let name: String
    public let value: String
    /// From 1.
    public let line: Int
  }

  public let path: String
  public let entries: [Entry]

  /// - Parameter path: What errors call the file.
  /// - Throws: every line that is not `name = value`, and every name that stands twice.
  public init(parsing text: String, path: String) throws(SettingErrors) {
    var entries: [Entry] = []
    var errors: [SettingError] = []
    var lines: [String: Int] = [:]
    func refuse(_ setting: String?, _ line: Int, _ problem: String) {
      errors.append(
        SettingError(setting: setting, source: .file(path: path, line: line), problem: problem))
    }
    // Editors of Windows begin a file with a byte order mark, which nobody sees.
    let rows = text.drop { $0 == "\u{FEFF}" }
      .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (index, row) in rows.enumerated() {
      let content = row.trimmed
      guard !content.isEmpty, !content.hasPrefix("#") else { continue }
      guard let equals = content.firstIndex(of: "=") else {
        refuse(nil, index + 1, "must be a line of the form name = value")
        continue
      }
      let name = content[..<equals].trimmed
      let value = content[content.index(after: equals)...].trimmed
      if let first = lines.updateValue(index + 1, forKey: name) {
        refuse(name, index + 1, "occurs twice; the first is on line \(first)")
      }
      entries.append(Entry(name: name, value: value, line: index + 1))
    }
    guard errors.isEmpty else { throw SettingErrors(errors) }
    self.path = path
    self.entries = entries
  }
}
