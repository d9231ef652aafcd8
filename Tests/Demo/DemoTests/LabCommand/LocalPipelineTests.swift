// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import Contract
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import ServiceKit
import Settings
import Telemetry
import TestSupport
import Testing

@testable import LabCommand

@Suite struct ProcessJournalTests {
  private func append(_ text: String, _ path: String) throws {
    let before = (try? File.read(path)) ?? []
    try File.write(path, before + Array(text.utf8))
  }

  private func line(_ level: LogLevel, _ message: String) -> String {
    LogEvent(milliseconds: 0, level: level, service: "martlet-test", message: message).line(.text)
  }

  @Test func `who is ready and what went wrong is read as it comes, by whole lines`() throws {
    let folder = TemporaryFolder()
    let journal = ProcessJournal()
    let (one, two) = (folder.file("one.log"), folder.file("two.log"))
    journal.follow("one", one)
    journal.follow("two", two)
    journal.look()
    #expect(journal.ready.isEmpty)
    let broken = line(.error, "it broke")
    try append(line(.info, "assigned") + "\n" + broken.prefix(30), one)
    try append("not one of ours\n" + line(.info, ServiceKitLog.ready.rawValue) + "\n", two)
    journal.look()
    #expect(journal.ready == ["two"])
    #expect(journal.drainErrors().isEmpty)
    try append(broken.dropFirst(30) + "\n" + line(.info, ServiceKitLog.ready.rawValue) + "\n", one)
    journal.look()
    #expect(journal.ready == ["one", "two"])
    #expect(journal.drainErrors().map(\.line) == [broken])
    #expect(journal.drainErrors().isEmpty && !journal.hasLoss)
  }

  @Test func `a loss is recognised`() throws {
    let folder = TemporaryFolder()
    let journal = ProcessJournal()
    journal.follow("one", folder.file("log"))
    try append(line(.error, ServiceKitLog.recordsLost.rawValue) + " count=3\n", folder.file("log"))
    journal.look()
    #expect(journal.hasLoss)
  }

  @Test func `a log that has become too long starts again, and is still followed`() throws {
    let folder = TemporaryFolder()
    let journal = ProcessJournal()
    let path = folder.file("log")
    journal.follow("one", path)
    var program = ChildProgram("one", path: "/bin/true", logFile: path)
    program.logLimit = 1_000
    try append(String(repeating: "x", count: 1_200) + "\n", path)
    journal.look()
    program.boundLog()
    #expect(File.size(path) == 0)
    #expect(File.size(path + ".1") == 1_201)
    try append(line(.info, ServiceKitLog.ready.rawValue) + "\n", path)
    program.boundLog()
    journal.look()
    #expect(File.size(path + ".1") == 1_201)
    #expect(journal.ready == ["one"])
  }
}

@Suite struct FolderLockTests {
  @Test func `a folder belongs to one process until that ends`() throws {
    let folder = TemporaryFolder()
    var first: FolderLock? = try FolderLock(folder.path)
    let error = #expect(throws: ServiceFailure.self) { _ = try FolderLock(folder.path) }
    #expect("\(error!)".contains("(process \(getpid())) uses \(folder.path)"))
    withExtendedLifetime(first) {}
    first = nil
    _ = try FolderLock(folder.path)
  }
}

@Suite struct LocalPipelineTests {
  /// Its files of settings are for programs that are started anywhere.
  @Test func `the keys of a folder with a relative name are found from any folder`() throws {
    let plan = LocalPipeline.Plan(folder: "a b/up", credentials: [])
    let pipeline = try LocalPipeline(plan, log: Logger(service: "test", level: .error))
    let here = try #require(getcwd(nil, 0))
    defer { free(here) }
    #expect(pipeline.keys.root == "\(String(cString: here))/a b/up/keys/root.pem")
    #expect(File.absolute("/a b") == "/a b")
  }
}

@Suite struct FreePortsTests {
  @Test func `each port is another one and can be taken`() throws {
    let ports = try FreePorts.find(20)
    #expect(Set(ports).count == 20 && !ports.contains(0))
    let broker = try EmbeddedBroker(port: ports[0])
    #expect(broker.bootstrap == "127.0.0.1:\(ports[0])")
    #expect(!FreePorts.isFree(ports[0]))
    #expect(FreePorts.isFree(ports[1]))
  }

