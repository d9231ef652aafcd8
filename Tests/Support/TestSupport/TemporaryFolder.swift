// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// A folder that is deleted, with its contents, when the value is released.
public final class TemporaryFolder {
  public let path: String

  public init() {
    var template = Array("/tmp/martlet-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else {
      preconditionFailure("cannot make a temporary folder (errno \(errno))")
    }
    path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit { File.removeTree(path) }

  /// The path of a file in the folder.
  public func file(_ name: String) -> String { path + "/" + name }
}
