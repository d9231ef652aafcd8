// SPDX-License-Identifier: Apache-2.0

/// The lanes of a pipeline, most important first, as given by `--lanes`. Ingest, senders, the HTTP API and
/// the scheduler need the same list.
public struct Lanes: Sendable, Equatable {
  /// The rules of one lane.
  public struct Rule: Sendable, Equatable {
    /// 1 … 16 of a-z, 0-9 and hyphen.
    public let name: String
    /// How many streams in a row the lane gets while several lanes wait, 1 … 1,000.
    public let weight: Int32
    /// The age above which notifications end as `expired`, in milliseconds.
    public let maxAge: Int64
    /// Percent of each gateway's streams that less important lanes leave free for it, 0 … 90.
    public let reserved: Int

    public init(_ name: String, weight: Int32, maxAge: Int64, reserved: Int = 0) {
      self.name = name
      self.weight = weight
      self.maxAge = maxAge
      self.reserved = reserved
    }
  }

  /// The reason why a list is invalid, as the end of a sentence.
  public struct Problem: Error, Equatable {
    public let text: String

    public init(_ text: String) { self.text = text }
  }

  /// The most lanes.
  public static let most = 8
  /// The most bytes of a name.
  public static let longestName = 16
  /// Percent of the streams that all lanes together may reserve.
  public static let mostReserved = 90

  /// Two lanes, transactional and bulk.
  public static let standard = Lanes(checked: [
    Rule("transactional", weight: 8, maxAge: 3_600_000, reserved: 20),
    Rule("bulk", weight: 1, maxAge: 86_400_000),
  ])

  /// For programs that only look at records and have no setting: any valid name counts as the first lane.
  public static let any = Lanes(checked: standard.rules, acceptsAny: true)

  public let rules: [Rule]
  private let acceptsAny: Bool
  /// The names by index, in a form that is compared without a call.
  private let names: InlineArray<8, LaneName>
  /// The ages by index, read for every notification.
  @usableFromInline let ages: InlineArray<8, Int64>

  /// - Throws: for no or too many lanes, an invalid or repeated name, and numbers out of range.
  public init(_ rules: [Rule]) throws(Problem) {
    guard (1...Self.most).contains(rules.count) else {
      throw Problem("must be 1 to \(Self.most) lanes")
    }
    for (place, rule) in rules.enumerated() {
      try Self.check(rule)
      guard !rules[..<place].contains(where: { $0.name == rule.name }) else {
        throw Problem("\(rule.name) is given twice")
      }
    }
    guard rules.reduce(0, { $0 + $1.reserved }) <= Self.mostReserved else {
      throw Problem("reserves more than \(Self.mostReserved)% of the streams")
    }
    self.init(checked: rules)
  }

  private init(checked rules: [Rule], acceptsAny: Bool = false) {
    self.rules = rules
    self.acceptsAny = acceptsAny
    names = InlineArray { place in
      place < rules.count ? LaneName(rules[place].name.utf8.span) : LaneName()
    }
    ages = InlineArray { place in rules[min(place, rules.count - 1)].maxAge }
  }

  private static func check(_ rule: Rule) throws(Problem) {
    guard rule.name.utf8.span.isPlainName(most: longestName) else {
      throw Problem("\"\(rule.name)\" is not 1 to \(longestName) of a-z, 0-9 and hyphen")
    }
    // Metrics count the retry topics as a lane of this name.
    guard rule.name != "retries" else { throw Problem("retries are those of all lanes") }
    // Its pause keys would equal those of apps.
    guard Environment(rule.name) == nil else { throw Problem("\(rule.name) is an environment") }
    guard (1...1_000).contains(rule.weight) else { throw Problem("the weight must be 1 to 1000") }
    guard (0...mostReserved).contains(rule.reserved) else {
      throw Problem("the reserved share must be 0% to \(mostReserved)%")
    }
  }

  /// Refuses a lane whose notifications would expire on the last retry topic before they are read from it.
  public func checkAges() throws(Problem) {
    for rule in rules where rule.maxAge < RetryTier.longest.delay {
      throw Problem(
        "\(rule.name): the age must be \(RetryTier.longest.suffix) or more, for so long a notification may wait on a"
          + " retry topic")
    }
  }

  public static func == (left: Lanes, right: Lanes) -> Bool { left.rules == right.rules }

  public var count: Int { rules.count }

  /// The least important lane: that of a campaign whose request names none.
  public var last: Lane { Lane(place: UInt8(rules.count - 1)) }

  /// In order of importance.
  public var all: [Lane] { rules.indices.map { Lane(place: UInt8($0)) } }

  /// A lane that is not in the list counts as its last one.
  public subscript(lane: Lane) -> Rule { rules[min(Int(lane.place), rules.count - 1)] }

  /// The age above which notifications of the lane end as `expired`, in milliseconds.
  // Inlined, because the whole list would be copied otherwise.
  @inlinable @inline(__always)
  public func maxAge(_ lane: Lane) -> Int64 { ages[Int(lane.place)] }

  public func name(_ lane: Lane) -> String { self[lane].name }

  public func find(_ name: Span<UInt8>) -> Lane? {
    if acceptsAny { return name.isPlainName(most: Self.longestName) ? .first : nil }
    guard name.count <= Self.longestName, name.count > 0 else { return nil }
    let wanted = LaneName(name)
    for place in 0..<rules.count where names[place] == wanted { return Lane(place: UInt8(place)) }
    return nil
  }

  public func find(_ name: String) -> Lane? { find(name.utf8.span) }
}

extension Lane {
  /// The second lane of `Lanes.standard`.
  public static let bulk = Lane(place: 1)
}

/// At most 16 bytes of text, as two words and a length.
private struct LaneName: Sendable, Equatable {
  var count = 0
  var low: UInt64 = 0
  var high: UInt64 = 0

  init() {}

  init(_ text: Span<UInt8>) {
    count = text.count
    for index in 0..<min(text.count, 8) { low |= UInt64(text[index]) << UInt64(8 * index) }
    for index in 8..<max(8, text.count) { high |= UInt64(text[index]) << UInt64(8 * (index - 8)) }
  }
}
