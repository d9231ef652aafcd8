// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import LabCommand

@Suite struct ProcessTreeTests {
  private let log = Logger(service: "test", level: .error)

  private func shell(
    _ name: String, _ script: String, log: String? = nil, restarts: Bool = true, stage: Int = 0
  ) -> ChildProgram {
    ChildProgram(
      name, path: "/bin/sh", arguments: ["-c", script], logFile: log, restarts: restarts,
      stage: stage)
  }

  @Test func `a child that is killed is started again`() throws {
    let tree = try ProcessTree(log: log)
    try tree.start(shell("sleeper", "exec sleep 60"))
    let first = try #require(tree.state("sleeper")?.pid)
    #expect(tree.signal("sleeper", SIGKILL))
    expectEventually { tree.state("sleeper")?.restarts == 1 && tree.state("sleeper")?.pid != nil }
    let state = try #require(tree.state("sleeper"))
    #expect(state.pid != first)
    #expect(state.lastStatus == 128 + SIGKILL)
    #expect(tree.stopAll().isEmpty)
    #expect(kill(try #require(state.pid), 0) == -1)
  }

  @Test func `a child that dies at once is started again more and more rarely`() throws {
    let folder = TemporaryFolder()
    let tree = try ProcessTree(log: log)
    let begin = MonotonicClock.milliseconds()
    try tree.start(shell("failing", "echo x >> \(folder.file("starts")); exit 3"))
    func starts() -> Int { ((try? File.read(folder.file("starts"))) ?? []).count / 2 }
    #expect(eventually { (tree.state("failing")?.restarts ?? 0) >= 2 && starts() >= 3 })
    tree.stopAll()
    // Pauses of 200, 400, 800 ms: not a storm.
    let passed = MonotonicClock.milliseconds() - begin
    var (most, pause, pauses) = (1, 200 as UInt64, 200 as UInt64)
    while pauses <= passed + 50 {
      most += 1
      pause *= 2
      pauses += pause
    }
    #expect(starts() >= 3 && starts() <= most, "\(starts()) starts in \(passed) ms")
    #expect(tree.state("failing")?.lastStatus == 3)
  }

  @Test func `a child that shall not restart stays down`() throws {
    let tree = try ProcessTree(log: log)
    try tree.start(shell("once", "exit 0", restarts: false))
    #expect(eventually { tree.state("once")?.lastStatus == 0 })
    letPass(milliseconds: 300)
    #expect(tree.state("once")?.pid == nil)
    #expect(tree.state("once")?.restarts == 0)
    tree.stopAll()
  }

  @Test func `a stop waits for a program that takes it, however early it comes`() throws {
    let tree = try ProcessTree(log: log)
    // It takes the signal long after its start: one that did not wait would have ended it by then.
    var program = ChildProgram(
      "slow", path: "/usr/bin/python3",
      arguments: ["-c", "import signal, time; time.sleep(0.2); signal.sigwait([signal.SIGTERM])"],
      restarts: false)
    program.holdsStop = true
    try tree.start(program)
    #expect(tree.stop("slow") == 0)
    program.name = "not held"
    program.arguments = ["-c", "import time; time.sleep(60)"]
    program.holdsStop = false
    try tree.start(program)
    #expect(tree.stop("not held") == 128 + SIGTERM)
    tree.stopAll()
  }

  @Test func `higher stages end before lower ones`() throws {
    let folder = TemporaryFolder()
    let ends = folder.file("ends")
    let tree = try ProcessTree(log: log)
    for (stage, name) in ["bottom", "middle", "top"].enumerated() {
      let script =
        "trap 'sleep 0.1; echo \(name) >> \(ends); exit 0' TERM; echo up; while :; do sleep 0.02; done"
      try tree.start(shell(name, script, log: folder.file(name), stage: stage))
      // The trap is set once the child has spoken.
      #expect(eventually { (try? File.read(folder.file(name)))?.isEmpty == false })
    }
    #expect(tree.stopAll().isEmpty)
    #expect(try File.text(ends) == "top\nmiddle\nbottom\n")
  }

  @Test func `a child that ignores the request to end is killed and named`() throws {
    let folder = TemporaryFolder()
    let tree = try ProcessTree(log: log)
    let script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    try tree.start(shell("stubborn", script, log: folder.file("log")))
    #expect(eventually { (try? File.read(folder.file("log")))?.isEmpty == false })
    #expect(tree.stopAll(timeoutMilliseconds: 200) == ["stubborn"])
    #expect(tree.state("stubborn")?.lastStatus == 128 + SIGKILL)
  }

  @Test func `children get no signal mask, no input and no settings of ours`() throws {
    let folder = TemporaryFolder()
    setenv("MARTLET_TEST_LEAK", "1", 1)
    let tree = try ProcessTree(log: log)
    let script = "cat; env | grep -c MARTLET_; exec grep SigBlk /proc/self/status"
    try tree.start(shell("child", script, log: folder.file("log"), restarts: false))
    #expect(eventually { tree.state("child")?.lastStatus != nil })
    tree.stopAll()
    let output = try File.text(folder.file("log"))
    #expect(output.split(separator: "\n").first == "0")
    #expect(output.contains("0000000000000000"))
  }

  @Test func `a program that is not there is an error that names it`() throws {
    let tree = try ProcessTree(log: log)
    let error = #expect(throws: SystemError.self) {
      try tree.start(ChildProgram("ghost", path: "/nowhere/ghost"))
    }
    #expect("\(error!)".contains("/nowhere/ghost"))
    #expect(tree.states.isEmpty)
    tree.stopAll()
  }
}
