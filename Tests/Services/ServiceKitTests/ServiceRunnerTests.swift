// SPDX-License-Identifier: Apache-2.0
import Settings
import Synchronization
import Testing

@testable import ServiceKit

/// What the sample service did.
private let runs = Mutex<[Int]>([])

private enum SampleService: Service {
  static let name = "sample"
  static let summary = "Does nothing."
  static let table = SettingTable([.integer("size", default: 1, "A number.")])
  static let reportsCounters = false

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Int {
    let size = values.integer("size")
    guard size != 13 else { throw values.error("size", "must not be 13") }
    return size
  }

  static func run(_ size: Int, _ context: ServiceContext) throws(ServiceFailure) {
    runs.withLock { $0.append(size) }
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
    #expect(takeRuns() == [7, 5])
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
  private func answer(_ arguments: String...) -> ServiceRunner.Answer {
    ServiceRunner.answer(
      arguments, program: "post", summary: "Carries letters.",
      [SampleService.self, ReadService.self, WriteService.self])
  }

  @Test func `no command is told which there are, with status 2`() {
    let usage = """
      Usage: post COMMAND [--setting value …]

      Carries letters.

      Commands:
        sample          Does nothing.
        letters read    Reads.
        letters write   Writes.

      post COMMAND --help says more.

      """
    #expect(answer() == .init(error: usage, status: 2))
    #expect(answer("--help") == .init(output: usage))
    #expect(answer("let").error == "post: there is no command let\n" + usage)
  }

  @Test func `half a command is told its other half, with status 2`() {
    let usage = """
      Usage: post letters COMMAND [--setting value …]

      Commands:
        read    Reads.
        write   Writes.

      post letters COMMAND --help says more.

      """
    #expect(answer("letters") == .init(error: usage, status: 2))
    #expect(answer("letters", "--help") == .init(output: usage))
    #expect(
      answer("letters", "burn", "--all")
        == .init(error: "post: there is no command letters burn\n" + usage, status: 2))
  }
}
