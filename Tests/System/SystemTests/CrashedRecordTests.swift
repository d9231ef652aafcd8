// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import HTTPClient
import Kafka
import ServiceKit
import TestSupport
import Testing

/// No record is met twice by a crash: each service's process, ended by a fault while it works through a backlog.
///
/// No input is known that crashes one, so a fault comes from outside, to the thread that works on records; which record
/// it has in hand is chance. The first crash is a real one. That the same record crashes the next process, too, is
/// written into its notes, as that process would have written it (`CrashNotesProcessTests`).
@Suite(.serialized) struct CrashedRecordTests {
  private struct Program {
    let name: String
    var flags: [String] = []
    /// How the name of the thread begins that works on records; nil for the first thread.
    var thread: String?
    let topic: String
    let group: String
    let hasDeadLetters: Bool
    /// A record that is good, whose outcome needs nobody else.
    let record: (Int) -> (key: String, value: String)
  }

  private static let flags = [
    "--kafka.consumer.session.timeout.ms=4000", "--kafka.consumer.heartbeat.interval.ms=500",
    "--kafka.consumer.max.poll.interval.ms=10000",
  ]

  private let rig: PipelineRig
  private let programs: [Program]

  init() throws {
    rig = try PipelineRig()
    programs = try Self.programs(rig)
  }

