// SPDX-License-Identifier: Apache-2.0
import CLinux

/// The release, and what the program was built from, as `--version`, `/version` and the metric of the build say it.
public enum Version {
  /// The number of the release. It stands here; `VersionTests` compares everything else that names it
  /// (RELEASING.md has the command that changes all of it).
  public static let text = "0.1.0"

  /// The commit that the program was built from, with `-dirty` behind it if files differed; `unknown` in builds that
  /// `scripts/build` did not make.
  public static let commit = String(cString: martlet_commit())

  /// The answer to `--version`: programs read the first line.
  public static func lines(_ program: String) -> [String] {
    let libraries = LoadedLibraries.versions.map { "\($0.name) \($0.version)" }
    return [
      "\(program) \(text)", "commit \(commit)", "with \(libraries.joined(separator: ", "))",
    ]
  }
}
