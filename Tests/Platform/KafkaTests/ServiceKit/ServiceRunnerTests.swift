// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Settings
import Synchronization
import TestSupport
import Testing

@testable import ServiceKit

/// What the sample service did.
private let runs = Mutex<[Int]>([])

private enum SampleService: Service {
  static let name = "sample"
  static let summary = "Does nothing."
  private static let size = SettingKey<Int>.integer("size", default: 1, "A number.")
  static let table = SettingTable([size.setting])
  static let reportsCounters = false

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Int {
    let size = values[size]
    guard size != 13 else { throw values.error("size", "must not be 13") }
    return size
  }

  static func run(_ size: Int, _ context: ServiceContext) throws(ServiceFailure) {
    runs.withLock { $0.append(size) }
    guard size != 6 else {
      context.signals.requestStop(by: SIGINT)
      throw context.signals.interrupted("half of it is done")
    }
    guard size != 5 else { throw ServiceFailure("five is too much: give another --size") }
  }
}

@Suite(.serialized) struct ServiceRunnerTests {
  private func status(_ arguments: [String]) -> Int32 {
    ServiceRunner.run(SampleService.self, program: "sample", arguments)
  }

  private func takeRuns() -> [Int] {
    runs.withLock { all in
      defer { all = [] }
      return all
    }
  }

  @Test func `a run that returns is status 0, one that throws is status 1`() {
    _ = takeRuns()
    #expect(status(["--size", "7", "--log-level", "error"]) == 0)
    #expect(status(["--size", "5"]) == 1)
    #expect(status(["--size", "6"]) == 130, "as shells have it after Ctrl-C")
    #expect(takeRuns() == [7, 5, 6])
  }

  @Test func `wrong settings are status 2 and the service never runs`() {
    _ = takeRuns()
    #expect(status(["--size", "x"]) == 2)
    #expect(status(["--size", "13"]) == 2)
    #expect(status(["--sise", "1"]) == 2)
    #expect(status(["--config", "/nonexistent/martlet.properties"]) == 2)
    #expect(takeRuns().isEmpty)
  }

  @Test func `asking for help, version or a check never runs the service`() {
    _ = takeRuns()
    #expect(status(["--help"]) == 0)
    #expect(status(["--version"]) == 0)
    #expect(status(["--check-config", "--size", "2"]) == 0)
    #expect(status(["--check-config", "--size", "13"]) == 2)
    #expect(takeRuns().isEmpty)
  }
}

/// Takes what a program of the pipeline takes: files, a folder, Kafka.
private enum FileService: Service {
  static let name = "files"
  static let summary = "Looks at files."
  static let table = SettingTable(
    [
      CommonSettings.kafka.setting, CommonSettings.topicPrefix.setting,
      .init("roots", .path(.input), "Read."), .init("database", .path(.output), "Written."),
      .init("dir", .path(.folder), "A folder."), CommonSettings.drainTimeout("A drain.").setting,
    ], kafkaProperties: true)
  static func settings(_ values: SettingValues) throws(SettingErrors) {}
  static func run(_ nothing: Void, _ context: ServiceContext) throws(ServiceFailure) {}
}

@Suite struct CheckConfigTests {
  private let folder = TemporaryFolder()

  private func check(_ arguments: String...) -> Int32 {
    ServiceRunner.run(FileService.self, program: "files", ["--check-config"] + arguments)
  }

  @Test func `a file that is to be read must be there, and be no folder`() throws {
    #expect(check("--roots", folder.file("roots.pem")) == 2)
    try File.write(folder.file("roots.pem"), [1])
    #expect(check("--roots", folder.file("roots.pem")) == 0)
    #expect(check("--roots", folder.path) == 2)
  }

  @Test func `a drain is shorter than the stop that it is part of`() {
    #expect(check("--drain-timeout", "24s") == 0)
    #expect(check("--drain-timeout", "25s") == 2)
    #expect(check("--drain-timeout", "25s", "--stop-timeout", "26s") == 0)
    #expect(check("--stop-timeout", "5s") == 0, "nobody has asked for more")
  }

  @Test func `a file that is to be written needs a folder, and is not made by the check`() {
    #expect(check("--database", folder.file("tokens.db")) == 0)
    #expect(!File.exists(folder.file("tokens.db")))
    #expect(check("--database", folder.file("nowhere/tokens.db")) == 2)
    #expect(check("--database", folder.path) == 2)
  }

  @Test func `a folder may be made, but not below another one that is missing`() throws {
    #expect(check("--dir", folder.file("up")) == 0)
    #expect(check("--dir", folder.path + "/") == 0)
    #expect(check("--dir", folder.file("nowhere/up")) == 2)
    try File.write(folder.file("file"), [1])
    #expect(check("--dir", folder.file("file")) == 2)
  }

  @Test func `Kafka properties are judged together, with the files that they name`() {
    #expect(check("--kafka.linger.ms=3") == 0)
    #expect(check("--kafka.acks=1") == 2)
    #expect(
      check("--kafka.security.protocol=ssl", "--kafka.ssl.ca.location=/nonexistent/ca.pem") == 2)
    #expect(check("--kafka.session.timeout.ms=70000", "--kafka.max.poll.interval.ms=60000") == 2)
  }

  @Test func `a topic prefix that no topic can have is refused`() {
    #expect(check("--topic-prefix", "a.b-c_") == 0)
    #expect(check("--topic-prefix", "push/") == 2)
    #expect(check("--topic-prefix", String(repeating: "x", count: 232)) == 2)
  }

  @Test func `librdkafka's own property names are recognized`() {
    for name in ["linger.ms", "ssl.ca.location", "sasl.password", "acks", "fetch.wait.max.ms"] {
      #expect(KafkaConfiguration.hasProperty(name), "\(name)")
    }
    for name in ["service.host", "port", "port.9092.tcp", ""] {
      #expect(!KafkaConfiguration.hasProperty(name), "\(name)")
    }
  }
}

