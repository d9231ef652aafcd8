// SPDX-License-Identifier: Apache-2.0

/// Words of a command that is shown to be copied into a shell.
public enum ShellWord {
  private static let plain = Set("@%+=:,./-_".utf8)

  /// The text as one word of a POSIX shell: in quotes if it has to be.
  public static func quoted(_ text: String) -> String {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        true
      default: plain.contains(byte)
      }
    }
    guard text.isEmpty || !isPlain else { return text }
    return "'"
      + text.split(separator: "'", omittingEmptySubsequences: false)
      .joined(separator: #"'\''"#) + "'"
  }
}
