// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

@Suite struct ShellCompletionTests {
  private func run(_ path: String, _ arguments: [String]) throws -> (status: Int32, output: String)
  {
    try BuiltProgram.run(path, arguments, in: TemporaryFolder())
  }

  private var martlet: String { ChildProcess.sibling("martlet") }

  /// What bash would offer for these words, the last of which is being typed.
  private func bash(_ words: String...) throws -> [String] {
    let typed = ([martlet] + words).map { "'\($0)'" }.joined(separator: " ")
    let script = """
      source <('\(martlet)' completion bash)
      complete -p martlet >/dev/null || echo "nothing is registered"
      COMP_WORDS=(\(typed)); COMP_CWORD=\(words.count)
      _martlet
      for word in "${COMPREPLY[@]}"; do echo "$word"; done
      """
    let result = try run("/bin/bash", ["-c", script])
    #expect(result.status == 0, "\(result.output)")
    return result.output.split(separator: "\n").map(String.init)
  }

  @Test func `bash completes commands, settings and values`() throws {
    #expect(try bash("dead") == ["dead-letters"])
    #expect(try bash("dead-letters", "") == ["list", "replay", "--help", "--version"])
    #expect(try bash("up", "--kafka-p") == ["--kafka-port"])
    #expect(try bash("channels", "list", "--environment", "") == ["production", "sandbox"])
    #expect(try bash("up", "--dir", "") == [])
  }

  @Test func `there is one for zsh and fish, and none for others`() throws {
    for shell in ["zsh", "fish"] {
      let script = try run(martlet, ["completion", shell])
      #expect(script.status == 0 && script.output.contains("completion -- words"))
      // Where the shell is installed it says whether it can read that.
      guard let path = try? SystemProgram.path(shell) else { continue }
      let folder = TemporaryFolder()
      try File.write(folder.file("script"), Array(script.output.utf8))
      #expect(try run(path, ["-n", folder.file("script")]).status == 0)
    }
    #expect(try run(martlet, ["completion", "tcsh"]).status == 2)
  }
}
