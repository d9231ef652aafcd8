// SPDX-License-Identifier: Apache-2.0
import Glibc

extension ScratchFolder {
  /// Removes a folder and its contents; links are removed, not followed. What cannot be removed is left.
  public static func remove(_ path: String) {
    if let folder = opendir(path) {
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        guard name != ".", name != ".." else { continue }
        if entry.pointee.d_type == UInt8(DT_DIR) {
          remove("\(path)/\(name)")
        } else {
          unlink("\(path)/\(name)")
        }
      }
      closedir(folder)
    }
    rmdir(path)
  }
}
