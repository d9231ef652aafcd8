// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc
internal import Synchronization
public import Telemetry

/// librdkafka's own log messages, as lines of this process's log on stderr, by the rules of `LibraryLog`.
///
/// They arrive on librdkafka's threads, so a line is one write(2).
public enum KafkaLog {
  private static let silenced = Atomic<Bool>(false)
  private static let log = Mutex((rules: LibraryLog(), format: LogFormat.text))

  /// Drops the messages of every client of this process: for tests that break brokers on purpose.
  public static func silence() { silenced.store(true, ordering: .relaxed) }

  /// Shows no message below this level, in this form: both are the process's own.
  public static func show(from level: LogLevel, as format: LogFormat) {
    log.withLock {
      $0.rules.level = level
      $0.format = format
    }
  }

  static let callback:
    @convention(c) (OpaquePointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Void = {
      client, severity, facility, message in
      guard !silenced.load(ordering: .relaxed), let facility, let message else { return }
      let subject = String(cString: facility)
      // A property of the other side in the common layer is no mistake of the user.
      if subject == "CONFWARN" { return }
      let now = MonotonicClock.milliseconds()
      let shown = log.withLock { log in
        log.rules.admit(severity: severity, subject: subject, now: now).map { ($0, log.format) }
      }
      guard let (dropped, format) = shown else { return }
      let name = client.map { String(cString: rd_kafka_name($0)) } ?? "none"
      var event = LogEvent(
        milliseconds: WallClock.milliseconds(), level: LibraryLog.level(of: severity),
        service: "kafka", message: String(cString: message),
        fields: [("client", .text(name)), ("about", .text(subject))])
      if dropped > 0 { event.fields.append(("left_out", .number(dropped))) }
      let line = event.line(format, isForJournal: JournalStream.isStandardError)
      var bytes = Array((line + "\n").utf8)
      bytes.withUnsafeMutableBytes { _ = write(2, $0.baseAddress, $0.count) }
    }
}
