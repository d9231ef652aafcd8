// SPDX-License-Identifier: Apache-2.0
import TestSupport

@testable import Store

extension DatabaseKind {
  /// A database as the version left it that did not have a step of the migrations yet.
  func database(at location: String, before name: String) throws -> Database {
    let old = try Database(location, isReadOnly: false, busyTimeout: 1_000)
    let steps = self == .sqlite ? Migrations.steps : PostgresMigrations.steps
    if self == .postgres {
      try old.execute("CREATE SCHEMA martlet")
      try old.execute(
        "CREATE TABLE migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL,"
          + " applied_at BIGINT NOT NULL)")
    } else {
      try old.execute(
        "CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
          + " applied_at INTEGER NOT NULL) STRICT")
    }
    for (index, step) in steps.prefix(while: { $0.name != name }).enumerated() {
      try old.execute(step.sql)
      try old.execute("INSERT INTO migrations VALUES (\(index + 1), '\(step.name)', 1)")
    }
    return old
  }
}
