// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

/// A named thread that runs one loop to its end.
///
/// What the body captures belongs to the new thread: the compiler refuses later use by the maker.
public struct LoopThread: ~Copyable {
  private let thread: pthread_t

  /// Starts a thread. `name` shows in `top -H` and debuggers (its first 15 bytes).
  /// Throws when the system has no thread left.
  public init(name: String, _ body: sending @escaping () -> Void) throws(SystemError) {
    let start = Unmanaged.passRetained(Start(name: name, body: body))
    var started = pthread_t()
    let code = pthread_create(&started, nil, { runBody($0) }, start.toOpaque())
    guard code == 0 else {
      start.release()
      throw SystemError(code: code, attempt: "cannot start thread \(name)")
    }
    thread = started
  }

  /// Waits for the body to return.
  public consuming func join() { pthread_join(thread, nil) }

  public consuming func detach() { pthread_detach(thread) }
}

private final class Start {
  let name: String
  let body: () -> Void
  init(name: String, body: @escaping () -> Void) {
    self.name = name
    self.body = body
  }
}

private func runBody(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let argument else { return nil }
  let start = Unmanaged<Start>.fromOpaque(argument).takeRetainedValue()
  // Longer names are refused by the system, not shortened.
  String(start.name.utf8.prefix(15).map { Character(UnicodeScalar($0)) }).withCString {
    martlet_name_thread($0)
  }
  start.body()
  return nil
}