/// Two commands of one family.
private enum ReadService: Service {
  static let name = "letters read"
  static let summary = "Reads."
  static let table = SettingTable([])
  static func settings(_ values: SettingValues) throws(SettingErrors) {}
  static func run(_ nothing: Void, _ context: ServiceContext) throws(ServiceFailure) {}
}

private enum WriteService: Service {
  static let name = "letters write"
  static let summary = "Writes."
  static let table = SettingTable([])
  static func settings(_ values: SettingValues) throws(SettingErrors) {}
  static func run(_ nothing: Void, _ context: ServiceContext) throws(ServiceFailure) {}
}

@Suite struct CommandAnswerTests {
  private let commands: [(name: String, summary: String)] = [
    (SampleService.name, SampleService.summary), (ReadService.name, ReadService.summary),
    (WriteService.name, WriteService.summary),
  ]

  private func answer(_ arguments: String..., width: Int = 80) -> CommandList.Answer {
    CommandList(
      program: "post", summary: "Carries letters.",
      commands
    ).answer(arguments, width: width)
  }

  @Test func `without a command the error lists the commands, with status 2`() {
    let usage = """
      Usage: post COMMAND [--setting value …]

      Carries letters.

      Commands:
        sample          Does nothing.
        letters read    Reads.
        letters write   Writes.

      post COMMAND --help describes a command.

      """
    #expect(answer() == .init(error: usage, status: 2))
    #expect(answer("--help") == .init(output: usage))
  }

  @Test func `an overview takes the place of the commands' summaries`() {
    let overview = CommandOverview(
      [
        .init("Look", [("sample", "do nothing")]), .init("Letters", [("letters read", "read one")]),
      ],
      examples: ["post sample"])
    let list = CommandList(
      program: "post", summary: "Carries letters.", commands, overview: overview)
    let usage = """
      Usage: post COMMAND [--setting value …]

      Carries letters.

      Look:
        sample        do nothing

      Letters:
        letters read  read one

      Examples:
        post sample

      post COMMAND --help describes a command.

      """
    #expect(list.answer(["--help"], width: 80) == .init(output: usage))
    #expect(list.answer(["letters", "--help"], width: 80).output.contains("Commands:"))
  }

  @Test func `a command that is no more has a successor`() {
    let overview = CommandOverview(
      [], examples: [], moved: ["letters open": "letters read --whole"])
    #expect(overview.moved(["letters", "open", "3"])?.successor == "letters read --whole")
    #expect(overview.moved(["letters", "read"]) == nil && overview.moved([]) == nil)
  }

  @Test func `help COMMAND is COMMAND --help`() {
    #expect(CommandList.asked(["help", "letters", "read"]) == ["letters", "read", "--help"])
    #expect(CommandList.asked(["help"]) == ["help"])
    #expect(CommandList.asked(["letters", "help"]) == ["letters", "help"])
    #expect(CommandList.asked([]) == [])
  }

  @Test func `half a command is an error that names its other half, with status 2`() {
    let usage = """
      Usage: post letters COMMAND [--setting value …]

      Commands:
        read    Reads.
        write   Writes.

      post letters COMMAND --help describes a command.

      """
    #expect(answer("letters") == .init(error: usage, status: 2))
    #expect(answer("letters", "--help") == .init(output: usage))
  }

  @Test func `a mistyped command gets one line with the nearest one`() {
    func problem(_ arguments: String...) -> String {
      let given = CommandList(program: "post", summary: "", commands).answer(arguments, width: 80)
      #expect(given.status == 2 && given.output.isEmpty)
      return given.error
    }
    let end = "; post --help lists them\n"
    #expect(problem("smaple") == "post: there is no command smaple (did you mean sample?)" + end)
    #expect(problem("leters") == "post: there is no command leters (did you mean letters?)" + end)
    #expect(
      problem("leters", "raed", "--all")
        == "post: there is no command leters (did you mean letters read?)" + end)
    #expect(problem("zzz") == "post: there is no command zzz" + end)
    #expect(
      problem("letters", "wriet")
        == "post: there is no command letters wriet (did you mean letters write?);"
        + " post letters --help lists them\n")
    #expect(
      problem("letters", "burn", "--all")
        == "post: there is no command letters burn; post letters --help lists them\n")
  }

  @Test(arguments: ["--version", "-V", "version"])
  func `every usual way prints the version`(word: String) {
    let output = answer(word).output
    #expect(output.hasPrefix("post \(Version.text)\ncommit unknown\nwith librdkafka "))
    #expect(output.hasSuffix("\n"))
  }

  @Test func `the list of commands is as wide as the terminal`() {
    for width in [40, 50, 100] {
      let lines = answer("--help", width: width).output.split(separator: "\n")
      #expect(lines.allSatisfy { $0.count <= width })
    }
    #expect([20, 72, 400].map(Terminal.readable) == [40, 72, 100])
  }
}
