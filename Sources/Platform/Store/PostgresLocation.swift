// SPDX-License-Identifier: Apache-2.0
import CDatabases

/// Which PostgreSQL database: a `postgresql://` URL, as libpq reads it. It never has a password, which would be in
/// settings and in lists of processes: libpq takes one from its password file (`passfile=`, `~/.pgpass`).
public struct PostgresLocation: Equatable, Sendable, CustomStringConvertible {
  let url: String
  /// Host and database, for messages.
  public let description: String

  public static func isURL(_ text: String) -> Bool {
    text.hasPrefix("postgresql://") || text.hasPrefix("postgres://")
  }

  public init(_ url: String) throws(StoreError) {
    self.url = url
    var problem: UnsafeMutablePointer<CChar>?
    guard let options = PQconninfoParse(url, &problem) else {
      let words = problem.map { String(cString: $0) } ?? "out of memory"
      PQfreemem(problem)
      throw StoreError(sqlState: "22023", attempt: "cannot read the database's URL", message: words)
    }
    defer { PQconninfoFree(options) }
    func value(_ name: String) -> String? {
      var option = options
      while let keyword = option.pointee.keyword {
        if String(cString: keyword) == name {
          return option.pointee.val.map { String(cString: $0) }
        }
        option += 1
      }
      return nil
    }
    guard value("password") == nil else {
      throw StoreError(
        sqlState: "22023", attempt: "cannot use the database's URL",
        message: "it has a password; name a password file instead (?passfile=FILE)")
    }
    let host = value("host") ?? value("hostaddr") ?? "local socket"
    description = "PostgreSQL \(host)/\(value("dbname") ?? "")"
  }
}
