// SPDX-License-Identifier: Apache-2.0
import Contract

/// A row of OneSignal's CSV export. Its columns are known by their names, in any order.
enum OneSignalRow {
  /// The positions of the columns.
  struct Header: Sendable {
    let count: Int
    fileprivate let places: [String: Int]

    /// nil: there is no column of tokens.
    init?(_ names: [String]) {
      count = names.count
      var places: [String: Int] = [:]
      for (place, name) in names.enumerated() {
        let name = name.drop { $0 == "\u{FEFF}" }.lowercased()
        if places[name] == nil { places[name] = place }
      }
      guard places["identifier"] != nil else { return nil }
      self.places = places
    }
  }

  static func item(_ fields: [String], _ header: Header) -> ImportedItem {
    guard fields.count == header.count else {
      return .problem(
        field: nil, "the record has \(fields.count) fields, the first line \(header.count)")
    }
    func value(_ name: String) -> String? {
      guard let place = header.places[name], !fields[place].isEmpty else { return nil }
      return fields[place]
    }
    if let type = value("device_type"), !isApple(type) {
      return .skipped("not a device of Apple's")
    }
    guard let identifier = value("identifier") else { return .skipped("without a token") }
    if let invalid = value("invalid_identifier"), isTrue(invalid) {
      return .skipped("unsubscribed or uninstalled")
    }
    var token = ImportedToken(token: identifier)
    for name in ["last_active", "created_at"] where token.registeredAt == nil {
      guard let text = value(name) else { continue }
      guard let time = ImportedTime.milliseconds(text) else {
        return .problem(field: name, "is not a time")
      }
      token.registeredAt = time
    }
    token.details.user = value("external_user_id")
    token.details.locale = value("language")
    token.details.appVersion = value("game_version")
    token.details.model = value("device_model")
    return .token(token)
  }

  /// 0 is iOS; newer exports have names.
  private static func isApple(_ type: String) -> Bool {
    let type = type.lowercased()
    return type == "0" || type.hasPrefix("ios")
  }

  private static func isTrue(_ text: String) -> Bool {
    ["t", "true", "1", "yes"].contains(text.lowercased())
  }
}
