// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc
internal import Synchronization
internal import Telemetry

/// librdkafka's own log messages, as lines of this process's log on stderr.
///
/// They arrive on librdkafka's threads, so a line is one write(2).
package enum KafkaLog {
  private static let silenced = Atomic<Bool>(false)

  /// Drops the messages of every client of this process: for tests that break brokers on purpose.
  package static func silence() { silenced.store(true, ordering: .relaxed) }

  static let callback:
    @convention(c) (OpaquePointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Void = {
      client, level, facility, message in
      guard !silenced.load(ordering: .relaxed), let facility, let message else { return }
      let subject = String(cString: facility)
      // A property of the other side in the common layer is no mistake of the user.
      if subject == "CONFWARN" { return }
      let name = client.map { String(cString: rd_kafka_name($0)) } ?? "none"
      let line = LogLine.text(
        milliseconds: WallClock.milliseconds(), level: word(for: level), service: "kafka",
        message: String(cString: message), fields: ["client": name, "about": subject])
      var bytes = Array((line + "\n").utf8)
      bytes.withUnsafeMutableBytes { _ = write(2, $0.baseAddress, $0.count) }
    }

  private static func word(for level: Int32) -> LogLevel {
    switch level {
    case ...3: .error
    case 4: .warning
    case 5, 6: .info
    default: .debug
    }
  }
}
