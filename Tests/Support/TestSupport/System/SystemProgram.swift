// SPDX-License-Identifier: Apache-2.0
import Glibc

/// System programs that tests run.
public enum SystemProgram {
  /// Prometheus' tool: the system's, or the one that `scripts/setup --test` installs below .build.
  public static func promtool() throws -> String { try ofPrometheus("promtool") }

  /// Prometheus, from the same place.
  public static func prometheus() throws -> String { try ofPrometheus("prometheus") }

  private static func ofPrometheus(_ name: String) throws -> String {
    try unpacked("prometheus/usr/bin/\(name)")
  }

  /// Web servers, from the same place.
  public static func nginx() throws -> String { try unpacked("nginx/usr/sbin/nginx") }
  public static func h2o() throws -> String { try unpacked("h2o/usr/bin/h2o") }

  /// A program of the environment of Python packages, from the same place.
  public static func python(_ name: String = "python") throws -> String {
    let path = Repository.path(".build/python/bin/\(name)")
    guard access(path, X_OK) == 0 else { throw MissingProgram(name: path) }
    return path
  }

  /// The program at this path below .build, or otherwise the system's.
  private static func unpacked(_ place: String) throws -> String {
    let own = Repository.path(".build/\(place)")
    guard access(own, X_OK) != 0 else { return own }
    return try path(String(place.split(separator: "/").last ?? ""))
  }

  /// The path of a program. Servers are in sbin, which is not in every PATH.
  public static func path(_ name: String) throws -> String {
    for folder in ["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"] {
      if access("\(folder)/\(name)", X_OK) == 0 { return "\(folder)/\(name)" }
    }
    throw MissingProgram(name: name)
  }
}

/// A program that tests need is not installed.
public struct MissingProgram: Error, CustomStringConvertible {
  public let name: String

  public init(name: String) { self.name = name }

  public var description: String { "\(name) is missing: run scripts/setup --test" }
}
