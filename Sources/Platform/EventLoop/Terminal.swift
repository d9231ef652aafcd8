// SPDX-License-Identifier: Apache-2.0
// Since glibc 2.41 `sys/epoll.h` declares `winsize` too.
import CLinux
import Glibc

/// The terminal that standard output or standard error goes to.
public enum Terminal {
  /// Columns of help: the terminal's, as long as lines of that length can be read; 80 where there is none.
  public static var width: Int {
    for descriptor in [STDOUT_FILENO, STDERR_FILENO] where isatty(descriptor) == 1 {
      var size = winsize()
      guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { continue }
      return readable(Int(size.ws_col))
    }
    return 80
  }

  /// The width of help on a terminal of so many columns: 40 to 100.
  public static func readable(_ columns: Int) -> Int { min(max(columns, 40), 100) }

  /// Rows and columns of the terminal that standard output goes to; nil where it goes elsewhere.
  public static var size: (rows: Int, columns: Int)? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0
    else { return (24, 80) }
    return (Int(size.ws_row), Int(size.ws_col))
  }

  /// True if text may be bold and in colours there: NO_COLOR (no-color.org) and dumb terminals have it plain.
  public static var showsColours: Bool {
    let value = { (name: String) in getenv(name).map { String(cString: $0) } ?? "" }
    return isatty(STDOUT_FILENO) == 1 && value("NO_COLOR").isEmpty && value("TERM") != "dumb"
  }
}
