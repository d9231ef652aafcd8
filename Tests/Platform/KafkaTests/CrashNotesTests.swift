// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport
import Testing

@testable import Kafka

@Suite struct CrashNotesTests {
  private func notes(_ text: String) -> CrashNotes { CrashNotes(Array(text.utf8)) }

  private func areDeadly(
    _ notes: CrashNotes, _ topic: String = "push.requests", _ partition: Int32 = 3,
    _ offset: Int64 = 17, _ timestamp: Int64 = 1_795_000_000_000
  ) -> Bool {
    notes.areDeadly(topic: topic, partition: partition, offset: offset, timestamp: timestamp)
  }

  private let line = "11 3 17 1795000000000 push.requests\n"

  @Test func `a record is worked on again after one crash, and not after two`() {
    #expect(notes("").isEmpty)
    #expect(!notes(line).isEmpty)
    #expect(!areDeadly(notes(line)))
    #expect(areDeadly(notes(line + line)))
    #expect(areDeadly(notes(line + "4 3 18 1795000000001 push.requests\n" + line)))
  }

  @Test func `a record that is only like the one in the note is worked on`() {
    let twice = notes(line + line)
    #expect(!areDeadly(twice, "push.request"))
    #expect(!areDeadly(twice, "push.requests", 4))
    #expect(!areDeadly(twice, "push.requests", 3, 18))
    #expect(!areDeadly(twice, "push.requests", 3, 17, 1_795_000_000_001), "of another topic's life")
  }

  @Test func `a line that is no note counts for nothing`() {
    let broken = [
      "11 3 17 1795000000000 push.requests", "x\n", "\n", "11 3 17 push.requests\n",
      "11 3 99999999999999999999 1795000000000 push.requests\n",
      "11 3 17 1795000000000 push.requests more\n", "\u{0}\u{FF} 3 17 1 a\n",
    ]
    for text in broken {
      #expect(notes(text + "\n").count <= (text == broken[0] ? 1 : 0), "\(text)")
    }
    #expect(notes(line + "11 3 17 17950").count == 1, "cut while it was written")
    #expect(
      areDeadly(notes(String(repeating: "x\n", count: 100_000) + line + line)), "the end counts")
  }

  @Test func `a file that others may write, or a link, is not believed`() throws {
    let folder = TemporaryFolder()
    let file = folder.file("notes")
    try File.write(file, Array(line.utf8))
    chmod(file, 0o666)
    #expect(throws: SystemError.self) { try CrashNotes(path: file) }
    symlink(file, folder.file("link"))
    #expect(throws: SystemError.self) { try CrashNotes(path: folder.file("link")) }
    #expect(throws: SystemError.self) { try CrashNotes(path: folder.file("none/notes")) }
  }
}

