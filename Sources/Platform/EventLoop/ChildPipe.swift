// SPDX-License-Identifier: Apache-2.0
import CLinux

/// A pipe to or from a child process (pipe(2)).
public enum ChildPipe {
  /// Opens a pipe whose ends are close-on-exec from the beginning. Set later, a child that another thread starts in
  /// between would inherit them, and the reader would wait for an end of file that never comes.
  ///
  /// - Throws: `SystemError` when descriptors are used up.
  public static func open() throws(SystemError) -> (output: Int32, input: Int32) {
    var ends: [Int32] = [0, 0]
    guard martlet_pipe(&ends, 0) == 0 else { throw .last("cannot open a pipe") }
    return (ends[0], ends[1])
  }
}
