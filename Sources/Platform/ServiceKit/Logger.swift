// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Synchronization
public import Telemetry

/// Writes log lines to standard error, each with one write(2), from any thread.
///
/// For what happens rarely: never called per notification.
public struct Logger: Sendable {
  public let service: String
  public let level: LogLevel
  public let format: LogFormat

  public init(service: String, level: LogLevel = .info, format: LogFormat = .text) {
    self.service = service
    self.level = level
    self.format = format
  }

  /// Writes an event. A field without a value is left out: it says nothing, not even that there is an error.
  public func callAsFunction(
    _ event: some LogTable, _ fields: KeyValuePairs<String, String> = [:]
  ) {
    let level = event.level
    guard level >= self.level else { return }
    let given = fields.filter { !$0.value.isEmpty }
    write(level, event.rawValue, given.map { ($0.key, .text($0.value)) })
  }

  /// The same with fields of which some are only there at times.
  public func callAsFunction(_ event: some LogTable, _ fields: [LogEvent.Field]) {
    write(event.level, event.rawValue, fields)
  }

  /// Writes why a program ends, in the words of the error: a person reads them who has asked it for something.
  public func failure(_ text: String, level: LogLevel = .error) { write(level, text, []) }

  private func write(_ level: LogLevel, _ message: String, _ fields: [LogEvent.Field]) {
    guard level >= self.level else { return }
    let event = LogEvent(
      milliseconds: WallClock.milliseconds(), level: level, service: service, message: message,
      fields: fields)
    StandardError.line(event.line(format, isForJournal: JournalStream.isStandardError))
  }
}

/// Standard output: only what a command was asked for.
public enum StandardOutput {
  /// The first error of a write, 0 while there is none.
  private static let failure = Atomic<Int32>(0)

  /// False when nothing more can be written: the reader has gone (`| head`), or the device is full.
  @discardableResult public static func line(_ text: String) -> Bool { write(text + "\n") }
  @discardableResult public static func write(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
  }
  @discardableResult public static func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let code = writeAll(STDOUT_FILENO, bytes)
    if code != 0 {
      _ = failure.compareExchange(expected: 0, desired: code, ordering: .acquiringAndReleasing)
    }
    return code == 0
  }

  /// The status that a process ends with that would end with `status`: a failure, which is said, if what it was
  /// asked for could not be written. A reader that stopped early (`| head`) is no failure.
  public static func endStatus(_ status: Int32, program: String) -> Int32 {
    let code = failure.load(ordering: .acquiring)
    guard code != 0, code != EPIPE else { return status }
    StandardError.line(
      "\(program): cannot write to standard output: \(SystemError.meaning(of: code))",
      level: .error)
    return status == ServiceRunner.done ? ServiceRunner.failed : status
  }
}

/// Standard error: logs, progress and complaints.
public enum StandardError {
  @discardableResult public static func line(_ text: String) -> Bool { write(text + "\n") }
  /// A line that is no event of a log, such as what is wrong with the settings; in systemd's journal it has this level.
  @discardableResult public static func line(_ text: String, level: LogLevel) -> Bool {
    line(JournalStream.isStandardError ? level.journalPrefix + text : text)
  }
  @discardableResult public static func write(_ text: String) -> Bool {
    var text = text
    return text.withUTF8 { writeAll(STDERR_FILENO, UnsafeRawBufferPointer($0)) == 0 }
  }
  /// True if a person watches, so that a progress line may be redrawn in place.
  public static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}

/// Returns 0, or the error.
private func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int32 {
  var written = 0
  while written < bytes.count {
    let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
    let count = write(descriptor, rest.baseAddress, rest.count)
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return count < 0 ? errno : EIO }
    written += count
  }
  return 0
}
