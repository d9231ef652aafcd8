// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import Settings
import Telemetry

/// `push.controls` as commands read and write it.
struct ControlTopic: Sendable {
  /// What a command has done that has written nothing yet.
  static let undone = "nothing was changed"

  let kafka: KafkaConfiguration
  let names: TopicNames

  init(_ values: SettingValues, clientID: String) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: clientID)
    names = TopicNames(prefix: values[CommonSettings.topicPrefix])
  }

  /// The cluster, if it has the topic.
  func cluster(_ context: ServiceContext) throws(ServiceFailure) -> KafkaCluster {
    let cluster = try KafkaCluster(kafka, context)
    try cluster.demand(
      names.controls,
      "martlet topics create creates it, and senders follow it from their next start")
    return cluster
  }

  /// Writes the record of a key, or its tombstone, and waits for Kafka's acknowledgement.
  func write(_ key: String, _ value: [UInt8]?, _ cluster: KafkaCluster) throws(ServiceFailure) {
    // A tombstone has no value that could name its author.
    try cluster.write(
      names.controls, key: Array(key.utf8), value,
      headers: value == nil ? [KafkaHeader("by", Audit.actor)] : [])
  }

  /// Writes a record with its author, time and reason.
  func write(
    _ key: String, _ member: JSONObject.Member, reason: String?, _ cluster: KafkaCluster
  ) throws(ServiceFailure) {
    let author = ControlRecord.Author(at: WallClock.milliseconds(), by: Audit.actor, reason: reason)
    try write(key, ControlRecord.value(member, by: author), cluster)
  }

  /// - Parameter done: What the command has done before.
  func paces(
    _ cluster: KafkaCluster, _ context: ServiceContext, done: String = Self.undone
  ) throws(ServiceFailure) -> [PaceSubject: PaceRate] {
    let found = try entries(cluster, context, done: done) { key, value in
      PaceSubject(key: key).flatMap { subject in
        (try? ControlRecord.pace(value)).flatMap { $0 }.map { (subject, $0) }
      }
    }
    return Dictionary(found.values) { first, _ in first }
  }

  /// Whether the record of an app or a lane pauses it.
  ///
  /// - Parameter done: What the command has done before.
  func isPaused(
    _ subject: PauseSubject, _ cluster: KafkaCluster, _ context: ServiceContext, done: String
  ) throws(ServiceFailure) -> Bool {
    try entries(cluster, context, done: done) { _, value in ControlRecord.isPaused(value) }[
      subject.key.exact] == true
  }

  /// The lines of a list of records, in key order.
  ///
  /// - Parameter line: Formats a record of the list; nil if it does not belong there. Its first argument is the key.
  func list(
    _ cluster: KafkaCluster, _ context: ServiceContext,
    _ line: (String, UnsafeRawBufferPointer) -> String?
  ) throws(ServiceFailure) -> [String] {
    try entries(cluster, context, line).sorted { $0.key < $1.key }.map(\.value)
  }

  /// Reads the topic to its end.
  ///
  /// - Parameters:
  ///   - done: What the command has done before.
  ///   - entry: Converts the last record of a key; nil to omit it. Its first argument is the key.
  /// - Returns: The current entries, without those that a tombstone has deleted.
  func entries<Entry>(
    _ cluster: KafkaCluster, _ context: ServiceContext, done: String = Self.undone,
    _ entry: (String, UnsafeRawBufferPointer) -> Entry?
  ) throws(ServiceFailure) -> [ExactText: Entry] {
    try ServiceFailure.noting(done) { () throws(ServiceFailure) -> [ExactText: Entry] in
      var found: [ExactText: Entry] = [:]
      let table = try orFail { try KafkaTable(cluster.configuration, topic: names.controls) }
      defer { table.close() }
      try table.readToEnd(
        cluster, context, forget: { found = [:] },
        { record in
          let name = String(decoding: record.key, as: UTF8.self)
          found[name.exact] = record.value.baseAddress == nil ? nil : entry(name, record.value)
        })
      return found
    }
  }

  /// Throws unless the topic has this key: removing a missing key most likely means a different spelling or
  /// environment.
  ///
  /// - Parameters:
  ///   - what: The error for a missing record, such as "group:x has no pace".
  ///   - kind: What the list of existing ones is of, such as "paces".
  ///   - name: Formats a record for that list; nil for one that does not belong there.
  func demand(
    _ key: String, _ cluster: KafkaCluster, _ context: ServiceContext, what: String, kind: String,
    _ name: @escaping (String, UnsafeRawBufferPointer) -> String?
  ) throws(ServiceFailure) {
    let known: [ExactText: String?] = try entries(cluster, context) { .some(name($0, $1)) }
    guard !known.keys.contains(key.exact) else { return }
    let others = known.sorted { $0.key < $1.key }.compactMap(\.value)
    let list = others.prefix(10).map { TerminalText.plain($0) }.joined(separator: ", ")
    let more = others.count > 10 ? ", and \(others.count - 10) more" : ""
    throw ServiceFailure("\(what); \(kind): \(others.isEmpty ? "none" : list)\(more)")
  }

  /// What a command that has written adds about a lane without a topic of its own; an empty text if there is nothing to
  /// add, or the cluster does not answer any more.
  ///
  /// The first of `--lanes`, a setting that these commands do not have, is on a topic without its name.
  func remark(onLane lane: String, _ cluster: KafkaCluster) -> String {
    guard lane != Lanes.standard.name(.first) else { return "" }
    let topic = "\(names.prefix)notifications.\(lane)"
    let listing = try? cluster.admin.topicListing(naming: [topic], timeoutMilliseconds: 10_000)
    guard let listing, listing.sizes[topic] == nil, listing.knows(topic) else { return "" }
    return "; there is no topic \(topic): senders ignore it unless \(lane) is the first of --lanes"
  }

  /// A suffix such as `  since 2026-11-22T17:00:00.000Z by ann: launch went wrong`.
  static func author(_ value: UnsafeRawBufferPointer) -> String {
    let author = ControlRecord.Author(of: value)
    var text = ""
    if let at = author.at { text += "  since \(Timestamp.text(milliseconds: at))" }
    if let user = author.by { text += " by \(TerminalText.plain(user))" }
    if let reason = author.reason { text += ": \(TerminalText.plain(reason))" }
    return text
  }
}
