// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Testing

/// The list of log events, and the page that is made from it. Who searches logs relies on every message.
@Suite struct LogEventsPageTests {
  private let events: LogEvents

  init() throws { events = try LogEvents(root: DeployedFiles.root) }

  @Test func `the page in docs is what the sources log`() throws {
    let path = "\(DeployedFiles.root)/docs/reference/logs.md"
    let text = LogEventsPage.text(events)
    if getenv("MARTLET_WRITE_DOCS") != nil { try File.write(path, Array(text.utf8), mode: 0o644) }
    #expect(
      String(decoding: try File.read(path), as: UTF8.self) == text,
      "out of date: MARTLET_WRITE_DOCS=1 swift test --filter LogEventsPageTests")
    #expect(LogEventsPage.unlisted(events).isEmpty)
  }

  @Test func `the sources are read as they are`() {
    #expect(events.events.count > 100)
    let known: [(room: String, level: String, message: String)] = [
      // A named constant, two branches, a literal in two parts, and what is interpolated.
      ("ServiceKit", "info", "status pages"), ("Sender", "warning", "connection lost"),
      ("Sender", "warning", "cannot connect"),
      ("ServiceKit", "warning", "exiting at once: …; uncommitted records are processed again"),
      ("ServiceKit", "info", "counters"),
    ]
    for (room, level, message) in known {
      #expect(
        events.events.contains(.init(room: room, level: level, message: message)), "\(message)")
    }
    let long =
      "partitions were added: keys that moved lose their order, and repeats of their earlier"
    #expect(
      events.events.contains { $0.message.hasPrefix(long) && $0.message.hasSuffix("partitions") })
  }

  /// A message is one line of plain text that begins small and names no place in the sources.
  @Test func `messages are plain text`() {
    for event in events.events where event.message != "…" {
      #expect(!event.message.contains("\\"), "\(event)")
      #expect(!event.message.hasSuffix("."), "\(event)")
    }
  }
}
