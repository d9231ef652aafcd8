// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit

/// The check of a command that reads a file: reads it like the command, and produces nothing.
enum FileCheck {
  /// - Parameters:
  ///   - consequence: What the command does with invalid lines.
  ///   - read: Returns the finding, and whether there was no error.
  static func findings(
    in file: String, _ context: ServiceContext, consequence: String,
    _ read: (LineSource) throws(ServiceFailure) -> (text: String, isGood: Bool)
  ) -> [Finding] {
    do throws(ServiceFailure) {
      let (text, isGood) = try read(LineSource(file) { context.signals.isStopping })
      return [
        isGood
          ? .ok(.settings, file, text)
          : .error(
            .settings, file, text,
            remedy: "correct the lines that are named above; an import \(consequence)")
      ]
    } catch {
      return [.error(.settings, file, "\(error)", remedy: "name a file that can be read")]
    }
  }
}
