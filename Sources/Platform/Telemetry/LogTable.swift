// SPDX-License-Identifier: Apache-2.0

/// A table of log events: an enum with a case for each event of a program. The case's raw value is the message, the same
/// whenever the event happens, so that people and tests can search for it; the fields of the line hold what varies. The
/// lines of `docs/reference/logs.md` follow from the tables, and a metric names the event that says the same by its case.
public protocol LogTable: CaseIterable, RawRepresentable, Sendable where RawValue == String {
  var level: LogLevel { get }
}
