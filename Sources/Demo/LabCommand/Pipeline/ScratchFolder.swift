// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Glibc

/// Folders for commands that were started without one.
public enum ScratchFolder {
  /// Creates a new folder, readable by its owner only, in `TMPDIR` or /tmp.
  public static func make(_ name: String) throws(SystemError) -> String {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/\(name)-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      throw SystemError.last("cannot make a folder in \(parent)")
    }
    return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }
}
