// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc
internal import Synchronization

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
      let text = String(cString: message)
      let line =
        "\(timestamp()) \(word(for: level)) kafka \(text) client=\(name) about=\(subject)\n"
      var bytes = Array(line.utf8)
      bytes.withUnsafeMutableBytes { _ = write(2, $0.baseAddress, $0.count) }
    }

  private static func word(for level: Int32) -> String {
    switch level {
    case ...3: "error"
    case 4: "warning"
    case 5, 6: "info"
    default: "debug"
    }
  }

  /// `2026-11-21T01:09:44.123Z`
  private static func timestamp() -> String {
    let milliseconds = WallClock.milliseconds()
    var seconds = time_t(milliseconds / 1_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func padded(_ value: Int32, _ width: Int) -> String {
      let digits = String(value)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    return padded(parts.tm_year + 1900, 4) + "-" + padded(parts.tm_mon + 1, 2) + "-"
      + padded(parts.tm_mday, 2) + "T" + padded(parts.tm_hour, 2) + ":" + padded(parts.tm_min, 2)
      + ":" + padded(parts.tm_sec, 2) + "." + padded(Int32(milliseconds % 1_000), 3) + "Z"
  }
}
