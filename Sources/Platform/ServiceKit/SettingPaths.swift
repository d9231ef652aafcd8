// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Settings

/// Looks whether what settings name can be read or written, so that `--check-config` finds what would end the
/// program later. Nothing is made, opened or changed.
enum SettingPaths {
  /// - Throws: every path that cannot be used as its setting uses it.
  static func check(_ values: SettingValues) throws(SettingErrors) {
    var errors: [SettingError] = []
    for setting in values.table.settings {
      guard case .path(let use) = setting.kind, let path = values.written(setting.name) else {
        continue
      }
      do throws(SystemError) {
        switch use {
        case .input: try File.checkReadable(path)
        case .output: try File.checkWritable(path)
        case .database: if !path.contains("://") { try File.checkWritable(path) }
        case .folder: try File.checkFolder(path)
        }
      } catch {
        errors += values.error(setting.name, "\(error)").errors
      }
    }
    guard errors.isEmpty else { throw SettingErrors(errors) }
  }
}
