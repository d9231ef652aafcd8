// SPDX-License-Identifier: Apache-2.0

/// Something whose requests or pushes can have a pace.
public enum PaceSubject: Sendable {
  case app(String, Environment)
  /// A lane by its name, as in `PauseSubject`.
  case lane(String)
  /// The requests of an app with this `group`; its name comes last.
  case group(String, Environment, String)
  /// Each device of an app, for pushes of one type.
  case device(String, Environment, PushType)

  /// The kind, as spelled in keys, commands and paths.
  public enum Kind: String, Sendable, CaseIterable {
    case app, lane, group, device

    /// True if the subject belongs to an app.
    public var isOfApp: Bool { self != .lane }
  }

  /// The prefix of its key. A sender of an earlier version ignores records with this prefix.
  public static let prefix = "pace:"

  /// `pace:app:com.example.app:production`, `pace:lane:bulk`, `pace:group:com.example.app:production:spring-sale` or
  /// `pace:device:com.example.app:production:background`; nil for anything else.
  public init?(key: String) {
    guard key.hasPrefix(Self.prefix) else { return nil }
    let parts = key.dropFirst(Self.prefix.count).split(
      separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[1].isEmpty, let kind = Kind(rawValue: String(parts[0])) else {
      return nil
    }
    let name = String(parts[1])
    switch kind {
    case .lane:
      guard let lane = try? PaceSubject(.lane, name) else { return nil }
      self = lane
    case .group:
      // A group may contain a colon, an app may not. By bytes: a group may begin with a combining mark.
      let parts = name.utf8.split(
        separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false
      ).map { String(decoding: $0, as: UTF8.self) }
      guard parts.count == 3, let environment = Environment(parts[1]),
        let group = try? PaceSubject(.group, parts[2], of: parts[0], environment)
      else { return nil }
      self = group
    case .app:
      guard case .app(let app, let environment)? = PauseSubject(key: name),
        let subject = try? PaceSubject(.app, app, environment)
      else { return nil }
      self = subject
    case .device:
      guard let colon = name.lastIndex(of: ":"),
        let type = PushType(String(name[name.index(after: colon)...]).utf8.span),
        case .app(let app, let environment)? = PauseSubject(key: String(name[..<colon])),
        let device = try? PaceSubject(.device, app, environment, type)
      else { return nil }
      self = device
    }
  }

  /// The fault in a given subject, or in its rate.
  public struct Problem: Error, Equatable, CustomStringConvertible {
    public let description: String
  }

  /// The subject given by a user.
  ///
  /// - Parameters:
  ///   - name: the app for itself or its devices, the lane or the group.
  ///   - app: the app of a group.
  ///   - environment: the environment of an app, its devices or a group.
  ///   - pushType: the push type for devices.
  public init(
    _ kind: Kind, _ name: String, of app: String? = nil, _ environment: Environment = .production,
    _ pushType: PushType = .background
  ) throws(Problem) {
    switch kind {
    case .app, .device:
      try Self.checkApp(name)
      self = kind == .app ? .app(name, environment) : .device(name, environment, pushType)
    case .lane:
      guard Lanes.any.find(name) != nil else {
        throw Problem(description: "\"\(name)\" cannot be the name of a lane")
      }
      self = .lane(name)
    case .group:
      guard RequestRules.isText(name.utf8.span, most: RequestRules.maximumGroup) else {
        throw Problem(
          description:
            "\"\(name)\" cannot be a group: 1 to \(RequestRules.maximumGroup) bytes without control characters"
        )
      }
      guard let app else { throw Problem(description: "a group is of an app: name that, too") }
      try Self.checkApp(app)
      self = .group(app, environment, name)
    }
  }

  private static func checkApp(_ app: String) throws(Problem) {
    guard (try? RequestRules.checkName(app.utf8.span, .app)) != nil else {
      throw Problem(description: "\"\(app)\" is not a bundle id")
    }
  }

  public var kind: Kind {
    switch self {
    case .app: .app
    case .lane: .lane
    case .group: .group
    case .device: .device
    }
  }

  /// The app, the lane or the group.
  public var name: String {
    switch self {
    case .app(let name, _), .lane(let name), .group(_, _, let name), .device(let name, _, _): name
    }
  }

  /// The app that it belongs to; nil for a lane.
  public var app: String? {
    switch self {
    case .app(let app, _), .group(let app, _, _), .device(let app, _, _): app
    case .lane: nil
    }
  }

  /// The environment of that app.
  public var environment: Environment? {
    switch self {
    case .app(_, let environment), .group(_, let environment, _), .device(_, let environment, _):
      environment
    case .lane: nil
    }
  }

  /// Checks that it can have a rate: for a device, a loop remembers at most `PaceRate.mostOfDevice` times, to a second.
  public func check(_ rate: PaceRate) throws(Problem) {
    guard kind == .device else { return }
    guard rate.count <= PaceRate.mostOfDevice, rate.unit != .second else {
      throw Problem(
        description:
          "\(rate) is no rate for a device: 1 to \(PaceRate.mostOfDevice) pushes in a minute, an hour or a day, such as 2/h"
      )
    }
  }

  /// The key of its record.
  public var key: String { Self.prefix + description }
}

extension PaceSubject: CustomStringConvertible {
  /// `app:com.example.app:production`, `lane:bulk`, `group:com.example.app:production:spring-sale` or
  /// `device:com.example.app:production:background`.
  public var description: String {
    switch self {
    case .app(let app, let environment): "app:\(app):\(environment)"
    case .lane(let name): "lane:\(name)"
    case .group(let app, let environment, let name): "group:\(app):\(environment):\(name)"
    case .device(let app, let environment, let type): "device:\(app):\(environment):\(type)"
    }
  }
}

/// Apps and groups are text from outside: subjects are equal only if their bytes are.
extension PaceSubject: Hashable {
  public static func == (one: Self, other: Self) -> Bool { one.key.exact == other.key.exact }

  public func hash(into hasher: inout Hasher) { hasher.combine(key.exact) }
}
