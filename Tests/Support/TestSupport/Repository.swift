// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// The files of this repository.
public enum Repository {
  public static let root = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }

  public static func path(_ relative: String) -> String { "\(root)/\(relative)" }

  public static func text(_ relative: String) throws -> String { try File.text(path(relative)) }
}
