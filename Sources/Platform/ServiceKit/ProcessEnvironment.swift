// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Settings

enum ProcessEnvironment {
  /// From /proc/self/environ: Glibc's `environ` is a mutable global that Swift 6 cannot read safely.
  static func read() throws(SettingErrors) -> [String: String] {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try File.read("/proc/self/environ")
    } catch {
      throw SettingErrors(nil, "the environment is unreadable: \(error)")
    }
    return try variables(bytes)
  }

  /// - Throws: for a variable of ours that is not UTF-8 text, as for such a file: another value, such as a password, would
  ///   be used in its place.
  static func variables(_ bytes: [UInt8]) throws(SettingErrors) -> [String: String] {
    var variables: [String: String] = [:]
    for entry in bytes.split(separator: 0) {
      guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = String(decoding: entry[..<equals], as: UTF8.self)
      let value = entry[(equals + 1)...]
      if name.hasPrefix(Setting.environmentPrefix),
        String(validating: value, as: UTF8.self) == nil
      {
        throw SettingErrors(nil, "is not UTF-8 text", source: .environment(name))
      }
      variables[name] = String(decoding: value, as: UTF8.self)
    }
    return variables
  }
}
