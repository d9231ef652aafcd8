// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Diagnosis
import ServiceKit

/// The check of a command that reads a file: reads it as the command would, and produces nothing.
enum FileCheck {
  /// - Parameters:
  ///   - consequence: what the command does with wrong lines.
  ///   - read: returns what was found, and whether nothing was wrong.
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
