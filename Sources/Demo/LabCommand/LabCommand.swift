// SPDX-License-Identifier: Apache-2.0
public import ServiceKit
import Settings

/// The program `martlet-lab`: the commands of `martlet` that start a broker and the simulator on this machine, for
/// trials, tests and benchmarks.
public enum LabCommand {
  public static var commands: [any Service.Type] {
    [UpCommand.self, DemoCommand.self, BrokerCommand.self, KeysGenerateCommand.self]
  }

  /// Runs the command named by the process's arguments, under `martlet`'s name.
  public static func main() -> Never {
    runCommands(
      program: "martlet",
      summary: "Commands for trials on one machine. martlet runs this program for them.",
      commands + [LabCompletion.self])
  }
}

/// `martlet completion -- words up …`: completes the settings of this program's commands.
enum LabCompletion: Command {
  static let name = "completion"
  static let summary = "Completes the commands of this program, for martlet completion."
  static let table = SettingTable(
    [], operands: .init("words WORD", 1...10_000, "The words that were typed so far."))

  static func settings(_ values: SettingValues) throws(SettingErrors) -> [String] {
    guard values.operands.first == "words" else {
      throw SettingErrors(nil, "martlet completion prints the scripts")
    }
    return Array(values.operands.dropFirst())
  }

  static func run(_ words: [String], _ context: ServiceContext) throws(ServiceFailure) {
    let commands = LabCommand.commands.map { command in
      Completion.Command(
        name: command.name, summary: command.summary, table: CommonSettings.table(of: command))
    }
    StandardOutput.write(Completion(commands).text(words))
  }
}
