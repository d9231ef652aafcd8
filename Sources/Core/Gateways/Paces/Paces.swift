// SPDX-License-Identifier: Apache-2.0
public import APNS
public import Contract

/// The paces that an operator has set: of apps, lanes and groups, as the keys of `push.controls` name them.
public struct Paces: Sendable, Equatable {
  /// Something that can have a pace.
  public enum Subject: Sendable, Equatable, Hashable {
    case app(String, Environment)
    /// By its name, as `Pauses.Subject`.
    case lane(String)
    /// The requests whose `group` it is.
    case group(String)

    /// What its key begins with. A sender of an earlier version takes a record of such a key for none that it knows.
    public static let prefix = "pace:"

    /// `pace:app:com.example.app:production`, `pace:lane:bulk` or `pace:group:spring-sale`; nil for anything else.
    public init?(key: String) {
      guard key.hasPrefix(Self.prefix) else { return nil }
      let parts = key.dropFirst(Self.prefix.count).split(
        separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[1].isEmpty else { return nil }
      let name = String(parts[1])
      switch parts[0] {
      case "lane": self = .lane(name)
      case "group": self = .group(name)
      case "app":
        guard case .app(let app, let environment)? = Pauses.Subject(key: name) else { return nil }
        self = .app(app, environment)
      default: return nil
      }
    }

    /// The key of its record.
    public var key: String { Self.prefix + description }
  }

  /// The apps and groups that may have a pace at once: each costs a loop some 300 bytes.
  public static let subjectsAtMost = 4_096

  private let lanes: Lanes
  /// By the lane's place.
  private(set) var ofLanes: [PaceRate?]
  /// Of apps and groups, by the hashes that pushes are found by.
  private(set) var ofSubjects: [UInt64: PaceRate] = [:]
  /// The names of these, for status pages.
  public private(set) var names: [UInt64: String] = [:]

  public init(_ lanes: Lanes) {
    self.lanes = lanes
    ofLanes = Array(repeating: nil, count: lanes.count)
  }

  /// The paces that are set.
  public var count: Int { ofSubjects.count + ofLanes.count { $0 != nil } }

  /// The pace of a lane; nil without one.
  public subscript(_ lane: Lane) -> PaceRate? { ofLanes[Int(lane.place)] }

  /// An error in a record of `push.controls`: its pace is not kept.
  public enum Problem: Error, Sendable {
    /// The lane is none of the list's.
    case unknownLane
    /// `subjectsAtMost` apps and groups have a pace already.
    case tooMany
  }

  /// Notes a pace, or that there is none any more.
  public mutating func set(_ subject: Subject, _ rate: PaceRate?) throws(Problem) {
    guard case .lane(let name) = subject else {
      let hash = subject.hash
      guard rate == nil || ofSubjects[hash] != nil || ofSubjects.count < Self.subjectsAtMost else {
        throw .tooMany
      }
      ofSubjects[hash] = rate
      names[hash] = rate.map { _ in subject.description }
      return
    }
    guard let lane = lanes.find(name) else { throw .unknownLane }
    ofLanes[Int(lane.place)] = rate
  }

  // MARK: Hashes

  /// The hash by which the pace of an app is found.
  ///
  /// - Parameter app: the hash of the bundle id, as `AppTable` makes it.
  static func hash(app: UInt64, _ environment: Environment) -> UInt64 {
    app &* 4 &+ UInt64(environment.rawValue) &+ 1
  }

  /// The same of a group, by the hash of its text, which `AppTable` makes as well.
  static func hash(group: UInt64) -> UInt64 { group &* 4 &+ 3 }
}

extension Paces.Subject: CustomStringConvertible {
  /// `app:com.example.app:production`, `lane:bulk` or `group:spring-sale`.
  public var description: String {
    switch self {
    case .app(let app, let environment): "app:\(app):\(environment)"
    case .lane(let name): "lane:\(name)"
    case .group(let name): "group:\(name)"
    }
  }

  fileprivate var hash: UInt64 {
    switch self {
    case .app(let app, let environment):
      Paces.hash(app: AppTable.hash(app.utf8.span), environment)
    case .lane, .group: Paces.hash(group: AppTable.hash(Array(name.utf8).span))
    }
  }

  private var name: String {
    switch self {
    case .app(let name, _), .lane(let name), .group(let name): name
    }
  }
}
