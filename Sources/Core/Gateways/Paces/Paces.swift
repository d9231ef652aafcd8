// SPDX-License-Identifier: Apache-2.0
internal import APNS
public import Contract

/// The paces that an operator has set: of apps, lanes, groups and devices, as the keys of `push.controls` name them.
public struct Paces: Sendable, Equatable {
  /// The apps, groups and kinds of devices that may have a pace at once: each costs a loop some 300 bytes.
  public static let subjectsAtMost = 4_096
  /// Groups among them: what is left is kept for apps and devices, which operators set.
  public static let groupsAtMost = 3_072
  /// Groups of one app among them, in both environments: a campaign with a pace is one until its last push has its
  /// outcome. One app leaves room for others.
  public static let groupsOfAppAtMost = 128

  private let lanes: Lanes
  /// By the lane's place.
  private(set) var ofLanes: [PaceRate?]
  /// Of apps and groups, by the hashes that pushes are found by.
  private(set) var ofSubjects: [UInt64: PaceRate] = [:]
  /// The names of these, for status pages.
  public private(set) var names: [UInt64: String] = [:]
  private var room = PaceRoom()
  /// Of each device of an app, by the hash of app and push type.
  private(set) var ofDevices: [UInt64: PaceRate] = [:]

  public init(_ lanes: Lanes) {
    self.lanes = lanes
    ofLanes = Array(repeating: nil, count: lanes.count)
  }

  /// The paces that are set.
  public var count: Int { ofSubjects.count + ofDevices.count + ofLanes.count { $0 != nil } }

  /// The pace of a lane; nil without one.
  public subscript(_ lane: Lane) -> PaceRate? { ofLanes[Int(lane.place)] }

  /// An error in a record of `push.controls`: its pace is not kept.
  public enum Problem: Error, Sendable {
    /// The lane is none of the list's.
    case unknownLane
    /// `subjectsAtMost` others have a pace already, or so many groups as may have one.
    case tooMany
    /// `groupsOfAppAtMost` groups of the app have a pace already.
    case tooManyOfApp
    /// No device can have this rate.
    case notForDevices
  }

  /// Notes a pace, or that there is none any more.
  public mutating func set(_ subject: Subject, _ rate: PaceRate?) throws(Problem) {
    if case .lane(let name) = subject {
      guard let lane = lanes.find(name) else { throw .unknownLane }
      ofLanes[Int(lane.place)] = rate
      return
    }
    let hash = subject.hash
    let isKnown = ofSubjects[hash] != nil || ofDevices[hash] != nil
    if rate != nil, !isKnown { try room.check(subject) }
    // A rate that cannot be kept takes the place of none.
    let isKept = rate.map { (try? subject.check($0)) != nil } ?? false
    if isKept != isKnown { room.note(subject, hasPace: isKept) }
    if subject.kind == .device {
      ofDevices[hash] = isKept ? rate : nil
      guard isKept || rate == nil else { throw .notForDevices }
    } else {
      ofSubjects[hash] = rate
      names[hash] = rate.map { _ in subject.description }
    }
  }

  // MARK: Hashes

  /// The hash by which the pace of an app is found.
  ///
  /// - Parameter app: the hash of the bundle id, as `AppTable` makes it.
  static func hash(app: UInt64, _ environment: Environment) -> UInt64 {
    app &* 4 &+ UInt64(environment.rawValue) &+ 1
  }

  /// The same of an app's group, by the hash of its text, which `AppTable` makes as well.
  static func hash(app: UInt64, _ environment: Environment, group: UInt64) -> UInt64 {
    ScopedHash.of(app: app, environment, group)
  }

  /// The same of each device of an app, for a push type.
  static func hash(app: UInt64, _ environment: Environment, _ type: PushType) -> UInt64 {
    (hash(app: app, environment) ^ type.number) &* 0x9E37_79B9_7F4A_7C15
  }
}

extension PushType {
  /// Its place among all types.
  fileprivate var number: UInt64 {
    if case .custom(let place) = self { return 256 + UInt64(place) }
    return UInt64(Self.allCases.firstIndex(of: self) ?? 255)
  }
}