/// Crashes of real processes, with a real record of Kafka in hand.
@Suite struct CrashNotesProcessTests {
  @Test func `a record that ends its reader twice is passed over by the third`() async throws {
    let fixture = try KafkaFixture()
    let topic = try fixture.createTopic("table", partitions: 1, compacted: true)
    let folder = TemporaryFolder()
    let bootstrap = fixture.configuration.bootstrap
    let file = folder.file("notes")
    let producer = try KafkaProducer(fixture.configuration)
    let handle = try producer.topic(named: topic)
    for value in ["good", "hostile", "last"] {
      try fixture.produce(producer, handle, key: value, value: value)
    }
    for crash in 1...CrashNotes.deadly {
      await #expect(processExitsWith: .failure, "crash \(crash)") {
        [file = file as String, bootstrap = bootstrap as String, topic = topic as String] in
        try CrashingReader.run(file, bootstrap, topic)
      }
      let notes = CrashNotes(try File.read(file))
      #expect(notes.count == 1)
      let lines = try File.text(file).split(separator: "\n")
      #expect(lines.count == crash && lines.allSatisfy { $0.hasSuffix(" \(topic)") })
    }
    await #expect(processExitsWith: .exitCode(42)) {
      [file = file as String, bootstrap = bootstrap as String, topic = topic as String] in
      try CrashingReader.run(file, bootstrap, topic)
    }
  }

  @Test(arguments: [SIGSEGV, SIGABRT, SIGBUS, SIGFPE])
  func `a signal takes its course, and names what was in hand`(_ signal: Int32) async throws {
    let folder = TemporaryFolder()
    let file = folder.file("notes")
    await #expect(processExitsWith: .signal(signal)) {
      [file = file as String, signal = signal as Int32] in
      _ = try CrashNotes(path: file)
      RecordInHand(topic: "push.feedback").take(partition: 7, offset: .max, timestamp: -1)
      // What runs the tests holds this one back and ignores it. abort() does not ignore it, but since glibc 2.41 calls
      // nobody for a signal that is held back.
      var none = sigset_t()
      pthread_sigmask(SIG_SETMASK, &none, nil)
      if signal == SIGABRT { abort() }
      raise(signal)
    }
    #expect(
      try File.text(file) == "\(signal) 7 9223372036854775807 -1 push.feedback\n")
  }

  @Test func `what a database has of a record is named by its value`() async throws {
    let folder = TemporaryFolder()
    let file = folder.file("notes")
    await #expect(processExitsWith: .signal(SIGSEGV)) { [file = file as String] in
      _ = try CrashNotes(path: file)
      RecordInHand(topic: "push.schedule").take(stored: .min)
      raise(SIGSEGV)
    }
    let note = try File.text(file)
    #expect(note == "11 -1 -9223372036854775808 0 push.schedule\n")
    #expect(!CrashNotes(Array(note.utf8)).areDeadly(stored: .min, of: "push.schedule"))
    let twice = CrashNotes(Array((note + note).utf8))
    #expect(twice.areDeadly(stored: .min, of: "push.schedule"))
    #expect(!twice.areDeadly(stored: .max, of: "push.schedule"))
    #expect(!twice.areDeadly(stored: .min, of: "push.requests"))
  }

  /// Every way to read a topic without a group.
  @Test func `no reader hands out what the process is to leave out`() throws {
    let fixture = try KafkaFixture()
    let topic = try fixture.createTopic("t", partitions: 1)
    let producer = try KafkaProducer(fixture.configuration)
    for number in 0..<3 {
      try fixture.produce(producer, producer.topic(named: topic), key: "k", value: "\(number)")
    }
    var configuration = fixture.configuration
    configuration.isDeadly = { $0.offset == 1 }
    func drain(_ poll: (inout KafkaBatch) -> Bool) -> [Int64] {
      var batch = KafkaBatch(capacity: 10)
      var offsets: [Int64] = []
      _ = eventually {
        let isDone = poll(&batch)
        for index in 0..<batch.count where batch[index].errorCode == 0 {
          offsets.append(batch[index].offset)
        }
        batch.release()
        return isDone
      }
      return offsets
    }
    let tail = try KafkaTail(configuration, topic: topic, from: .beginning)
    let ofTail = drain { batch in
      _ = tail.poll(into: &batch, timeoutMilliseconds: 50)
      return tail.isCaughtUp
    }
    #expect(ofTail == [0, 2] && tail.missed == 0)
    tail.close()
    let stretches = try OffsetRangeReader(configuration)
    _ = try stretches.read(
      TopicPartition(topic: topic, partition: 0), 0..<3, timeoutMilliseconds: 30_000)
    let ofStretches = drain { batch in
      stretches.poll(into: &batch, timeoutMilliseconds: 50)
      _ = stretches.drainFinished()
      return stretches.isDone
    }
    #expect(ofStretches == [0, 2])
    stretches.close()
    let changes = try KafkaChangelog(configuration, topic: topic, partitions: 1, wakeup: Wakeup())
    try changes.begin(at: [0])
    let ofChanges = drain { batch in
      changes.poll(into: &batch)
      return changes.positions == [3]
    }
    #expect(ofChanges == [0, 2])
    changes.close()
    let table = try KafkaTable(configuration, topic: topic)
    var read: [Int64] = []
    _ = eventually {
      table.pollRecords(timeoutMilliseconds: 50) { read.append($0.offset) }
      return table.isCaughtUp
    }
    #expect(read == [0, 2])
    table.close()
  }

  @Test func `nothing in hand is nothing to blame`() async throws {
    let folder = TemporaryFolder()
    let file = folder.file("notes")
    await #expect(processExitsWith: .signal(SIGSEGV)) { [file = file as String] in
      _ = try CrashNotes(path: file)
      RecordInHand(topic: "push.feedback").take(partition: 7, offset: 1, timestamp: -1)
      RecordInHand.drop()
      raise(SIGSEGV)
    }
    #expect(try File.read(file).isEmpty)
  }
}

/// A process that reads a topic and cannot bear one of its records.
private enum CrashingReader {
  static func run(_ file: String, _ bootstrap: String, _ topic: String) throws {
    let notes = try CrashNotes(path: file)
    var configuration = KafkaConfiguration(bootstrap: bootstrap, clientID: "crashing")
    configuration.isDeadly = { notes.areDeadly($0) }
    let table = try KafkaTable(configuration, topic: topic)
    var read = 0
    while !table.isCaughtUp {
      table.pollRecords(timeoutMilliseconds: 50) { record in
        precondition(!record.value.elementsEqual("hostile".utf8), "what a bug is like")
        read += 1
      }
    }
    exit(read == 2 ? 42 : 1)
  }
}
