// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import Glibc
package import Telemetry

/// Writes log lines to standard error, each with one write(2), from any thread.
///
/// For what happens rarely: never called per notification.
package struct Logger: Sendable {
  package let service: String
  package let level: LogLevel

  package init(service: String, level: LogLevel = .info) {
    self.service = service
    self.level = level
  }

  package func debug(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.debug, message, fields)
  }

  package func info(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.info, message, fields)
  }

  package func warning(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.warning, message, fields)
  }

  package func error(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.error, message, fields)
  }

  private func write(
    _ level: LogLevel, _ message: String, _ fields: KeyValuePairs<String, String>
  ) {
    guard level >= self.level else { return }
    StandardError.line(
      LogLine.text(
        milliseconds: WallClock.milliseconds(), level: level, service: service, message: message,
        fields: fields))
  }
}

/// Standard output: only what a command was asked for.
package enum StandardOutput {
  /// False when nobody reads any more (`| head`).
  @discardableResult package static func line(_ text: String) -> Bool { write(text + "\n") }
  @discardableResult package static func write(_ text: String) -> Bool {
    writeAll(STDOUT_FILENO, text)
  }
}

/// Standard error: logs, progress and complaints.
package enum StandardError {
  @discardableResult package static func line(_ text: String) -> Bool { write(text + "\n") }
  @discardableResult package static func write(_ text: String) -> Bool {
    writeAll(STDERR_FILENO, text)
  }
  /// Whether a person watches, so that a progress line may be redrawn in place.
  package static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }
}

private func writeAll(_ descriptor: Int32, _ text: String) -> Bool {
  var text = text
  return text.withUTF8 { bytes in
    var written = 0
    while written < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[written...])
      let count = write(descriptor, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      written += count
    }
    return true
  }
}
