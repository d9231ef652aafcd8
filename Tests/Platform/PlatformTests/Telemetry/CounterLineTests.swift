// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

@Suite struct CounterLineTests {
  private func text(_ kind: CounterKind, _ value: Int, _ previous: Int, _ milliseconds: Int64)
    -> String
  {
    line([CounterLine.Entry(name: "x", kind: kind, value: value, previous: previous)], milliseconds)
  }

  private func line(
    _ entries: [CounterLine.Entry], _ milliseconds: Int64, _ format: LogFormat = .text
  ) -> String {
    let fields = CounterLine.fields(entries, milliseconds: milliseconds)
    let event = LogEvent(
      milliseconds: 0, level: .info, service: "s", message: "counters", fields: fields)
    let line = event.line(format)
    return format == .text ? String(line.split(separator: "counters ")[1]) : line
  }

  @Test func `a total that grew shows its rate`() {
    #expect(text(.total, 20_000, 270, 10_000) == "x=20000(+1973/s)")
    #expect(text(.total, 5, 0, 10_000) == "x=5(+0.5/s)")
  }

  @Test func `a total at rest and a gauge show none`() {
    #expect(text(.total, 5, 5, 10_000) == "x=5")
    #expect(text(.gauge, 5, 0, 10_000) == "x=5")
    #expect(text(.total, 5, 0, 0) == "x=5")
  }

  @Test func `entries are separated by one blank`() {
    let entries = ["a", "b"].map {
      CounterLine.Entry(name: $0, kind: .gauge, value: 1, previous: 0)
    }
    #expect(line(entries, 1) == "a=1 b=1")
  }

  @Test func `programs read numbers, and work rates out themselves`() {
    let entries = [CounterLine.Entry(name: "x", kind: .total, value: 20, previous: 0)]
    #expect(line(entries, 1_000, .logfmt).hasSuffix(" msg=counters x=20"))
    #expect(line(entries, 1_000, .json).hasSuffix(#","msg":"counters","x":20}"#))
  }

  @Test func `names of counters are written in snake case`() {
    #expect(SnakeCase.text("deadLettered") == "dead_lettered")
    #expect(SnakeCase.text("taken") == "taken")
  }
}
