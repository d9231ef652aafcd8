// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import ServiceKit
import Settings

/// `martlet inspect TOPIC`: shows the records of a topic in readable form.
enum InspectCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var topic = ""
    var cluster = ClusterSettings()

    @Declared(
      .choice(
        "from", of: ["beginning", "end"], default: "beginning",
        "Where to start; end shows only new records, and follows.")) private var from: String

    @Declared(.boolean("follow", "Continue with new records until stopped.")) private
      var isFollowing: Bool

    @Declared(.integer("limit", default: 0, "Stop after this many lines; 0 means no limit."))
    var limit: Int

    @Declared(
      .boolean(
        "raw",
        "Show records as they are, with place, key and headers, and device tokens in full; with --json only the latter."
      ))
    var isRaw: Bool

    @Declared(CommandSettings.isJSON) var isJSON: Bool

    var fromEnd: Bool { from == "end" }
    var follows: Bool { isFollowing || fromEnd }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-inspect")
      let word = values.operands[0]
      topic = TopicLookup.find(word, in: cluster.names) ?? word
    }
  }

  static let name = "inspect"
  static let summary =
    "Prints the records of a topic as a table: time, outcome, reason, app, device and id of each, as far as it names them;"
    + " with --json all of it, an object in each line. Device tokens are shortened; provider tokens are never shown."
  static let table = SettingTable(
    declaredBy: Settings.self, kafkaProperties: true,
    operands: .init(
      "TOPIC", 1...1,
      "A topic of Martlet by its short name, such as receipts, notifications, dead-letters; or any full"
        + " name."))

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    _ = try cluster.demand(
      settings.topic, "Martlet's own are \(TopicLookup.list(settings.cluster.names))")
    let tail = try orFail {
      try KafkaTail(
        reading: settings.topic, of: cluster, from: settings.fromEnd ? .end : .beginning)
    }
    defer { tail.close() }
    if !settings.isJSON, !settings.isRaw { StandardOutput.line(RecordRow.head) }
    let shown = try show(tail, settings, context) { StandardOutput.write($0) }
    if tail.missed > 0 {
      StandardError.line(
        "\(tail.missed) offsets have no record to show: compacted, removed, or the ends of transactions"
      )
    }
    // Following ends with a stop signal, so this is no error.
    if context.signals.isStopping, !settings.follows {
      throw context.signals.interrupted("\(shown) lines were shown")
    }
  }

  /// Shows records until the end that the topic had at the start, the limit, a stop, or a failed write. Returns the
  /// number of lines shown. Fails if no record below that end arrives for 20 seconds.
  ///
  /// - Parameter write: Writes complete lines; returns false when it accepts no more.
  static func show(
    _ tail: KafkaTail, _ settings: Settings, _ context: ServiceContext,
    write: (UnsafeRawBufferPointer) -> Bool
  ) throws(ServiceFailure) -> Int {
    let most = settings.limit == 0 ? Int.max : settings.limit
    let printer = RecordPrinter(
      settings.cluster.names, topic: settings.topic, isRaw: settings.isRaw, isJSON: settings.isJSON)
    var batch = KafkaBatch(capacity: 1_000)
    var lines = ByteBuffer(capacity: 1 << 20)
    var shown = 0
    var limit = ReadingLimit()
    while !context.signals.isStopping {
      if settings.follows { tail.followPartitions() }
      // Fetched records are shown at once; it waits only if there are none.
      let taken = tail.poll(into: &batch, timeoutMilliseconds: 0)
      let count = taken > 0 ? taken : tail.poll(into: &batch, upTo: 1, timeoutMilliseconds: 100)
      defer { batch.release() }
      var advances = false
      for index in 0..<count where shown < most && !context.signals.isStopping {
        let record = batch[index]
        advances = advances || record.isBefore(tail.ends)
        shown += printer.append(ShownRecord(record), to: &lines, most: most - shown)
      }
      guard lines.isEmpty || write(lines.bytes) else { return shown }
      lines.removeAll()
      // A topic that is written to all the time has no other end.
      let isRead = tail.hasRead(to: tail.ends)
      if shown >= most || isRead && !settings.follows { return shown }
      if isRead || advances { limit.restart() }
      if !isRead { try limit.demand(tail.topic, tail.lastError) }
    }
    return shown
  }
}
