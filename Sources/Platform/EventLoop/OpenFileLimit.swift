// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The number of files, sockets among them, that the process may have open (RLIMIT_NOFILE).
public enum OpenFileLimit {
  /// Raises the limit as far as the system allows without privileges: the soft one to the hard one.
  ///
  /// - Returns: the limit that holds now.
  @discardableResult
  public static func raise() -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 1_024 }
    if limit.rlim_cur < limit.rlim_max {
      var raised = limit
      raised.rlim_cur = limit.rlim_max
      if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
