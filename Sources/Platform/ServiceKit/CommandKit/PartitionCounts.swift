// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Kafka
public import Settings

/// The number of partitions that each topic gets: the defaults, changed by `--partitions`.
public enum PartitionCounts {
  public static let setting = SettingKey<[String]>.list(
    "partitions",
    "Partitions of topics that differ from the default, as NAME=COUNT: notifications=24,receipts=12."
      + " NAME is without the prefix; a bare number is for every topic but provider-tokens,"
      + " token-requests and controls, which have one.")

  /// The topics to create. Throws for names that are no topic and counts that cannot be.
  public static func specifications(
    _ names: TopicNames, _ values: SettingValues
  ) throws(SettingErrors) -> [TopicSpecification] {
    var counts: [String: Int32] = [:]
    for word in values[setting] {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard let count = Int32(parts[parts.count - 1]), (1...10_000).contains(count) else {
        throw values.error(setting.name, "\(word) is not NAME=COUNT with a count of 1 to 10000")
      }
      if parts.count == 1 {
        for topic in names.all where topic.partitions > 1 { counts[topic.name] = count }
      } else {
        let name = try topic(String(parts[0]), names, values)
        counts[name] = count
      }
    }
    try check(counts, names, values)
    return names.all.map { topic in
      var changed = topic
      changed.partitions = counts[topic.name] ?? topic.partitions
      return changed
    }
  }

  private static func topic(
    _ short: String, _ names: TopicNames, _ values: SettingValues
  ) throws(SettingErrors) -> String {
    guard let name = TopicLookup.find(short, in: names),
      names.all.contains(where: { $0.name == name })
    else {
      throw values.error(
        setting.name, "there is no topic \(short); there are \(TopicLookup.list(names))")
    }
    return name
  }

  /// Checks what signers rely on, and those who follow pauses and paces in one order.
  private static func check(
    _ counts: [String: Int32], _ names: TopicNames, _ values: SettingValues
  ) throws(SettingErrors) {
    for (name, count) in counts.sorted(by: { $0.key < $1.key })
    where count != 1 && names.isMadeWithOnePartition(name) {
      throw values.error(setting.name, "\(name) has one partition, always")
    }
  }
}

/// Topics by the names that people type.
public enum TopicLookup {
  /// `receipts` and `push.receipts` both name it, and `notifications.news` the topic of a lane that the command does not
  /// know; nil for none of ours.
  public static func find(_ word: String, in names: TopicNames) -> String? {
    let all = names.all.map(\.name)
    if all.contains(word) { return word }
    return names.isOwn(names.prefix + word) ? names.prefix + word : nil
  }

  /// The short names, for messages.
  public static func list(_ names: TopicNames) -> String {
    names.all.map { String($0.name.dropFirst(names.prefix.count)) }.joined(separator: ", ")
  }
}

extension TopicSpecification {
  /// The topic as Kafka creates it.
  ///
  /// - Parameter replication: nil leaves the copies to the cluster.
  public func kafka(replication: TopicReplication?) -> KafkaTopicSpecification {
    var configuration = Dictionary(
      settings.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    if let replication { configuration["min.insync.replicas"] = "\(replication.inSync)" }
    return KafkaTopicSpecification(
      name, partitions: Int(partitions), replication: replication?.copies ?? 0,
      configuration: configuration)
  }
}
