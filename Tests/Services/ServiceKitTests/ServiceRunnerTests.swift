// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Settings
import Synchronization
import Testing

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
