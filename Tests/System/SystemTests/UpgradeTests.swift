// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import TestSupport
import Testing

/// An upgrade as docs/operations.md describes it, and the way back, from the version that
/// Tests/Fixtures/Upgrade/previous-version names (scripts/previous-build builds its services).
@Suite(.onOwnThread) struct UpgradeTests {
  @Test(
    .enabled(if: RollingHosts.previous != nil, "scripts/previous-build has not been run"),
    arguments: [RollingHosts.Build.previous, .this])
  func `two hosts are rolled to the other version and back, under load`(
    first: RollingHosts.Build
  ) throws {
    let second: RollingHosts.Build = first == .previous ? .this : .previous
    let hosts = try RollingHosts()
    for host in ["a", "b"] { try hosts.start(host, of: first) }
    for host in ["a", "b"] { try hosts.roll(host, to: second, back: second == .previous) }
    for host in ["b", "a"] { try hosts.roll(host, to: first, back: first == .previous) }
    let outcomes = try hosts.outcomes()
    // Nothing is lost, and nothing is given up.
    #expect(outcomes.count == hosts.produced && hosts.produced > 1_000, "\(hosts.produced)")
    #expect(try hosts.count(hosts.rig.names.deadLetters) == 0)
    for (id, all) in outcomes {
      let number = Int(id.dropFirst()) ?? 0
      let isUnregistered = RollingHosts.unregistered.contains(number)
      let names = Set(all.map { $0["outcome"]?.string })
      #expect(names == [isUnregistered ? "rejected" : "delivered"], "\(id): \(names)")
      if number % 3 == 0 { #expect(all.allSatisfy { $0["data"]?["n"]?.string == "\(number)" }) }
    }
    let acceptances = try hosts.acceptances()
    #expect(acceptances.count == hosts.produced - RollingHosts.unregistered.count)
    // As few are sent twice as by restarts: on the embedded broker, which takes no commit during a rebalance, those of two
    // seconds each (`rolling-restart` in docs/guarantees.md). Each host was rolled twice.
    let repeated = acceptances.values.count { $0 > 1 }
    #expect(repeated <= 4 * 2 * RollingHosts.rate, "\(repeated) of \(hosts.produced)")
    // Some pushes went over a retry topic, which both versions read and wrote.
    let busy = RollingHosts.busy.filter { $0 < hosts.produced }
    #expect(busy.count > 20)
    for number in busy {
      #expect(outcomes["r\(number)"]?.contains { ($0["attempts"]?.int ?? 0) > 1 } == true)
    }
    #expect(try hosts.invalidTokens() == RollingHosts.unregistered.count)
    hosts.rig.stop()
  }

  /// The database of a version that does not exist yet.
  @Test(arguments: [RollingHosts.Build.previous, .this])
  func `a database that a newer program has opened is refused with a sentence`(
    build: RollingHosts.Build
  ) throws {
    guard build == .this || RollingHosts.previous != nil else { return }
    let rig = try PipelineRig()
    defer { rig.stop() }
    let file = rig.folder.file("tokens.sqlite")
    let feedback = "martlet-feedback"
    try rig.start(feedback)
    try #require(rig.isUp(feedback))
    #expect(rig.stop(feedback) == 0)
    let made = try BuiltProgram.run(
      try SystemProgram.path("sqlite3"),
      [file, "INSERT INTO migrations VALUES (1000, 'of a later version', 0)"], in: rig.folder)
    try #require(made.status == 0, "\(made.output)")
    let program = try BuiltProgram.run(
      build == .this
        ? ChildProcess.sibling(feedback) : "\(RollingHosts.previous ?? "")/\(feedback)",
      ["--kafka", rig.kafka, "--database", file], in: rig.folder)
    #expect(program.status == 1)
    #expect(program.output.contains("its schema has version 1000, this program knows"))
    #expect(program.output.contains("run a newer program"))
  }
}
