// SPDX-License-Identifier: Apache-2.0
import Contract

/// A record of a topic about a notification.
struct TraceHop: Equatable, Sendable {
  /// The kinds in the order in which they happen, which sorts hops of the same millisecond.
  enum Kind: String, Sendable, Comparable, CaseIterable {
    case registered
    case removed
    case requested
    case scheduled
    case queued
    case parked
    case answered
    case invalidated
    case deadLettered = "dead_lettered"
    case outcome

    static func < (a: Kind, b: Kind) -> Bool {
      allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
  }

  let kind: Kind
  /// Milliseconds since the epoch.
  let at: Int64
  /// `topic/partition/offset`.
  let place: String
  let detail: String
  /// The `apns-id` in lower case; nil for hops about a whole request or device.
  var apnsID: String?
  var requestID: ExactText?
  /// The app and environment whose request has that id, as `app:environment`: another's may have the same. Nil if the
  /// record does not say.
  var owner: ExactText?
  /// The device of a notification, in lower case.
  var token: String?
  /// Of the devices that a request names those with a notification that was found; nil if it names none. A campaign's
  /// requests all have one id.
  var tokens: Set<String>?
  var outcome: String?
  /// The time at which a scheduled request is due, in milliseconds since the epoch.
  var due: Int64?
  var traceParent: String?

  /// Whether its record is about a device, not about a push to it.
  var isOfDevice: Bool { [.registered, .removed, .invalidated].contains(kind) }

  /// Whether it is a request that no record of its notifications names.
  var isNameless: Bool { kind == .requested && requestID == nil }

  /// Whether a notification's record may be about this request.
  func sharesRequest(with other: TraceHop) -> Bool {
    guard requestID == other.requestID else { return false }
    if let owner, let its = other.owner, owner != its { return false }
    guard let tokens, let token = other.token else { return true }
    return tokens.contains(token)
  }
}

/// The hops of one notification, or those without one, in order.
struct TraceStory: Equatable, Sendable {
  let apnsID: String?
  let hops: [TraceHop]

  /// The receipt that says what became of it: that it was delivered, whatever it was before or after, else the last that
  /// is not `deduplicated`. Of a notification, not that of its request to users.
  var end: TraceHop? {
    let ends = hops.filter { $0.outcome != nil && (apnsID == nil || $0.apnsID != nil) }
    return ends.first { $0.outcome == "\(Outcome.delivered)" }
      ?? ends.last { $0.outcome != "\(Outcome.deduplicated)" } ?? ends.first
  }

  var outcome: String? { end?.outcome }

  /// The time at which the request is due, in milliseconds since the epoch; nil if it is not scheduled.
  var due: Int64? { hops.last { $0.kind == .scheduled }?.due }

  var traceParent: String? { hops.lazy.compactMap(\.traceParent).first }

  /// Milliseconds since the previous hop; nil for the first.
  func gap(before index: Int) -> Int64? {
    index > 0 ? hops[index].at - hops[index - 1].at : nil
  }

  /// The newest notifications, behind what is of none: that may be newer than they are.
  ///
  /// - Parameter limit: the most notifications; 0 for all.
  static func newest(_ limit: Int, of stories: [TraceStory]) -> [TraceStory] {
    let notifications = stories.filter { $0.apnsID != nil }
    return stories.filter { $0.apnsID == nil }
      + (limit > 0 ? notifications.suffix(limit) : notifications[...])
  }

  /// Groups hops by notification, oldest first; each group starts with the request, whatever its clock says.
  static func stories(of hops: [TraceHop]) -> [TraceStory] {
    let sorted = inOrder(hops)
    var order: [ExactText] = []
    var byID: [ExactText: [TraceHop]] = [:]
    for hop in sorted {
      guard let id = hop.apnsID?.exact else { continue }
      if byID[id] == nil { order.append(id) }
      byID[id, default: []].append(hop)
    }
    // A device may have thousands of requests, each with an id of its own.
    let asked = Dictionary(grouping: sorted.filter { $0.apnsID == nil }, by: \.requestID)
    var told: Set<String> = []
    let stories = order.map { id -> TraceStory in
      let own = byID[id] ?? []
      let named = Set(own.compactMap(\.requestID)).flatMap { asked[$0] ?? [] }
      let requests = inOrder(
        named.filter { hop in own.contains(where: hop.sharesRequest(with:)) })
      told.formUnion(requests.map(\.place))
      return TraceStory(
        apnsID: id.text, hops: requests.prefix(1) + inOrder(requests.dropFirst() + own))
    }
    let rest = sorted.filter { $0.apnsID == nil && !told.contains($0.place) }
    return byOwner(rest).map { TraceStory(apnsID: nil, hops: $0) } + stories
  }

  /// Hops without a notification, apart where they are about requests of several apps; those that do not say whose they
  /// are stand by themselves then.
  private static func byOwner(_ hops: [TraceHop]) -> [[TraceHop]] {
    let owners = Set(hops.compactMap(\.owner))
    guard owners.count > 1 else { return hops.isEmpty ? [] : [hops] }
    var order: [ExactText?] = []
    for hop in hops where !order.contains(hop.owner) { order.append(hop.owner) }
    return order.map { owner in hops.filter { $0.owner == owner } }
  }

  private static func inOrder(_ hops: [TraceHop]) -> [TraceHop] {
    hops.sorted { ($0.at, $0.kind, $0.place) < ($1.at, $1.kind, $1.place) }
  }
}
