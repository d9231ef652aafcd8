// SPDX-License-Identifier: Apache-2.0

/// A table of log events: an enum with a case for each event of a program. Its raw value is the message, which is the same
/// whenever the event happens, so that people and tests can search for it; the fields hold what varies. Its line of
/// `docs/reference/logs.md` follows from the case.
public protocol LogTable: CaseIterable, RawRepresentable, Sendable where RawValue == String {
  var level: LogLevel { get }
}
