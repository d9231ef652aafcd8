// SPDX-License-Identifier: Apache-2.0
import CLinux
public import Glibc

/// Turns process signals into something a `Poller` can wait for (signalfd(2)).
///
/// Make it on the main thread before any other thread starts: the signals are blocked in the
/// calling thread and threads inherit that, so none of them is killed by one.
public final class SignalSource {
  /// Watch it for reading.
  public let fd: Int32

  /// Takes over `signals` (SIGTERM and SIGINT unless told) and ignores SIGPIPE, which a closed
  /// socket would raise.
  public init(_ signals: [Int32] = [SIGTERM, SIGINT]) throws(SystemError) {
    signal(SIGPIPE, SIG_IGN)
    var set = Self.set(signals)
    let code = pthread_sigmask(SIG_BLOCK, &set, nil)
    guard code == 0 else { throw SystemError(code: code, attempt: "cannot block signals") }
    let opened = signalfd(-1, &set, Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC))
    guard opened >= 0 else { throw SystemError.last("cannot open a signal descriptor") }
    fd = opened
  }

  deinit { close(fd) }

  /// Makes signals wait, in this thread and those that it starts, until a source takes them: for a program that
  /// is asked to stop before it has one.
  public static func hold(_ signals: [Int32]) {
    var set = set(signals)
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Lets signals that wait, and later ones, do what they do by default.
  public static func release(_ signals: [Int32]) {
    var set = set(signals)
    pthread_sigmask(SIG_UNBLOCK, &set, nil)
  }

  /// True if the process was started with a signal ignored, as by nohup(1).
  public static func isIgnored(_ signal: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(signal, nil, &action) == 0 else { return false }
    // SIG_IGN is a number in the place of a function.
    return unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
  }

  private static func set(_ signals: [Int32]) -> sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in signals { sigaddset(&set, signal) }
    return set
  }

  public func next() -> Int32? {
    var details = signalfd_siginfo()
    let size = MemoryLayout<signalfd_siginfo>.size
    guard read(fd, &details, size) == size else { return nil }
    return Int32(details.ssi_signo)
  }
}
