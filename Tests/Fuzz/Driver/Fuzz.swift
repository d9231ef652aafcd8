// SPDX-License-Identifier: Apache-2.0
import Glibc

/// libFuzzer's own main, as a function.
@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
  _ count: UnsafeMutablePointer<CInt>,
  _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
  _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The target of this process; libFuzzer's callback takes no context.
nonisolated(unsafe) private var target = FuzzTarget.request()

/// Fuzzes the target that the environment's `FUZZ_TARGET` names, with libFuzzer's arguments. Without it, lists
/// the targets. `scripts/fuzz` builds and runs it.
@main struct Fuzz {
  static func main() {
    guard let name = getenv("FUZZ_TARGET").map({ String(cString: $0) }) else {
      for target in FuzzTarget.all() { print(target.name) }
      return
    }
    guard let chosen = FuzzTarget.named(name) else {
      say("there is no target \(name)")
      exit(2)
    }
    target = chosen
    var count = CommandLine.argc
    var arguments = CommandLine.unsafeArgv
    exit(
      runDriver(&count, &arguments) { start, count in
        if let text = target.violation(UnsafeRawBufferPointer(start: start, count: count)) {
          say(text)
          abort()
        }
        return 0
      })
  }
}

/// Writes a line to standard error, at once.
private func say(_ text: String) {
  let line = Array("fuzz: \(text)\n".utf8)
  _ = write(STDERR_FILENO, line, line.count)
}
