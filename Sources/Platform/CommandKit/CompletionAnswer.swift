// SPDX-License-Identifier: Apache-2.0
public import Settings

/// The text that the completion scripts read.
public enum CompletionAnswer {
  /// A line for each word that may come next: the word, a tab, what it means; `:files` for a path.
  public static func text(_ commands: [Completion.Command], _ words: [String]) -> String {
    switch Completion(commands).answer(words) {
    case .files: return ":files\n"
    case .words(let candidates):
      return candidates.map { "\($0.text)\t\($0.note)\n" }.joined()
    }
  }
}
