// SPDX-License-Identifier: Apache-2.0

public import Contract

/// In what order the pushes of one destination share its streams: first sends of the first lane, what a retry topic gave
/// back of any lane, then first sends of each other lane.
public struct SendClass: Sendable, Hashable {
  /// 0 … `most` − 1, the order of importance.
  public let place: UInt8

  private init(_ place: UInt8) { self.place = place }

  /// A class for each lane, and one for retries.
  public static let most = Lanes.most + 1
  public static let first = SendClass(0)
  public static let retry = SendClass(1)

  /// The class of a lane's own topic.
  public init(_ lane: Lane) { place = lane.place == 0 ? 0 : lane.place + 1 }

  /// - Parameter place: below `most`.
  init(place: Int) { self.place = UInt8(truncatingIfNeeded: place) }

  /// The lane whose own topic's class it is; nil for retries.
  public var lane: Lane? {
    self == .retry ? nil : Lane(place: place == 0 ? 0 : place - 1)
  }
}

/// A number for each class of pushes.
public typealias ByClass = InlineArray<9, Int>

/// Divides the streams of one destination among the classes of pushes.
///
/// Two rules. The share that a lane reserves is left free by the classes behind it, so that a campaign cannot fill every
/// stream and leave a one-time code waiting for an answer to come. And while several classes wait, each gets its weight's
/// part of the streams that come free (smooth weighted round robin, as nginx does it), so that none is starved: of 11
/// streams a lane of weight 1 beside one of 8 and retries always gets one.
public struct LaneShares: Sendable {
  /// Of how many streams in a row retries get how many.
  private static let retryWeight: Int32 = 2

  /// The classes from `first` on, which together leave `percent` of the streams free.
  private struct Reserve: Sendable {
    var first = 0
    var percent = 0
  }

  /// Classes that there are: one for each lane, and retries.
  public let classes: Int
  private var reserves = InlineArray<8, Reserve>(repeating: Reserve())
  private var reserveCount = 0
  private var weights = InlineArray<9, Int32>(repeating: 0)
  /// What each class is owed.
  private var owed = InlineArray<9, Int32>(repeating: 0)

  public init(_ lanes: Lanes) {
    classes = lanes.count + 1
    weights[Int(SendClass.retry.place)] = Self.retryWeight
    var percent = 0
    for lane in lanes.all {
      let place = Int(SendClass(lane).place)
      weights[place] = lanes[lane].weight
      guard lanes[lane].reserved > 0 else { continue }
      percent += lanes[lane].reserved
      reserves[reserveCount] = Reserve(first: place + 1, percent: percent)
      reserveCount += 1
    }
  }

  /// The class that comes after this one; nil after the last.
  public func next(after sendClass: SendClass) -> SendClass? {
    let place = Int(sendClass.place) + 1
    return place < classes ? SendClass(place: place) : nil
  }

  /// What a class may have more of `capacity` streams or slots. At least one of any for all classes together, so that a
  /// connection limited to one stream serves all of them.
  ///
  /// - Parameter open: what each class has.
  /// - Returns: negative when the classes have more than that.
  public func room(
    for sendClass: SendClass, of capacity: Int, open: borrowing ByClass
  ) -> Int {
    var room = capacity
    for place in 0..<classes { room -= open[place] }
    for index in 0..<reserveCount where reserves[index].first <= Int(sendClass.place) {
      room = min(room, left(of: capacity, to: reserves[index], open))
    }
    return room
  }

  /// What the classes behind a reserve may have more.
  private func left(
    of capacity: Int, to reserve: Reserve, _ open: borrowing ByClass
  ) -> Int {
    var left = capacity - capacity * reserve.percent / 100
    for place in reserve.first..<classes { left -= open[place] }
    return left
  }

  /// The classes that wait and may have a stream, as bits by place.
  ///
  /// - Parameters:
  ///   - waiting: those that wait.
  ///   - capacity: streams that may be open in all; the first class may always have another one.
  func allowed(_ waiting: UInt16, of capacity: Int, open: borrowing ByClass) -> UInt16 {
    var allowed = waiting
    for index in 0..<reserveCount {
      let before = UInt16(1) << UInt16(reserves[index].first) - 1
      // Nothing that this reserve is about waits.
      if allowed & ~before == 0 { return allowed }
      if left(of: capacity, to: reserves[index], open) <= 0 { allowed &= before }
    }
    return allowed
  }

  /// Chooses among classes, given as bits by place; nil when there is none.
  mutating func choose(among waiting: UInt16) -> SendClass? {
    // The usual case costs nothing: one class alone has every stream, at no debt.
    if waiting & (waiting &- 1) == 0 {
      return waiting == 0 ? nil : SendClass(place: waiting.trailingZeroBitCount)
    }
    var (total, most, best) = (Int32(0), Int32.min, 0)
    var rest = waiting
    while rest != 0 {
      let place = rest.trailingZeroBitCount
      rest &= rest &- 1
      owed[place] += weights[place]
      total += weights[place]
      if owed[place] > most { (best, most) = (place, owed[place]) }
    }
    owed[best] -= total
    return SendClass(place: best)
  }
}
