// SPDX-License-Identifier: Apache-2.0

/// The configuration of a topic, by Kafka's names.
public struct TopicSettings: Equatable, Sendable {
  /// A setting, its default, and its valid values.
  struct Entry: Sendable {
    let name: String
    let standard: String
    /// The type number in DescribeConfigs: 1 boolean, 2 string, 3 integer, 5 long, 7 list.
    let kind: Int8
    let isValid: @Sendable (String) -> Bool
  }

  static let entries: [Entry] = [
    .init("cleanup.policy", "delete", 7) { text in
      // Empty: all records are kept.
      text.split(separator: ",").allSatisfy { $0 == "delete" || $0 == "compact" }
    },
    .number("retention.ms", 604_800_000, 5, -1...Int64.max),
    .number("retention.bytes", -1, 5, -1...Int64.max),
    .number("segment.bytes", 16 << 20, 3, 14...Int64(Int32.max)),
    .number("segment.ms", 604_800_000, 5, 1...Int64.max),
    .number("max.message.bytes", 1_048_588, 3, 0...Int64(Int32.max)),
    .number("delete.retention.ms", 86_400_000, 5, 0...Int64.max),
    .number("min.compaction.lag.ms", 0, 5, 0...Int64.max),
    .number("max.compaction.lag.ms", .max, 5, 1...Int64.max),
    .init("min.cleanable.dirty.ratio", "0.5", 6) {
      Double($0).map { (0...1).contains($0) } ?? false
    },
    .init("message.timestamp.type", "CreateTime", 2) {
      $0 == "CreateTime" || $0 == "LogAppendTime"
    },
    // Stored and reported only: batches keep their producer's codec, and files have the broker's own format.
    .init("compression.type", "producer", 2) {
      ["producer", "uncompressed", "gzip", "snappy", "lz4", "zstd"].contains($0)
    },
    .number("flush.messages", .max, 5, 1...Int64.max),
    .number("flush.ms", .max, 5, 0...Int64.max),
    .number("file.delete.delay.ms", 60_000, 5, 0...Int64.max),
    .number("index.interval.bytes", 4_096, 3, 0...Int64(Int32.max)),
    .number("segment.index.bytes", 10 << 20, 3, 4...Int64(Int32.max)),
    .number("segment.jitter.ms", 0, 5, 0...Int64.max),
    .init("preallocate", "false", 1) { $0 == "true" || $0 == "false" },
    .number("min.insync.replicas", 1, 3, 1...Int64(Int32.max)),
    .init("unclean.leader.election.enable", "false", 1) { $0 == "true" || $0 == "false" },
  ]

  /// The explicitly set values.
  public private(set) var given: [String: String] = [:]
  // Computed from the values and defaults.
  public private(set) var isDeleting = false
  public private(set) var isCompacting = false
  public private(set) var retentionMilliseconds: Int64 = 0
  public private(set) var retentionBytes: Int64 = 0
  public private(set) var segmentBytes = 0
  public private(set) var segmentMilliseconds: Int64 = 0
  public private(set) var largestBatch = 0
  public private(set) var deleteRetention: Int64 = 0
  public private(set) var compactionLag: Int64 = 0
  public private(set) var longestLag: Int64 = 0
  public private(set) var dirtyRatio = 0.0
  public private(set) var hasLogAppendTime = false

  public init() { apply() }

  /// Adds values to a list or removes them. Returns an error message or nil.
  public mutating func amend(_ name: String, _ text: String, isAdding: Bool) -> String? {
    guard let entry = Self.entries.first(where: { $0.name == name }) else {
      return "unknown topic config name: \(name)"
    }
    guard entry.kind == 7 else { return "configuration \(name) is no list" }
    let old = (given[name] ?? entry.standard).split(separator: ",")
    let change = text.split(separator: ",")
    let new =
      isAdding ? old + change.filter { !old.contains($0) } : old.filter { !change.contains($0) }
    return set(name, new.joined(separator: ","))
  }

  /// Sets a value, or restores the default if nil. Returns an error message or nil.
  public mutating func set(_ name: String, _ value: String?) -> String? {
    guard let entry = Self.entries.first(where: { $0.name == name }) else {
      return "unknown topic config name: \(name)"
    }
    if let value, !entry.isValid(value) {
      return "invalid value \(value) for configuration \(name)"
    }
    given[name] = value
    apply()
    return nil
  }

  func value(_ name: String) -> String? {
    given[name] ?? Self.entries.first { $0.name == name }?.standard
  }

  private mutating func apply() {
    func number(_ name: String) -> Int64 { value(name).flatMap { Int64($0) } ?? 0 }
    let policy = value("cleanup.policy") ?? ""
    isDeleting = policy.contains("delete")
    isCompacting = policy.contains("compact")
    retentionMilliseconds = number("retention.ms")
    retentionBytes = number("retention.bytes")
    segmentBytes = Int(number("segment.bytes"))
    segmentMilliseconds = number("segment.ms")
    largestBatch = Int(number("max.message.bytes"))
    deleteRetention = number("delete.retention.ms")
    compactionLag = number("min.compaction.lag.ms")
    longestLag = number("max.compaction.lag.ms")
    dirtyRatio = value("min.cleanable.dirty.ratio").flatMap { Double($0) } ?? 0
    hasLogAppendTime = value("message.timestamp.type") == "LogAppendTime"
  }
}

extension TopicSettings.Entry {
  init(
    _ name: String, _ standard: String, _ kind: Int8, isValid: @escaping @Sendable (String) -> Bool
  ) {
    self.init(name: name, standard: standard, kind: kind, isValid: isValid)
  }

  static func number(
    _ name: String, _ standard: Int64, _ kind: Int8, _ range: ClosedRange<Int64>
  ) -> Self {
    .init(name, "\(standard)", kind) { Int64($0).map { range.contains($0) } ?? false }
  }
}
