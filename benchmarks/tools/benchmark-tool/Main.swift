// SPDX-License-Identifier: Apache-2.0
import ServiceKit

/// What the benchmarks measure with and load: the first argument says which of them.
@main
struct Main {
  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    switch arguments.first {
    case "http2": HTTP2Benchmark.run(arguments)
    case "store": StoreBenchmark.run(arguments)
    default:
      runCommands(
        program: "benchmark-tool", summary: "Loads and topics of the benchmarks.",
        [LoadCommand.self, TopicsOfBenchmark.self])
    }
  }
}
