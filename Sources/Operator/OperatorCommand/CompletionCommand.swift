// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Settings

/// `martlet completion SHELL`: prints the script that completes this command in a shell.
enum CompletionCommand: Command {
  /// The requested text.
  enum Settings: Sendable {
    case script(String)
    /// The words that can follow these; the scripts request this.
    case words([String])
  }

  static let name = "completion"
  static let summary =
    "Prints a completion script for a shell: commands, settings and their values."
  static let table = SettingTable(
    [],
    operands: .init(
      "bash|zsh|fish", 1...10_000,
      "For bash: source <(martlet completion bash). For zsh, after compinit: source <(martlet completion"
        + " zsh). For fish: martlet completion fish | source. The scripts ask martlet completion -- words"
        + " WORD… for what may come next."))

  static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    let first = values.operands[0]
    if first == "words" { return .words(Array(values.operands.dropFirst())) }
    guard values.operands.count == 1, let script = CompletionScript.text(first) else {
      throw SettingErrors(nil, "there are completions for bash, zsh and fish, not for \(first)")
    }
    return .script(script)
  }

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    switch settings {
    case .script(let text): StandardOutput.write(text)
    case .words(let words):
      // The program that has a command knows its settings. Without the program there is nothing to complete.
      if LabProgram.sibling.hasCommand(Array(words.dropLast())) {
        _ = LabProgram.sibling.run(program: "martlet", ["completion", "--", "words"] + words)
      } else {
        StandardOutput.write(answer(words))
      }
    }
  }

  /// Completes the commands by their settings, and those of `martlet-lab` by their names.
  private static func answer(_ words: [String]) -> String {
    let own = MartletCommand.commands.map { command in
      Completion.Command(
        name: command.name, summary: command.summary, table: CommonSettings.table(of: command))
    }
    let others = LabProgram.allCases.map {
      Completion.Command(name: $0.rawValue, summary: $0.summary, table: SettingTable([]))
    }
    return Completion(own + others).text(words)
  }
}

/// The script that a shell reads once.
enum CompletionScript {
  static func text(_ shell: String) -> String? {
    switch shell {
    case "bash": bash
    case "zsh": zsh
    case "fish": fish
    default: nil
    }
  }

  private static let bash = #"""
    # Completion of martlet for bash: source <(martlet completion bash)
    _martlet() {
      local line lines
      COMPREPLY=()
      mapfile -t lines < <("${COMP_WORDS[0]}" completion -- words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
      if [ "${lines[0]:-}" = :files ]; then
        compopt -o default 2>/dev/null
        return
      fi
      for line in "${lines[@]}"; do COMPREPLY+=("${line%%$'\t'*}"); done
    }
    complete -F _martlet martlet

    """#

  private static let zsh = #"""
    #compdef martlet
    # Completion of martlet for zsh, after compinit: source <(martlet completion zsh)
    _martlet() {
      local line
      local -a lines candidates
      lines=("${(@f)$("${words[1]}" completion -- words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
      if [[ "${lines[1]}" == ":files" ]]; then
        _files
        return
      fi
      for line in "${lines[@]}"; do
        [[ -n "$line" ]] || continue
        candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
      done
      _describe martlet candidates
    }
    if [[ "${funcstack[1]}" == _martlet ]]; then _martlet "$@"; else compdef _martlet martlet; fi

    """#

  private static let fish = #"""
    # Completion of martlet for fish: martlet completion fish | source
    function __martlet_words
      set -l before (commandline -opc)
      set -l current (commandline -ct)
      test -n "$current"; or set current ''
      set -l lines ($before[1] completion -- words $before[2..-1] "$current" 2>/dev/null)
      if test "$lines[1]" = ":files"
        __fish_complete_path "$current"
      else
        printf '%s\n' $lines
      end
    end
    complete -c martlet -f -a '(__martlet_words)'

    """#
}
