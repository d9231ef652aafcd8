// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// A program in the same folder that has some of this program's commands, so that this one need not link them.
public struct SiblingProgram: Sendable {
  let file: String
  /// The remedy if it is missing: a clause for an error message.
  let remedy: String
  public let commands: [(name: String, summary: String)]

  public func hasCommand(_ arguments: [String]) -> Bool {
    commands.contains { arguments.starts(with: $0.name.split(separator: " ").map(String.init)) }
  }

  /// Runs it in the place of this process, with these arguments.
  ///
  /// - Parameter program: this program's name, which it goes by, too.
  /// - Returns: only if it cannot be run: why, and what to do.
  public func run(program: String, _ arguments: [String]) -> String {
    let error = ChildProcess.replace(with: ChildProcess.sibling(file), name: program, arguments)
    return "\(error); \(remedy)"
  }
}
