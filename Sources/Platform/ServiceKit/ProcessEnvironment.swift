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
    var variables: [String: String] = [:]
    for entry in bytes.split(separator: 0) {
      let text = String(decoding: entry, as: UTF8.self)
      guard let equals = text.firstIndex(of: "=") else { continue }
      variables[String(text[..<equals])] = String(text[text.index(after: equals)...])
    }
    return variables
  }
}
