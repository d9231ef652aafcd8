// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc
internal import Synchronization
public import Telemetry

/// librdkafka's log messages, written to this process's log on stderr by the rules of `LibraryLog`.
///
/// They arrive on librdkafka's threads, so each line is one write(2).
public enum KafkaLog {
  private static let silenced = Atomic<Bool>(false)
  private static let log = Mutex((rules: LibraryLog(), format: LogFormat.text))

  /// Drops the messages of every client of this process: for tests that break brokers on purpose.
  public static func silence() { silenced.store(true, ordering: .relaxed) }

  /// Sets the lowest level shown and the format, those of the process's own log.
  public static func show(from level: LogLevel, as format: LogFormat) {
    log.withLock {
      $0.rules.level = level
      $0.format = format
    }
  }

  /// librdkafka's `log_cb`: client, severity as in syslog, subject, text.
  public typealias Callback =
    @convention(c) (OpaquePointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Void

  /// Writes a line as the process's own log does.
  public static let callback: Callback = {
    client, severity, facility, message in
    guard !silenced.load(ordering: .relaxed), let facility, let message else { return }
    let subject = String(cString: facility)
    // Skipped: a consumer property in the common layer seen by a producer (or vice versa) is not a user's mistake, nor
    // is a broker too old to be told not to create topics, which librdkafka reports for each consumer.
    if ["CONFWARN", "AUTOCREATE"].contains(subject) { return }
    let now = MonotonicClock.milliseconds()
    let shown = log.withLock { log in
      log.rules.admit(
        severity: severity, subject: subject, message: String(cString: message), now: now
      ).map { ($0, log.format) }
    }
    guard let (dropped, format) = shown else { return }
    let name = client.map { String(cString: rd_kafka_name($0)) } ?? "none"
    var fields: [(String, LogValue)] = [("client", .text(name)), ("about", .text(subject))]
    if dropped > 0 { fields.append(("left_out", .number(dropped))) }
    put(LibraryLog.level(of: severity), String(cString: message), fields, format)
  }

  /// Reports repeated messages that have stopped. Call it every few seconds.
  public static func sayWhatEnded() {
    let now = MonotonicClock.milliseconds()
    let (ended, format) = log.withLock { ($0.rules.drainEnded(now: now), $0.format) }
    for message in ended where !silenced.load(ordering: .relaxed) {
      put(
        .info, "a message of librdkafka is no longer repeated",
        [
          ("message", .text(message.text)), ("left_out", .number(message.more)),
          ("seconds", .number(Int(message.milliseconds / 1_000))),
        ], format)
    }
  }

  private static func put(
    _ level: LogLevel, _ message: String, _ fields: [(String, LogValue)], _ format: LogFormat
  ) {
    let event = LogEvent(
      milliseconds: WallClock.milliseconds(), level: level, service: "kafka", message: message,
      fields: fields)
    var bytes = Array((event.line(format, isForJournal: JournalStream.isStandardError) + "\n").utf8)
    bytes.withUnsafeMutableBytes { _ = write(2, $0.baseAddress, $0.count) }
  }
}
