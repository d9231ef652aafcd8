// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import ServiceKit
import Synchronization
import TestSupport
import Testing

@testable import Store

/// The commands of docs/operations.md about backups, on databases of both kinds, while the writer works and afterwards.
@Suite struct BackupTests {
  private let folder = TemporaryFolder()

  private func device(_ number: Int) -> DeviceKey {
    DeviceKey(
      token: String(repeating: "0", count: 60) + "\(1_000 + number)", app: "com.example.app",
      environment: number % 2 == 0 ? .production : .sandbox)
  }

  /// Registered, dead, alive again: with a history that no topic has.
  private func state(_ number: Int, from time: Int64) -> DeviceState {
    var state = DeviceState()
    state.apply(.registered(at: time))
    guard number % 3 > 0 else { return state }
    state.apply(
      DeviceState.Mark(
        since: time + 1, aliveFrom: time + 2, reason: "Unregistered", recordedAt: time + 3))
    if number % 3 > 1 { state.apply(.registered(at: time + 9)) }
    return state
  }

  private func fill(_ store: TokenStore, from time: Int64) throws {
    try store.transaction { () throws(StoreError) in
      for number in 0..<200 { try store.put(device(number), state(number, from: time)) }
      let anchor = ChangelogPosition.Anchor(offset: time, timestamp: time, keyHash: 7)
      try store.setPosition("push.devices", 0, ChangelogPosition(anchor: anchor))
      try store.setComplete(at: time)
    }
  }

  /// A text in each block of commands of the page; the tests below run every line of each.
  private static let blocks = ["backup-sqlite", "mv tokens-backup.db", "pg_dump", "tokens list"]

  private func block(_ text: String) throws -> String {
    let page = try Documents.section("Backup and restore", of: "docs/operations.md")
    let blocks = page.matches(of: #/```sh\n((?s).*?)\n```/#).map { String($0.1) }
    try #require(blocks.count == Self.blocks.count, "a block of the page that no test runs")
    return try #require(blocks.first { $0.contains(text) }, "\(text)")
  }

  /// Runs all lines of a block of the page, or one.
  private func run(
    _ text: String, line: Int? = nil, database: String = "", kafka: String = ""
  ) throws {
    var commands = try block(text)
    if let line { commands = String(commands.split(separator: "\n")[line]) }
    let script = """
      set -eu; cd '\(folder.path)'; ln -sfn '\(Repository.path("deploy"))' deploy; DATABASE='\(database)'; export MARTLET_KAFKA='\(kafka)'
      martlet() { '\(ChildProcess.sibling("martlet"))' "$@"; }
      \(commands)
      """
    let result = try BuiltProgram.run(try SystemProgram.path("bash"), ["-c", script], in: folder)
    #expect(result.status == 0, "\(result.output)")
    if text == "backup-sqlite" {
      #expect(result.output.contains(" devices 200 "), "\(result.output)")
    }
  }

  private func expect(_ database: String, from time: Int64) throws {
    let store = try TokenStore(database, now: 3)
    for number in 0..<200 {
      #expect(try store.device(device(number)) == state(number, from: time), "\(number)")
    }
    #expect(try store.positions()["push.devices"]?[0]?.anchor?.offset == time)
    #expect(try store.deviceCounts() == DeviceCounts(registered: 133, invalid: 67))
  }

  @Test func `a SQLite file is what it was when it was copied, with history and positions`() throws
  {
    let database = folder.file("tokens.db")
    do {
      let store = try TokenStore(database, now: 1)
      try fill(store, from: 1_000)
      try run("backup-sqlite")
      try fill(store, from: 5_000)
    }
    try expect(database, from: 5_000)
    try run("mv tokens-backup.db")
    try expect(database, from: 1_000)
  }

  private final class Flag: Sendable { let isSet = Atomic(false) }

  /// Runs the script on a database; its status and what it printed.
  private func backUp(_ database: String, to copy: String) throws -> (status: Int32, output: String)
  {
    try BuiltProgram.run(
      Repository.path("deploy/backup-sqlite.sh"), [folder.file(database), folder.file(copy)],
      in: folder, withinMilliseconds: 120_000)
  }

  @Test
  func `a SQLite file that is written to all the time is copied whole, and in no time`() throws {
    let database = folder.file("tokens.db")
    let flag = Flag()
    let store = try TokenStore(database, now: 1)
    try fill(store, from: 1_000)
    let writer = try LoopThread(name: "writer") {
      guard let store = try? TokenStore(database, now: 2, busyTimeout: 60_000) else { return }
      var number = 0
      while !flag.isSet.load(ordering: .acquiring) {
        number += 1
        let device = DeviceKey(
          token: String(0x100000 + number % 5_000, radix: 16), app: "com.example.app",
          environment: .sandbox)
        try? store.transaction { () throws(StoreError) in
          try store.put(device, DeviceState(presence: .registered(at: 7)))
        }
      }
    }
    let result = Result { try backUp("tokens.db", to: "copy.db") }
    flag.isSet.store(true, ordering: .releasing)
    writer.join()
    let copied = try result.get()
    #expect(copied.status == 0, "\(copied.output)")
    let copy = try TokenStore(folder.file("copy.db"), now: 3)
    let counts = try copy.deviceCounts()
    #expect(counts.registered + counts.invalid >= 200)
    #expect(try copy.positions()["push.devices"]?[0]?.anchor?.offset == 1_000)
    let again = try backUp("tokens.db", to: "copy.db")
    #expect(again.status != 0 && again.output.contains("is there already"), "\(again.output)")
    let missing = try backUp("none.db", to: "other.db")
    #expect(missing.status != 0 && missing.output.contains("there is no database"))
  }

  @Test func `a PostgreSQL schema is what it was when it was dumped`() throws {
    let database = try DatabaseKind.postgres.location(in: folder)
    do {
      let store = try TokenStore(database, now: 1)
      try fill(store, from: 1_000)
      try run("pg_dump", line: 0, database: database)
      try fill(store, from: 5_000)
    }
    try expect(database, from: 5_000)
    try run("pg_dump", line: 1, database: database)
    try expect(database, from: 1_000)
  }

  /// Without the times at which feedback recorded something: those of an import count as an hour old at most.
  private func untimed(_ rows: String) -> String {
    rows.replacing(#/,"recorded_at":[0-9]+/#, with: "")
  }

  @Test func `an export makes the same rows on a Kafka that has nothing`() throws {
    do { try fill(try TokenStore(folder.file("tokens.db"), now: 1), from: 1_795_000_000_000) }
    let file = folder.file("broker.address")
    let broker = try BuiltProgram.start("martlet", ["broker", "--address-file", file], in: folder)
    let kafka = try #require(broker.announcement(in: file), "it printed: \(broker.output)")
    try run("tokens list", kafka: kafka)
    let feedback = try BuiltProgram.start(
      "martlet-feedback", ["--kafka", kafka, "--database", folder.file("other.db")], in: folder)
    try #require(
      feedback.prints(ServiceKitLog.partitionsAssigned),
      "\(feedback.output)")
    let exported = try File.text(folder.file("tokens.ndjson"))
    #expect(exported.split(separator: "\n").count == 200)
    var again = ""
    let isSame = try eventually(withinMilliseconds: 120_000, pauseMilliseconds: 300) {
      again =
        try BuiltProgram.run(
          ChildProcess.sibling("martlet"),
          ["tokens", "list", "--json", "--database", folder.file("other.db")], in: folder
        ).output
      return untimed(again) == untimed(exported)
    }
    #expect(isSame, "\(again.prefix(2_000))")
    #expect(feedback.stop() == 0, "\(feedback.output)")
  }
}
