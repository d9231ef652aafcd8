// SPDX-License-Identifier: Apache-2.0

public import Pipeline

/// In what order the pushes of one destination share its streams.
public enum SendClass: UInt8, Sendable, CaseIterable {
  /// First sends of the transactional lane: a one-time code, a call.
  case transactional
  /// What a retry topic gave back, of either lane.
  case retry
  /// First sends of the bulk lane.
  case bulk

  /// The class of a lane's own topic.
  public init(_ lane: Lane) { self = lane.isTransactional ? .transactional : .bulk }

  /// The lane whose own topic's class it is; nil for retries.
  public var lane: Lane? {
    switch self {
    case .transactional: .transactional
    case .retry: nil
    case .bulk: .bulk
    }
  }

  /// Whether it is the transactional lane's. For hot paths, as `PushTarget.isDevice`.
  public var isTransactional: Bool {
    if case .transactional = self { true } else { false }
  }
}

/// Divides the streams of one destination among the classes of pushes.
///
/// Two rules. A share of the stream credit is kept for the transactional class, so that a campaign cannot
/// fill every stream and leave a one-time code waiting for an answer to come. And while several classes
/// wait, each gets its weight's part of the streams that come free (smooth weighted round robin, as nginx
/// does it), so that none is starved: of 11 streams bulk always gets one.
public struct LaneShares: Sendable {
  /// Of how many streams in a row each class gets how many.
  public static let weights: (transactional: Int32, retry: Int32, bulk: Int32) = (8, 2, 1)

  /// Percent of the streams that only the transactional class may use, 0 … 90.
  public let reserved: Int
  /// What each class is owed.
  private var owed: (transactional: Int32, retry: Int32, bulk: Int32) = (0, 0, 0)

  public init(reserved: Int) {
    precondition((0...90).contains(reserved))
    self.reserved = reserved
  }

  /// Streams that retries and bulk may have open together when `capacity` streams may be open in all. At
  /// least one of any, so that a connection limited to one stream serves all classes.
  public func othersAtMost(of capacity: Int) -> Int {
    capacity - capacity * reserved / 100
  }

  /// Chooses among the classes that wait and may have a stream; nil when there is none.
  public mutating func choose(
    transactional: Bool, retry: Bool, bulk: Bool
  ) -> SendClass? {
    // The usual case costs nothing: one class alone has every stream, at no debt.
    if !retry && !bulk { return transactional ? .transactional : nil }
    if !transactional && !bulk { return .retry }
    if !transactional && !retry { return .bulk }
    var total: Int32 = 0
    if transactional {
      owed.transactional += Self.weights.transactional
      total += Self.weights.transactional
    }
    if retry {
      owed.retry += Self.weights.retry
      total += Self.weights.retry
    }
    if bulk {
      owed.bulk += Self.weights.bulk
      total += Self.weights.bulk
    }
    var best = SendClass.transactional
    var most = transactional ? owed.transactional : Int32.min
    if retry && owed.retry > most { (best, most) = (.retry, owed.retry) }
    if bulk && owed.bulk > most { (best, most) = (.bulk, owed.bulk) }
    switch best {
    case .transactional: owed.transactional -= total
    case .retry: owed.retry -= total
    case .bulk: owed.bulk -= total
    }
    return best
  }
}
