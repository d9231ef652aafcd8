// SPDX-License-Identifier: Apache-2.0
public import APNS
public import Contract

extension Paces {
  /// Something that can have a pace.
  public enum Subject: Sendable, Equatable, Hashable {
    case app(String, Environment)
    /// By its name, as `Pauses.Subject`.
    case lane(String)
    /// The requests whose `group` it is.
    case group(String)
    /// Each device of an app, for pushes of one type.
    case device(String, Environment, PushType)

    /// Its kind, as keys, commands and paths spell it.
    public enum Kind: String, Sendable, CaseIterable {
      case app, lane, group, device

      /// True if it is of an app.
      public var isOfApp: Bool { self == .app || self == .device }
    }

    /// What its key begins with. A sender of an earlier version takes a record of such a key for none that it knows.
    public static let prefix = "pace:"

    /// `pace:app:com.example.app:production`, `pace:lane:bulk`, `pace:group:spring-sale` or
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
      case .lane: self = .lane(name)
      case .group: self = .group(name)
      case .app:
        guard case .app(let app, let environment)? = Pauses.Subject(key: name) else { return nil }
        self = .app(app, environment)
      case .device:
        guard let colon = name.lastIndex(of: ":"),
          let type = PushType(String(name[name.index(after: colon)...]).utf8.span),
          case .app(let app, let environment)? = Pauses.Subject(key: String(name[..<colon]))
        else { return nil }
        self = .device(app, environment, type)
      }
    }

    /// What is wrong with a subject, or a rate for it, that somebody has named.
    public struct Problem: Error, Equatable, CustomStringConvertible {
      public let description: String
    }

    /// The subject that somebody names.
    ///
    /// - Parameters:
    ///   - environment: of an app or its devices.
    ///   - pushType: of devices.
    public init(
      _ kind: Kind, _ name: String, _ environment: Environment = .production,
      _ pushType: PushType = .background
    ) throws(Problem) {
      switch kind {
      case .app, .device:
        guard (try? RequestRules.checkName(name.utf8.span, .app)) != nil else {
          throw Problem(description: "\"\(name)\" is not a bundle id")
        }
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
        self = .group(name)
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
      case .app(let name, _), .lane(let name), .group(let name), .device(let name, _, _): name
      }
    }

    /// The app that it is of; nil for what belongs to all.
    public var app: String? { kind.isOfApp ? name : nil }

    /// Checks that it can have a rate: for a device a loop remembers `DevicePaces.most` times, to a second.
    public func check(_ rate: PaceRate) throws(Problem) {
      guard kind == .device else { return }
      guard rate.count <= DevicePaces.most, rate.unit != .second else {
        throw Problem(
          description:
            "\(rate) is no rate for a device: 1 to \(DevicePaces.most) pushes in a minute, an hour or a day, such as 2/h"
        )
      }
    }

    /// The key of its record.
    public var key: String { Self.prefix + description }
  }
}

extension Paces.Subject: CustomStringConvertible {
  /// `app:com.example.app:production`, `lane:bulk`, `group:spring-sale` or
  /// `device:com.example.app:production:background`.
  public var description: String {
    switch self {
    case .app(let app, let environment): "app:\(app):\(environment)"
    case .lane(let name): "lane:\(name)"
    case .group(let name): "group:\(name)"
    case .device(let app, let environment, let type): "device:\(app):\(environment):\(type)"
    }
  }

  /// The hash by which its pace is found.
  var hash: UInt64 {
    switch self {
    case .app(let app, let environment):
      Paces.hash(app: AppTable.hash(app.utf8.span), environment)
    case .device(let app, let environment, let type):
      Paces.hash(app: AppTable.hash(app.utf8.span), environment, type)
    case .lane, .group: Paces.hash(group: AppTable.hash(Array(name.utf8).span))
    }
  }
}
