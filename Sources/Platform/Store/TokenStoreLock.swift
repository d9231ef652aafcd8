// SPDX-License-Identifier: Apache-2.0

/// Keeps every writer of the token database out, as a backup or a person with a shell may do: for tests of
/// what the writer does meanwhile. Owned by one thread.
public final class TokenStoreLock {
  private let database: Database

  /// Waits up to ten seconds for the writer's own transaction to end.
  public init(path: String) throws(StoreError) {
    database = try Database(path, isReadOnly: false, busyTimeout: 10_000)
    try database.execute("BEGIN IMMEDIATE")
  }

  /// Lets writers in again; nothing was changed.
  public func release() { try? database.execute("ROLLBACK") }
}
