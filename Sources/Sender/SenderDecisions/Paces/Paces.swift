// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The paces that an operator has set: of apps, lanes, groups and devices, as the keys of `push.controls` name them.
public struct Paces: Sendable, Equatable {
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

  /// Notes a pace, or that there is none any more.
  public mutating func set(_ subject: PaceSubject, _ rate: PaceRate?) throws(PaceProblem) {
    if case .lane(let name) = subject {
      guard let lane = lanes.find(name) else {
        if rate == nil { return }
        throw .unknownLane
      }
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
  /// - Parameter app: the hash of the bundle id, as `AppHash` makes it.
  static func hash(app: UInt64, _ environment: Environment) -> UInt64 {
    app &* 4 &+ UInt64(environment.rawValue) &+ 1
  }

  /// The same of an app's group, by the hash of its text, which `AppHash` makes as well.
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

extension PaceSubject {
  /// The hash by which its pace is found.
  var hash: UInt64 {
    switch self {
    case .app(let app, let environment):
      Paces.hash(app: AppHash.of(app.utf8.span), environment)
    case .device(let app, let environment, let type):
      Paces.hash(app: AppHash.of(app.utf8.span), environment, type)
    case .group(let app, let environment, let name):
      Paces.hash(
        app: AppHash.of(app.utf8.span), environment,
        group: AppHash.of(Array(name.utf8).span))
    // Found by its place.
    case .lane: 0
    }
  }
}
