// SPDX-License-Identifier: Apache-2.0
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

  deinit { Self.remove(path) }

  private static func remove(_ path: String) {
    // The folder is opened without following links, so that nothing outside of it is touched.
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    if descriptor >= 0, let folder = fdopendir(descriptor) {
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != "." && name != ".." { remove(path + "/" + name) }
      }
      closedir(folder)
    }
    _ = Glibc.remove(path)
  }

  /// The path of a file in the folder.
  public func file(_ name: String) -> String { path + "/" + name }
}
