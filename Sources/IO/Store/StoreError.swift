// SPDX-License-Identifier: Apache-2.0

/// Why the token database could not do what was asked, and what to do about it.
package struct StoreError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Problem: Equatable, Sendable {
    /// No room on the file system, or the database's own limit.
    case diskFull
    /// Another process holds the write lock.
    case locked
    /// The file, its folder or its file system cannot be written.
    case readOnly
    /// There is no file, or it must not be opened.
    case cannotOpen
    /// The file is something else.
    case notADatabase
    /// A later version of the program made the tables.
    case newerSchema(found: Int, known: Int)
    /// A read-only open of a file without the tables.
    case noTables
    /// Pages of the file contradict each other.
    case damaged
    /// The system could not read or write.
    case inputOutput
    /// Anything else, by SQLite's extended result code.
    case other(Int32)
  }

  package let problem: Problem
  /// The file.
  package let path: String
  /// What was attempted, and SQLite's own words.
  package let detail: String

  package init(_ problem: Problem, path: String, detail: String) {
    self.problem = problem
    self.path = path
    self.detail = detail
  }

  /// Whether the same step may succeed later without anything being changed in the program.
  package var isPassing: Bool {
    switch problem {
    case .diskFull, .locked, .readOnly, .inputOutput: true
    default: false
    }
  }

  package var description: String { "token database \(path): \(meaning) (\(detail)); \(advice)" }

  private var meaning: String {
    switch problem {
    case .diskFull: "the disk is full"
    case .locked: "another process holds its lock"
    case .readOnly: "it cannot be written"
    case .cannotOpen: "it cannot be opened"
    case .notADatabase: "it is not a SQLite database"
    case .newerSchema(let found, let known):
      "its schema has version \(found), this program knows up to \(known)"
    case .noTables: "it has no tables yet"
    case .damaged: "it is damaged"
    case .inputOutput: "the system could not read or write it"
    case .other(let code): "SQLite reports error \(code)"
    }
  }

  private var advice: String {
    switch problem {
    case .diskFull: "make room on its file system"
    case .locked: "only one martlet-feedback may use a file; end other programs that write to it"
    case .readOnly: "let this user write to the file and its folder"
    case .cannotOpen: "check that the folder exists and that this user may use it"
    case .notADatabase: "name another file"
    case .newerSchema: "use the program version that wrote it, or a newer one"
    case .noTables: "start martlet-feedback on it first"
    case .damaged: "restore a backup, or move it away and let push.feedback be read again"
    case .inputOutput: "look for disk errors in the system's log"
    case .other: "see sqlite.org/rescode.html"
    }
  }
}
