// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Settings
import Telemetry

/// Runs a process of the pipeline: the whole of an executable's `main`.
package func runService<S: Service>(_ service: S.Type) -> Never {
  exit(ServiceRunner.run(service, program: S.name, Array(CommandLine.arguments.dropFirst())))
}

/// Runs the command that the first argument names: the whole of `martlet`'s `main`.
package func runCommands(program: String, summary: String, _ commands: [any Service.Type]) -> Never
{
  let arguments = Array(CommandLine.arguments.dropFirst())
  let words = commands.map { $0.name.split(separator: " ").map(String.init) }
  let matches = commands.indices.filter { arguments.starts(with: words[$0]) }
  if let index = matches.max(by: { words[$0].count < words[$1].count }) {
    let rest = Array(arguments.dropFirst(words[index].count))
    exit(ServiceRunner.run(commands[index], program: "\(program) \(commands[index].name)", rest))
  }
  exit(ServiceRunner.answer(arguments, program: program, summary: summary, commands))
}

/// The steps from arguments to exit status.
package enum ServiceRunner {
  package static let done: Int32 = 0
  package static let failed: Int32 = 1
  package static let misconfigured: Int32 = 2

  package static func run<S: Service>(
    _ service: S.Type, program: String, _ arguments: [String]
  ) -> Int32 {
    let table = CommonSettings.table(of: service)
    do throws(SettingErrors) {
      let flags = try CommandLineFlags(arguments, for: table)
      if flags.isHelp {
        let help = HelpText(program: program, summary: S.summary, table: table)
        StandardOutput.write(help.text)
        return done
      }
      if flags.isVersion {
        StandardOutput.line("\(program) \(Version.text)")
        return done
      }
      let values = try read(flags, table)
      let settings = try S.settings(values)
      if flags.isCheckConfig {
        for line in values.report { StandardOutput.line(line) }
        return done
      }
      return start(service, program: program, settings, values)
    } catch {
      for error in error.errors { StandardError.line("\(program): \(error)") }
      return misconfigured
    }
  }

  private static func start<S: Service>(
    _ service: S.Type, program: String, _ settings: S.Settings, _ values: SettingValues
  ) -> Int32 {
    let level = LogLevel(text: values.text(CommonSettings.logLevel)) ?? .info
    let log = Logger(service: program.replacingBlanks, level: level)
    let interval = S.reportsCounters ? values.milliseconds(CommonSettings.countersInterval) : 0
    let context = ServiceContext(name: program, log: log, values: values)
    do throws(SystemError) {
      let keeper = try Housekeeper(context, reportsEvery: interval)
      let failure = outcome(service, settings, context)
      keeper.finish()
      if let failure { log.error("\(failure)") }
      return failure == nil ? done : failed
    } catch {
      log.error("\(error)")
      return failed
    }
  }

  private static func outcome<S: Service>(
    _ service: S.Type, _ settings: S.Settings, _ context: ServiceContext
  ) -> ServiceFailure? {
    do throws(ServiceFailure) {
      try S.run(settings, context)
      return nil
    } catch {
      return error
    }
  }

  private static func read(
    _ flags: CommandLineFlags, _ table: SettingTable
  ) throws(SettingErrors) -> SettingValues {
    let environment = try ProcessEnvironment.read()
    var file: PropertiesFile?
    if let path = flags.configPath ?? environment["MARTLET_CONFIG"] {
      file = try propertiesFile(path)
    }
    return try table.read(flags, environment: environment, file: file)
  }

  private static func propertiesFile(_ path: String) throws(SettingErrors) -> PropertiesFile {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try File.read(path)
    } catch {
      throw SettingErrors("config", "\(error)")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw SettingErrors("config", "\(path) is not UTF-8 text")
    }
    return try PropertiesFile(parsing: text, path: path)
  }

  /// What `martlet` says when no command was named: its help, its version, or what is wrong.
  static func answer(
    _ arguments: [String], program: String, summary: String, _ commands: [any Service.Type]
  ) -> Int32 {
    let first = arguments.first ?? ""
    if first == "--version" {
      StandardOutput.line("\(program) \(Version.text)")
      return done
    }
    let isHelp = ["--help", "-h", "help"].contains(first)
    if !isHelp, !first.isEmpty {
      StandardError.line("\(program): there is no command \(first)")
    }
    var lines = ["Usage: \(program) COMMAND [--setting value …]", "", summary, "", "Commands:"]
    let width = commands.map { $0.name.count }.max() ?? 0
    for command in commands {
      let gap = String(repeating: " ", count: width - command.name.count + 3)
      lines.append("  \(command.name)\(gap)\(command.summary)")
    }
    lines += ["", "\(program) COMMAND --help says more.", ""]
    let text = lines.joined(separator: "\n")
    if isHelp { StandardOutput.write(text) } else { StandardError.write(text) }
    return isHelp ? done : misconfigured
  }
}

extension String {
  /// `martlet demo` as one word of a log line: `martlet-demo`.
  fileprivate var replacingBlanks: String { String(map { $0 == " " ? "-" : $0 }) }
}
