// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc

public enum ChildProcess {
  /// Starts a program and returns its process id; the caller reaps it with waitpid(2).
  ///
  /// The child has nothing on its standard input. It gets SIGTERM when the thread that called this ends, so
  /// call it from one that lasts.
  ///
  /// - Parameters:
  ///   - environment: `NAME=value` each.
  ///   - output: where both of its outputs go; nil leaves them where ours go.
  ///   - holdsStop: whether SIGTERM, SIGINT and SIGHUP wait from the start until the program takes them, as ours
  ///     do (`SignalSource`). Otherwise it has no signal blocked.
  ///
  /// Throws what the system says, also when the file is not a program.
  public static func spawn(
    _ path: String, _ arguments: [String], environment: [String], output: Int32? = nil,
    holdsStop: Bool = false
  ) throws(SystemError) -> Int32 {
    let arguments = CStrings([path] + arguments)
    let environment = CStrings(environment)
    let pid = withExtendedLifetime((arguments, environment)) {
      martlet_spawn(path, arguments.pointers, environment.pointers, output ?? -1, holdsStop ? 1 : 0)
    }
    guard pid > 0 else { throw .last("cannot start \(path)") }
    return pid
  }

  /// Runs another program in the place of this one, with the same process id, files and environment.
  ///
  /// - Parameter name: what the program sees as its own name (`argv[0]`).
  /// - Returns: only if the program cannot be run: why.
  public static func replace(
    with path: String, name: String, _ arguments: [String]
  ) -> SystemError {
    let arguments = CStrings([name] + arguments)
    _ = withExtendedLifetime(arguments) { execv(path, arguments.pointers) }
    return .last("cannot run \(path)")
  }

  /// The variables this process was started with, `NAME=value` each.
  public static func inheritedEnvironment() throws(SystemError) -> [String] {
    try File.read("/proc/self/environ").split(separator: 0).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// The path that a program has if it is installed beside this one.
  public static func sibling(_ name: String) -> String {
    var buffer = [UInt8](repeating: 0, count: 4_096)
    let count = buffer.withUnsafeMutableBytes {
      readlink("/proc/self/exe", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
    }
    let own = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
    guard let slash = own.lastIndex(of: "/") else { return name }
    return own[...slash] + name
  }
}

/// A C array of C strings, ended by nil.
private final class CStrings {
  let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
  private let count: Int

  init(_ strings: [String]) {
    count = strings.count
    pointers = .allocate(capacity: count + 1)
    for (index, string) in strings.enumerated() {
      (pointers + index).initialize(to: strdup(string))
    }
    (pointers + count).initialize(to: nil)
  }

  deinit {
    for index in 0..<count { free(pointers[index]) }
    pointers.deallocate()
  }
}