  @Test func `a port is one pipeline's until that ends`() throws {
    // Nobody listens on a port that is claimed: any will do.
    let port = UInt16.random(in: 33_000..<60_000)
    do {
      let claim = try #require(PortClaim.take(port))
      #expect(PortClaim.take(port) == nil)
      #expect(PortClaim.take(port + 1) != nil)
      withExtendedLifetime(claim) {}
    }
    #expect(PortClaim.take(port) != nil)
  }

  @Test func `ports that a pipeline has found are claimed before its processes listen`() throws {
    let run = try FreePorts.claim(3)
    #expect(run.claims.count == 3)
    for offset: UInt16 in 0..<3 { #expect(PortClaim.take(run.first + offset) == nil) }
    withExtendedLifetime(run) {}
  }
}

@Suite struct UpCommandTests {
  private func settings(_ flags: [String]) throws -> (UpCommand.Settings, ServiceContext) {
    let context = try UpCommand.context(flags)
    return (try UpCommand.settings(context.values), context)
  }

  @Test func `without its topics the error says what to do, before anything is started`() throws {
    let fixture = try KafkaFixture()
    let folder = TemporaryFolder()
    let (settings, context) = try settings([
      "--kafka", fixture.configuration.bootstrap, "--dir", folder.file("up"), "--topic-prefix",
      fixture.prefix,
    ])
    let error = #expect(throws: ServiceFailure.self) { try UpCommand.run(settings, context) }
    let text = "\(error!)"
    let others = TopicNames(prefix: fixture.prefix).all.count - 1
    #expect(text.contains("lacks the topic \(fixture.prefix)requests and \(others) more"))
    #expect(
      text.hasSuffix(
        "martlet topics create --kafka \(fixture.configuration.bootstrap) --topic-prefix"
          + " \(fixture.prefix) creates them"))
    #expect(!File.exists(folder.file("up")))
  }

  @Test func `topics that its user may not see are not called missing`() throws {
    KafkaLog.silence()
    let topics = TopicNames().all
    let access = try AccessControl(file: "user ann secret\nread topic others")
    let broker = try EmbeddedBroker(topics.map { BrokerTopic($0) }, access: access)
    let folder = TemporaryFolder()
    let (settings, context) = try settings([
      "--kafka", broker.bootstrap, "--dir", folder.file("up"),
      "--kafka.security.protocol=sasl_plaintext", "--kafka.sasl.mechanisms=PLAIN",
      "--kafka.sasl.username=ann", "--kafka.sasl.password=secret",
    ])
    let failure = #expect(throws: ServiceFailure.self) { try UpCommand.run(settings, context) }
    let words = "this user may not see topic \(topics[0].name)"
    #expect(failure?.description.contains(words) == true, "\(failure?.description ?? "")")
    #expect(!File.exists(folder.file("up")))
  }

  @Test func `the broker's port is no setting beside another cluster`() throws {
    #expect(throws: SettingErrors.self) {
      try settings(["--kafka", "a:1", "--kafka-port", "9093"])
    }
    #expect(try settings(["--kafka-port", "9093"]).0.kafkaPort == 9_093)
  }
}

@Suite struct DiskRoomTests {
  @Test func `too little room for a start is an error that names folder, need and remedy`() throws {
    let failure = #expect(throws: ServiceFailure.self) {
      try DiskRoom("/srv/up") { _ in DiskRoom.needed - 1 }.demand()
    }
    #expect(failure?.description.contains("the disk of /srv/up has 63 MiB left") == true)
    #expect(failure?.description.contains("--dir") == true)
    try DiskRoom("/srv/up") { _ in DiskRoom.needed }.demand()
    try DiskRoom("/nonexistent").demand()
    #expect(DiskRoom.free("/") != nil)
  }

  @Test func `a disk that is full is said once, and again after it had room`() {
    var free: UInt64 = DiskRoom.least
    var room = DiskRoom("/srv/up") { _ in free }
    func hasFilled() -> Bool { room.hasFilled() }
    #expect(!hasFilled())
    free = 0
    #expect(hasFilled())
    #expect(!hasFilled())
    free = DiskRoom.needed
    #expect(!hasFilled())
    free = 10
    #expect(hasFilled())
  }
}
