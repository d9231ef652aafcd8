// SPDX-License-Identifier: Apache-2.0

/// Something that can be paused, as named by the keys of `push.controls`.
public enum PauseSubject: Sendable, Equatable, Hashable {
  case app(String, Environment)
  /// A lane by its name; `Lanes` has the list.
  case lane(String)

  /// `lane:bulk`, or `com.example.app:production`; nil for anything else.
  public init?(key: String) {
    guard let colon = key.lastIndex(of: ":") else { return nil }
    let name = String(key[..<colon])
    let rest = String(key[key.index(after: colon)...])
    if let environment = Environment(rest), !name.isEmpty {
      self = .app(name, environment)
    } else {
      guard name == "lane", !rest.isEmpty else { return nil }
      self = .lane(rest)
    }
  }

  /// The key of its record.
  public var key: String {
    switch self {
    case .app(let app, let environment): "\(app):\(environment)"
    case .lane(let name): "lane:\(name)"
    }
  }
}