  private static func programs(_ rig: PipelineRig) throws -> [Program] {
    let names = rig.names
    let subscriptions = rig.folder.file("subscriptions.json")
    let entry = #"[{"name":"crm","url":"https://127.0.0.1:1/","events":["notification.rejected"],"#
    let secret = #""secrets":["whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"]}]"#
    try File.write(subscriptions, Array((entry + secret).utf8), mode: 0o600)
    let now = WallClock.milliseconds()
    let device = { (number: Int) in
      #""token":"\#(PipelineRig.token(number))","app":"com.example.app","environment":"production""#
    }
    return [
      Program(
        name: "martlet-ingest", topic: names.requests, group: names.group(.ingest),
        hasDeadLetters: true
      ) {
        (
          PipelineRig.token($0),
          #"{"app":"com.example.app","token":"\#(PipelineRig.token($0))","payload":{"aps":{}}}"#
        )
      },
      Program(
        name: "martlet-signer", topic: names.tokenRequests, group: names.group(.signer),
        hasDeadLetters: false
      ) { _ in
        ("k", #"{"app":"com.example.app","environment":"sandbox","reason":"missing","at":1}"#)
      },
      Program(
        name: "martlet-sender", flags: ["--loops", "1"], thread: "loop-",
        topic: names.notifications(.first), group: names.group(.sender), hasDeadLetters: true
      ) {
        // Expired before it is read.
        let envelope = [
          "M2", "transactional", "production", "com.example.app", "com.example.app", "alert", "10",
          "\(now / 1_000 - 60)", PipelineRig.id($0), "\(now - 100_000)", "", "", "", "",
        ].joined(separator: "\t")
        return (PipelineRig.token($0), envelope + "\n{}")
      },
      Program(
        name: "martlet-feedback", topic: names.devices, group: names.group(.feedback),
        hasDeadLetters: true
      ) {
        (
          "\(PipelineRig.token($0)):com.example.app:production",
          "{\(device($0)),\"registered_at\":\(now - 1_000)}"
        )
      },
      Program(
        name: "martlet-webhooks", flags: ["--subscriptions", subscriptions], thread: "hook-",
        topic: names.receipts, group: names.webhookGroup("crm"), hasDeadLetters: false
      ) {
        ("", #"{"outcome":"delivered","id":"n-\#($0)","app":"com.example.app","at":\#(now)}"#)
      },
    ]
  }

  private func notesFile(_ program: Program) -> String { rig.folder.file("\(program.name).notes") }

  private func notes(_ program: Program) -> [Substring] {
    ((try? File.text(notesFile(program))) ?? "").split(separator: "\n")
  }

  private func start(_ program: Program) throws {
    try rig.start(program.name, ["--crash-notes", notesFile(program)] + Self.flags + program.flags)
  }

  /// The thread of a process whose name begins so.
  private func thread(_ pid: Int32, _ name: String?) -> Int32? {
    guard let name else { return pid }
    return File.names(in: "/proc/\(pid)/task").compactMap { Int32($0) }.first {
      (try? File.text("/proc/\(pid)/task/\($0)/comm"))?.hasPrefix(name) == true
    }
  }

  /// Sends a fault to one thread of another process, for which the C library's header has no declaration here.
  private func isFaulted(_ process: Int32, _ thread: Int32) -> Bool {
    typealias Call = @convention(c) (Int32, Int32, Int32) -> Int32
    guard let address = dlsym(nil, "tgkill") else { return false }
    return unsafeBitCast(address, to: Call.self)(process, thread, SIGSEGV) == 0
  }

  /// Starts the programs on backlogs, and ends each by a fault in the midst of its own.
  ///
  /// - Returns: those that had no record in hand just then.
  private func crash(_ programs: [Program], attempt: Int) throws -> [Program] {
    for program in programs {
      try rig.produce(program.topic, attempt * 20_000..<(attempt + 1) * 20_000, program.record)
    }
    for program in programs { try start(program) }
    for program in programs {
      let process = rig[program.name]
      #expect(
        process.prints(ServiceKitLog.partitionsAssigned, withinMilliseconds: 30_000),
        "\(process.output)")
      // A sender first reads the ids of what was sent before, which takes it a second or more.
      usleep(20_000 << UInt32(attempt % 8))
      let thread = try #require(self.thread(process.pid, program.thread), "\(program.name)")
      #expect(isFaulted(process.pid, thread))
    }
    for program in programs {
      let status = rig[program.name].wait()
      #expect(status == 128 + SIGSEGV, "\(program.name)")
    }
    return programs.filter { notes($0).isEmpty }
  }

  @Test func `what crashed each service twice is set aside, and nothing beside it is`() throws {
    var left = programs
    for attempt in 0..<8 where !left.isEmpty { left = try crash(left, attempt: attempt) }
    // Senders and webhooks have their records in hand for so short a time that the fault may miss all of them.
    try #require(
      left.allSatisfy { ["martlet-sender", "martlet-webhooks"].contains($0.name) },
      "never with a record in hand: \(left.map(\.name))")
    for program in left { _ = rig.stop(program.name) }
    let programs = programs.filter { program in !left.contains { $0.name == program.name } }
    for program in programs {
      let note = try #require(notes(program).first)
      #expect(note.hasSuffix(" \(program.topic)"), "\(note)")
      try File.write(notesFile(program), Array("\(note)\n\(note)\n".utf8), mode: 0o600)
      try start(program)
    }
    for program in programs { try expectSetAside(program) }
    for program in programs { #expect(rig.stop(program.name) == 0, "\(program.name)") }
    rig.stop()
  }

  private func expectSetAside(_ program: Program) throws {
    let words = try #require(notes(program).first).split(separator: " ")
    let origin = "\(program.topic)/\(words[1])/\(words[2])"
    if program.hasDeadLetters {
      var found: [String] = []
      let isFound = try rig.read(rig.names.deadLetters) { record in
        let headers = record.headers.map { String(decoding: $0.value, as: UTF8.self) }
        // The process that crashed may have made a dead letter of it, too, and not committed that.
        if headers.contains(origin) { found += headers }
      } until: {
        found.contains { $0.contains(DeadLetter.crashed) }
      }
      #expect(isFound, "\(origin): \(found)")
    }
    var open: [String] = []
    let isDone = try eventually {
      open = try self.open(program)
      return open.isEmpty
    }
    #expect(isDone, "\(program.name) has not committed \(open)")
    let url = try #require(StatusPageURL.find(in: rig[program.name].output))
    let metrics = try HTTPClient(timeoutMilliseconds: 30_000).get(url + "/metrics").text
    #expect(metrics.contains("\nmartlet_kafka_deadly_records_total 1\n"), "\(program.name)")
  }

  /// Partitions with records that are not committed.
  private func open(_ program: Program) throws -> [String] {
    let admin = try KafkaAdmin(rig.configuration)
    defer { admin.close() }
    let count = try admin.partitionCounts(timeoutMilliseconds: 30_000)[program.topic] ?? 0
    let all = (0..<Int32(count)).map { TopicPartition(topic: program.topic, partition: $0) }
    let committed = try admin.groupOffsets(program.group, all, timeoutMilliseconds: 30_000)
    let ends = try admin.watermarks(all, timeoutMilliseconds: 30_000)
    return zip(committed, ends).enumerated().compactMap { partition, pair in
      let offset = pair.0.offset ?? 0
      return offset == pair.1.high ? nil : "\(partition): \(offset) of \(pair.1.high)"
    }
  }
}
