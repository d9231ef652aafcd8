// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// Keeps the secrets in a process's memory there when the process crashes.
public enum ProcessSecrecy {
  /// Signals that Swift's backtracer handles: what it writes to the log has registers and the memory that they point to.
  private static let crashes = [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP]

  /// Leaves a crash to the system: the process ends with its signal, and with the message of a failed check, but with no
  /// dump of memory. `SWIFT_BACKTRACE` in the environment keeps Swift's backtracer as that variable says.
  public static func quietenCrashes() {
    guard getenv("SWIFT_BACKTRACE") == nil else { return }
    for number in crashes { signal(number, SIG_DFL) }
  }

  /// No core file, and no other process of this user reads the memory. To be called when the environment has been read:
  /// /proc/self/environ is root's afterwards.
  public static func hideMemory() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
    martlet_hide_memory()
  }
}
